//! What a producer sent, read and made ready: nothing that is ours to say, secrets marked, payloads in canonical text.

use std::borrow::Cow;
use std::collections::HashMap;

use herdbook_events::catalog::{Class, EventType, Fault, Lists, Members, faults};
use herdbook_events::{Ulid, replace_lone_surrogates};
use herdbook_log::is_name;
use herdbook_redact::Redactor;
use herdbook_story::canonical;
use serde_json::value::RawValue;

/// So many events are one append at most.
const EVENTS: usize = 512;
/// Members of a line that are given by the log.
const OF_THE_LOG: [&str; 7] = ["v", "seq", "ts", "sessionId", "parentId", "src", "crc"];

/// An append as it was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub expected: Option<u64>,
    pub synced: bool,
    pub events: Vec<Event>,
}

/// One event of it.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Made by the producer.
    pub id: Option<Ulid>,
    pub event_type: String,
    /// Canonical text.
    pub payload: String,
    /// The payload says something else than what was sent.
    pub is_changed: bool,
}

/// Reads the body of an append. The error names the member.
pub(crate) fn append(body: &[u8], redactor: &Redactor) -> Result<Asked, String> {
    let body = text(body)?;
    let members = object(body, "invalid body", &["expected", "synced", "events"])?;
    let expected = optional(&members, "expected", "must be a seq, a whole number from 0 on")?;
    let synced = optional(&members, "synced", "must be true or false")?.unwrap_or(false);
    let events = events(&members, &["id", "type", "payload"])?
        .into_iter()
        .enumerate()
        .map(|(at, event)| read_event(at, &event, redactor))
        .collect::<Result<Vec<_>, String>>()?;
    let mut ids = HashMap::new();
    for (at, id) in events.iter().enumerate().filter_map(|(at, event)| Some((at, event.id?))) {
        if let Some(first) = ids.insert(id, at) {
            return Err(format!(
                "events[{at}].id is that of events[{first}]; give each event an id of its own"
            ));
        }
    }
    Ok(Asked { expected, synced, events })
}

/// Reads the body of events that are only shown. The error names the member.
pub(crate) fn shown(body: &[u8], redactor: &Redactor) -> Result<Vec<Event>, String> {
    let body = text(body)?;
    let members = object(body, "invalid body", &["events"])?;
    let events = events(&members, &["type", "payload"])?;
    events.into_iter().enumerate().map(|(at, event)| read_shown(at, &event, redactor)).collect()
}

fn text(body: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(body).map_err(|error| format!("invalid body: {error}"))
}

/// Reads an object that has no other members than these.
fn object<'a>(text: &'a str, at: &str, known: &[&str]) -> Result<Members<'a>, String> {
    let members = Members::read(text).map_err(|error| format!("{at}: {error}"))?;
    let dot = if at.starts_with("events[") { "." } else { ": " };
    for (name, _) in members.iter() {
        if known.contains(&name) {
            continue;
        }
        if dot == "." && OF_THE_LOG.contains(&name) {
            return Err(format!("{at}.{name} is given by the log; leave it out"));
        }
        let shown: String = name.chars().take(64).collect();
        return Err(format!("{at}{dot}{shown} is not known here; there are {}", known.join(", ")));
    }
    if let Some(repeated) = members.repeated().next() {
        return Err(format!("{at}{dot}{repeated} stands there twice"));
    }
    Ok(members)
}

fn optional<'a, T: serde::Deserialize<'a>>(
    members: &Members<'a>,
    name: &str,
    words: &str,
) -> Result<Option<T>, String> {
    match members.get(name) {
        None => Ok(None),
        Some(_) => members.read_as(name).map(Some).ok_or_else(|| format!("invalid body: {name} {words}")),
    }
}

