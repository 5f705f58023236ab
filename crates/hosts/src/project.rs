//! Native bytes to a canonical event.

use std::borrow::Cow;

use herdbook_events::{
    CanonicalEvent, Family, Field, FieldKind, Lineage, Payload, PayloadField,
    canonical::{for_each_member, read_text},
};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::HOSTS;
use crate::ecmascript::{canonical_text, decode_string};
use crate::json::{Compact, compact};
use crate::table::{Decode, HostTable, Identity, Layout, Mapping};

/// What became of the bytes of one hook call.
#[derive(Clone, Debug)]
pub enum Projected {
    /// A JSON object.
    Event(Box<CanonicalEvent>),
    /// Anything else: kept as `unreadable`, with what could be salvaged.
    Unreadable(Salvage),
}

/// Top-level strings that are whole before the break of broken JSON (overview section 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Why it could not be read, in words, with line and column where there are any.
    pub error: String,
    /// The host it is attributed to.
    pub host: String,
    /// The host's session id.
    pub session: Option<String>,
    /// The native event name.
    pub native_event: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The bytes as text, invalid UTF-8 replaced.
    pub text: String,
}

/// Projects one hook call of an adapter. Never fails: another shape means an absent field, broken JSON is salvaged.
///
/// `native_event` is the name the hook was told as its argument, for hosts whose payload does not say it.
pub fn project(host: &str, native_event: Option<&str>, body: &[u8]) -> Projected {
    let (text, not_utf8) = match std::str::from_utf8(body) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = &body[..error.valid_up_to()];
            (std::str::from_utf8(valid).unwrap_or_default(), Some(error.valid_up_to()))
        }
    };
    // To JSON a byte order mark is no white space, but some transports put one or two in front (case F-024).
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\n', '\r']);
    let (read, broken) = match compact(text) {
        Ok(read) => (read, None),
        Err(broken) => (broken.before, Some(broken.error)),
    };
    let native = Native::new(host, &read);
    let error = match not_utf8 {
        Some(at) => Some(format!("byte {} and what follows is not UTF-8", at + 1)),
        None if broken.is_some() => broken,
        None if !read.text.starts_with('{') => Some("the value is not an object".to_owned()),
        None => None,
    };
    let whole = match error {
        Some(error) => Err(error),
        None => RawValue::from_string(read.text.to_string()).map_err(|error| error.to_string()),
    };
    match whole {
        Ok(whole) => Projected::Event(Box::new(native.into_event(native_event, whole))),
        Err(error) => Projected::Unreadable(Salvage {
            error,
            host: native.host.to_owned(),
            session: native.first_text(native.identity().session),
            native_event: native.event_name(native_event),
            cwd: native.first_text(&["cwd"]),
            text: String::from_utf8_lossy(body).into_owned(),
        }),
    }
}

pub(crate) fn lower_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the idempotency key of the reference: SHA-256 in lower-case hex over `{"event","native","target"}` as
/// ECMAScript prints it. It names content; two equal events have one key.
pub fn idempotency_key(family: Family, native: &RawValue, host: &str) -> String {
    let mut hash = Sha256::new();
    for part in [
        "{\"event\":\"",
        family.as_str(),
        "\",\"native\":",
        &canonical_text(native),
        ",\"target\":\"",
        host,
        "\"}",
    ] {
        hash.update(part);
    }
    lower_hex(&hash.finalize())
}

/// Returns the working directory an event tells: its own `cwd`, else the first workspace root where the host
/// reports those (case F-030). Empty counts as absent.
pub fn cwd(event: &CanonicalEvent) -> Option<String> {
    let own = event.payload.text(Field::Cwd).or_else(|| event.native_text("cwd"));
    own.filter(|cwd| !cwd.is_empty()).or_else(|| {
        let roots = event.native_member(crate::table(&event.host)?.identity.roots?)?;
        let roots: Vec<&RawValue> = serde_json::from_str(roots.get()).ok()?;
        read_text(roots.first()?).filter(|root| !root.is_empty())
    })
}

/// Returns the value under a key as the event's host lays its keys out; a dot leads into a member.
pub(crate) fn native_at<'a>(event: &'a CanonicalEvent, key: &str) -> Option<&'a str> {
    let layout = crate::table(&event.host).map_or(&Layout::FLAT, |table| &table.layout);
    lookup(layout, key, |name| member(event.native.get(), name))
}

/// Returns the value under a key as its host lays its keys out, and the key as it is spelled there.
pub(crate) fn spelled<'a>(
    event: &'a CanonicalEvent,
    table: &HostTable,
    key: &'static str,
) -> Option<(&'static str, &'a str)> {
    let within = |key: &'static str| {
        let layout = if table.is_common(key) { &Layout::FLAT } else { &table.layout };
        Some((key, lookup(layout, key, |name| member(event.native.get(), name))?))
    };
    within(key).or_else(|| within(table.layout.respelled(key)?))
}

/// Looks a key up inside the wrappers of an event, or beside them where it has none.
fn lookup<'a>(layout: &Layout, key: &str, top: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let wrapped = layout.wrappers.iter().rev().filter_map(|wrapper| top(wrapper));
    let inside: Vec<&str> = wrapped.filter(|value| value.starts_with('{')).collect();
    let mut steps = key.split('.');
    let first = steps.next()?;
    let found = match inside.as_slice() {
        [] => top(first),
        inside => inside.iter().find_map(|object| member(object, first)),
    };
    steps.try_fold(found?, member)
}

/// Returns a member of an object's text; of repeated members the last one counts.
fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut found = None;
    for_each_member(object, |name, value| {
        if name == key {
            found = Some(value.get());
        }
    });
    found
}

