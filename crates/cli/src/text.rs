//! Small texts: ages, durations, numbers with their noun.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// Prints an age in its largest unit: `8s`, `12m`, `3h`, `5d`.
pub fn age(ms: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m")];
    for (unit, name) in UNITS {
        if ms >= unit {
            return format!("{}{name}", ms / unit);
        }
    }
    format!("{}s", ms / 1000)
}

/// Prints a time, to the nearest second, in its two largest units: `20s`, `1m30s`, `2h5m`, `3d4h`.
pub fn span(ms: u64) -> String {
    let seconds = ms.saturating_add(500) / 1_000;
    let units =
        [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(units.len() - 1);
    let [(count, unit), rest @ ..] = &units[first..] else { return String::new() };
    match rest.first().filter(|(count, _)| *count > 0) {
        Some((less, smaller)) => format!("{count}{unit}{less}{smaller}"),
        None => format!("{count}{unit}"),
    }
}

/// Prints a number with its noun: `1 event`, `37 events`.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Breaks words into lines of so many columns at least one word long; without a limit it is one line.
pub fn wrap(words: &str, columns: Option<usize>) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let Some(line) = lines.last_mut() else { continue };
        let is_full = columns.is_some_and(|columns| line.width() + 1 + word.width() > columns);
        match (line.is_empty(), is_full) {
            (true, _) => line.push_str(word),
            (false, true) => lines.push(word.to_owned()),
            (false, false) => {
                line.push(' ');
                line.push_str(word);
            }
        }
    }
    lines
}

/// Shortens what a tool call asks for a cell of a table: `Tool: Bash | Command: make` to `Bash: make`.
pub fn brief(message: &str) -> Cow<'_, str> {
    let message = message.trim_start();
    let Some(call) = message.strip_prefix("Tool: ") else { return message.into() };
    let Some((tool, about)) = call.split_once(" | ") else { return call.into() };
    let is_label = |word: &str| !word.is_empty() && word.chars().all(char::is_alphabetic);
    let about = about.split_once(": ").filter(|(word, _)| is_label(word)).map_or(about, |(_, rest)| rest);
    format!("{tool}: {about}").into()
}

/// Says how many sessions are in cooldown, if any: the end of a sentence that nobody waits.
pub fn resting_words(count: u64) -> String {
    if count == 0 { String::new() } else { format!("; {} skipped or snoozed", counted(count, "session")) }
}

/// Why a duration was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no duration: write a number and s, m, h or d, for example 90s, 20m, 1h30m")]
pub struct BadDuration(String);

/// Reads a duration such as `90s`, `20m` or `1h30m`, and returns milliseconds.
///
/// # Errors
/// Another text, zero, or more than a year.
pub fn parse_duration(text: &str) -> Result<u64, BadDuration> {
    const YEAR_MS: u64 = 366 * 86_400_000;
    let bad = || BadDuration(text.to_owned());
    let mut total = 0u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| bad())?;
        let mut letters = tail.chars();
        let unit = match letters.next() {
            Some('s') => 1_000,
            Some('m') => 60_000,
            Some('h') => 3_600_000,
            Some('d') => 86_400_000,
            _ => return Err(bad()),
        };
        total = number.checked_mul(unit).and_then(|part| total.checked_add(part)).ok_or_else(bad)?;
        rest = letters.as_str();
    }
    if total == 0 || total > YEAR_MS { Err(bad()) } else { Ok(total) }
}

/// Writes a word as a shell reads it back: in single quotes where it has other letters than names and paths have.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+=,".contains(letter);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_word_back() {
        for (word, written) in [
            ("run-1", "run-1"),
            ("/srv/é.jsonl", "/srv/é.jsonl"),
            ("a b", "'a b'"),
            ("it's $x", r"'it'\''s $x'"),
            ("", "''"),
            ("-v", "'-v'"),
        ] {
            assert_eq!(shell_word(word), written);
        }
    }

    #[test]
    fn ages_use_the_largest_unit() {
        for (ms, text) in [
            (0, "0s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (3_599_999, "59m"),
            (3_600_000, "1h"),
            (172_800_000, "2d"),
        ] {
            assert_eq!(age(ms), text);
        }
    }

    #[test]
    fn a_cell_tells_the_tool_and_what_it_asks_for() {
        for (message, cell) in [
            ("Tool: Bash | Command: touch made.txt", "Bash: touch made.txt"),
            ("\n Tool: ask_user | Question: Which: a or b?", "ask_user: Which: a or b?"),
            ("Tool: Confirm Web Fetch | read it: now", "Confirm Web Fetch: read it: now"),
            ("Tool: exit_plan_mode | {\"plan\": 1}", "exit_plan_mode: {\"plan\": 1}"),
            ("Tool: mcp_look.up", "mcp_look.up"),
            ("Which test first? Tool: none | Command: x", "Which test first? Tool: none | Command: x"),
            ("", ""),
        ] {
            assert_eq!(brief(message), cell);
        }
    }

    #[test]
    fn times_have_their_two_largest_units() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (90, "1m30s"),
            (3_600, "1h"),
            (3_659, "1h"),
            (7_500, "2h5m"),
            (86_399, "23h59m"),
            (273_600, "3d4h"),
            (86_460, "1d"),
        ] {
            assert_eq!(
                (span(seconds * 1_000 + 499), span((seconds * 1_000).saturating_sub(500))),
                (text.to_owned(), text.to_owned())
            );
        }
    }

    #[test]
    fn words_are_broken_between_them_and_never_within() {
        assert_eq!(wrap("a prompt, a call, a question", Some(12)), ["a prompt, a", "call, a", "question"]);
        assert_eq!(wrap("unbreakable words", Some(3)), ["unbreakable", "words"]);
        assert_eq!(wrap("as long as it is", None), ["as long as it is"]);
        assert_eq!(wrap("", Some(8)), [""]);
    }

    #[test]
    fn durations_are_read_or_refused_by_name() {
        for (text, ms) in [("90s", 90_000), ("20m", 1_200_000), ("1h30m", 5_400_000), ("2d", 172_800_000)] {
            assert_eq!(parse_duration(text), Ok(ms));
        }
        for text in ["", "20", "m", "-5m", "5 m", "0s", "400d", "99999999999999999999s", "20x", "1h30"] {
            assert_eq!(parse_duration(text), Err(BadDuration(text.into())));
        }
    }
}
