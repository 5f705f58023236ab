//! A payload held against the catalog.

use std::fmt;

use serde_json::value::RawValue;

use crate::catalog::members::Members;
use crate::catalog::shape::{Field, Kind};

/// Which words a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Those of the reference, and no other.
    Reference,
    /// Those of the reference; names of tools are any text, since other harnesses have their own.
    OpenTools,
}

/// One difference between a payload and the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is, for example `ui.kind` or `mentions[0].range`.
    pub field: String,
    /// What is wrong, in words that follow the field's name.
    pub message: String,
    /// The value can be read all the same.
    pub readable: bool,
    /// A member that the catalog does not have. It is kept.
    pub extra: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.field, self.message)
    }
}

/// Returns every difference between a value and its shape, in the order of the catalog; members that it does not have
/// come last. A repeated key counts with its last value.
pub fn faults(kind: &Kind, value: &RawValue, lists: Lists) -> Vec<Fault> {
    let mut check = Check { lists, path: String::new(), faults: Vec::new() };
    check.value(kind, value.get());
    check.faults
}

struct Check {
    lists: Lists,
    path: String,
    faults: Vec<Fault>,
}

impl Check {
    fn fault(&mut self, message: String) {
        self.faults.push(Fault { field: self.path.clone(), message, readable: false, extra: false });
    }

    /// Goes one step down, does something there, and comes back.
    fn below(&mut self, step: &str, look: impl FnOnce(&mut Check)) {
        let length = self.path.len();
        if length > 0 && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        look(self);
        self.path.truncate(length);
    }

    fn value(&mut self, kind: &Kind, text: &str) {
        match kind {
            Kind::Json => {}
            Kind::Text if text.starts_with('"') => {}
            Kind::Text => self.fault("must be a string".to_owned()),
            Kind::Boolean if matches!(text, "true" | "false") => {}
            Kind::Boolean => self.fault("must be true or false".to_owned()),
            Kind::Number if text.starts_with(is_number_start) => {}
            Kind::Number => self.fault("must be a number".to_owned()),
            Kind::Integer { minimum } => match whole_number(text) {
                None => self.fault("must be a whole number of at most 63 bits".to_owned()),
                Some(number) => {
                    if let Some(minimum) = minimum.filter(|minimum| number < *minimum) {
                        self.fault(format!("must be at least {minimum}"));
                    }
                }
            },
            Kind::Choice(numbers) => {
                let is_one = |number: &u64| i64::try_from(*number).ok() == whole_number(text);
                if !numbers.iter().any(is_one) {
                    self.fault(format!("must be one of {numbers:?}"));
                }
            }
            Kind::Word { name, words } => self.word(name, words, text),
            Kind::List { items, at_least } => self.list(items, *at_least, text),
            Kind::Object { fields, .. } => self.object(fields, text),
        }
    }

    fn word(&mut self, list: &str, words: &[&str], text: &str) {
        let Ok(word) = serde_json::from_str::<String>(text) else {
            return self.fault("must be a string".to_owned());
        };
        let is_open = list == "ToolName" && self.lists == Lists::OpenTools;
        if !is_open && !words.contains(&word.as_str()) {
            self.fault(format!("is '{word}', must be one of {}", words.join(", ")));
            if let Some(fault) = self.faults.last_mut() {
                fault.readable = true;
            }
        }
    }

    fn list(&mut self, items: &Kind, at_least: usize, text: &str) {
        let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(text) else {
            return self.fault("must be an array".to_owned());
        };
        if values.len() < at_least {
            self.fault(format!("must have at least {at_least} item"));
        }
        for (at, value) in values.iter().enumerate() {
            self.below(&format!("[{at}]"), |check| check.value(items, value.get()));
        }
    }

    fn object(&mut self, fields: &[Field], text: &str) {
        let Ok(members) = Members::read(text) else {
            return self.fault("must be an object".to_owned());
        };
        for field in fields {
            let value = members.get(field.name).map(RawValue::get);
            self.below(field.name, |check| match value {
                None if field.optional => {}
                None => check.fault("is missing".to_owned()),
                Some("null") if field.nullable => {}
                Some(value) => check.value(&field.kind, value),
            });
        }
        for (name, _) in members.iter() {
            if !fields.iter().any(|field| field.name == name) {
                let message = "is not in the catalog; it is kept".to_owned();
                self.below(name, |check| {
                    let field = check.path.clone();
                    check.faults.push(Fault { field, message, readable: true, extra: true });
                });
            }
        }
    }
}

fn is_number_start(character: char) -> bool {
    character == '-' || character.is_ascii_digit()
}

/// Returns the value of a whole number, however it is spelled: serde reads `1`, and so does a typed payload.
fn whole_number(text: &str) -> Option<i64> {
    text.parse().ok()
}
