//! Canonical events: family and payload fields beside the untouched native envelope (agent-bundle reference).

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::surrogates::replace_lone_surrogates;
pub use crate::vocabulary::{Family, Field, FieldKind};

/// One present field: the decoded value as a raw JSON slice, beside the host key it was read from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadField {
    /// The value, byte for byte as the host sent it (or as decoding made it).
    pub value: Box<RawValue>,
    /// The host's own key.
    pub native_key: &'static str,
}

/// The present fields of one event, in family order.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    fields: Vec<(Field, PayloadField)>,
}

impl Payload {
    /// Makes a payload of fields that are already in family order.
    pub fn new(fields: Vec<(Field, PayloadField)>) -> Payload {
        Payload { fields }
    }

    /// Returns a field, or nothing when the host did not send it.
    pub fn get(&self, field: Field) -> Option<&PayloadField> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, value)| value)
    }

    /// Returns a string field's value; nothing when absent, null or of another shape.
    pub fn text(&self, field: Field) -> Option<String> {
        self.get(field).and_then(|present| read_text(&present.value))
    }

    /// Returns a boolean field's value.
    pub fn boolean(&self, field: Field) -> Option<bool> {
        self.get(field).and_then(|present| serde_json::from_str(present.value.get()).ok())
    }

    /// Iterates over the present fields in family order.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &PayloadField)> {
        self.fields.iter().map(|(field, value)| (*field, value))
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (field, value) in &self.fields {
            map.serialize_entry(field.as_str(), value)?;
        }
        map.end()
    }
}

/// Turn, agent and parent of an event, where the host names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lineage {
    /// The host's turn id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The parent session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// One hook call of one host in canonical form (overview section 3).
#[derive(Clone, Debug)]
pub struct CanonicalEvent {
    /// The family; none for native events outside the 22 families and unknown ones.
    pub event: Option<Family>,
    /// The host whose event it is (which may differ from the adapter that was called, case F-035).
    pub host: String,
    /// The host's own event name.
    pub native_event: Option<String>,
    /// SHA-256 of `{"event","native","target"}`; only with a family.
    pub idempotency_key: Option<String>,
    /// The payload.
    pub payload: Payload,
    /// The received object: its text minus byte order mark and white space between tokens.
    pub native: Box<RawValue>,
    /// Turn, agent, parent.
    pub lineage: Lineage,
    /// The host's session id, whichever key it is under.
    pub session: Option<String>,
}

/// The line that `herdbook normalize` prints: `event`, `host`, `nativeEvent`, `idempotencyKey` (left out where there
/// is none, which is where `event` is null), `payload`, `native`, `lineage` (left out where it is empty), in this order.
impl Serialize for CanonicalEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", &self.event.map(Family::as_str))?;
        map.serialize_entry("host", &self.host)?;
        map.serialize_entry("nativeEvent", &self.native_event)?;
        if let Some(key) = &self.idempotency_key {
            map.serialize_entry("idempotencyKey", key)?;
        }
        map.serialize_entry("payload", &self.payload)?;
        map.serialize_entry("native", &self.native)?;
        if self.lineage != Lineage::default() {
            map.serialize_entry("lineage", &self.lineage)?;
        }
        map.end()
    }
}

impl CanonicalEvent {
    /// Returns a top-level member of the native object as raw JSON (the last one of that name).
    pub fn native_member(&self, key: &str) -> Option<&RawValue> {
        let mut found = None;
        for_each_member(self.native.get(), |name, value| {
            if name == key {
                found = Some(value);
            }
        });
        found
    }

    /// Returns a top-level string member of the native object.
    pub fn native_text(&self, key: &str) -> Option<String> {
        self.native_member(key).and_then(read_text)
    }
}

/// Reads a JSON string; a lone surrogate becomes U+FFFD. Nothing for other values.
pub fn read_text(value: &RawValue) -> Option<String> {
    let text = value.get();
    if !text.starts_with('"') {
        return None;
    }
    // serde_json refuses lone surrogates.
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&replace_lone_surrogates(text))).ok()
}

