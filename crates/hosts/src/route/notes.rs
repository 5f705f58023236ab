//! What becomes of a route's usual answers where a host cannot be told them.

use super::Route;
use crate::answer::{Answer, Nearest};
use crate::table::{HostTable, NativeEvent};

/// Something that a host cannot be told: `ask becomes deny`, and why.
struct Short {
    table: &'static HostTable,
    event: &'static NativeEvent,
    becomes: String,
    why: &'static str,
}

impl Route {
    /// Returns, one line each, what of its usual answers a host cannot be told at an event, what becomes of it, and why.
    pub fn notes(&self) -> Vec<String> {
        let words = |short: Short| {
            let Short { table, event, becomes, why } = short;
            format!("{} {}: {becomes}: {why}", table.host, event.name)
        };
        self.shorts().into_iter().map(words).collect()
    }

    /// As [`Route::notes`], one line for all places where the same becomes of an answer, without the reasons.
    pub fn brief_notes(&self) -> Vec<String> {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for Short { table, event, becomes, .. } in self.shorts() {
            let is_only = table.routed(self.family).nth(1).is_none();
            let place =
                if is_only { table.host.to_owned() } else { format!("{} {}", table.host, event.name) };
            match groups.iter_mut().find(|(known, _)| *known == becomes) {
                Some((_, places)) => places.push(place),
                None => groups.push((becomes, vec![place])),
            }
        }
        groups.into_iter().map(|(becomes, places)| format!("{becomes} at {}", places.join(", "))).collect()
    }

    fn shorts(&self) -> Vec<Short> {
        let mut shorts = Vec::new();
        for (table, event) in
            self.tables().flat_map(|table| table.routed(self.family).map(move |event| (table, event)))
        {
            for answer in self.answers() {
                let Err(refusal) = table.answer(event, *answer) else { continue };
                if *answer == Answer::Allow && self.allows_by_rewriting(table, event) {
                    continue;
                }
                let becomes = match (answer, refusal.nearest) {
                    (Answer::Ask | Answer::Deny, Nearest::Answer(other)) => {
                        format!("{} becomes {}", answer.as_str(), other.as_str())
                    }
                    _ => format!("{} is left out", answer.as_str()),
                };
                shorts.push(Short { table, event, becomes, why: refusal.why });
            }
        }
        shorts
    }
}
