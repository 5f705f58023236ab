//! Hosts' settings files: our entries put in, found, and taken out again.
//!
//! Pure: text in, text out. Edits are made in the text (overview D12): comments, order, line ends and odd formatting
//! are the user's and stay. What we add is appended, each entry in a group of its own. An entry is ours when its
//! command is ([`is_ours`]), never by a mark that a user could copy.
//!
//! Start with [`install`] and [`remove`].

mod command;
mod document;
mod entries;
mod layout;
mod needs;
mod plugin;
mod switch;
mod version;

use crate::table::{Form, HostTable, NativeEvent};

pub use command::{PROGRAM, is_ours, program};
pub use needs::{Granted, MARGIN_MS, Needs, granted, unfit};
pub use switch::switched_off;
pub use version::{find_version, knows};

/// Why a settings file is not edited. Lines and columns are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// It is no UTF-8.
    #[error("line {line} is no UTF-8 text")]
    Encoding {
        /// The line.
        line: usize,
    },
    /// It is no JSON, even with comments and trailing commas allowed.
    #[error("line {line}, column {column}: {words}")]
    Syntax {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What is wrong there.
        words: String,
    },
    /// Something has another type than the host reads.
    #[error("line {line}, column {column}: {what} is no {wanted}")]
    Shape {
        /// What: `hooks`, `hooks.Stop`, `the file`.
        what: String,
        /// What it should be: `object`, `list`.
        wanted: &'static str,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A key stands twice; hosts read only one of them.
    #[error("line {line}, column {column}: {what} stands there a second time: keep one")]
    Twice {
        /// Which key.
        what: String,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A file of our name holds something else.
    #[error("the file is not Herdbook's: move it away")]
    Foreign,
}

/// One of our entries, as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The event as it is written there. Empty for a plugin, which forwards all events.
    pub event: String,
    /// The command.
    pub command: String,
    /// The time-out as it is written, in the host's unit.
    pub timeout: Option<String>,
    /// Nothing else is in its group.
    pub alone: bool,
}

/// What a file was before our entries came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before<'a> {
    /// Nobody knows.
    Unknown,
    /// There was none.
    NoFile,
    /// This was in it.
    Text(&'a str),
}

impl Before<'_> {
    /// Without a byte order mark.
    fn unmarked(self) -> Self {
        match self {
            Before::Text(text) => Before::Text(text.strip_prefix(MARK).unwrap_or(text)),
            other => other,
        }
    }
}

/// One entry to write.
struct Wanted {
    event: &'static str,
    command: String,
    timeout_ms: u32,
}

/// Returns the events that are registered with a client of that version; without a version, only those that every
/// version knows; none where nothing is ever registered. An unknown name may void the whole file (hosts NOTES 10).
pub fn events<'a>(
    table: &'a HostTable,
    version: Option<&'a str>,
    needs: &'a Needs,
) -> impl Iterator<Item = &'a NativeEvent> {
    table.events.iter().filter(move |event| {
        table.is_installable()
            && needs.registers(event)
            && event.since.is_none_or(|since| version.is_some_and(|version| knows(version, since)))
    })
}

/// Returns the events that would be registered if the client's version were known to have them: none where the version
/// is known.
pub fn unsure<'a>(
    table: &'a HostTable,
    version: Option<&str>,
    needs: &'a Needs,
) -> impl Iterator<Item = &'a NativeEvent> + use<'a> {
    let is_unknown = version.is_none();
    let is_gated = |event: &NativeEvent| needs.registers(event) && event.since.is_some();
    table.events.iter().filter(move |event| is_unknown && is_gated(event))
}

/// Returns the text of a host's settings with our entries: missing ones appended, stale ones of ours mended in place,
/// those for events that this version does not have, or that nothing needs any more, taken out; a list that is emptied
/// by it goes, too, unless it was there `before`. A text that needs nothing comes back as it is.
///
/// `command` makes the guarded command of the hook's arguments; `text` is what stands in the file, none if there is
/// none.
///
/// # Errors
/// See [`SettingsError`]; nothing is guessed about a file that is not understood.
pub fn install(
    table: &HostTable,
    version: Option<&str>,
    needs: &Needs,
    command: &dyn Fn(&[&str]) -> String,
    text: Option<&str>,
    before: Before<'_>,
) -> Result<String, SettingsError> {
    if let Form::Plugin(template) = table.setup.form {
        return plugin::install(table, template, needs, &command(&[table.host]), text);
    }
    let text = text.unwrap_or_default();
    // Without a version nobody knows whether what we wrote once is still right: it stays.
    let there = if version.is_none() { list(table, text)? } else { Vec::new() };
    let is_there = |name: &str| there.iter().any(|entry| entry.event == name);
    let kept = unsure(table, version, needs).filter(|event| is_there(event.name));
    let wanted: Vec<Wanted> = events(table, version, needs)
        .chain(kept)
        .map(|event| {
            let told = format!("event:{}", event.name);
            let args = [table.host, told.as_str()];
            let args = if event.told { &args[..] } else { &args[..1] };
            Wanted { event: event.name, command: command(args), timeout_ms: needs.entry_ms(table, event) }
        })
        .collect();
    on_text(text, |text| entries::install(table, &wanted, text, before.unmarked()))
}

/// Returns the text without our entries, or nothing when the file itself was ours and nothing is left in it.
///
/// What is emptied by it goes, too, unless it was there `before`.
///
/// # Errors
/// As [`install`].
pub fn remove(table: &HostTable, text: &str, before: Before<'_>) -> Result<Option<String>, SettingsError> {
    if let Form::Plugin(_) = table.setup.form {
        return plugin::remove(text);
    }
    let before = before.unmarked();
    let mut gone = false;
    let edited = on_text(text, |text| {
        let edited = entries::remove(table, text, before)?;
        gone = edited.is_none();
        Ok(edited.unwrap_or_default())
    })?;
    Ok((!gone).then_some(edited))
}

/// Lists our entries in the order in which they stand there.
///
/// # Errors
/// As [`install`].
pub fn list(table: &HostTable, text: &str) -> Result<Vec<Entry>, SettingsError> {
    if let Form::Plugin(_) = table.setup.form {
        return Ok(plugin::list(text));
    }
    entries::list(table, text.strip_prefix(MARK).unwrap_or(text))
}

/// Reads a file's bytes as text.
///
/// # Errors
/// They are no UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, SettingsError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        SettingsError::Encoding { line: good.iter().filter(|byte| **byte == b'\n').count() + 1 }
    })
}

/// The byte order mark that some editors begin a file with.
const MARK: char = '\u{feff}';

/// Edits a text behind its byte order mark.
fn on_text(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, SettingsError>,
) -> Result<String, SettingsError> {
    match text.strip_prefix(MARK) {
        Some(rest) => Ok(format!("{MARK}{}", edit(rest)?)),
        None => edit(text),
    }
}