fn events<'a>(members: &Members<'a>, known: &[&str]) -> Result<Vec<Members<'a>>, String> {
    let events: Vec<&RawValue> =
        members.read_as("events").ok_or("invalid body: events must be an array of events")?;
    if !(1..=EVENTS).contains(&events.len()) {
        return Err(format!("invalid body: events has {} items, must have 1 to {EVENTS}", events.len()));
    }
    events
        .iter()
        .enumerate()
        .map(|(at, event)| object(event.get(), &format!("events[{at}]"), known))
        .collect()
}

fn read_event(at: usize, members: &Members<'_>, redactor: &Redactor) -> Result<Event, String> {
    let id = match members.get("id") {
        None => None,
        Some(_) => Some(members.read_as::<String>("id").as_deref().and_then(Ulid::parse).ok_or_else(|| {
            format!("events[{at}].id must be a ULID: 26 characters of 0-9 A-Z without I, L, O, U, the first 0 to 7")
        })?),
    };
    let event_type: String =
        members.read_as("type").ok_or_else(|| format!("events[{at}].type must be a string"))?;
    if !is_name(event_type.as_bytes()) {
        return Err(format!("events[{at}].type must be 1 to 128 letters, digits, '.', '_' or '-'"));
    }
    let (payload, is_changed) = payload(at, members, &event_type, redactor)?;
    Ok(Event { id, event_type, payload, is_changed })
}

fn read_shown(at: usize, members: &Members<'_>, redactor: &Redactor) -> Result<Event, String> {
    let name: String =
        members.read_as("type").ok_or_else(|| format!("events[{at}].type must be a string"))?;
    let known = EventType::parse(&name).filter(|known| known.class() == Class::Ephemeral);
    let Some(event_type) = known else {
        let names: Vec<&str> = EventType::EPHEMERAL.iter().map(|known| known.as_str()).collect();
        return Err(format!("events[{at}].type must be one of {}", names.join(", ")));
    };
    let (payload, is_changed) = payload(at, members, &name, redactor)?;
    let read = RawValue::from_string(payload.clone()).map_err(|error| error.to_string())?;
    let is_wrong = |fault: &Fault| !fault.extra;
    match faults(&event_type.kind(), &read, Lists::OpenTools).into_iter().find(is_wrong) {
        Some(fault) => Err(format!("events[{at}].payload.{fault}")),
        None => Ok(Event { id: None, event_type: name, payload, is_changed }),
    }
}

/// Returns the text that is kept, and whether it says something else than what was sent.
fn payload(
    at: usize,
    members: &Members<'_>,
    event_type: &str,
    redactor: &Redactor,
) -> Result<(String, bool), String> {
    let sent = members.get("payload").map(RawValue::get).filter(|text| text.starts_with('{'));
    let sent = sent.ok_or_else(|| format!("events[{at}].payload must be an object"))?;
    let invalid = |error: &dyn std::fmt::Display| format!("events[{at}].payload: {error}");
    let repaired = replace_lone_surrogates(sent);
    // What the model thought is never altered: its signature would not fit any more.
    let spared: &[&str] = match event_type {
        "model.thinking-block-completed" => &["thinking", "signature"],
        "model.thinking-delta" => &["text"],
        _ => &[],
    };
    let marked = if spared.is_empty() {
        redactor.json(&repaired)
    } else {
        spare(&repaired, spared, redactor).map_err(|error| invalid(&error))?
    };
    let is_changed = matches!(repaired, Cow::Owned(_)) || matches!(marked, Cow::Owned(_));
    let kept = canonical(&marked).map_err(|error| invalid(&error))?;
    Ok((kept, is_changed))
}

