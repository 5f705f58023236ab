//! One line of a session log, read.

use herdbook_events::catalog::{Class, Event, EventType, Lists, Members, faults};
use serde_json::value::RawValue;

use crate::canonical::canonical;
use crate::upgrade::{UPGRADES, upgrade};

/// The version of lines that is understood.
pub const LINE_VERSION: u64 = 1;

/// One line whose envelope is right.
#[derive(Clone, Debug)]
pub struct Line {
    /// The version of the line.
    pub v: u64,
    /// Its id.
    pub id: String,
    /// Its place in the log, from 1.
    pub seq: u64,
    /// Unix milliseconds at which it happened; nothing where that is no such number.
    pub ts_ms: Option<u64>,
    /// The name of its type.
    pub event_type: String,
    /// Its payload as it came.
    pub payload: Box<RawValue>,
}

/// What keeps a line from being read: the member, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member} {message}")]
pub struct Unreadable {
    /// The member of the envelope, or of the payload with `payload.` before it.
    pub member: String,
    /// What is wrong, in words that follow the member's name.
    pub message: String,
}

impl Unreadable {
    fn new(member: &str, message: &str) -> Unreadable {
        Unreadable { member: member.to_owned(), message: message.to_owned() }
    }
}

impl Line {
    /// Reads a line: the members that every line has, whatever its version. Others are passed over. A line of an earlier
    /// version is read as one of today's.
    pub fn read(text: &str) -> Result<Line, Unreadable> {
        let text = herdbook_events::replace_lone_surrogates(text);
        let text = upgrade(&text, UPGRADES)?;
        let members = Members::read(&text)
            .map_err(|error| Unreadable::new("the line", &format!("is no object: {error}")))?;
        if let Some(repeated) = members.repeated().next() {
            return Err(Unreadable::new(repeated, "stands there twice"));
        }
        let missing = |member: &str| Unreadable::new(member, "is missing or has another type");
        Ok(Line {
            v: members.read_as("v").ok_or_else(|| missing("v"))?,
            id: members.read_as("id").ok_or_else(|| missing("id"))?,
            seq: members.read_as("seq").ok_or_else(|| missing("seq"))?,
            ts_ms: members.read_as("ts"),
            event_type: members.read_as("type").ok_or_else(|| missing("type"))?,
            payload: members.get("payload").ok_or_else(|| missing("payload"))?.to_owned(),
        })
    }

    /// Reads the payload. The type must be a durable one of the catalog, and every member that it needs must be there.
    pub fn event(&self) -> Result<Event, Unreadable> {
        if self.v != LINE_VERSION {
            return Err(Unreadable::new("v", &format!("is {}, this build reads {LINE_VERSION}", self.v)));
        }
        let known = EventType::parse(&self.event_type).filter(|known| known.class() == Class::Durable);
        let Some(event_type) = known else {
            return Err(Unreadable::new(
                "type",
                &format!("is '{}', which is not in the catalog", self.event_type),
            ));
        };
        read_event(event_type, self.payload.get())
    }
}

/// Reads a payload that may be spelled in any way.
pub(crate) fn read_event(event_type: EventType, payload: &str) -> Result<Event, Unreadable> {
    let unreadable = |message: String| Unreadable { member: "payload".to_owned(), message };
    let text = canonical(payload).map_err(|error| unreadable(error.to_string()))?;
    let payload = RawValue::from_string(text).map_err(|error| unreadable(error.to_string()))?;
    let found = faults(&event_type.kind(), &payload, Lists::OpenTools);
    if let Some(fault) = found.into_iter().find(|fault| !fault.readable) {
        let dot = if fault.field.is_empty() { "" } else { "." };
        return Err(Unreadable { member: format!("payload{dot}{}", fault.field), message: fault.message });
    }
    Event::read(event_type, &payload).map_err(|error| unreadable(error.to_string()))
}