/// Calls `each` with every top-level member of a JSON object, in order, repeats included. Other values have none.
pub fn for_each_member<'a>(object: &'a str, mut each: impl FnMut(Cow<'a, str>, &'a RawValue)) {
    struct Members<F>(F);
    impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue)> serde::de::Visitor<'de> for Members<F> {
        type Value = ();
        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<&RawValue>()? {
                let name = read_text(key).unwrap_or_default();
                let value = map.next_value::<&RawValue>()?;
                (self.0)(Cow::Owned(name), value);
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(object);
    // A value that is not an object simply has no members.
    let _ = serde::Deserializer::deserialize_map(&mut reader, Members(&mut each));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Reported;

    #[test]
    fn members_are_read_raw_with_repeats_and_lone_surrogates() {
        let mut seen = Vec::new();
        for_each_member(
            r#"{"a":123456789012345678901234567890,"\ud800":1.0,"a":"x\udead"}"#,
            |key, value| {
                seen.push((key.into_owned(), value.get().to_owned()));
            },
        );
        assert_eq!(seen[0], ("a".into(), "123456789012345678901234567890".into()));
        assert_eq!(seen[1].1, "1.0");
        assert_eq!(seen[2], ("a".into(), r#""x\udead""#.into()));
        for_each_member("[1]", |_, _| panic!("an array has no members"));
    }

    #[test]
    fn a_lone_surrogate_is_text_with_one_replacement() {
        let raw = RawValue::from_string(r#""x\udeady \ud83d\ude00""#.to_owned()).unwrap();
        assert_eq!(read_text(&raw).as_deref(), Some("x\u{fffd}y 😀"));
    }

    fn event(family: Option<Family>) -> CanonicalEvent {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        CanonicalEvent {
            event: family,
            host: "claude".into(),
            native_event: family.map(|_| "PreToolUse".into()),
            idempotency_key: family.map(|_| "00ff".into()),
            payload: Payload::new(vec![
                (Field::TranscriptPath, PayloadField { value: raw("null"), native_key: "transcript_path" }),
                (Field::ToolName, PayloadField { value: raw("\"Bash\""), native_key: "tool_name" }),
                (Field::ToolInput, PayloadField { value: raw("{\"n\":1.0}"), native_key: "tool_input" }),
            ]),
            native: raw("{\"tool_name\":\"Bash\"}"),
            lineage: Lineage { turn: Some("t-1".into()), ..Lineage::default() },
            session: Some("s-1".into()),
        }
    }

    #[test]
    fn an_event_prints_as_one_line_in_a_fixed_order() {
        assert_eq!(
            serde_json::to_string(&event(Some(Family::ToolBefore))).unwrap(),
            concat!(
                r#"{"event":"tool/before","host":"claude","nativeEvent":"PreToolUse","idempotencyKey":"00ff","#,
                r#""payload":{"transcriptPath":{"value":null,"nativeKey":"transcript_path"},"#,
                r#""toolName":{"value":"Bash","nativeKey":"tool_name"},"#,
                r#""toolInput":{"value":{"n":1.0},"nativeKey":"tool_input"}},"#,
                r#""native":{"tool_name":"Bash"},"lineage":{"turn":"t-1"}}"#
            )
        );
        let outside = CanonicalEvent { payload: Payload::default(), ..event(None) };
        assert_eq!(
            serde_json::to_string(&outside).unwrap(),
            concat!(
                r#"{"event":null,"host":"claude","nativeEvent":null,"payload":{},"#,
                r#""native":{"tool_name":"Bash"},"lineage":{"turn":"t-1"}}"#
            )
        );
    }

    #[test]
    fn a_view_reads_the_fields_of_its_family() {
        let event = event(Some(Family::ToolBefore));
        assert!(event.as_stop().is_none());
        let before = event.as_tool_before().unwrap();
        assert_eq!(before.tool_name(), Some(Reported { value: "Bash".to_owned(), native_key: "tool_name" }));
        assert_eq!(before.transcript_path().map(|path| path.value), Some(None));
        assert_eq!(before.tool_input().unwrap().value.get(), "{\"n\":1.0}");
        assert!(before.session_id().is_none());
    }
}
