//! Small texts: times, numbers, ranges.

use herdbook_events::catalog::{DiffStats, LineRange};

/// How much of a text is told where it is not told whole, in characters.
const BRIEF: usize = 400;

/// Cuts a text and makes one line of it, with one blank between its words, unless it is told whole.
pub(super) fn brief(text: &str, full: bool) -> String {
    let text = text.trim();
    if full {
        return text.to_owned();
    }
    let mut cut = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == BRIEF {
            cut.push('…');
            break;
        }
        if !letter.is_whitespace() {
            cut.push(letter);
        } else if !cut.ends_with(' ') {
            cut.push(' ');
        }
    }
    cut
}

/// Cuts a line, unless it is told whole. What it is indented by stays.
pub(super) fn cut(line: &str, full: bool) -> String {
    let line = line.trim_end().replace('\t', "    ");
    match line.char_indices().nth(BRIEF) {
        Some((at, _)) if !full => format!("{}…", &line[..at]),
        _ => line,
    }
}

/// Prints how long something took: `35 ms`, `5.2 s`, `1m30s`, `2h5m`.
pub(super) fn lasting(ms: u64) -> String {
    let seconds = ms.saturating_add(500) / 1_000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..59_950 => {
            let tenths = (ms + 50) / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        _ if seconds < 3_600 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Prints a number of tokens: `980`, `12k`, `1.8M`.
pub(super) fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => {
            let tenths = count.saturating_add(50_000) / 100_000;
            format!("{}.{}M", tenths / 10, tenths % 10)
        }
    }
}

/// Prints a number with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix("match")) {
        (1, _) => format!("1 {noun}"),
        (_, Some(_)) => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

/// Prints lines that were added and removed.
pub(super) fn diff_stats(stats: &DiffStats) -> String {
    format!("+{} -{}", stats.added, stats.removed)
}

/// Prints a path, and which of its lines.
pub(super) fn place(path: &str, range: Option<&LineRange>) -> String {
    range.map_or(path.to_owned(), |range| format!("{path}:{}-{}", range.start.0, range.end.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_units_that_fit() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (5_249, "5.2 s"),
            (59_949, "59.9 s"),
            (59_950, "1m0s"),
            (90_000, "1m30s"),
            (7_500_000, "2h5m"),
            (u64::MAX, "5124095576030h25m"),
        ] {
            assert_eq!(lasting(ms), text);
        }
    }

    #[test]
    fn tokens_are_rounded_where_there_are_many() {
        for (count, text) in [
            (0, "0"),
            (9_999, "9999"),
            (12_499, "12k"),
            (180_000, "180k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (1_849_999, "1.8M"),
            (u64::MAX, "18446744073709.5M"),
        ] {
            assert_eq!(tokens(count), text);
        }
    }

    #[test]
    fn nouns_have_their_plural() {
        assert_eq!(
            (counted(1, "match"), counted(2, "match")),
            ("1 match".to_owned(), "2 matches".to_owned())
        );
        assert_eq!((counted(0, "file"), counted(1, "file")), ("0 files".to_owned(), "1 file".to_owned()));
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        assert_eq!(brief(" a\r\n\n\tb \n", false), "a b");
        assert_eq!(brief(" a\nb \n", true), "a\nb");
        let long = "é".repeat(BRIEF + 1);
        assert_eq!(brief(&long, false), format!("{}…", "é".repeat(BRIEF)));
        assert_eq!(brief(&long[2..], false), "é".repeat(BRIEF));
    }
}
