//! Lines as the reference's harness writes and reads them: its members alone, and logs of it that begin at seq 0.

use herdbook_events::catalog::{Class, Durable, EventType, Kind, Members, Shaped};
use serde_json::value::RawValue;

use crate::canonical::{canonical, write_text};
use crate::line::{LINE_VERSION, Unreadable};
use crate::upgrade::{UPGRADES, upgrade};

/// Members of payloads that hold a seq: the type, and the way to the member.
const SEQS: [(EventType, &[&str]); 5] = [
    (EventType::SessionResumed, &["replayedSeq"]),
    (EventType::UserSteeringInjected, &["afterSeq"]),
    (EventType::ContextCompacted, &["cut", "fromSeq"]),
    (EventType::ContextCompacted, &["cut", "toSeq"]),
    (EventType::TaskVerificationRequested, &["withheldCandidateSeq"]),
];

/// Returns a line with exactly the members that the reference has, in its order, without line feed. A line of that form
/// stays as it is, byte for byte, if its payload is canonical text.
pub fn reference_line(line: &str) -> Result<String, Unreadable> {
    let line = herdbook_events::replace_lone_surrogates(line);
    let line = upgrade(&line, UPGRADES)?;
    let (members, event_type) = read(&line)?;
    print(&members, |name, value| {
        if name == "payload" { only_reference(&event_type.kind(), value) } else { Ok(value.get().to_owned()) }
    })
}

/// Returns a line of a log that begins at seq 0 as one of a log that begins at 1: its own seq, and every seq that its
/// payload names, one higher. Its payload becomes canonical text; members that the reference does not have are left out.
pub fn from_zero(line: &str) -> Result<String, Unreadable> {
    let line = herdbook_events::replace_lone_surrogates(line);
    let line = upgrade(&line, UPGRADES)?;
    let (members, event_type) = read(&line)?;
    print(&members, |name, value| match name {
        "seq" => one_higher(value, "seq"),
        "payload" => {
            let mut payload = only_reference(&event_type.kind(), value)?;
            for (_, way) in SEQS.iter().filter(|(of, _)| *of == event_type) {
                payload = raise(&payload, way)?;
            }
            Ok(payload)
        }
        _ => Ok(value.get().to_owned()),
    })
}

fn unreadable(member: &str, message: impl Into<String>) -> Unreadable {
    Unreadable { member: member.to_owned(), message: message.into() }
}

fn read(line: &str) -> Result<(Members<'_>, EventType), Unreadable> {
    let members =
        Members::read(line).map_err(|error| unreadable("the line", format!("is no object: {error}")))?;
    // A later version may mean other things by the same members, and have members that would be lost here.
    let version: Option<u64> = members.read_as("v");
    if let Some(version) = version.filter(|version| *version != LINE_VERSION) {
        return Err(unreadable("v", format!("is {version}, this build reads {LINE_VERSION}")));
    }
    let name: String =
        members.read_as("type").ok_or_else(|| unreadable("type", "is missing or no string"))?;
    let known = EventType::parse(&name).filter(|known| known.class() == Class::Durable);
    let event_type =
        known.ok_or_else(|| unreadable("type", format!("is '{name}', which the reference has not")))?;
    Ok((members, event_type))
}

/// Prints the members of the envelope that the reference has.
fn print(
    members: &Members<'_>,
    value: impl Fn(&str, &RawValue) -> Result<String, Unreadable>,
) -> Result<String, Unreadable> {
    let Kind::Object { fields, .. } = Durable::KIND else { return Err(unreadable("", "")) };
    let mut out = String::new();
    for field in fields.iter().filter(|field| !field.ours) {
        match members.get(field.name) {
            Some(found) => {
                let text = value(field.name, found)?;
                let text = canonical(&text).map_err(|error| unreadable(field.name, error.to_string()))?;
                out.push(if out.is_empty() { '{' } else { ',' });
                write_text(field.name, &mut out);
                out.push(':');
                out.push_str(&text);
            }
            None if field.optional => {}
            None => return Err(unreadable(field.name, "is missing")),
        }
    }
    out.push('}');
    Ok(out)
}

/// Leaves out what the reference does not have.
fn only_reference(kind: &Kind, value: &RawValue) -> Result<String, Unreadable> {
    let wrong = |error: serde_json::Error| unreadable("payload", error.to_string());
    match kind {
        Kind::List { items, .. } if value.get().starts_with('[') => {
            let values: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(wrong)?;
            let items: Result<Vec<String>, Unreadable> =
                values.into_iter().map(|value| only_reference(items, value)).collect();
            Ok(format!("[{}]", items?.join(",")))
        }
        Kind::Object { fields, .. } if value.get().starts_with('{') => {
            let members = Members::read(value.get()).map_err(wrong)?;
            let kept = fields.iter().filter(|field| !field.ours);
            let kept = kept.filter_map(|field| members.get(field.name).map(|value| (field, value)));
            let members: Result<Vec<String>, Unreadable> = kept
                .map(|(field, value)| Ok(format!("{:?}:{}", field.name, only_reference(&field.kind, value)?)))
                .collect();
            Ok(format!("{{{}}}", members?.join(",")))
        }
        _ => Ok(value.get().to_owned()),
    }
}

/// Makes the number at the end of the way one higher; nothing changes where it is absent.
fn raise(object: &str, way: &[&str]) -> Result<String, Unreadable> {
    let Some((next, rest)) = way.split_first() else { return Ok(object.to_owned()) };
    let members = Members::read(object).map_err(|error| unreadable("payload", error.to_string()))?;
    let mut out = String::new();
    for (name, value) in members.iter() {
        out.push(if out.is_empty() { '{' } else { ',' });
        write_text(name, &mut out);
        out.push(':');
        if name != *next {
            out.push_str(value.get());
        } else if rest.is_empty() {
            out.push_str(&one_higher(value, name)?);
        } else {
            out.push_str(&raise(value.get(), rest)?);
        }
    }
    out.push('}');
    Ok(out)
}

fn one_higher(value: &RawValue, member: &str) -> Result<String, Unreadable> {
    let number: Option<u64> = serde_json::from_str(value.get()).ok();
    let higher = number.and_then(|number| number.checked_add(1));
    higher.map(|number| number.to_string()).ok_or_else(|| unreadable(member, "must be a seq, from 0"))
}
