//! The forms of a host's table, put together and filled in.

use std::fmt::Write as _;

use herdbook_events::canonical::for_each_member;
use herdbook_events::replace_lone_surrogates;
use serde_json::value::RawValue;

use crate::decision::Output;
use crate::detail::{Can, Intent, Wording};

/// What stands in the places of a form.
pub(crate) struct Fill<'a> {
    /// `$event`
    pub event: &'a str,
    /// `$reason`
    pub reason: &'a str,
    /// `$context`
    pub context: &'a str,
    /// `$input`, `$object` and `$text`
    pub input: Option<&'a RawValue>,
}

/// One answer, of one form or several.
#[derive(Default)]
pub(crate) enum Form {
    #[default]
    Nothing,
    Json(Tree),
    Text(&'static str),
    ExitTwo(&'static str),
}

/// JSON whose objects can be laid into each other; everything else is a leaf.
pub(crate) enum Tree {
    Object(Vec<(String, Tree)>),
    Leaf(String),
}

impl Form {
    /// Adds the preferred form of something. Of two values in one place the older one stays, or the newer one. Nothing,
    /// and no change, where the two cannot be said together.
    pub fn add(&mut self, can: &Can, older_stays: bool) -> Option<()> {
        match (self, Form::of(can)?) {
            (whole @ Form::Nothing, new) => *whole = new,
            (Form::Json(old), Form::Json(new)) => old.lay(new, older_stays),
            _ => return None,
        }
        Some(())
    }

    /// Returns the answer with its places filled in.
    pub fn output(&self, fill: &Fill<'_>) -> Output {
        match self {
            Form::Nothing => Output::Nothing,
            Form::Json(tree) => Output::Stdout(tree.filled(fill)),
            Form::Text(text) => Output::Stdout(fill.text(text).to_owned()),
            Form::ExitTwo(text) => Output::ExitTwo(fill.text(text).to_owned()),
        }
    }

    /// The form that is preferred.
    fn of(can: &Can) -> Option<Form> {
        let leaf = |text: &str| Tree::Leaf(format!("\"{text}\""));
        let member = |name: &str, value| Tree::Object(vec![(name.to_owned(), value)]);
        Some(match can.wordings.first()? {
            Wording::Json(text) => Form::Json(Tree::read(text)),
            Wording::Text(text) => Form::Text(text),
            Wording::ExitTwo(text) => Form::ExitTwo(text),
            Wording::Throw(text) => Form::Json(member("throw", leaf(text))),
            Wording::Return(text) => Form::Json(member("return", Tree::read(text))),
            Wording::Set(place, _) if can.intent == Intent::AddContext => {
                Form::Json(member("append", member(place, leaf("$context"))))
            }
            Wording::Set(place, value) => Form::Json(member("set", member(place, leaf(value)))),
        })
    }
}

impl Tree {
    fn read(json: &str) -> Tree {
        if !json.starts_with('{') {
            return Tree::Leaf(json.to_owned());
        }
        let mut members = Vec::new();
        for_each_member(json, |name, value| members.push((name.into_owned(), Tree::read(value.get()))));
        Tree::Object(members)
    }

    fn lay(&mut self, new: Tree, older_stays: bool) {
        match (self, new) {
            (Tree::Object(members), Tree::Object(new)) => {
                for (name, value) in new {
                    match members.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, old)) => old.lay(value, older_stays),
                        None => members.push((name, value)),
                    }
                }
            }
            (old, new) if !older_stays => *old = new,
            _ => {}
        }
    }

    fn filled(&self, fill: &Fill<'_>) -> String {
        let mut out = String::new();
        self.write(&mut out, fill);
        out
    }

    fn write(&self, out: &mut String, fill: &Fill<'_>) {
        match self {
            Tree::Object(members) => {
                for (at, (name, value)) in members.iter().enumerate() {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "{}{}:", if at == 0 { '{' } else { ',' }, quoted(name));
                    value.write(out, fill);
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
            Tree::Leaf(text) => match text.as_str() {
                "\"$input\"" | "\"$object\"" | "\"$text\"" => {
                    let input = fill.input.map_or("null", RawValue::get);
                    out.push_str(&replace_lone_surrogates(input));
                }
                "\"$event\"" => out.push_str(&quoted(fill.event)),
                "\"$reason\"" => out.push_str(&quoted(fill.reason)),
                "\"$context\"" => out.push_str(&quoted(fill.context)),
                other => out.push_str(other),
            },
        }
    }
}

impl Fill<'_> {
    /// What stands in the place of a whole text.
    fn text<'a>(&'a self, place: &'a str) -> &'a str {
        match place {
            "$reason" => self.reason,
            "$context" => self.context,
            other => other,
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
