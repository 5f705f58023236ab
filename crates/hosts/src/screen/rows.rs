//! The rows of a sample, and the live region in them.

use std::borrow::Cow;

use super::manifest::Composer;

/// The rows that count when there is no composer: more than the tallest dialog that was recorded.
const BOX_ROWS: usize = 40;
/// Rows of the block above the composer that are looked at.
const STATUS_ROWS: usize = 24;
/// A row that begins so far to the right is a hint or another column.
const ASIDE: usize = 32;
/// In panes up to this wide, markers may be cut into several rows (field case F-082).
const NARROW: u32 = 120;
/// A marker is cut into so many rows at most.
const JOINED: usize = 4;
/// Signs that frame a box, at either side of its rows.
const FRAME: [char; 8] = ['│', '┃', '┆', '┊', '║', '▌', '▐', '|'];

/// The rows of a sample up to the last one that is not blank, without blanks at their ends.
pub(super) fn rows(text: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = text.lines().map(|row| row.trim_end_matches(is_blank)).collect();
    while rows.last().is_some_and(|row| row.is_empty()) {
        rows.pop();
    }
    rows
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{a0}'
}

/// True where the width may have cut a marker.
pub(super) fn is_narrow(size: Option<(u32, u32)>) -> bool {
    size.is_some_and(|(columns, _)| columns < NARROW)
}

/// A composer at the bottom and what belongs to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live<'a> {
    /// The rows right above it, up to a blank row, oldest first.
    pub status: &'a [&'a str],
    /// The rows below it.
    pub footer: &'a [&'a str],
    /// The prompt row, counted from the top.
    pub prompt: usize,
    /// Its rows, with the prompt row.
    pub inside: &'a [&'a str],
    /// All rows above it.
    pub above: &'a [&'a str],
}

/// Finds the composer at the bottom of the screen. An older prompt further up is none: too much stands below it, more
/// than its keys do even if each row of them were `wrapped` ones.
pub(super) fn composer<'a>(rows: &'a [&'a str], composer: &Composer, wrapped: usize) -> Option<Live<'a>> {
    let is_prompt = |row: &str| {
        composer.prompt.is_match(row) && !composer.not.as_ref().is_some_and(|not| not.is_match(row))
    };
    for prompt in (0..rows.len()).rev() {
        if !is_prompt(rows[prompt]) {
            continue;
        }
        let mut first = prompt;
        if let Some(body) = &composer.body {
            while first > 0 && body.is_match(rows[first - 1]) {
                first -= 1;
            }
        }
        let top = match &composer.open {
            None => first,
            Some(open) => {
                let nearest = (first.saturating_sub(composer.gap + 1)..first).rev();
                match nearest.into_iter().find(|row| open.is_match(rows[*row])) {
                    Some(open) => open,
                    None => continue,
                }
            }
        };
        let end = match &composer.close {
            None => prompt + 1,
            Some(close) => match rows[prompt + 1..].iter().position(|row| close.is_match(row)) {
                Some(place) => prompt + 2 + place,
                None => continue,
            },
        };
        let below = rows[end..].iter().filter(|row| !row.is_empty()).count();
        if below > composer.below * wrapped {
            return None;
        }
        let above = &rows[..top];
        return Some(Live {
            status: last_block(above),
            footer: &rows[end..],
            prompt,
            inside: &rows[first..=prompt],
            above,
        });
    }
    None
}

/// The last rows without a blank one between them. What stands at the right says nothing of work: it is passed over.
fn last_block<'a>(rows: &'a [&'a str]) -> &'a [&'a str] {
    let is_aside = |row: &str| row.bytes().take(ASIDE).filter(|byte| *byte == b' ').count() == ASIDE;
    let Some(last) = rows.iter().rposition(|row| !row.is_empty() && !is_aside(row)) else { return &[] };
    let first = rows[..=last].iter().rposition(|row| row.is_empty()).map_or(0, |blank| blank + 1);
    &rows[first.max((last + 1).saturating_sub(STATUS_ROWS))..=last]
}

/// The rows of the box at the bottom, without its frame; rows that are nothing but frame are left out. `▔` is kept: it
/// tells boxes apart.
pub(super) fn boxed<'a>(rows: &[&'a str]) -> Vec<&'a str> {
    let inner = |row: &'a str| row.trim_matches(|letter| is_blank(letter) || FRAME.contains(&letter));
    let is_line = |row: &str| {
        row.chars().all(|letter| matches!(letter, '\u{2500}'..='\u{2593}' | '\u{2595}'..='\u{259f}' | ' '))
    };
    let mut inside: Vec<&str> =
        rows.iter().rev().map(|row| inner(row)).filter(|row| !is_line(row)).take(BOX_ROWS).collect();
    inside.reverse();
    inside
}

/// A row as it stands; in a narrow pane also with the rows that may be its rest, joined with and without a blank.
pub(super) fn readings<'a>(rows: &[&'a str], row: usize, narrow: bool) -> Vec<Cow<'a, str>> {
    let mut all = vec![Cow::Borrowed(rows[row])];
    if narrow {
        // A row that begins with a sign of its own is no rest of the one above.
        let is_rest = |row: &&&str| {
            row.chars().next().is_none_or(|letter| {
                letter.is_alphanumeric()
                    || letter.is_whitespace()
                    || letter.is_ascii_punctuation()
                    || matches!(letter, '·' | '↓' | '↑' | '…')
            })
        };
        let rest = rows[row + 1..].iter().take_while(is_rest).count();
        for count in 2..=JOINED.min(rest + 1) {
            let part = &rows[row..row + count];
            all.push(part.concat().into());
            all.push(part.iter().map(|row| row.trim()).collect::<Vec<_>>().join(" ").into());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_dropped_and_frames_are_taken_off() {
        assert_eq!(rows("a  \n\n b \u{a0}\n   \n\n"), ["a", "", " b"]);
        let text = "\u{256d}\u{2500}\u{2500}\u{256e}\n\u{2502} \u{2502} hi \u{2502} \u{2502}\n\u{2570}\u{2500}\u{2500}\u{256f}";
        assert_eq!(boxed(&rows(text)), ["hi"]);
    }

    #[test]
    fn a_narrow_pane_is_read_across_its_rows() {
        let rows = ["* Tinkering (48s esc to inter", "rupt)", "x"];
        assert_eq!(readings(&rows, 0, false), [rows[0]]);
        assert_eq!(readings(&["* a", "● b"], 0, true), ["* a"], "the next entry");
        assert!(readings(&rows, 0, true).contains(&Cow::from("* Tinkering (48s esc to interrupt)")));
    }

    #[test]
    fn the_last_block_ends_at_a_blank_row() {
        assert_eq!(last_block(&["a", "", "b", "c", "", ""]), ["b", "c"]);
        let hint = format!("{:40}a hint", "");
        assert_eq!(last_block(&["a", "", "b", "c", "", &hint]), ["b", "c"]);
        assert!(last_block(&["", ""]).is_empty());
    }
}