/// Marks secrets everywhere but in some members.
fn spare<'a>(
    object: &'a str,
    spared: &[&str],
    redactor: &Redactor,
) -> Result<Cow<'a, str>, serde_json::Error> {
    let members = Members::read(object)?;
    let mut others = String::from("{");
    let mut kept = String::new();
    for (name, value) in members.iter() {
        let out = if spared.contains(&name) { &mut kept } else { &mut others };
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(name)?);
        out.push(':');
        out.push_str(value.get());
    }
    others.push('}');
    match redactor.json(&others) {
        Cow::Borrowed(_) => Ok(Cow::Borrowed(object)),
        Cow::Owned(mut marked) => {
            marked.pop();
            if !kept.is_empty() {
                marked.push(',');
                marked.push_str(&kept);
            }
            marked.push('}');
            Ok(Cow::Owned(marked))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> String {
        append(body.as_bytes(), &Redactor::new(&[7; 32])).unwrap_err()
    }

    fn kept(event: &str) -> Event {
        let body = format!(r#"{{"events":[{event}]}}"#);
        append(body.as_bytes(), &Redactor::new(&[7; 32])).unwrap().events.remove(0)
    }

    #[test]
    fn what_is_not_the_producers_is_refused_by_name() {
        for name in OF_THE_LOG {
            let body = format!(r#"{{"events":[{{"type":"a","payload":{{}},"{name}":1}}]}}"#);
            assert_eq!(refused(&body), format!("events[0].{name} is given by the log; leave it out"));
        }
        let cases = [
            (
                r#"{"events":[{"type":"a","payload":{},"x":1}]}"#,
                "events[0].x is not known here; there are id, type, payload",
            ),
            (r#"{"events":[{"type":"a","type":"b","payload":{}}]}"#, "events[0].type stands there twice"),
            (
                r#"{"events":[],"seq":1}"#,
                "invalid body: seq is not known here; there are expected, synced, events",
            ),
            (r#"{"events":[]}"#, "invalid body: events has 0 items, must have 1 to 512"),
            (r#"{"events":{}}"#, "invalid body: events must be an array of events"),
            (
                r#"{"events":[1]}"#,
                "events[0]: invalid type: integer `1`, expected a JSON object at line 1 column 1",
            ),
            (
                r#"{"expected":-1,"events":[]}"#,
                "invalid body: expected must be a seq, a whole number from 0 on",
            ),
            (r#"{"synced":1,"events":[]}"#, "invalid body: synced must be true or false"),
            (r#"{"events":[{"payload":{}}]}"#, "events[0].type must be a string"),
            (
                r#"{"events":[{"type":"a\"b","payload":{}}]}"#,
                "events[0].type must be 1 to 128 letters, digits, '.', '_' or '-'",
            ),
            (r#"{"events":[{"type":"a","payload":[]}]}"#, "events[0].payload must be an object"),
            (
                r#"{"events":[{"type":"a","payload":{}},{"id":"01KDVDNA7T0000000000000001","type":"a","payload":{}},
                    {"id":"01KDVDNA7T0000000000000001","type":"a","payload":{}}]}"#,
                "events[2].id is that of events[1]; give each event an id of its own",
            ),
            ("", "invalid body: EOF while parsing a value at line 1 column 0"),
        ];
        for (body, expected) in cases {
            assert_eq!(refused(body), expected, "{body}");
        }
        assert!(
            refused(r#"{"events":[{"id":"x","type":"a","payload":{}}]}"#)
                .starts_with("events[0].id must be a ULID")
        );
        let deep = format!(
            r#"{{"events":[{{"type":"a","payload":{{"a":{}{}}}}}]}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        assert_eq!(refused(&deep), "events[0].payload: nests deeper than 128 levels");
    }

    #[test]
    fn payloads_are_kept_in_canonical_text_and_changes_are_told() {
        let event = kept(r#"{"type":"a","payload":{ "b":1.0, "a":"\u0041" }}"#);
        assert_eq!((event.payload.as_str(), event.is_changed), (r#"{"a":"A","b":1}"#, false));
        let event = kept(r#"{"type":"a","payload":{"a":"x\ud83d"}}"#);
        assert_eq!((event.payload.as_str(), event.is_changed), ("{\"a\":\"x\u{fffd}\"}", true));
        let event = kept(r#"{"type":"a","payload":{"input":{"password":"correct horse"}}}"#);
        assert!(event.payload.starts_with(r#"{"input":{"password":"[redacted:"#) && event.is_changed);
    }

    #[test]
    fn what_the_model_thought_is_never_altered() {
        let thought = r#""signature":"AKIAIOSFODNN7EXAMPLE","thinking":"password=hunter2hunter2""#;
        let event = kept(&format!(
            r#"{{"type":"model.thinking-block-completed","payload":{{"a":"AKIAIOSFODNN7EXAMPLE",{thought}}}}}"#
        ));
        assert!(event.payload.starts_with(r#"{"a":"[redacted:"#), "{}", event.payload);
        assert!(event.payload.ends_with(&format!(",{thought}}}")), "{}", event.payload);
    }

    #[test]
    fn what_is_kept_is_kept_the_same_when_it_is_sent_again() {
        let redactor = Redactor::new(&[7; 32]);
        for payload in [
            r#"{"a":"password=hunter2hunter2","b":[1.50,{"token":"x\ud83d AKIAIOSFODNN7EXAMPLE"}]}"#,
            r#"{"url":"https://me:correcthorse@example.org/","thinking":"AKIAIOSFODNN7EXAMPLE"}"#,
        ] {
            for event_type in ["a", "model.thinking-block-completed"] {
                let first = kept(&format!(r#"{{"type":"{event_type}","payload":{payload}}}"#));
                let again = kept(&format!(r#"{{"type":"{event_type}","payload":{}}}"#, first.payload));
                assert_eq!((again.payload, again.is_changed), (first.payload, false), "{event_type}");
            }
        }
        // Whatever the bytes are, there is an answer; and what is kept stands on one line.
        let body = r#"{"expected":3,"synced":true,"events":[{"id":"01KDVDNA7T0000000000000001","type":"tool.failed","payload":
            {"a":"\u0000\ud83d\ude00\n","b":[1e400,-0,{}],"password":"correct horse"}},{"type":"b","payload":{}}]}"#;
        assert_eq!(append(body.as_bytes(), &redactor).unwrap().events.len(), 2);
        let mut taken = 0;
        for at in 0..body.len() {
            assert!(append(&body.as_bytes()[..at], &redactor).is_err());
            for byte in [b'"', b'\\', b'{', b'}', b',', b'0', b'd', 0x80, 0] {
                let mut changed = body.as_bytes().to_vec();
                changed[at] = byte;
                let events = append(&changed, &redactor).map_or(Vec::new(), |asked| asked.events);
                taken += events.len();
                assert!(events.iter().all(|event| !event.payload.contains(['\n', '\r', '\0'])));
                assert!(shown(&changed, &redactor).is_err());
            }
        }
        assert!(taken > 100, "{taken}");
    }

    #[test]
    fn only_ephemeral_events_of_their_shape_are_shown() {
        let read = |event: &str| {
            let body = format!(r#"{{"events":[{event}]}}"#);
            shown(body.as_bytes(), &Redactor::new(&[7; 32])).map(|events| events[0].payload.clone())
        };
        let delta = r#"{"blockIndex":0,"requestId":"r","text":"hi"}"#;
        assert_eq!(
            read(&format!(r#"{{"type":"model.text-delta","payload":{delta}}}"#)).as_deref(),
            Ok(delta)
        );
        let error = read(r#"{"type":"tool.started","payload":{}}"#).unwrap_err();
        assert!(error.starts_with("events[0].type must be one of model.text-delta, "), "{error}");
        let error = read(r#"{"type":"tool.output","payload":{"toolUseId":"t"}}"#).unwrap_err();
        assert_eq!(error, "events[0].payload.chunk is missing");
        let error = read(r#"{"type":"tool.output","id":"x","payload":{}}"#).unwrap_err();
        assert_eq!(error, "events[0].id is not known here; there are type, payload");
    }
}
