//! Fills in the places of a step's payload.

use herdbook_story::Standing;
use serde_json::Value;

use crate::agent::place::Place;

/// What the places are filled in with.
pub(super) struct Filling<'a> {
    pub session: &'a str,
    pub scene: &'a str,
    pub place: &'a Place,
    pub standing: &'a Standing,
    /// SHA-256 of the model history.
    pub history: &'a str,
}

impl Filling<'_> {
    /// Returns a payload with all its places filled in.
    pub fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.whole(text).unwrap_or_else(|| self.parts(text).into()),
            Value::Array(values) => values.iter().map(|value| self.fill(value)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// A text that is a place as a whole. A mark that is not known gives null, which every check of a payload refuses.
    fn whole(&self, text: &str) -> Option<Value> {
        let place = self.place;
        let seq = |mark: &str| place.marks.get(mark).copied();
        Some(match text.strip_prefix('$')? {
            "model" => place.model.clone().into(),
            "aux" => place.aux_model.clone().into(),
            "purpose" => place.purpose().as_str().into(),
            "history" => self.history.into(),
            "last" => place.last_seq.into(),
            "open" => self.standing.tools.iter().map(|tool| tool.tool_use_id.clone()).collect(),
            name => match name.split_once(':')? {
                ("waits", text) => place.waiting.get(text).cloned().into(),
                ("seq", mark) => seq(mark).into(),
                ("before", mark) => seq(mark).map(|seq| seq - 1).into(),
                _ => return None,
            },
        })
    }

    fn parts(&self, text: &str) -> String {
        let mut text = text
            .replace("{session}", self.session)
            .replace("{scene}", self.scene)
            .replace("{try}", &self.place.this_try(self.scene).to_string());
        while let Some((before, rest)) = text.split_once("{try:")
            && let Some((scene, behind)) = rest.split_once('}')
        {
            text = format!("{before}{}{behind}", self.place.last_try(scene));
        }
        text
    }
}