/// The top-level members of a native object, and whose it is.
struct Native<'a> {
    host: &'a str,
    table: Option<&'static HostTable>,
    members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Native<'a> {
    fn new(adapter: &'a str, read: &'a Compact<'_>) -> Native<'a> {
        let members: Vec<(Cow<'a, str>, &'a str)> = read
            .members
            .iter()
            .map(|member| (key_text(&read.text[member.key.clone()]), &read.text[member.value.clone()]))
            .collect();
        let is_marked =
            |table: &&&HostTable| table.mark.is_some_and(|mark| members.iter().any(|(key, _)| key == mark));
        if let Some(table) = HOSTS.iter().find(is_marked) {
            return Native { host: table.host, table: Some(table), members };
        }
        Native { host: adapter, table: crate::table(adapter), members }
    }

    /// Returns a top-level member's value; of repeated members the last one counts, as in ECMAScript.
    fn top(&self, key: &str) -> Option<&'a str> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Returns the value under a key as the host lays its keys out, and the key as it is spelled here.
    fn get(&self, key: &'static str) -> Option<(&'static str, &'a str)> {
        let layout = self.table.map_or(&Layout::FLAT, |table| &table.layout);
        let spelled = |key: &'static str| Some((key, self.within(layout, key)?));
        spelled(key).or_else(|| spelled(layout.respelled(key)?))
    }

    fn within(&self, layout: &Layout, key: &str) -> Option<&'a str> {
        if layout.wrappers.is_empty() || self.table.is_some_and(|table| table.is_common(key)) {
            return self.top(key);
        }
        lookup(layout, key, |name| self.top(name))
    }

    fn identity(&self) -> &'static Identity {
        self.table.map_or(&Identity::UNKNOWN_HOST, |table| &table.identity)
    }

    /// Returns the first non-empty text under one of these keys.
    fn first_text(&self, keys: &[&'static str]) -> Option<String> {
        keys.iter().filter_map(|key| text_of(self.get(key)?.1)).find(|text| !text.is_empty())
    }

    fn event_name(&self, argument: Option<&str>) -> Option<String> {
        // Beside the wrappers, if there are any: a member of an argument may have the same name.
        let told = self.identity().event.iter().filter_map(|key| text_of(self.top(key)?));
        told.into_iter().find(|text| !text.is_empty()).or_else(|| argument.map(str::to_owned))
    }

    fn into_event(self, argument: Option<&str>, whole: Box<RawValue>) -> CanonicalEvent {
        let name = self.event_name(argument);
        let contract = self.table.zip(name.as_deref()).and_then(|(table, name)| table.event(name));
        let family = contract.and_then(|contract| contract.family);
        let fields = family.map_or(&[][..], Family::fields);
        let payload = fields
            .iter()
            .filter_map(|field| Some((*field, self.read_field(contract?.mapping(*field)?)?)))
            .collect();
        let identity = self.identity();
        CanonicalEvent {
            event: family,
            host: self.host.to_owned(),
            idempotency_key: family.map(|family| idempotency_key(family, &whole, self.host)),
            native_event: name,
            payload: Payload::new(payload),
            native: whole,
            lineage: Lineage {
                turn: self.first_text(identity.turn),
                agent: self.first_text(identity.agent),
                parent: self.first_text(identity.parent),
            },
            session: self.first_text(identity.session),
        }
    }

    /// Reads one payload field; nothing where the host did not send it or sent another shape.
    fn read_field(&self, mapping: &Mapping) -> Option<PayloadField> {
        let (native_key, native) = self.get(mapping.key)?;
        let value = decode(native, mapping.decode)?;
        if !has_shape(&value, mapping.field) {
            return None;
        }
        let value = RawValue::from_string(value.into_owned()).ok()?;
        Some(PayloadField { value, native_key })
    }
}

/// Returns a key's text; almost all keys have no escapes.
fn key_text(quoted: &str) -> Cow<'_, str> {
    if quoted.contains('\\') {
        return Cow::Owned(text_of(quoted).unwrap_or_default());
    }
    Cow::Borrowed(&quoted[1..quoted.len() - 1])
}

/// Reads a JSON string.
pub(crate) fn text_of(value: &str) -> Option<String> {
    if !value.contains('\\') {
        return value.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    }
    read_text(serde_json::from_str::<&RawValue>(value).ok()?)
}

fn decode(native: &str, decode: Decode) -> Option<Cow<'_, str>> {
    match decode {
        Decode::None => Some(Cow::Borrowed(native)),
        Decode::JsonString => {
            if !native.starts_with('"') {
                return None;
            }
            let text = decode_string(native);
            let parsed = text.as_deref().and_then(|text| Some(compact(text).ok()?.text.into_owned()));
            Some(parsed.map_or(Cow::Borrowed(native), Cow::Owned))
        }
        Decode::PositiveCount => {
            let number: f64 = serde_json::from_str(native).ok()?;
            Some(Cow::Borrowed(if number > 0.0 { "true" } else { "false" }))
        }
    }
}

/// Says whether a value has the JSON shape of a field's kind.
fn has_shape(value: &str, field: Field) -> bool {
    let is_string = value.starts_with('"');
    match field.kind() {
        FieldKind::Boolean => matches!(value, "true" | "false"),
        FieldKind::Json => true,
        FieldKind::NullableString => is_string || value == "null",
        FieldKind::String => is_string,
        FieldKind::StringArray => serde_json::from_str::<Vec<&RawValue>>(value)
            .is_ok_and(|items| items.iter().all(|item| item.get().starts_with('"'))),
        FieldKind::Trigger => matches!(text_of(value).as_deref(), Some("manual" | "auto")),
    }
}
