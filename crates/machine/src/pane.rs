//! tmux ids and tmux's answers about panes (field cases F-066, F-068, F-070).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Whether a text is a pane id, `%7`. Nothing else ever reaches a `-t` of ours (F-070).
pub fn is_pane_id(text: &str) -> bool {
    is_id(text, '%')
}

/// Whether a text is a window id, `@4`.
pub fn is_window_id(text: &str) -> bool {
    is_id(text, '@')
}

/// Whether a text is a tmux session id, `$1`.
pub fn is_session_id(text: &str) -> bool {
    is_id(text, '$')
}

fn is_id(text: &str, sign: char) -> bool {
    text.strip_prefix(sign)
        .is_some_and(|number| (1..=10).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()))
}

/// What is known about a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PaneState {
    /// tmux lists it.
    Exists,
    /// tmux lists panes, and it is not among them; or the server is not there.
    Gone,
    /// tmux gave no answer that could be believed.
    Unknown,
    /// What was asked for is not a pane id.
    Refused,
}

/// What `tmux list-panes -a -F '#{pane_id}'` answered.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ListAnswer {
    /// Standard output.
    #[serde(default)]
    pub list: String,
    /// Exit code; none if it gave no answer.
    pub exit: Option<i32>,
    /// Standard error.
    #[serde(default)]
    pub stderr: String,
}

/// Tells from a listing whether a pane exists. Membership alone counts: tmux succeeds for panes that are not there and
/// answers about others where a target is qualified (F-066).
pub fn pane_state(ask: &str, answer: &ListAnswer) -> PaneState {
    if !is_pane_id(ask) {
        return PaneState::Refused;
    }
    match answer.exit {
        Some(0) => {
            let mut listed = answer.list.lines().filter(|line| is_pane_id(line)).peekable();
            if listed.peek().is_none() {
                // A server without panes does not live, so an empty list is no answer.
                PaneState::Unknown
            } else if listed.any(|line| line == ask) {
                PaneState::Exists
            } else {
                PaneState::Gone
            }
        }
        Some(_) if says_no_server(&answer.stderr) => PaneState::Gone,
        _ => PaneState::Unknown,
    }
}

/// Whether tmux says that nobody serves the socket. `lost server` and refused permission are not that.
pub(crate) fn says_no_server(stderr: &str) -> bool {
    stderr.contains("no server running on")
        || (stderr.contains("error connecting to")
            && (stderr.contains("No such file or directory") || stderr.contains("Connection refused")))
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A pid, a time, a flag.
    Number(u64),
    /// Anything else.
    Text(String),
}

/// Rows of a listing, and what could not be read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ParsedRows {
    /// One map per row: field name to value.
    pub rows: Vec<BTreeMap<String, FieldValue>>,
    /// One message per line that was no row. Lines without any row are an error, never "no panes" (F-068).
    pub errors: Vec<String>,
}

/// Reads the answer to `-F` with these `fields`, joined by `separator`.
///
/// The separator is accepted raw and in the octal form that some versions of tmux print it in (`\037`). The last field
/// takes the rest of its line. A field whose name ends in `_id` must be an id, one that names a pid, a time or a flag
/// must be a number: what was mangled on the way fails there and is reported.
pub fn parse_panes(fields: &[&str], separator: &str, text: &str) -> ParsedRows {
    let escaped: String = separator.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let mut parsed = ParsedRows::default();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let separator = if line.contains(separator) { separator } else { &escaped };
        match parse_row(fields, separator, line) {
            Ok(row) => parsed.rows.push(row),
            Err(why) => parsed.errors.push(format!("line {}: {why}", index + 1)),
        }
    }
    parsed
}

fn parse_row(fields: &[&str], separator: &str, line: &str) -> Result<BTreeMap<String, FieldValue>, String> {
    let values: Vec<&str> = line.splitn(fields.len(), separator).collect();
    if values.len() != fields.len() {
        return Err(format!("{} fields instead of {}", values.len(), fields.len()));
    }
    let mut row = BTreeMap::new();
    for (field, value) in fields.iter().zip(values) {
        let value = if is_numeric(field) {
            // tmux prints nothing for a flag that is off in some versions.
            let number = if value.is_empty() { Ok(0) } else { value.parse() };
            FieldValue::Number(number.map_err(|_| format!("field {field} is not a number"))?)
        } else {
            let fits = match *field {
                "pane_id" => is_pane_id(value),
                "window_id" => is_window_id(value),
                "session_id" => is_session_id(value),
                _ => true,
            };
            if !fits {
                return Err(format!("field {field} is not an id"));
            }
            FieldValue::Text(value.to_owned())
        };
        row.insert((*field).to_owned(), value);
    }
    Ok(row)
}

fn is_numeric(field: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        "_pid",
        "_active",
        "_activity",
        "_attached",
        "_dead",
        "_in_mode",
        "_created",
        "_control_mode",
        "_width",
        "_height",
        "_size",
    ];
    matches!(field, "pid" | "start_time" | "cursor_x" | "cursor_y")
        || ENDINGS.iter().any(|ending| field.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_ids() {
        for text in ["%0", "%4294967295"] {
            assert!(is_pane_id(text), "{text}");
        }
        for text in ["", "%", "%1 ", "%-1", "1", "@1", "=demo:%1", "%1;kill-server", "%12345678901"] {
            assert!(!is_pane_id(text), "{text}");
        }
    }

    #[test]
    fn a_refused_connection_is_a_dead_server_and_a_refused_permission_is_not() {
        let answer = |stderr: &str| ListAnswer { exit: Some(1), stderr: stderr.into(), ..Default::default() };
        let refused = answer("error connecting to /tmp/s (Connection refused)");
        assert_eq!(pane_state("%1", &refused), PaneState::Gone);
        let denied = answer("error connecting to /tmp/s (Permission denied)");
        assert_eq!(pane_state("%1", &denied), PaneState::Unknown);
    }

    #[test]
    fn one_mangled_line_is_reported_and_the_others_stay() {
        let parsed =
            parse_panes(&["pane_id", "pane_pid", "pane_title"], "\u{1f}", "%0\u{1f}12\u{1f}a\u{1f}b\nx\n");
        assert_eq!(parsed.rows.len(), 1);
        assert_eq!(parsed.rows[0]["pane_title"], FieldValue::Text("a\u{1f}b".into()));
        assert_eq!(parsed.errors, ["line 2: 1 fields instead of 3"]);
    }
}
