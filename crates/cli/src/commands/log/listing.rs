//! The sessions that have a log.

use std::path::{Path, PathBuf};

use herdbook_events::catalog::Members;
use herdbook_log::{Glance, Reader, Sessions, glance};
use serde::Serialize;

use super::target::{folders, sessions};
use crate::clock::now_ms;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Style};
use crate::text::age;

/// Columns between two columns of the table.
const GAP: usize = 2;

/// Most columns that a key takes where somebody reads along, and fewest on a narrow terminal.
const KEY_COLUMNS: usize = 40;
const LEAST_KEY_COLUMNS: usize = 10;

/// Columns behind the key up to the state, which is to be seen on a narrow terminal, too.
const STATE_COLUMNS: usize = 30;

/// One log, for scripts.
#[derive(Debug, Serialize)]
struct Row {
    /// The session's key; absent where the first line cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The title that it began with, where it said one.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The seq of its last event.
    last_seq: u64,
    /// When that happened, Unix milliseconds.
    last_at: u64,
    /// How many bytes it takes.
    bytes: u64,
    state: State,
    /// Where it is.
    folder: PathBuf,
}

/// How a log is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// A process appends to it.
    Open,
    /// None does.
    Closed,
    /// A line of it is not what was written.
    Damaged,
}

#[derive(Serialize)]
struct Answer {
    logs: Vec<Row>,
}

/// Prints the list. `whole` reads each log to its end in search of damage.
///
/// # Errors
/// The state folder cannot be read, or stdout could not be written.
pub fn run(json: bool, whole: bool, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let sessions = sessions(&context.env)?;
    let mut logs: Vec<Row> =
        folders(&sessions)?.into_iter().filter_map(|folder| row(&sessions, folder, whole)).collect();
    logs.sort_by(|left, right| {
        right.last_at.cmp(&left.last_at).then_with(|| left.session_id.cmp(&right.session_id))
    });
    if json {
        context.printer.json(&Answer { logs })?;
    } else if logs.is_empty() {
        context.printer.say(&Line::new().own("no session has a log yet"));
    } else {
        print(&logs, context)?;
    }
    Ok(Exit::Ok)
}

/// Looks at one log. Nothing where nothing was written yet.
fn row(sessions: &Sessions, folder: PathBuf, whole: bool) -> Option<Row> {
    let found = glance(&folder).unwrap_or(Glance { is_damaged: true, ..Glance::default() });
    if found == (Glance { is_open: found.is_open, ..Glance::default() }) {
        return None;
    }
    let title = found.first.as_deref().and_then(title_of);
    // A folder under another name than its session's is found by nobody.
    let is_misplaced = found.session_id.as_ref().is_some_and(|key| sessions.folder(key) != folder);
    let is_damaged = found.is_damaged || is_misplaced || (whole && is_damaged_within(&folder));
    let state = match (is_damaged, found.is_open) {
        (true, _) => State::Damaged,
        (false, true) => State::Open,
        (false, false) => State::Closed,
    };
    let Glance { session_id, last_seq, last_ts_ms: last_at, bytes, .. } = found;
    Some(Row { session_id, title, last_seq, last_at, bytes, state, folder })
}

fn is_damaged_within(folder: &Path) -> bool {
    let mut reader = Reader::open(folder);
    let promised = reader.promised();
    reader.any(|line| line.is_err()) || reader.lost(promised).is_some()
}

/// The title that a log begins with.
fn title_of(line: &str) -> Option<String> {
    let members = Members::read(line).ok()?;
    members.read_as::<String>("type").filter(|name| name == "session.started")?;
    let payload = members.get("payload")?;
    Members::read(payload.get()).ok()?.read_as("title")
}

fn print(logs: &[Row], context: &mut Context<'_>) -> Result<(), Problem> {
    let now = now_ms();
    let header =
        ["SESSION", "SEQ", "LAST", "SIZE", "STATE", "TITLE"].map(|name| Line::new().styled(name, Style::Dim));
    let mut table = vec![header];
    let room = context.printer.width().map_or(KEY_COLUMNS, |width| width.saturating_sub(STATE_COLUMNS));
    let key_columns = room.clamp(LEAST_KEY_COLUMNS, KEY_COLUMNS);
    for log in logs {
        let folder = log.folder.file_name().unwrap_or_default().to_string_lossy();
        let key = match &log.session_id {
            Some(key) => Line::new().text(key, Style::Name),
            None => Line::new().own("? in ").text(&folder, Style::Plain),
        };
        let state = match log.state {
            State::Open => Line::new().styled("open", Style::Good),
            State::Closed => Line::new().styled("closed", Style::Dim),
            State::Damaged => Line::new().styled("damaged", Style::Alarm),
        };
        let plain = |text: &str| Line::new().text(text, Style::Plain);
        table.push([
            if context.printer.is_read() { key.cut(key_columns) } else { key },
            plain(&log.last_seq.to_string()),
            plain(&age(now.saturating_sub(log.last_at))),
            plain(&size(log.bytes)),
            state,
            Line::new().text(log.title.as_deref().unwrap_or_default(), Style::Plain),
        ]);
    }
    let widths: Vec<usize> =
        (0..6).map(|column| table.iter().map(|row| row[column].width()).max().unwrap_or(0)).collect();
    for row in table {
        let mut line = Line::new();
        for (column, cell) in row.into_iter().enumerate() {
            let fill = widths[column] - cell.width();
            // Numbers stand under each other at their ends.
            let is_number = matches!(column, 1..=3);
            line = if is_number { line.spaces(fill).join(cell) } else { line.join(cell).spaces(fill) };
            line = line.spaces(GAP);
        }
        context.printer.row(&line)?;
    }
    Ok(())
}

/// Writes a size in its largest unit: `980`, `26 kB`, `1.4 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in UNITS {
        // What rounds to a thousand is one of the next unit.
        if bytes >= unit - unit / 2_000 {
            let tenths = (bytes + unit / 20) / (unit / 10);
            return match tenths {
                0..100 => format!("{}.{} {name}", tenths / 10, tenths % 10),
                _ => format!("{} {name}", (bytes + unit / 2) / unit),
            };
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_or_more() {
        for (bytes, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0 kB"),
            (1_449, "1.4 kB"),
            (25_720, "26 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (64 << 20, "67 MB"),
            (1_400_000_000, "1.4 GB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn a_title_is_that_of_the_beginning() {
        let started = r#"{"v":1,"type":"session.started","payload":{"title":"Tabs"}}"#;
        assert_eq!(title_of(started).as_deref(), Some("Tabs"));
        assert_eq!(title_of(r#"{"type":"session.renamed","payload":{"title":"Tabs"}}"#), None);
        assert_eq!(title_of("[]"), None);
    }
}
