//! Canonical events: family and payload fields beside the untouched native envelope (agent-bundle reference).

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// Declares the families with their names and their fields in the reference's order.
macro_rules! families {
    ($($variant:ident = $name:literal [$($field:ident),*]),* $(,)?) => {
        /// The 22 canonical families, in the order of the reference.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Family {
            /// All families, in the order of the reference.
            pub const ALL: &'static [Family] = &[$(Family::$variant),*];

            /// Returns the family's name, for example `tool/before`.
            pub fn as_str(self) -> &'static str {
                match self { $(Family::$variant => $name),* }
            }

            /// Returns the family of that name.
            pub fn parse(name: &str) -> Option<Family> {
                match name { $($name => Some(Family::$variant),)* _ => None }
            }

            /// Returns the fields of the family's payload, in order.
            pub fn fields(self) -> &'static [Field] {
                match self { $(Family::$variant => &[$(Field::$field),*]),* }
            }
        }
    };
}

families! {
    SessionStart = "session/start" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Source],
    ToolBefore = "tool/before" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, ToolName, ToolInput, ToolUseId],
    ToolAfter = "tool/after" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, ToolName, ToolInput, ToolUseId, ToolResponse],
    Stop = "stop" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Reentry, LastAssistantMessage],
    AgentStart = "agent/start" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model],
    AgentStop = "agent/stop" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, AgentTranscriptPath, Reentry, LastAssistantMessage],
    WorkspaceOpen = "workspace/open" [WorkspaceRoots],
    SessionEnd = "session/end" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Reason],
    PromptSubmit = "prompt/submit" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Prompt],
    ToolFailure = "tool/failure" [SessionId, Cwd, TranscriptPath, ToolName, ToolInput, ToolUseId, Error, IsInterrupt],
    CompactBefore = "compact/before" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Model, Trigger],
    CompactAfter = "compact/after" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Trigger],
    PermissionRequest = "permission/request" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, ToolName, ToolInput],
    PermissionDenied = "permission/denied" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, ToolName, ToolInput],
    StopFailure = "stop/failure" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Error, Reentry, LastAssistantMessage],
    FileChange = "file/change" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, FilePath],
    ConfigChange = "config/change" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, Source, FilePath],
    TaskCreate = "task/create" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, TaskId, TaskSubject, TaskDescription, TeammateName, TeamName],
    TaskComplete = "task/complete" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, TaskId, TaskSubject, TaskDescription, TeammateName, TeamName],
    AgentIdle = "agent/idle" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, TeammateName, TeamName],
    ModelSwitchBefore = "model-switch/before" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, FromModel, ToModel, RequestedModel, Source],
    ModelSwitchAfter = "model-switch/after" [SessionId, Cwd, TranscriptPath, PermissionMode, AgentId, AgentType, FromModel, ToModel, RequestedModel, Source],
}

/// The JSON shape a field's value must have (reference: field kinds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// JSON boolean.
    Boolean,
    /// Any JSON value including null.
    Json,
    /// String or null; null is a present value.
    NullableString,
    /// String; the empty string is a value.
    String,
    /// Array whose items are all strings.
    StringArray,
    /// Exactly `manual` or `auto`.
    Trigger,
}

/// Declares the payload vocabulary: variant, wire name, kind.
macro_rules! fields {
    ($($variant:ident = $name:literal $kind:ident),* $(,)?) => {
        /// A payload field of the canonical vocabulary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Field { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Field {
            /// All fields.
            pub const ALL: &'static [Field] = &[$(Field::$variant),*];

            /// Returns the field's name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Field::$variant => $name),* }
            }

            /// Returns the JSON shape its value must have.
            pub fn kind(self) -> FieldKind {
                match self { $(Field::$variant => FieldKind::$kind),* }
            }
        }
    };
}

fields! {
    SessionId = "sessionId" String, Cwd = "cwd" String, TranscriptPath = "transcriptPath" NullableString,
    PermissionMode = "permissionMode" String, AgentId = "agentId" String, AgentType = "agentType" String,
    Model = "model" String, Source = "source" String, ToolName = "toolName" String, ToolInput = "toolInput" Json,
    ToolUseId = "toolUseId" String, ToolResponse = "toolResponse" Json, Reentry = "reentry" Boolean,
    LastAssistantMessage = "lastAssistantMessage" NullableString,
    AgentTranscriptPath = "agentTranscriptPath" NullableString, WorkspaceRoots = "workspaceRoots" StringArray,
    Reason = "reason" String, Prompt = "prompt" String, Error = "error" String, IsInterrupt = "isInterrupt" Boolean,
    Trigger = "trigger" Trigger, FilePath = "filePath" String, TaskId = "taskId" String,
    TaskSubject = "taskSubject" String, TaskDescription = "taskDescription" String,
    TeammateName = "teammateName" String, TeamName = "teamName" String, FromModel = "fromModel" String,
    ToModel = "toModel" String, RequestedModel = "requestedModel" NullableString,
}

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
    match serde_json::from_str::<String>(text) {
        Ok(text) => Some(text),
        // serde_json refuses lone surrogates as text; as bytes it passes them through in WTF-8 form.
        Err(_) => serde_json::from_str::<LossyText>(text).ok().map(|lossy| lossy.0),
    }
}

struct LossyText(String);

impl<'de> Deserialize<'de> for LossyText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<LossyText, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = LossyText;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LossyText, E> {
                Ok(LossyText(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
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

    #[test]
    fn families_and_fields_have_the_references_counts() {
        assert_eq!(Family::ALL.len(), 22);
        assert_eq!(Field::ALL.len(), 30);
        assert_eq!(Family::parse("tool/before"), Some(Family::ToolBefore));
        assert_eq!(Family::parse("tool/befor"), None);
    }

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
    fn a_lone_surrogate_is_text_with_a_replacement() {
        let raw = RawValue::from_string(r#""x\udeady""#.to_owned()).unwrap();
        assert_eq!(read_text(&raw).map(|text| text.starts_with('x') && text.ends_with('y')), Some(true));
    }
}
