//! Payloads of journal records, written and read back.

use herdbook_attention::{Moment, RULES_VERSION, Transition};
use herdbook_events::{NormalizedEvent, Origin, Process, SessionKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::types::HumanAct;

/// The payload of a `hook` record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookPayload {
    /// The fold's clock.
    pub clock: u64,
    /// Delivery id, 32 hex digits.
    pub delivery: String,
    /// Milliseconds since boot at the start of the hook process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<u64>,
    /// Unix milliseconds at the start of the hook process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// It came out of the spool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spooled: bool,
    /// It ran before the machine was started last: kept, and moves nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier_boot: bool,
    /// The adapter that was called, where it is not the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// The host whose event it is.
    pub host: String,
    /// Canonical family, or null.
    pub event: Option<String>,
    /// The host's event name.
    pub native_event: Option<String>,
    /// The host's session id.
    pub session: Option<String>,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The record of the same call by another registration: this one is kept and counts for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_of: Option<String>,
    /// Where the hook ran.
    #[serde(default)]
    pub origin: Origin,
    /// The native object; secrets are marked, all else is as received.
    pub native: Box<RawValue>,
}

/// The payload of an `unreadable` record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnreadablePayload {
    /// The fold's clock.
    pub clock: u64,
    /// Delivery id, 32 hex digits.
    pub delivery: String,
    /// The host.
    pub host: String,
    /// Why it could not be read.
    pub error: String,
    /// Salvaged session id.
    pub session: Option<String>,
    /// Salvaged event name.
    pub native_event: Option<String>,
    /// Salvaged working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Facts above were taken out of broken input.
    pub salvaged: bool,
    /// The hook cut the input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Where the hook ran.
    #[serde(default)]
    pub origin: Origin,
    /// The input as text; secrets are marked, invalid UTF-8 is replaced.
    pub text: String,
}

/// Serializes a payload. The types here have string keys and no failing serializers, so an error cannot occur; if it
/// did, an empty object is the honest record of it.
pub fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Reads the fold's clock out of any payload.
pub fn clock(payload: &str) -> Result<u64, serde_json::Error> {
    #[derive(Deserialize)]
    struct Only {
        clock: u64,
    }
    serde_json::from_str::<Only>(payload).map(|only| only.clock)
}

#[derive(Serialize, Deserialize)]
struct NormalizedPayload {
    clock: u64,
    event: Box<RawValue>,
    /// The body as received, where it says more than the event.
    body: Option<Box<RawValue>>,
}

pub fn normalized(at: Moment, event: &NormalizedEvent, body: &str) -> Box<RawValue> {
    let event = raw(event);
    let body = RawValue::from_string(body.to_owned())
        .ok()
        .filter(|body| body.get() != event.get() && !body.get().contains(['\n', '\r']));
    raw(&NormalizedPayload { clock: at.at_ms, event, body })
}

pub fn read_normalized(payload: &str) -> Result<NormalizedEvent, serde_json::Error> {
    let read: NormalizedPayload = serde_json::from_str(payload)?;
    NormalizedEvent::parse(read.event.get().as_bytes()).map_err(serde::de::Error::custom)
}

#[derive(Serialize, Deserialize)]
struct HumanPayload {
    clock: u64,
    act: String,
    session: Option<SessionKey>,
    for_ms: Option<u64>,
}

pub fn human(at: Moment, act: &HumanAct) -> Box<RawValue> {
    let (word, session, for_ms) = match act {
        HumanAct::Skip(session) => ("skip", session.clone(), None),
        HumanAct::Snooze(session, for_ms) => ("snooze", Some(session.clone()), Some(*for_ms)),
        HumanAct::Pin(session, true) => ("pin", Some(session.clone()), None),
        HumanAct::Pin(session, false) => ("unpin", Some(session.clone()), None),
        HumanAct::Settle(session) => ("settle", Some(session.clone()), None),
    };
    raw(&HumanPayload { clock: at.at_ms, act: word.to_owned(), session, for_ms })
}

pub fn read_human(payload: &str) -> Result<HumanAct, serde_json::Error> {
    let read: HumanPayload = serde_json::from_str(payload)?;
    let session = read.session.clone().ok_or_else(|| serde::de::Error::missing_field("session"));
    Ok(match read.act.as_str() {
        "skip" => HumanAct::Skip(read.session),
        "snooze" => HumanAct::Snooze(session?, read.for_ms.unwrap_or_default()),
        "pin" => HumanAct::Pin(session?, true),
        "unpin" => HumanAct::Pin(session?, false),
        "settle" => HumanAct::Settle(session?),
        other => return Err(serde::de::Error::custom(format!("unknown act '{other}'"))),
    })
}

pub fn process(at: Moment, process: Process, machine: Option<&str>) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Gone<'a> {
        clock: u64,
        source: &'static str,
        pid: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        start: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        machine: Option<&'a str>,
        alive: bool,
    }
    let Process { pid, start } = process;
    raw(&Gone { clock: at.at_ms, source: "process", pid, start, machine, alive: false })
}

/// Where an observation came from.
pub fn source(payload: &str) -> Result<String, serde_json::Error> {
    #[derive(Deserialize)]
    struct Only {
        source: String,
    }
    Ok(serde_json::from_str::<Only>(payload)?.source)
}

pub fn read_process(payload: &str) -> Result<Option<(Process, Option<String>)>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Gone {
        pid: Option<u32>,
        start: Option<u64>,
        machine: Option<String>,
    }
    let read: Gone = serde_json::from_str(payload)?;
    Ok(read.pid.map(|pid| (Process { pid, start: read.start }, read.machine)))
}

pub fn gap(at: Moment, lost: u64, reason: &str) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Gap<'a> {
        clock: u64,
        lost: u64,
        reason: &'a str,
    }
    raw(&Gap { clock: at.at_ms, lost, reason })
}

pub fn lost(payload: &str) -> Result<u64, serde_json::Error> {
    #[derive(Deserialize)]
    struct Gap {
        lost: u64,
    }
    serde_json::from_str::<Gap>(payload).map(|gap| gap.lost)
}

pub fn daemon(at: Moment, what: &str, version: &str, boot: Option<u32>) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Daemon<'a> {
        clock: u64,
        what: &'a str,
        version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        boot: Option<String>,
    }
    let boot = boot.map(|boot| format!("{boot:08x}"));
    raw(&Daemon { clock: at.at_ms, what, version, boot })
}

/// Whether the daemon started, and in which boot; nothing where it stopped.
pub fn read_start(payload: &str) -> Result<Option<Option<u32>>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Daemon {
        what: String,
        boot: Option<String>,
    }
    let read: Daemon = serde_json::from_str(payload)?;
    let boot = read.boot.and_then(|digits| u32::from_str_radix(&digits, 16).ok());
    Ok((read.what == "start").then_some(boot))
}

pub fn transition(at: Moment, transition: &Transition) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Body<'a> {
        clock: u64,
        event: &'a NormalizedEvent,
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<herdbook_events::WaitKind>,
        causes: &'a [String],
        rules: u32,
    }
    let Transition { event, kind, causes, .. } = transition;
    raw(&Body { clock: at.at_ms, event, kind: *kind, causes, rules: RULES_VERSION })
}
