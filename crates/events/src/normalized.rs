//! The four normalized attention events, to the letter of the Trail Boss reference.
//!
//! Validation follows the reference's rules and error texts; extra members are accepted (overview section 5).

use std::fmt;

use serde::Serialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ids::MAX_SESSION_ID_BYTES;
use crate::replace_lone_surrogates;

/// Why a session is stuck, in the reference's two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The turn is over: the agent waits for the next prompt.
    Stopped,
    /// The agent waits in mid-turn for an answer.
    Permission,
}

impl Reason {
    /// Returns the reference's literal.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Stopped => "stopped",
            Reason::Permission => "permission",
        }
    }
}

/// A normalized event. Serializes with exactly the reference's members, `type` first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum NormalizedEvent {
    /// A session became stuck and needs attention.
    Stuck {
        /// The session, non-empty.
        session_id: String,
        /// tmux pane id or synthetic equivalent, non-empty when posted.
        pane_id: String,
        /// Working directory, empty if unknown.
        cwd: String,
        /// Absolute path of the transcript, empty if unknown.
        transcript_path: String,
        /// Stopped or permission.
        reason: Reason,
        /// Text for the human.
        message: String,
        /// Unix milliseconds, greater than 0.
        timestamp: u64,
    },
    /// A session progressed.
    Unstuck {
        /// The session.
        session_id: String,
        /// Unix milliseconds.
        timestamp: u64,
    },
    /// A session is being watched.
    Registered {
        /// The session.
        session_id: String,
        /// tmux pane id or synthetic equivalent.
        pane_id: String,
        /// Working directory, empty if unknown.
        cwd: String,
        /// Absolute path of the transcript, empty if unknown.
        transcript_path: String,
        /// Unix milliseconds.
        timestamp: u64,
    },
    /// A session is over; terminal until it registers again.
    Ended {
        /// The session.
        session_id: String,
        /// Unix milliseconds.
        timestamp: u64,
    },
}

/// Why a posted event was refused. Prints as the reference's error text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvent {
    /// The body is not JSON.
    #[error("Invalid event: malformed JSON at line {line} column {column}")]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1 (0: before the first).
        column: usize,
    },
    /// The body is not UTF-8.
    #[error("Invalid event: malformed JSON: byte {byte} is not UTF-8")]
    NotText {
        /// The first byte that is not, from 1.
        byte: usize,
    },
    /// The body is JSON but not an object.
    #[error("Invalid event: expected a JSON object")]
    NotAnObject,
    /// A required field is not there.
    #[error("Invalid event: missing required field '{0}'")]
    Missing(&'static str),
    /// The `type` is none of the four.
    #[error("Invalid event: unknown type '{0}'")]
    UnknownType(String),
    /// A field has another JSON type.
    #[error("Invalid event: field '{field}' must be {expected}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A string that must not be empty is.
    #[error("Invalid event: field '{0}' must not be empty")]
    Empty(&'static str),
    /// A session id over 1 KiB.
    #[error("Invalid event: field 'sessionId' must be at most {MAX_SESSION_ID_BYTES} bytes")]
    TooLong,
    /// `reason` is neither stopped nor permission.
    #[error("Invalid event: field 'reason' must be 'stopped' or 'permission', got '{0}'")]
    Reason(String),
    /// `timestamp` is not above 0.
    #[error("Invalid event: field 'timestamp' must be a number greater than 0 (Unix milliseconds)")]
    Timestamp,
}

impl NormalizedEvent {
    /// Reads a posted body and applies the reference's validation rules.
    ///
    /// Extra members are accepted. A timestamp may be any finite number above 0 and is floored; one between 0 and 1
    /// becomes 1, since 0 is no valid time.
    ///
    /// # Errors
    /// The first rule that is broken, in the order: JSON, `type`, then the fields as the reference lists them.
    pub fn parse(body: &[u8]) -> Result<NormalizedEvent, InvalidEvent> {
        let body = std::str::from_utf8(body)
            .map_err(|error| InvalidEvent::NotText { byte: error.valid_up_to() + 1 })?;
        // Producers cut texts inside a character: as with hooks, the half is replaced and the event is kept.
        let members = read(&replace_lone_surrogates(body))?;
        let kind = match members.get("type") {
            None => return Err(InvalidEvent::Missing("type")),
            Some(Value::String(kind)) => kind.as_str(),
            Some(_) => return Err(InvalidEvent::WrongType { field: "type", expected: "a string" }),
        };
        match kind {
            "stuck" => Ok(NormalizedEvent::Stuck {
                session_id: session_id(&members)?,
                pane_id: non_empty(&members, "paneId")?,
                cwd: text(&members, "cwd")?,
                transcript_path: text(&members, "transcriptPath")?,
                reason: reason(&members)?,
                message: text(&members, "message")?,
                timestamp: timestamp(&members)?,
            }),
            "unstuck" => Ok(NormalizedEvent::Unstuck {
                session_id: session_id(&members)?,
                timestamp: timestamp(&members)?,
            }),
            "registered" => Ok(NormalizedEvent::Registered {
                session_id: session_id(&members)?,
                pane_id: non_empty(&members, "paneId")?,
                cwd: text(&members, "cwd")?,
                transcript_path: text(&members, "transcriptPath")?,
                timestamp: timestamp(&members)?,
            }),
            "ended" => Ok(NormalizedEvent::Ended {
                session_id: session_id(&members)?,
                timestamp: timestamp(&members)?,
            }),
            other => Err(InvalidEvent::UnknownType(other.to_owned())),
        }
    }

    /// Returns the session the event is about.
    pub fn session_id(&self) -> &str {
        match self {
            NormalizedEvent::Stuck { session_id, .. }
            | NormalizedEvent::Unstuck { session_id, .. }
            | NormalizedEvent::Registered { session_id, .. }
            | NormalizedEvent::Ended { session_id, .. } => session_id,
        }
    }

    /// Returns the event's own time in Unix milliseconds.
    pub fn timestamp(&self) -> u64 {
        match self {
            NormalizedEvent::Stuck { timestamp, .. }
            | NormalizedEvent::Unstuck { timestamp, .. }
            | NormalizedEvent::Registered { timestamp, .. }
            | NormalizedEvent::Ended { timestamp, .. } => *timestamp,
        }
    }

    /// Returns the `type` literal.
    pub fn kind(&self) -> &'static str {
        match self {
            NormalizedEvent::Stuck { .. } => "stuck",
            NormalizedEvent::Unstuck { .. } => "unstuck",
            NormalizedEvent::Registered { .. } => "registered",
            NormalizedEvent::Ended { .. } => "ended",
        }
    }
}

