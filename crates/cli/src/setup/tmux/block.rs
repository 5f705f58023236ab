//! Our block in a tmux configuration: its text, and putting it into a file and taking it out again. Pure, and by bytes:
//! what is not ours stays as it is, in whatever encoding.

use std::ops::Range;

use super::keys::Keys;

/// First line of the block.
const BEGIN: &str = "# >>> herdbook >>>";
/// Last line of it.
const END: &str = "# <<< herdbook <<<";
/// Stands in the block of a file that was not there before.
const MADE: &str = "# The file was made by herdbook.";
/// Stands in the block when the line before it had no end.
const ENDED: &str = "# The end of the line before is herdbook's.";
/// Begins the line that names the keys that were asked for.
const KEYS: &str = "# Keys: ";

/// The option that shows the segment, as it stands in `status-right`.
pub const SEGMENT: &str = "#{E:@herdbook_status}";

/// Why a configuration is not touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A mark without the other.
    #[error("line {line}: '{mark}' stands alone: take out what is left of the herdbook block by hand")]
    Alone {
        /// Line, from 1.
        line: usize,
        /// The mark.
        mark: &'static str,
    },
    /// More than one block.
    #[error("line {line}: a second herdbook block: take one of them out by hand")]
    Second {
        /// Line, from 1.
        line: usize,
    },
    /// The last line goes on after the end of the file.
    #[error("line {line}: the last line ends in a backslash, so it would swallow ours: finish it")]
    Unfinished {
        /// Line, from 1.
        line: usize,
    },
}

/// The commands for a running server, without marks.
pub fn commands(program: &str, keys: &Keys) -> String {
    let mut text = format!("set-option -g @herdbook_program {}\n", quoted(program));
    text.push_str("set-option -g @herdbook_status ' #(#{q:@herdbook_program} status --format tmux)'\n");
    for (verb, key) in keys.bound() {
        text.push_str(&format!("bind-key -T prefix {} run-shell -b '{}'\n", key_word(key), verb.shell()));
    }
    // Each stays right when the file is read again, whether or not a line above sets the option anew.
    text.push_str(&format!(
        "if-shell -F '#{{?#{{m:*@herdbook_status*,#{{status-left}}#{{status-right}}}},0,1}}' \"set-option -ga status-right '{SEGMENT}'\"\n",
    ));
    text.push_str("if-shell -F '#{e|<:#{status-right-length},80}' 'set-option -g status-right-length 80'\n");
    text.push_str("if-shell -F '#{e|>:#{status-interval},2}' 'set-option -g status-interval 2'\n");
    text
}

/// Returns the configuration with our block: in the place of the old one, or at the end. There it goes as well when a
/// line behind it sets `status-right` anew, which would take our segment out. `asked` are the keys to remember, `bound`
/// those of them that are bound.
///
/// # Errors
/// See [`Damage`].
pub fn put(config: Option<&[u8]>, program: &str, asked: &Keys, bound: &Keys) -> Result<Vec<u8>, Damage> {
    let old = config.unwrap_or_default();
    let block = |made, ended| {
        let mut text = format!(
            "{BEGIN}\n# Written by `herdbook install tmux`, which replaces it; `herdbook uninstall tmux` takes it out.\n"
        );
        for (holds, line) in [(made, MADE), (ended, ENDED)] {
            if holds {
                text.push_str(&format!("{line}\n"));
            }
        }
        format!("{text}{KEYS}{asked}\n{}{END}\n", commands(program, bound)).into_bytes()
    };
    if let Some(found) = find(old)? {
        if sets_status(&old[found.end..])
            && let Left::Bytes(rest) = take(old)?
        {
            return put(Some(&rest), program, asked, bound);
        }
        let ours = &old[found.clone()];
        let text = block(has_line(ours, MADE), has_line(ours, ENDED));
        return Ok([&old[..found.start], &text, &old[found.end..]].concat());
    }
    let last = old.strip_suffix(b"\n").unwrap_or(old);
    if last.ends_with(b"\\") {
        return Err(Damage::Unfinished { line: line_of(old, last.len()) });
    }
    let ended = !old.is_empty() && !old.ends_with(b"\n");
    let line_end: &[u8] = if ended { b"\n" } else { b"" };
    Ok([old, line_end, &block(config.is_none(), ended)].concat())
}

/// What is left of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// There was no block.
    Same,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing: the file was made for the block.
    Nothing,
}

