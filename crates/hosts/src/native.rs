//! One hook call, read in place: nothing of it is copied until an event or a line is made of it.

use std::borrow::Cow;

use herdbook_events::{
    CanonicalEvent, Family, Field, FieldKind, Lineage, Payload, PayloadField, canonical::read_text,
};
use serde_json::{Value, value::RawValue};

use crate::HOSTS;
use crate::ecmascript::{canonical_text_of, decode_string};
use crate::json::{Compact, compact, plain_end};
use crate::project::{Salvage, key_of_canonical, lookup};
use crate::table::{Decode, HostTable, Identity, Layout, NativeEvent};

/// A JSON object that a host sent, and whose it is.
#[derive(Debug)]
pub struct Native<'a> {
    host: &'a str,
    table: Option<&'static HostTable>,
    /// The name that the hook was told.
    argument: Option<&'a str>,
    read: Compact<'a>,
}

impl<'a> Native<'a> {
    pub(crate) fn new(adapter: &'a str, argument: Option<&'a str>, read: Compact<'a>) -> Native<'a> {
        let is_marked = |table: &&&HostTable| table.mark.is_some_and(|mark| read.member(mark).is_some());
        let marked = HOSTS.iter().find(is_marked).copied();
        let host = marked.map_or(adapter, |table| table.host);
        Native { host, table: marked.or_else(|| crate::table(adapter)), argument, read }
    }

    /// Appends the line that `herdbook normalize` prints, without its end: what [`CanonicalEvent`] serializes as.
    pub fn write_line(&self, out: &mut String) {
        let native: &str = &self.read.text;
        // The payload is mostly a copy of what the host sent.
        out.reserve(2 * native.len() + 1024);
        let name = self.event_name();
        let contract = self.contract(name.as_deref());
        match contract.and_then(|contract| contract.family) {
            Some(family) => put(out, &["{\"event\":\"", family.as_str(), "\""]),
            None => put(out, &["{\"event\":null"]),
        }
        put_text(out, ",\"host\":", self.host);
        match name {
            Some(name) => put_text(out, ",\"nativeEvent\":", &name),
            None => put(out, &[",\"nativeEvent\":null"]),
        }
        if let Some(key) = self.key(contract) {
            put(out, &[",\"idempotencyKey\":\"", &key, "\""]);
        }
        let mut before = ",\"payload\":{\"";
        for (field, key, value) in self.fields(contract) {
            put(out, &[before, field.as_str(), "\":{\"value\":", &value, ",\"nativeKey\":\"", key, "\"}"]);
            before = ",\"";
        }
        put(out, &[if before == ",\"" { "}" } else { ",\"payload\":{}" }, ",\"native\":", native]);
        let identity = self.identity();
        let mut before = ",\"lineage\":{";
        for (name, keys) in [("turn", identity.turn), ("agent", identity.agent), ("parent", identity.parent)]
        {
            if let Some(id) = self.first_text(keys) {
                put(out, &[before, "\"", name]);
                put_text(out, "\":", &id);
                before = ",";
            }
        }
        put(out, &[if before == "," { "}}" } else { "}" }]);
    }

    /// Makes the event of it.
    ///
    /// # Errors
    /// serde_json does not read what we read: not known to happen.
    pub(crate) fn to_event(&self) -> serde_json::Result<CanonicalEvent> {
        let raw = |text: &str| RawValue::from_string(text.to_owned());
        let name = self.event_name();
        let contract = self.contract(name.as_deref());
        let field = |(field, native_key, value): (Field, _, Cow<'_, str>)| {
            Ok((field, PayloadField { value: raw(&value)?, native_key }))
        };
        let identity = self.identity();
        let id = |keys| self.first_text(keys).map(Cow::into_owned);
        Ok(CanonicalEvent {
            event: contract.and_then(|contract| contract.family),
            host: self.host.to_owned(),
            idempotency_key: self.key(contract),
            payload: Payload::new(self.fields(contract).map(field).collect::<serde_json::Result<_>>()?),
            native: raw(&self.read.text)?,
            lineage: Lineage {
                turn: id(identity.turn),
                agent: id(identity.agent),
                parent: id(identity.parent),
            },
            session: id(identity.session),
            native_event: name.map(Cow::into_owned),
        })
    }

    /// Takes what can be had of an object that cannot be read, for this reason.
    pub(crate) fn salvage(&self, error: String, body: &[u8]) -> Salvage {
        Salvage {
            error,
            host: self.host.to_owned(),
            session: self.first_text(self.identity().session).map(Cow::into_owned),
            native_event: self.event_name().map(Cow::into_owned),
            cwd: self.first_text(&["cwd"]).map(Cow::into_owned),
            text: String::from_utf8_lossy(body).into_owned(),
        }
    }

    fn identity(&self) -> &'static Identity {
        self.table.map_or(&Identity::UNKNOWN_HOST, |table| &table.identity)
    }

