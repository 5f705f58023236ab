//! Lines of earlier versions, read as lines of today's (eventlog 1.7).
//!
//! Each line carries the version it was written in, and files are never rewritten: a reader brings a line from version to
//! version, with one pure step each. A new optional member and a new type need no new version; a member that goes, gets
//! another name or another meaning does.

use std::borrow::Cow;

use herdbook_events::catalog::Members;

use crate::canonical::write_text;
use crate::line::{LINE_VERSION, Unreadable};

/// A type and a payload of the next version.
pub type Changed = Result<(String, String), Unreadable>;

/// One step from a version to the next.
#[derive(Clone, Copy, Debug)]
pub struct Upgrade {
    /// The version that it reads; what it gives is one of the next.
    pub from: u64,
    /// Takes the type and the payload of a line, and gives those of the next version. The rest of a line stays.
    pub change: fn(event_type: &str, payload: &str) -> Changed,
}

/// The steps up to [`LINE_VERSION`], the oldest first. No version came before the first.
pub const UPGRADES: &[Upgrade] = &[];

// No version may be passed over, and the last step leads to today's.
const _: () = {
    let mut at = 0;
    while at < UPGRADES.len() {
        assert!(UPGRADES[at].from + (UPGRADES.len() - at) as u64 == LINE_VERSION);
        at += 1;
    }
};

/// Returns a line as the last of the steps gives it. One whose version no step reads stays as it is: whoever reads it says
/// which versions it knows.
///
/// # Errors
/// The line is no object, or a step cannot read it.
pub fn upgrade<'a>(line: &'a str, steps: &[Upgrade]) -> Result<Cow<'a, str>, Unreadable> {
    let mut line = Cow::Borrowed(line);
    while !steps.is_empty() {
        let members = Members::read(&line).map_err(|error| Unreadable {
            member: "the line".to_owned(),
            message: format!("is no object: {error}"),
        })?;
        let version: Option<u64> = members.read_as("v");
        let step = steps.iter().find(|step| Some(step.from) == version);
        let (Some(step), Some(event_type), Some(payload)) =
            (step, members.read_as::<String>("type"), members.get("payload"))
        else {
            break;
        };
        let (event_type, payload) = (step.change)(&event_type, payload.get())?;
        let mut next = String::with_capacity(line.len());
        for (name, value) in members.iter() {
            next.push(if next.is_empty() { '{' } else { ',' });
            write_text(name, &mut next);
            next.push(':');
            match name {
                "v" => next.push_str(&(step.from + 1).to_string()),
                "type" => write_text(&event_type, &mut next),
                "payload" => next.push_str(&payload),
                _ => next.push_str(value.get()),
            }
        }
        next.push('}');
        line = Cow::Owned(next);
    }
    Ok(line)
}
