//! Transcripts: lines that hosts write about their sessions, and what each proves about waiting.
//!
//! Pure: a line in, records out. The file is the unit: its records count in file order, never by walking parents
//! (case F-057), and its session is the one a hook last named with it, or the one its first line names (F-055, F-059).

mod claude;
mod codex;
mod copilot;
mod gemini;
mod known;
mod moment;
mod place;

use herdbook_events::{Told, replace_lone_surrogates};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use known::Known;
pub use place::{child_place, is_child_file, place, rollout_root, root};

/// One record of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The host's id of the record.
    pub id: Option<String>,
    /// The session id it carries.
    pub session: Option<String>,
    /// When it was written, Unix milliseconds.
    pub at_ms: Option<u64>,
    /// A message of the conversation, as opposed to what the host notes beside it.
    pub message: bool,
    /// A human's prompt.
    pub prompt: bool,
    /// A turn starts with it.
    pub turn: bool,
    /// Its text.
    pub text: String,
    /// It belongs to a subagent, or repeats what stood elsewhere before: it moves nothing.
    pub past: bool,
    /// Its id is known: it was read before, here or in another file of the project.
    pub known: bool,
    /// What it proves about waiting.
    pub told: Vec<Told>,
}

/// What a line held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its records; two where a writer welded two lines (case F-052).
    pub records: Vec<Record>,
    /// It, or a part of it, could not be used.
    pub skipped: bool,
}

/// Reads the lines of one transcript in order. Kept as JSON, reading goes on where it stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reader {
    host: String,
    /// The id of the file's session: the first one its lines name.
    session: Option<String>,
    /// All ids its lines name, in the order of their appearance.
    aliases: Vec<String>,
    /// A session that the file's one was forked from or started by: its records may come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fork: Option<codex::Fork>,
    /// The file is a subagent's; nothing: no line told yet.
    #[serde(default)]
    child: Option<bool>,
}

/// So many ids of one file are remembered.
const ALIASES: usize = 256;

impl Reader {
    /// Makes a reader for a file of a host.
    pub fn new(host: &str) -> Reader {
        Reader { host: host.to_owned(), ..Reader::default() }
    }

    /// True when the lines of this host's transcripts can be read.
    pub fn reads(host: &str) -> bool {
        crate::table(host).is_some_and(|table| table.transcripts.is_some())
    }

    /// The host's id of the file's session, once a line named it.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// All session ids in the file: one lineage (case F-055).
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// The session whose conversation the session of that id goes on with: the id that its file names before its own
    /// one (cases F-037, F-055).
    pub fn earlier(&self, own: &str) -> Option<Told> {
        let own = self.aliases.iter().position(|alias| alias == own).unwrap_or(self.aliases.len());
        let earlier = self.aliases.get(own.checked_sub(1)?)?.clone();
        Some(Told::ResumedFrom { earlier })
    }

    /// True when the file is of a subagent and no session of its own (cases F-041, F-058).
    pub fn is_child(&self) -> bool {
        self.child == Some(true)
    }

    /// Forgets what the file said of itself: it was replaced.
    pub fn reset(&mut self) {
        *self = Reader::new(&self.host);
    }

    /// Reads a complete line.
    pub fn line(&mut self, bytes: &[u8], known: &mut Known) -> Line {
        let mut line = Line::default();
        let text = String::from_utf8_lossy(bytes);
        let whole = replace_lone_surrogates(&text);
        let mut values = serde_json::Deserializer::from_str(&whole).into_iter::<Value>();
        let mut any = false;
        for value in &mut values {
            let Ok(value) = value else {
                line.skipped = true;
                break;
            };
            any = true;
            let Some(mut record) = self.record(&value) else {
                line.skipped = true;
                continue;
            };
            if let Some(id) = &record.id {
                record.known = !known.insert(id);
            }
            if record.known {
                record.told.clear();
            } else if record.past {
                // The id of a tool use is proof enough, whoever's record it is.
                record.told.retain(|told| matches!(told, Told::Answered { .. }));
            }
            line.records.push(record);
        }
        line.skipped |= !any;
        line
    }

    fn record(&mut self, value: &Value) -> Option<Record> {
        value.as_object()?;
        let record = match self.host.as_str() {
            "claude" => claude::record(value),
            "codex" => codex::record(value, &mut self.fork, self.session.is_none()),
            "copilot" => copilot::record(value),
            "gemini" => gemini::record(value),
            _ => return None,
        };
        if self.child.is_none() {
            self.child = match self.host.as_str() {
                // What Claude notes about a session as a whole does not say whose it is.
                "claude" => record.id.is_some().then_some(record.past),
                "codex" => Some(record.told.iter().any(|told| matches!(told, Told::ChildOf { .. }))),
                _ => Some(false),
            };
        }
        if let Some(id) = &record.session {
            if self.session.is_none() {
                self.session = Some(id.clone());
            }
            if self.aliases.len() < ALIASES && !self.aliases.contains(id) {
                self.aliases.push(id.clone());
            }
        }
        Some(record)
    }
}

/// A text member.
fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The text members of a list of content blocks, or the content where it is text itself.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| text(block, "text")).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