/// Takes our block out.
///
/// # Errors
/// See [`Damage`].
pub fn take(config: &[u8]) -> Result<Left, Damage> {
    let Some(found) = find(config)? else { return Ok(Left::Same) };
    let (mut before, ours, after) = (&config[..found.start], &config[found.clone()], &config[found.end..]);
    // What was written behind the block since then needs the line end.
    if has_line(ours, ENDED) && after.is_empty() {
        before = before.strip_suffix(b"\n").unwrap_or(before);
    }
    let left = [before, after].concat();
    Ok(if left.is_empty() && has_line(ours, MADE) { Left::Nothing } else { Left::Bytes(left) })
}

/// Returns the keys that the block in this configuration was asked for.
pub fn keys(config: &[u8]) -> Option<Keys> {
    let ours = &config[find(config).ok()??];
    let line = ours.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(KEYS.as_bytes()))?;
    std::str::from_utf8(line).ok()?.trim_end().parse().ok()
}

/// Finds our block, whole lines of it.
///
/// # Errors
/// There are marks, but not one pair of them.
pub fn find(config: &[u8]) -> Result<Option<Range<usize>>, Damage> {
    let (mut begin, mut found, mut start) = (None, None, 0);
    for (place, line) in config.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let end = start + line.len();
        if line.trim_ascii() == BEGIN.as_bytes() {
            if found.is_some() {
                return Err(Damage::Second { line: place + 1 });
            }
            if let Some((_, line)) = begin.replace((start, place + 1)) {
                return Err(Damage::Alone { line, mark: BEGIN });
            }
        } else if line.trim_ascii() == END.as_bytes() {
            match begin.take() {
                Some((start, _)) => found = Some(start..end),
                None => return Err(Damage::Alone { line: place + 1, mark: END }),
            }
        }
        start = end;
    }
    match begin {
        Some((_, line)) => Err(Damage::Alone { line, mark: BEGIN }),
        None => Ok(found),
    }
}

/// True when a line sets `status-right` to something without our segment, and does not only add to it.
fn sets_status(config: &[u8]) -> bool {
    config.split(|byte| *byte == b'\n').any(|line| {
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace();
        let is_set = matches!(words.next(), Some("set" | "set-option"));
        let (flags, rest): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('-'));
        is_set
            && !line.contains("@herdbook_status")
            && rest.first() == Some(&"status-right")
            && !flags.first().is_some_and(|flags| flags.contains('a'))
    })
}

fn has_line(block: &[u8], wanted: &str) -> bool {
    block.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == wanted.as_bytes())
}

