//! The picker as lines. Pure; all foreign text goes through [`Line::text`], which cleans it.

use herdbook_redact::clean_text;
use unicode_width::UnicodeWidthChar as _;

use super::picker::Picker;
use crate::commands::status::segment;
use crate::listing::short_cwd;
use crate::model::{Row, is_resting};
use crate::printer::{Line, Style};
use crate::text::{age, brief};

/// Columns of the list at most: number, host, kind, age.
const COLUMNS: [usize; 4] = [3, 8, 12, 4];
/// Narrower, the directory is left out.
const CWD_WIDTH: usize = 60;
/// Narrower, the host is left out.
const HOST_WIDTH: usize = 50;
/// Narrower, the kind is left out: what is asked says more.
const KIND_WIDTH: usize = 40;
/// Narrower, only its last folder is shown.
const PATH_WIDTH: usize = 100;
/// Columns of a directory.
const CWD_COLUMNS: usize = 24;
/// Columns of its last folder.
const FOLDER_COLUMNS: usize = 14;
/// Fewer rows have no room for a heading.
const HEADING_HEIGHT: usize = 6;
/// Fewer rows have no room for what is asked.
const ASK_HEIGHT: usize = 10;

/// Returns the lines of a screen of that size, at most `height` of them.
pub fn lines(picker: &mut Picker, width: usize, height: usize, now_ms: u64) -> Vec<Line> {
    let ask = if height < ASK_HEIGHT { Vec::new() } else { ask(picker, width, height / 3) };
    let heads = usize::from(height >= HEADING_HEIGHT);
    let feet = usize::from(height >= 2);
    let room = height.saturating_sub(ask.len() + heads + feet).max(1);
    let mut lines = Vec::new();
    if heads > 0 {
        lines.push(heading(picker, now_ms));
    }
    let top = picker.scroll(room);
    let place = picker.place();
    for (at, row) in picker.visible().iter().enumerate().skip(top).take(room) {
        lines.push(entry(row, picker.home(), place == Some(at), width, now_ms));
    }
    if picker.visible().is_empty() {
        lines.push(Line::new().own("  ").styled(picker.empty_words(), Style::Dim));
    }
    while lines.len() < heads + room {
        lines.push(Line::new());
    }
    lines.extend(ask);
    if feet > 0 {
        lines.push(foot(picker));
    }
    lines.truncate(height);
    lines
}

/// The name, and the same words as in the status line.
fn heading(picker: &Picker, now_ms: u64) -> Line {
    let words = picker.queue().map(|queue| segment(queue, now_ms)).unwrap_or_default();
    Line::new().styled("herdbook", Style::Bold).own("  ").text(&words, Style::Plain)
}

/// The last line: the filter while it is typed, what is to be said, or the keys.
fn foot(picker: &Picker) -> Line {
    match (picker.said(), picker.typed()) {
        (Some((words, failed)), _) => {
            Line::new().text(words, if failed { Style::Alarm } else { Style::Name })
        }
        (None, Some(typed)) => Line::new().styled("/", Style::Bold).text(typed, Style::Bold).own("▏"),
        (None, None) => Line::new().styled("1-9 ⏎ go  ↑↓ jk choose  / filter  s skip  q leave", Style::Dim),
    }
}

fn entry(row: &Row, home: Option<&str>, is_chosen: bool, width: usize, now_ms: u64) -> Line {
    let item = row.entry.as_ref();
    let is_later = item.is_some_and(|item| is_resting(item, now_ms));
    let style = |style| if item.is_none() || is_later { Style::Dim } else { style };
    let kind = match item {
        Some(item) if item.is_blocked() => (item.kind.as_str(), style(Style::Alarm)),
        Some(item) => (item.kind.as_str(), style(Style::Plain)),
        None => (row.session.state.as_str(), Style::Dim),
    };
    let number = row.number().map(|number| number.to_string()).unwrap_or_default();
    let age = age(now_ms.saturating_sub(row.since()));
    let mut line = if is_chosen { Line::new().styled("> ", Style::Bold) } else { Line::new().spaces(2) };
    let [number_columns, host_columns, kind_columns, age_columns] = COLUMNS;
    line = column(line, &number, style(Style::Bold), number_columns);
    if width >= HOST_WIDTH {
        line = column(line, &row.session.host, style(Style::Name), host_columns);
    }
    if width >= KIND_WIDTH {
        line = column(line, kind.0, kind.1, kind_columns);
    }
    line = column(line, &age, style(Style::Plain), age_columns);
    let cwd = short_cwd(&row.session.cwd, home);
    if width >= PATH_WIDTH {
        line = column(line, &cwd, Style::Dim, CWD_COLUMNS);
    } else if width >= CWD_WIDTH {
        line = column(line, cwd.rsplit('/').next().unwrap_or_default(), Style::Dim, FOLDER_COLUMNS);
    }
    let chosen = if is_chosen { Style::Bold } else { Style::Plain };
    let ask = item.map_or(row.session.message.as_str(), |item| item.ask.as_str());
    let later = if is_later { "later: " } else { "" };
    line.own(later).text(&brief(ask), style(chosen)).cut(width)
}

/// Adds a cell, filled up to its columns.
fn column(line: Line, text: &str, style: Style, columns: usize) -> Line {
    let cell = Line::new().text(text, style).cut(columns);
    let fill = columns.saturating_sub(cell.width()) + 1;
    line.join(cell).spaces(fill)
}

