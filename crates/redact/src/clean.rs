//! Foreign text on its way to a terminal, or into tmux (field cases F-107, F-108).

use unicode_width::UnicodeWidthChar as _;

/// Marks of zero width that may follow one character. Scripts in use need two or three; a pile of them is an attack on
/// the lines around.
const MOST_COMBINING: usize = 3;

/// An escape sequence that is longer than this is not taken for one: only its introducer is removed, and what it tried
/// to hide becomes visible.
const LONGEST_SEQUENCE: usize = 4096;

/// Columns of text that go into tmux at most; a status line is shorter.
const TMUX_COLUMNS: usize = 512;

/// Makes foreign text one safe line.
///
/// Whole escape sequences (CSI, OSC, DCS and their relatives, in 7-bit and 8-bit form) are removed; of unfinished ones
/// the introducer, so that they cannot eat what follows. Line ends and tabs become one space, other control characters
/// one `�` per run, bidirectional and zero-width controls nothing. Every sink that prints calls this, and measures
/// width after it.
pub fn clean_line(text: &str) -> String {
    clean(text, false)
}

/// Like [`clean_line`], but keeps line ends as `\n`, for sinks that show a message whole.
pub fn clean_text(text: &str) -> String {
    clean(text, true)
}

/// Cuts cleaned text to `columns` terminal columns; what was cut shows as `…`.
pub fn clip(text: &str, columns: usize) -> String {
    let width: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    if width <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > columns {
            break;
        }
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Makes foreign text safe to stand in a tmux option that is expanded with time codes (`status-right`): cleaned,
/// bounded, `#` and `%` doubled.
pub fn tmux_option_text(text: &str) -> String {
    tmux_job_text(text).replace('%', "%%")
}

/// Makes foreign text safe to be printed by a job in a tmux status line: cleaned, bounded, `#` doubled. tmux expands
/// formats and styles in a job's output, but no time codes.
pub fn tmux_job_text(text: &str) -> String {
    clip(&clean_line(text), TMUX_COLUMNS).replace('#', "##")
}

fn clean(text: &str, keep_lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut combining = 0;
    // What the last character put out stands for, so that runs become one.
    let mut last = Put::Text;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = sequence(rest) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let put = match c {
            '\n' | '\u{2028}' | '\u{2029}' | '\u{85}' if keep_lines => Put::Line,
            '\r' if keep_lines && rest.starts_with('\n') => continue,
            '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Put::Blank,
            // An escape or C1 introducer that begins nothing whole.
            '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}'..='\u{9f}' => continue,
            _ if c.is_control() => Put::Control,
            _ if is_invisible(c) => continue,
            _ => Put::Text,
        };
        match put {
            Put::Line => out.push('\n'),
            Put::Blank if last == Put::Blank => {}
            Put::Blank => out.push(' '),
            Put::Control if last == Put::Control => {}
            Put::Control => out.push(char::REPLACEMENT_CHARACTER),
            Put::Text if c.width() == Some(0) => {
                combining += 1;
                if combining <= MOST_COMBINING {
                    out.push(c);
                }
            }
            Put::Text => out.push(c),
        }
        if c.width() != Some(0) {
            combining = 0;
        }
        last = put;
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Text,
    Blank,
    Line,
    Control,
}

/// Length of the escape sequence that the text begins with, if it is a whole one (ECMA-48).
fn sequence(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let first = chars.next()?;
    let (kind, head) = match first {
        '\u{1b}' => {
            let second = chars.next()?;
            (second, 1 + second.len_utf8())
        }
        '\u{9b}' => ('[', first.len_utf8()),
        '\u{9d}' => (']', first.len_utf8()),
        '\u{90}' => ('P', first.len_utf8()),
        '\u{98}' => ('X', first.len_utf8()),
        '\u{9e}' => ('^', first.len_utf8()),
        '\u{9f}' => ('_', first.len_utf8()),
        '\u{9c}' => return Some(first.len_utf8()),
        _ => return None,
    };
    let body = &text[head..];
    match kind {
        '[' => {
            // Parameters and intermediates, then one final byte.
            let length =
                body.bytes().take(LONGEST_SEQUENCE).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            let last = body.as_bytes().get(length)?;
            matches!(last, 0x40..=0x7e).then_some(head + length + 1)
        }
        ']' | 'P' | 'X' | '^' | '_' => string_sequence(body, kind == ']').map(|length| head + length),
        // Two characters, or with intermediates before the last: charset, keypad, reset, string terminator.
        ' '..='/' => {
            let length =
                body.bytes().take(LONGEST_SEQUENCE).take_while(|byte| matches!(byte, 0x20..=0x2f)).count();
            let last = body.as_bytes().get(length)?;
            matches!(last, 0x30..=0x7e).then_some(head + length + 1)
        }
        '0'..='~' => Some(head),
        _ => None,
    }
}

/// Length of a control string with its terminator: ST in either form, or BEL for OSC. A string that runs over the end
/// of a line is unfinished: it may not eat the rows that follow. tmux doubles the escapes of what it passes through.
fn string_sequence(body: &str, bell_ends: bool) -> Option<usize> {
    let mut chars = body.char_indices().peekable();
    while let Some((index, c)) = chars.next() {
        if index > LONGEST_SEQUENCE {
            return None;
        }
        match c {
            '\u{7}' if bell_ends => return Some(index + 1),
            '\u{9c}' => return Some(index + c.len_utf8()),
            '\u{1b}' => match chars.peek() {
                Some((after, '\\')) => return Some(after + 1),
                Some((_, '\u{1b}')) => {
                    chars.next();
                }
                _ => return None,
            },
            // The end of the line, or the beginning of another sequence.
            '\n' | '\r' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => return None,
            _ => {}
        }
    }
    None
}

/// Characters that show nothing and change how others show: bidirectional controls, zero-width spaces and joiners,
/// tags, fillers.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_sequences_go_and_the_rest_of_the_line_stays() {
        for (text, expected) in [
            ("ok \u{1b}]52;c;eA==\u{7} end", "ok  end"),
            ("\u{1b}]8;;https://evil.example\u{1b}\\safe\u{1b}]8;;\u{1b}\\", "safe"),
            ("denied\u{1b}[1A\u{1b}[2KALLOWED", "deniedALLOWED"),
            ("a\u{9b}2Jb", "ab"),
            ("a\u{9d}52;c;eA==\u{9c}b", "ab"),
            ("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;eA==\u{7}\u{1b}\\x", "x"),
            ("\u{1b}c\u{1b}(Bz\u{1b}#8", "z"),
            ("before \u{1b}]2;never closed", "before ]2;never closed"),
            ("before \u{1b}]2;over\nthe line\u{7}", "before ]2;over the line�"),
            ("\u{1b}[31", "[31"),
            ("\u{1b}é", "é"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(clean_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn controls_become_visible_or_blank_and_runs_become_one() {
        for (text, expected) in [
            ("a\r\n\tb", "a b"),
            ("rm -r\u{8}\u{8}\u{8}ls", "rm -r�ls"),
            ("a\0b", "a�b"),
            ("user\u{202e} nimda\u{202c}", "user nimda"),
            ("x\u{e0041}y\u{200d}z", "xyz"),
            ("two  blanks stay ", "two  blanks stay "),
        ] {
            assert_eq!(clean_line(text), expected, "{text:?}");
        }
        assert_eq!(clean_text("a\r\nb\n\nc\rd"), "a\nb\n\nc d");
    }

    #[test]
    fn marks_pile_up_to_three() {
        let pile = format!("a{}b", "\u{301}".repeat(50));
        assert_eq!(clean_line(&pile), "a\u{301}\u{301}\u{301}b");
        // A Thai and a Vietnamese word are left alone.
        for word in ["ที่นี่", "ti\u{1ebf}\u{0323}ng"] {
            assert_eq!(clean_line(word), word);
        }
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdefg", 6), "abcde…");
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("abc", 0), "");
    }

    #[test]
    fn tmux_text_has_only_doubled_signs() {
        assert_eq!(tmux_option_text("#(touch X) %H #[bg=red]\u{1b}[31m"), "##(touch X) %%H ##[bg=red]");
        assert_eq!(tmux_job_text("#{pane_pid} %H ##"), "##{pane_pid} %H ####");
        assert_eq!(tmux_job_text(&"x".repeat(600)).chars().count(), 512);
    }
}