/// Reads the known members of an object, the last of each name; others may be of any shape and depth.
fn read(body: &str) -> Result<Map<String, Value>, InvalidEvent> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Map<String, Value>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Map::new();
            while let Some(name) = map.next_key::<String>()? {
                if MEMBERS.contains(&name.as_str()) {
                    // A member of a wrong shape is named later; how deep it goes does not matter.
                    let value = map.next_value::<&RawValue>()?;
                    members.insert(name, serde_json::from_str(value.get()).unwrap_or(Value::Null));
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(members)
        }
    }
    let malformed =
        |error: serde_json::Error| InvalidEvent::Json { line: error.line(), column: error.column() };
    let whole: &RawValue = serde_json::from_str(body).map_err(malformed)?;
    if !whole.get().starts_with('{') {
        return Err(InvalidEvent::NotAnObject);
    }
    let mut reader = serde_json::Deserializer::from_str(whole.get());
    reader.deserialize_map(Members).map_err(malformed)
}

const MEMBERS: [&str; 8] =
    ["type", "sessionId", "paneId", "cwd", "transcriptPath", "reason", "message", "timestamp"];

fn text(members: &Map<String, Value>, field: &'static str) -> Result<String, InvalidEvent> {
    match members.get(field) {
        None => Err(InvalidEvent::Missing(field)),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(InvalidEvent::WrongType { field, expected: "a string" }),
    }
}

fn non_empty(members: &Map<String, Value>, field: &'static str) -> Result<String, InvalidEvent> {
    text(members, field)
        .and_then(|text| if text.is_empty() { Err(InvalidEvent::Empty(field)) } else { Ok(text) })
}

fn session_id(members: &Map<String, Value>) -> Result<String, InvalidEvent> {
    let id = non_empty(members, "sessionId")?;
    if id.len() > MAX_SESSION_ID_BYTES { Err(InvalidEvent::TooLong) } else { Ok(id) }
}

fn reason(members: &Map<String, Value>) -> Result<Reason, InvalidEvent> {
    match text(members, "reason")?.as_str() {
        "stopped" => Ok(Reason::Stopped),
        "permission" => Ok(Reason::Permission),
        other => Err(InvalidEvent::Reason(other.to_owned())),
    }
}