/// What the chosen one asks, below a rule: in at most so many lines.
fn ask(picker: &Picker, width: usize, height: usize) -> Vec<Line> {
    let Some(row) = picker.chosen_row() else { return Vec::new() };
    let item = row.entry.as_ref();
    let mut head = Line::new().text(row.key(), Style::Name);
    if let Some(pane) = row.pane() {
        let is_guess = row.is_pane_guess();
        head = head.own("  pane ").text(&pane.pane, Style::Plain).own(if is_guess { "?" } else { "" });
    } else {
        head = head.own("  no pane known");
    }
    if !row.session.cwd.is_empty() {
        head = head.own("  ").text(&row.session.cwd, Style::Dim);
    }
    let mut lines = vec![Line::new().text(&"─".repeat(width), Style::Dim), head.cut(width)];
    let ask = item.map_or("", |item| item.ask.as_str());
    let message = item.map_or(row.session.message.as_str(), |item| item.last_message.as_str());
    // The ask is often the beginning of the message: then the message says it all.
    let is_told =
        message.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(ask.trim_end_matches('…'));
    let texts = if is_told && !message.is_empty() { vec![message] } else { vec![ask, message] };
    for text in texts {
        lines.extend(wrap(text, width).into_iter().map(|part| Line::new().text(&part, Style::Plain)));
    }
    if lines.len() > height {
        lines.truncate(height.saturating_sub(1));
        lines.push(Line::new().styled("…", Style::Dim));
    }
    lines
}

/// Breaks cleaned text into lines of at most `width` columns: at spaces, and inside words that are longer.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in clean_text(text).lines().filter(|line| !line.trim().is_empty()) {
        let (mut line, mut used) = (String::new(), 0);
        for word in paragraph.split_whitespace() {
            let columns: usize = word.chars().map(|letter| letter.width().unwrap_or(0)).sum();
            if used > 0 && used + 1 + columns > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            } else if used > 0 {
                line.push(' ');
                used += 1;
            }
            for letter in word.chars() {
                let columns = letter.width().unwrap_or(0);
                if used + columns > width && used > 0 {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
                line.push(letter);
                used += columns;
            }
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::popup::picker::Key;
    use crate::model::tests::row;

    fn picker() -> Picker {
        let mut rows = vec![row("claude-4f1d", 1), row("codex-019b", 2), row("gemini-7c", 0)];
        rows[0].session.cwd = "/home/dev/shop".into();
        if let Some(item) = &mut rows[0].entry {
            item.kind = "permission".into();
            item.reason = "permission".into();
            item.ask = "run rm -rf build?".into();
            item.last_message = "run rm -rf build?".into();
        }
        if let Some(item) = &mut rows[1].entry {
            item.ask = "done\u{1b}[2J: which next".into();
            item.last_message = "done\u{1b}[2J: which next\nfirst or second?".into();
        }
        let mut picker = Picker::new(Some("/home/dev".into()), None);
        picker.update(rows);
        picker
    }

    fn shown(picker: &mut Picker, width: usize, height: usize) -> Vec<String> {
        lines(picker, width, height, 181_000).iter().map(|line| line.render(false, Some(width))).collect()
    }

    #[test]
    fn a_wide_screen_shows_all_columns_and_what_is_asked() {
        let screen = shown(&mut picker(), 80, 14);
        assert_eq!(
            screen,
            [
                "herdbook  ⚠ 2 · 1 blocked",
                "> 1   claude   permission   3m   shop           run rm -rf build?",
                "  2   codex    turn_end     3m                  done: which next",
                "      gemini   working      3m",
                "",
                "",
                "",
                "",
                "",
                "",
                &"─".repeat(80),
                "claude-4f1d  no pane known  /home/dev/shop",
                "run rm -rf build?",
                "1-9 ⏎ go  ↑↓ jk choose  / filter  s skip  q leave",
            ]
        );
    }

    #[test]
    fn a_wider_screen_has_room_for_paths() {
        let row = &shown(&mut picker(), 100, 14)[1];
        assert_eq!(row, "> 1   claude   permission   3m   ~/shop                   run rm -rf build?");
    }

    #[test]
    fn a_message_of_several_lines_is_wrapped_and_clean() {
        let mut picker = picker();
        picker.press(Key::Down);
        let screen = shown(&mut picker, 20, 15);
        assert_eq!(screen[2], "> 2   3m   done: wh…");
        assert_eq!(
            screen[10..14],
            ["────────────────────", "codex-019b  no pane…", "done: which next", "first or second?"]
        );
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("漢字漢字 a\n\n b", 5), ["漢字", "漢字", "a", "b"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    }

    #[test]
    fn any_size_is_drawn_and_shows_the_choice() {
        for height in 1..20 {
            for width in [1, 2, 5, 20, 49, 50, 59, 60, 99, 100, 200] {
                let mut picker = picker();
                picker.press(Key::Down);
                let screen = shown(&mut picker, width, height);
                assert!(screen.len() <= height, "{width}x{height}");
                assert!(screen.iter().any(|line| line.starts_with('>') || width == 1), "{width}x{height}");
            }
        }
        let mut one = picker();
        assert_eq!(shown(&mut one, 80, 1).len(), 1);
        assert_eq!(shown(&mut Picker::new(None, None), 20, 3), ["  …", "", "1-9 ⏎ go  ↑↓ jk cho…"]);
    }

    #[test]
    fn the_last_line_is_the_filter_or_what_is_said() {
        let mut picker = picker();
        picker.press(Key::Char('/'));
        picker.press(Key::Char('z'));
        assert_eq!(shown(&mut picker, 80, 3), ["  no session fits the filter", "", "/z▏"]);
        picker.fail("the daemon is not running".into());
        assert_eq!(shown(&mut picker, 80, 3)[2], "the daemon is not running");
    }
}