fn line_of(config: &[u8], at: usize) -> usize {
    config[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Quotes a text for a tmux configuration.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\' | '$') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

/// A key as a word of the configuration: bare where it can be, so that people recognise it.
pub fn key_word(key: &str) -> String {
    let is_bare = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_bare { key.to_owned() } else { quoted(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_default(config: Option<&[u8]>) -> Vec<u8> {
        put(config, "/usr/bin/herdbook", &Keys::default(), &Keys::default()).unwrap()
    }

    #[test]
    fn the_block_is_what_the_manual_shows() {
        let text = String::from_utf8(put_default(Some(b""))).unwrap();
        assert_eq!(
            text,
            r##"# >>> herdbook >>>
# Written by `herdbook install tmux`, which replaces it; `herdbook uninstall tmux` takes it out.
# Keys: next=Tab,skip=S,popup=g,return=B
set-option -g @herdbook_program "/usr/bin/herdbook"
set-option -g @herdbook_status ' #(#{q:@herdbook_program} status --format tmux)'
bind-key -T prefix Tab run-shell -b '#{q:@herdbook_program} next --client #{q:client_tty} >/dev/null; case $? in 126|127) echo cannot run #{q:@herdbook_program}; esac'
bind-key -T prefix S run-shell -b '#{q:@herdbook_program} skip >/dev/null; #{q:@herdbook_program} next --client #{q:client_tty} >/dev/null; case $? in 126|127) echo cannot run #{q:@herdbook_program}; esac'
bind-key -T prefix g run-shell -b '#{q:@herdbook_program} popup --open --client #{q:client_tty} >/dev/null; case $? in 126|127) echo cannot run #{q:@herdbook_program}; esac'
bind-key -T prefix B run-shell -b '#{q:@herdbook_program} return --client #{q:client_tty} >/dev/null; case $? in 126|127) echo cannot run #{q:@herdbook_program}; esac'
if-shell -F '#{?#{m:*@herdbook_status*,#{status-left}#{status-right}},0,1}' "set-option -ga status-right '#{E:@herdbook_status}'"
if-shell -F '#{e|<:#{status-right-length},80}' 'set-option -g status-right-length 80'
if-shell -F '#{e|>:#{status-interval},2}' 'set-option -g status-interval 2'
# <<< herdbook <<<
"##
        );
    }

    #[test]
    fn whatever_stood_there_comes_back_to_the_byte() {
        for config in [
            &b""[..],
            b"set -g mouse on\n",
            b"set -g mouse on",
            b"\n\n",
            b"set -g mouse on\r\n",
            b"# \xff\xfe caf\xe9\n",
        ] {
            let with = put_default(Some(config));
            assert!(with.starts_with(config));
            assert_eq!(put_default(Some(&with)), with, "a second time changes nothing");
            assert_eq!(take(&with), Ok(Left::Bytes(config.to_vec())));
        }
        assert_eq!(take(&put_default(None)), Ok(Left::Nothing));
        assert_eq!(take(b"set -g mouse on\n"), Ok(Left::Same));
    }

    #[test]
    fn a_block_is_replaced_where_it_stands_and_remembers() {
        let mut config = put_default(Some(b"set -g mouse on"));
        config.extend_from_slice(b"bind r source ~/.tmux.conf\n");
        let asked: Keys = "next=Space,popup=none".parse().unwrap();
        let mut bound = asked.clone();
        bound.drop(super::super::keys::Verb::Skip);
        let new = put(Some(&config), "/opt/h b/herd\"book$", &asked, &bound).unwrap();
        let text = String::from_utf8(new.clone()).unwrap();
        assert!(text.starts_with("set -g mouse on\n# >>> herdbook >>>\n"), "{text}");
        assert!(text.ends_with("# <<< herdbook <<<\nbind r source ~/.tmux.conf\n"), "{text}");
        assert!(text.contains("@herdbook_program \"/opt/h b/herd\\\"book\\$\"\n"), "{text}");
        assert!(text.contains("bind-key -T prefix Space ") && !text.contains("popup --open"), "{text}");
        assert!(!text.contains("herdbook_program} skip"), "{text}");
        assert_eq!(keys(&new), Some(asked));
        // The line before got its end from us; what follows needs it now.
        assert_eq!(take(&new), Ok(Left::Bytes(b"set -g mouse on\nbind r source ~/.tmux.conf\n".to_vec())));
        assert_eq!(key_word(";"), "\";\"");
    }

    #[test]
    fn a_block_goes_behind_what_would_take_its_segment_out() {
        let block = String::from_utf8(put_default(Some(b""))).unwrap();
        let moved = |before: &str, after: &str| {
            let new = put_default(Some(format!("{before}{block}{after}").as_bytes()));
            let text = String::from_utf8(new.clone()).unwrap();
            assert_eq!(put_default(Some(&new)), new, "a second time changes nothing");
            assert_eq!(take(&new), Ok(Left::Bytes(format!("{before}{after}").into_bytes())));
            text == format!("{before}{after}{block}")
        };
        assert!(moved("set -g mouse on\n", "set -g status-right 'mine -a'\nbind r x\n"));
        assert!(moved("", "  set-option -gq status-right \"\"\n"));
        for after in [
            "set -ga status-right x\n",
            "set -g status-right-length 9\n",
            "# set -g status-right x\n",
            "set -g status-right '#{E:@herdbook_status}'\n",
            "",
        ] {
            assert!(!moved("set -g status-right x\n", after) || after.is_empty(), "{after}");
        }
    }

    #[test]
    fn damaged_marks_are_refused_by_line() {
        let alone = |line, mark| Err(Damage::Alone { line, mark });
        assert_eq!(find(b"a\n# >>> herdbook >>>\n"), alone(2, BEGIN));
        assert_eq!(find(b"a\nb\n# <<< herdbook <<<\n"), alone(3, END));
        let block = "# >>> herdbook >>>\n# <<< herdbook <<<\n";
        assert_eq!(find(format!("{block}{block}").as_bytes()), Err(Damage::Second { line: 3 }));
        assert_eq!(find(format!("# >>> herdbook >>>\n{block}").as_bytes()), alone(1, BEGIN));
        let unfinished = put(Some(b"a\nbind x \\\n"), "/x", &Keys::default(), &Keys::default());
        assert_eq!(unfinished, Err(Damage::Unfinished { line: 2 }));
    }
}
