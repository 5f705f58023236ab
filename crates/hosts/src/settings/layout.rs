//! How each host writes an entry.

use super::Wanted;
use crate::table::{Form, HostTable, Unit};

/// How a host writes an entry.
pub(super) struct Layout {
    /// Entries stand in groups: `[{"hooks": [ENTRY]}]` instead of `[ENTRY]`.
    pub grouped: bool,
    /// What a group of ours matches.
    pub matcher: Option<&'static str>,
    /// The entry says that it is a command.
    pub typed: bool,
    /// The key of the command.
    pub command: &'static str,
    /// The key of the time-out.
    pub timeout: &'static str,
    /// Unit of the time-out.
    pub unit: Unit,
    /// The entry has a name, which the host shows to people.
    pub named: bool,
    /// `"version": 1` stands beside `hooks`.
    pub versioned: bool,
    /// The host knows an entry by its place (Codex, NOTES 10): what comes after one of ours must not move.
    pub placed: bool,
    /// The whole file is ours.
    pub own_file: bool,
}

impl Layout {
    /// Reads it out of a host's table.
    pub fn of(table: &HostTable) -> Layout {
        let flat = Layout {
            grouped: false,
            matcher: None,
            typed: false,
            command: "command",
            timeout: "timeout",
            unit: Unit::Seconds,
            named: false,
            versioned: true,
            placed: false,
            own_file: false,
        };
        match table.setup.form {
            Form::Groups { matcher, unit, named, placed } => {
                Layout { grouped: true, matcher, typed: true, unit, named, versioned: false, placed, ..flat }
            }
            Form::OwnFile => {
                Layout { typed: true, command: "bash", timeout: "timeoutSec", own_file: true, ..flat }
            }
            Form::Entries | Form::Plugin(_) | Form::Never(_) => flat,
        }
    }

    /// The members of an entry, with their values as JSON.
    pub fn members(&self, wanted: &Wanted) -> Vec<(&'static str, String)> {
        let timeout = match self.unit {
            Unit::Seconds => (wanted.timeout_ms / 1000).max(1),
            Unit::Millis => wanted.timeout_ms,
        };
        let mut members = Vec::new();
        if self.typed {
            members.push(("type", quoted("command")));
        }
        if self.named {
            members.push(("name", quoted("herdbook")));
        }
        members.push((self.command, quoted(&wanted.command)));
        members.push((self.timeout, timeout.to_string()));
        members
    }

    /// What is appended to an event's list.
    pub fn item(&self, wanted: &Wanted) -> String {
        let members: Vec<String> =
            self.members(wanted).iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        let entry = format!("{{{}}}", members.join(", "));
        match (self.grouped, self.matcher) {
            (false, _) => entry,
            (true, None) => format!("{{\"hooks\": [{entry}]}}"),
            (true, Some(matcher)) => {
                format!("{{\"matcher\": {}, \"hooks\": [{entry}]}}", quoted(matcher))
            }
        }
    }
}

/// Returns the time-out of an entry in milliseconds, as it is written in the host's unit.
pub(super) fn timeout_ms(table: &HostTable, written: &str) -> Option<u32> {
    let number: u64 = written.parse().ok()?;
    let factor = match Layout::of(table).unit {
        Unit::Seconds => 1000,
        Unit::Millis => 1,
    };
    Some(u32::try_from(number.saturating_mul(factor)).unwrap_or(u32::MAX))
}

/// Writes a string as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
