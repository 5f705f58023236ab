//! Books for tests: one in memory, and one that kills who writes in it.

use std::collections::{BTreeMap, HashMap};

use herdbook_events::catalog::EventType;
use herdbook_story::{Checker, Level, Options};

use crate::agent::book::{Book, Page, Trouble};

/// The logs of some sessions, in memory. Each line is checked when it is written, and what breaks a rule is refused.
#[derive(Clone, Debug, Default)]
pub struct MemoryBook {
    logs: HashMap<String, Log>,
    /// How many events of each type were only live.
    pub told: BTreeMap<&'static str, u64>,
    /// Warnings of the checker, which refuse nothing.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug)]
struct Log {
    lines: Vec<String>,
    checker: Checker,
}

impl Default for Log {
    fn default() -> Log {
        Log { lines: Vec::new(), checker: Checker::new(Options::native()) }
    }
}

impl MemoryBook {
    /// Returns the keys of its sessions, in no order.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.logs.keys().map(String::as_str)
    }

    /// Returns the lines of a session.
    pub fn lines(&self, session: &str) -> &[String] {
        self.logs.get(session).map_or(&[], |log| &log.lines)
    }
}

impl Book for MemoryBook {
    fn read(&mut self, session: &str) -> Result<Vec<String>, Trouble> {
        Ok(self.lines(session).to_vec())
    }

    fn append(&mut self, page: &Page<'_>) -> Result<Vec<String>, Trouble> {
        let log = self.logs.entry(page.session.to_owned()).or_default();
        if log.lines.len() as u64 != page.expected {
            return Err(Trouble::Refused(format!("the log ends at seq {}", log.lines.len())));
        }
        let mut lines = Vec::new();
        for (entry, seq) in page.entries.iter().zip(page.expected + 1..) {
            let line = format!(
                r#"{{"v":1,"id":"{}","sessionId":{},"seq":{seq},"ts":{},"type":"{}","payload":{}}}"#,
                entry.id,
                serde_json::Value::from(page.session),
                1_767_225_600_000 + seq * 250,
                entry.event_type.as_str(),
                entry.payload
            );
            for finding in log.checker.push(&line) {
                if finding.level == Level::Error {
                    return Err(Trouble::Refused(format!("{} at {}", finding, page.label)));
                }
                self.warnings.push(format!("{} at {}", finding, page.label));
            }
            lines.push(line);
        }
        log.lines.extend_from_slice(&lines);
        Ok(lines)
    }

    fn tell(&mut self, session: &str, events: &[(EventType, String)]) -> Result<(), Trouble> {
        let log = self.logs.entry(session.to_owned()).or_default();
        for (event_type, payload) in events {
            let event = format!(
                r#"{{"id":"01KDVDRBWT0000000000000010","sessionId":{},"ts":1767225600000,"type":"{}","payload":{payload}}}"#,
                serde_json::Value::from(session),
                event_type.as_str(),
            );
            if let Some(finding) = log.checker.push_ephemeral(&event).first() {
                return Err(Trouble::Refused(finding.to_string()));
            }
            *self.told.entry(event_type.as_str()).or_default() += 1;
        }
        Ok(())
    }
}

/// A book that lets its agent write so many events and no more, also within an append.
#[derive(Debug)]
pub struct Mortal<'a, B> {
    /// The book behind it.
    pub book: &'a mut B,
    /// How many events may be written still.
    pub left: usize,
}

impl<B: Book> Book for Mortal<'_, B> {
    fn read(&mut self, session: &str) -> Result<Vec<String>, Trouble> {
        self.book.read(session)
    }

    fn append(&mut self, page: &Page<'_>) -> Result<Vec<String>, Trouble> {
        let count = self.left.min(page.entries.len());
        self.left -= count;
        let lines = match count {
            0 => Vec::new(),
            _ => self.book.append(&Page { entries: &page.entries[..count], ..*page })?,
        };
        if self.left == 0 { Err(Trouble::Killed(page.label.to_owned())) } else { Ok(lines) }
    }

    fn tell(&mut self, session: &str, events: &[(EventType, String)]) -> Result<(), Trouble> {
        self.book.tell(session, events)
    }
}
