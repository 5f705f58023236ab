//! Whether a payload is as its host promises: a warning, never a reason to drop it.

use std::fmt;

use herdbook_events::CanonicalEvent;
use serde_json::value::RawValue;

use crate::detail::{Key, Shape};
use crate::json::compact;
use crate::native::Native;

/// One key that is not as the host's table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The key, as it is spelled there.
    pub key: &'static str,
    /// The shape it should have; none where the key is missing.
    pub wanted: Option<Shape>,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wanted {
            None => write!(formatter, "'{}' is missing", self.key),
            Some(shape) => write!(formatter, "'{}' is no {}", self.key, shape.as_str()),
        }
    }
}

/// Returns what an event lacks of the keys that its host promises, or has in another shape. Of hosts and events without a
/// table nothing is promised.
pub fn faults(event: &CanonicalEvent) -> Vec<Fault> {
    let Some(table) = crate::table(&event.host) else { return Vec::new() };
    let contract = event.native_event.as_deref().and_then(|name| table.event(name));
    let Some(detail) = contract.and_then(|contract| table.detail(contract)) else { return Vec::new() };
    let Ok(read) = compact(event.native.get()) else { return Vec::new() };
    let native = Native::new(&event.host, None, read);
    let fault = |key: &'static Key| match native.get(key.name) {
        None => key.required.then_some(Fault { key: key.name, wanted: None }),
        Some((name, value)) => (!fits(value, key)).then_some(Fault { key: name, wanted: Some(key.shape) }),
    };
    table.common.iter().chain(detail.keys()).filter_map(fault).collect()
}

fn fits(value: &str, key: &Key) -> bool {
    let starts = |text: &str, with: char| text.starts_with(with);
    let items = |with: char| {
        let items: Option<Vec<&RawValue>> = serde_json::from_str(value).ok();
        items.is_some_and(|items| items.iter().all(|item| starts(item.get(), with)))
    };
    (key.nullable && value == "null")
        || match key.shape {
            Shape::Any => true,
            Shape::Boolean => matches!(value, "true" | "false"),
            Shape::Number => value.starts_with(|first: char| first == '-' || first.is_ascii_digit()),
            Shape::Object => starts(value, '{'),
            Shape::Objects => items('{'),
            Shape::Text => starts(value, '"'),
            Shape::Texts => items('"'),
        }
}
