//! Payload values as Rust values.

use serde_json::value::RawValue;

use crate::canonical::{CanonicalEvent, read_text};
use crate::vocabulary::Field;

/// A value that the host sent, beside the key it sent it under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported<T> {
    /// The value.
    pub value: T,
    /// The host's own key.
    pub native_key: &'static str,
}

impl<'a, T: ReadField<'a>> Reported<T> {
    /// Reads a field of an event; nothing when it is absent or has another shape.
    pub fn of(event: &'a CanonicalEvent, field: Field) -> Option<Reported<T>> {
        let present = event.payload.get(field)?;
        Some(Reported { value: T::read(&present.value)?, native_key: present.native_key })
    }
}

/// What started a compaction of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactTrigger {
    /// The human asked for it.
    Manual,
    /// The host did it by itself.
    Auto,
}

/// A type that a payload value can be read as.
pub trait ReadField<'a>: Sized {
    /// Reads the value; nothing for another JSON shape.
    fn read(value: &'a RawValue) -> Option<Self>;
}

impl<'a> ReadField<'a> for &'a RawValue {
    fn read(value: &'a RawValue) -> Option<Self> {
        Some(value)
    }
}

impl ReadField<'_> for bool {
    fn read(value: &RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }
}

impl ReadField<'_> for String {
    fn read(value: &RawValue) -> Option<Self> {
        read_text(value)
    }
}

impl ReadField<'_> for Option<String> {
    fn read(value: &RawValue) -> Option<Self> {
        if value.get() == "null" { Some(None) } else { read_text(value).map(Some) }
    }
}

impl ReadField<'_> for Vec<String> {
    fn read(value: &RawValue) -> Option<Self> {
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        items.into_iter().map(read_text).collect()
    }
}

impl ReadField<'_> for CompactTrigger {
    fn read(value: &RawValue) -> Option<Self> {
        match read_text(value)?.as_str() {
            "manual" => Some(CompactTrigger::Manual),
            "auto" => Some(CompactTrigger::Auto),
            _ => None,
        }
    }
}
