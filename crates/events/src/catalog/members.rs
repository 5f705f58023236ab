//! The members of an object, none lost.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a JSON object in their order, each value byte for byte, repeated keys included.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Members<'a> {
    /// Reads the text of an object. Anything else is an error, and so is a lone surrogate in a key.
    pub fn read(object: &'a str) -> Result<Members<'a>, serde_json::Error> {
        serde_json::from_str(object)
    }

    /// Returns the value of a member; of a repeated one the last.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Returns a member's value where it has the type that is asked for.
    pub fn read_as<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Iterates over the members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Returns the keys that stand there a second time.
    pub fn repeated(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        self.members.iter().map(|(key, _)| key.as_ref()).filter(move |key| !seen.insert(*key))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de>, D::Error> {
        deserializer.deserialize_map(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::with_capacity(map.size_hint().unwrap_or(8));
        while let Some(Key(key)) = map.next_key()? {
            members.push((key, map.next_value()?));
        }
        Ok(Members { members })
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