    fn event_name(&self) -> Option<Cow<'_, str>> {
        // Beside the wrappers, if there are any: a member of an argument may have the same name.
        let told = self.identity().event.iter().filter_map(|key| text_of(self.read.member(key)?));
        told.into_iter().find(|text| !text.is_empty()).or_else(|| self.argument.map(Cow::Borrowed))
    }

    fn contract(&self, name: Option<&str>) -> Option<&'static NativeEvent> {
        self.table?.event(name?)
    }

    fn key(&self, contract: Option<&NativeEvent>) -> Option<String> {
        let family = contract?.family?;
        if self.read.is_canonical {
            return Some(key_of_canonical(family, &self.read.text, self.host));
        }
        Some(key_of_canonical(family, &canonical_text_of(&self.read.text), self.host))
    }

    /// Returns the fields of the event's family that the host sent, in order, each with the host's key for it. Another shape
    /// is as good as nothing.
    fn fields(
        &self,
        contract: Option<&'static NativeEvent>,
    ) -> impl Iterator<Item = (Field, &'static str, Cow<'_, str>)> {
        let family = contract.and_then(|contract| contract.family);
        family.map_or(&[][..], Family::fields).iter().filter_map(move |field| {
            let mapping = contract?.mapping(*field)?;
            let (native_key, native) = self.get(mapping.key)?;
            let value = decode(native, mapping.decode)?;
            has_shape(&value, *field).then_some((*field, native_key, value))
        })
    }

    /// Returns the value under a key as the host lays its keys out, and the key as it is spelled here.
    pub(crate) fn get(&self, key: &'static str) -> Option<(&'static str, &str)> {
        let layout = self.table.map_or(&Layout::FLAT, |table| &table.layout);
        let spelled = |key: &'static str| Some((key, self.within(layout, key)?));
        spelled(key).or_else(|| spelled(layout.respelled(key)?))
    }

    fn within(&self, layout: &Layout, key: &str) -> Option<&str> {
        if layout.wrappers.is_empty() || self.table.is_some_and(|table| table.is_common(key)) {
            return self.read.member(key);
        }
        lookup(layout, key, |name| self.read.member(name))
    }

    /// Returns the first non-empty text under one of these keys.
    fn first_text(&self, keys: &[&'static str]) -> Option<Cow<'_, str>> {
        keys.iter().filter_map(|key| text_of(self.get(key)?.1)).find(|text| !text.is_empty())
    }
}

fn put(out: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| out.push_str(part));
}

/// Appends a text as a JSON string.
fn put_text(out: &mut String, before: &str, text: &str) {
    if plain_end(text.as_bytes(), 0) == text.len() {
        return put(out, &[before, "\"", text, "\""]);
    }
    put(out, &[before, &Value::from(text).to_string()]);
}

/// Reads a JSON string.
pub(crate) fn text_of(value: &str) -> Option<Cow<'_, str>> {
    if !value.contains('\\') {
        return value.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed);
    }
    read_text(serde_json::from_str::<&RawValue>(value).ok()?).map(Cow::Owned)
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