fn timestamp(members: &Map<String, Value>) -> Result<u64, InvalidEvent> {
    match members.get("timestamp") {
        None => Err(InvalidEvent::Missing("timestamp")),
        Some(Value::Number(number)) => match number.as_f64() {
            Some(value) if value.is_finite() && value > 0.0 => {
                Ok(number.as_u64().unwrap_or((value.floor() as u64).max(1)))
            }
            _ => Err(InvalidEvent::Timestamp),
        },
        Some(_) => Err(InvalidEvent::WrongType { field: "timestamp", expected: "a number" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUCK: &str = r#"{"type":"stuck","sessionId":"s-1","paneId":"%446","cwd":"/home/dev","transcriptPath":"",
        "reason":"permission","message":"Tool: Bash | Command: npm install","timestamp":1735689605000}"#;

    /// Parses [`STUCK`] with one member replaced (or removed, for `null`) and returns the error text.
    fn refused(field: &str, value: Value) -> String {
        let mut body: Value = serde_json::from_str(STUCK).unwrap();
        let members = body.as_object_mut().unwrap();
        if value.is_null() {
            members.remove(field)
        } else {
            members.insert(field.into(), value)
        };
        NormalizedEvent::parse(body.to_string().as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn the_references_example_is_read_and_written_with_its_members() {
        let event = NormalizedEvent::parse(STUCK.as_bytes()).unwrap();
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"type":"stuck","sessionId":"s-1","paneId":"%446","cwd":"/home/dev","transcriptPath":"","reason":"permission","message":"Tool: Bash | Command: npm install","timestamp":1735689605000}"#
        );
    }

    #[test]
    fn each_missing_field_is_named() {
        for field in
            ["type", "sessionId", "paneId", "cwd", "transcriptPath", "reason", "message", "timestamp"]
        {
            assert_eq!(
                refused(field, Value::Null),
                format!("Invalid event: missing required field '{field}'")
            );
        }
    }

    #[test]
    fn wrong_literals_and_shapes_are_named() {
        assert_eq!(refused("type", "paused".into()), "Invalid event: unknown type 'paused'");
        assert_eq!(refused("type", "Stuck".into()), "Invalid event: unknown type 'Stuck'");
        assert_eq!(
            refused("reason", "blocked".into()),
            "Invalid event: field 'reason' must be 'stopped' or 'permission', got 'blocked'"
        );
        assert_eq!(refused("sessionId", "".into()), "Invalid event: field 'sessionId' must not be empty");
        assert_eq!(refused("paneId", "".into()), "Invalid event: field 'paneId' must not be empty");
        assert_eq!(refused("cwd", 5.into()), "Invalid event: field 'cwd' must be a string");
        assert_eq!(
            refused("timestamp", "2024-01-01".into()),
            "Invalid event: field 'timestamp' must be a number"
        );
        for bad in [Value::from(0), Value::from(-1), Value::from(-0.5)] {
            assert_eq!(
                refused("timestamp", bad),
                "Invalid event: field 'timestamp' must be a number greater than 0 (Unix milliseconds)"
            );
        }
        assert_eq!(
            NormalizedEvent::parse(b"[]").unwrap_err().to_string(),
            "Invalid event: expected a JSON object"
        );
        assert!(
            NormalizedEvent::parse(b"{")
                .unwrap_err()
                .to_string()
                .starts_with("Invalid event: malformed JSON")
        );
    }

    #[test]
    fn a_cut_character_and_a_deep_extra_member_lose_no_wait() {
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        let body = STUCK.replacen("npm install", "cut emoji \\ud83d", 1).replacen(
            '{',
            &format!("{{\"x\":{deep},"),
            1,
        );
        let NormalizedEvent::Stuck { message, .. } = NormalizedEvent::parse(body.as_bytes()).unwrap() else {
            panic!()
        };
        assert_eq!(message, "Tool: Bash | Command: cut emoji \u{fffd}");
        assert_eq!(
            NormalizedEvent::parse(b"{\xff}").unwrap_err().to_string(),
            "Invalid event: malformed JSON: byte 2 is not UTF-8"
        );
        assert_eq!(
            refused("sessionId", serde_json::json!([[1]])),
            "Invalid event: field 'sessionId' must be a string"
        );
    }

    #[test]
    fn extra_members_empty_cwd_and_fractional_times_are_accepted() {
        let body = r#"{"type":"unstuck","sessionId":"s","timestamp":1735689605000.9,"note":{"x":1}}"#;
        let event = NormalizedEvent::parse(body.as_bytes()).unwrap();
        assert_eq!(event.timestamp(), 1_735_689_605_000);
        let body = r#"{"type":"ended","sessionId":"s","timestamp":0.25}"#;
        assert_eq!(NormalizedEvent::parse(body.as_bytes()).unwrap().timestamp(), 1);
    }
}
