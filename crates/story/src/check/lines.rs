//! The envelope: rules E1 to E9.

use std::borrow::Cow;
use std::collections::HashMap;

use herdbook_events::Ulid;
use herdbook_events::catalog::{Class, Durable, Event, EventType, Kind, Members, Shaped, faults};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::canonical::canonical_text;
use crate::check::checker::Checker;
use crate::check::rules::{Profile, Rule};
use crate::check::state::{Digest, digest};
use crate::line::LINE_VERSION;
use crate::numbering::Numbering;
use crate::upgrade::{UPGRADES, upgrade};

/// The clock may go back so far without a word, in milliseconds.
const CLOCK_SLACK_MS: i64 = 5_000;

/// What is remembered of all lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Lines {
    pub count: u64,
    pub seqs: Numbering,
    pub session_id: Option<String>,
    /// The id of this line.
    pub id: Option<String>,
    /// A digest of what stands under each id.
    #[serde(with = "crate::check::state::packed")]
    contents: HashMap<u128, Digest>,
    /// The highest id that was made here.
    last_id: Option<u128>,
    last_ts: Option<i64>,
}

impl Lines {
    /// The highest id of all lines.
    pub fn highest_id(&self) -> Option<Ulid> {
        self.contents.keys().max().copied().map(Ulid::from_bits)
    }
}

impl Checker {
    /// Looks at the envelope and the shape of the payload. It returns the type and what the payload says, as far as both
    /// can be told; nothing for a line that must not count.
    pub(super) fn look_at_line(&mut self, line: &str) -> Option<(EventType, Option<Event>)> {
        self.lines.count += 1;
        self.found.seq = self.lines.seqs.due();
        let line = herdbook_events::replace_lone_surrogates(line);
        // What no step can read is named below, as a line of its own version.
        let line = upgrade(&line, UPGRADES).unwrap_or(Cow::Borrowed(&line));
        let members = match Members::read(&line) {
            Ok(members) => members,
            Err(error) => {
                self.lines.seqs.skip();
                self.found.add(Rule::E8, "", format!("the line is no JSON object: {error}"));
                return None;
            }
        };
        self.look_at_seq(members.read_as("seq"));
        for repeated in members.repeated() {
            self.found.add(rule_of(repeated), repeated, "stands in the envelope twice");
        }
        let is_readable = self.look_at_version(&members);
        self.look_at_session(members.read_as("sessionId"));
        self.look_at_ts(members.read_as("ts"));
        if !is_readable {
            self.look_at_id(members.read_as("id"), &members, None);
            return None;
        }
        if members.get("parentId").is_some() {
            self.found.add(Rule::E6, "parentId", "must be absent while v is 1");
        }
        self.look_for_extras(&members);
        let event_type = self.look_at_type(members.read_as("type"));
        let payload = self.payload(&members, event_type);
        if !self.look_at_id(members.read_as("id"), &members, payload.as_deref()) {
            return None;
        }
        let event_type = event_type?;
        let event = payload.and_then(|payload| self.event(event_type, &payload));
        if self.lines.count == 1 && event_type != EventType::SessionStarted {
            self.found.add(Rule::S1, "type", "the first line must be session.started");
        }
        Some((event_type, event))
    }

    fn look_at_seq(&mut self, seq: Option<u64>) {
        let Some(seq) = seq else {
            self.lines.seqs.skip();
            return self.found.add(Rule::E4, "seq", "is missing or no whole number");
        };
        self.found.seq = seq;
        if let Err(due) = self.lines.seqs.take(seq) {
            let hint = if (seq, due) == (0, 1) { "; an import renumbers a log that starts at 0" } else { "" };
            self.found.add(Rule::E4, "seq", format!("is {seq}, must be {due}{hint}"));
        }
    }

    fn look_at_version(&mut self, members: &Members<'_>) -> bool {
        let version: Option<u64> = members.read_as("v");
        match version {
            Some(LINE_VERSION) => return true,
            Some(version) => {
                self.found.add(
                    Rule::E1,
                    "v",
                    format!("is {version}, must be {LINE_VERSION}; the line is not read"),
                );
            }
            None => self.found.add(Rule::E1, "v", format!("is missing, must be {LINE_VERSION}")),
        }
        version.is_none()
    }

    fn look_at_session(&mut self, session_id: Option<String>) {
        let Some(session_id) = session_id.filter(|id| !id.is_empty()) else {
            return self.found.add(Rule::E3, "sessionId", "is missing or empty");
        };
        match &self.lines.session_id {
            None => self.lines.session_id = Some(session_id),
            Some(first) if *first == session_id => {}
            Some(first) => {
                self.found.add(Rule::E3, "sessionId", format!("is '{session_id}', this log is '{first}'"));
            }
        }
    }

    fn look_at_ts(&mut self, ts: Option<i64>) {
        let Some(ts) = ts.filter(|ts| *ts > 0) else {
            return self.found.add(Rule::E5, "ts", "must be a positive whole number, Unix milliseconds");
        };
        if let Some(back) = self.lines.last_ts.map(|last| last - ts).filter(|back| *back > CLOCK_SLACK_MS) {
            self.found.add(Rule::E5, "ts", format!("is {back} ms before the line before it"));
        }
        self.lines.last_ts = Some(ts);
    }

    fn look_for_extras(&mut self, members: &Members<'_>) {
        let Kind::Object { fields, .. } = Durable::KIND else { return };
        for (name, _) in members.iter() {
            if !fields.iter().any(|field| field.name == name) {
                self.found.warn(Rule::E8, name, "is no member of the envelope; it is kept");
            }
        }
    }

    fn look_at_type(&mut self, name: Option<String>) -> Option<EventType> {
        let Some(name) = name else {
            self.found.add(Rule::E7, "type", "is missing or no string");
            return None;
        };
        match EventType::parse(&name) {
            Some(known) if known.class() == Class::Durable => return Some(known),
            Some(_) => self.found.add(Rule::E7, "type", format!("{name} is ephemeral and never in a log")),
            None => self.found.add(Rule::E7, "type", format!("'{name}' is not in the catalog")),
        }
        None
    }

    /// Returns the canonical text of the payload, which must be an object.
    fn payload<'a>(
        &mut self,
        members: &Members<'a>,
        event_type: Option<EventType>,
    ) -> Option<Cow<'a, RawValue>> {
        let payload = members.get("payload").filter(|payload| payload.get().starts_with('{'));
        let Some(payload) = payload else {
            if event_type.is_some() {
                self.found.add(Rule::E8, "payload", "is missing or no object");
            }
            return None;
        };
        match canonical_text(payload.get()) {
            Ok(Cow::Borrowed(_)) => Some(Cow::Borrowed(payload)),
            Ok(Cow::Owned(text)) => RawValue::from_string(text).ok().map(Cow::Owned),
            Err(error) => {
                self.found.add(Rule::E8, "payload", error.to_string());
                None
            }
        }
    }

    fn event(&mut self, event_type: EventType, payload: &RawValue) -> Option<Event> {
        for fault in faults(&event_type.kind(), payload, self.options.lists) {
            if fault.extra {
                self.found.warn(Rule::E8, &fault.field, fault.message);
            } else {
                self.found.add(Rule::E8, &fault.field, fault.message);
            }
        }
        Event::read(event_type, payload).ok()
    }

    /// Returns false for a line that stands there already: it counts once.
    fn look_at_id(&mut self, id: Option<String>, members: &Members<'_>, payload: Option<&RawValue>) -> bool {
        self.lines.id.clone_from(&id);
        let Some(id) = id.as_deref().and_then(Ulid::parse).map(Ulid::to_bits) else {
            self.found.add(Rule::E2, "id", "must be a ULID: 26 characters, the first 0 to 7");
            return true;
        };
        let payload = payload.or(members.get("payload"));
        let content = digest((members.get("type").map(RawValue::get), payload.map(RawValue::get)));
        match self.lines.contents.insert(id, content) {
            Some(earlier) if earlier == content => {
                self.found.add(Rule::E2, "id", "duplicate: an earlier line has this id and says the same");
                return false;
            }
            Some(_) => {
                self.found.add(Rule::E2, "id", "conflict: an earlier line has this id and says otherwise")
            }
            None => {
                // Ids of what was imported carry the time at which it happened.
                let is_ours = self.options.profile == Profile::Native && members.get("src").is_none();
                if is_ours {
                    if self.lines.last_id.is_some_and(|last| id < last) {
                        self.found.add(Rule::E9, "id", "is below the id of an earlier line");
                    }
                    self.lines.last_id = self.lines.last_id.max(Some(id));
                }
            }
        }
        true
    }
}

/// The rule of a member of the envelope.
fn rule_of(member: &str) -> Rule {
    match member {
        "v" => Rule::E1,
        "id" => Rule::E2,
        "sessionId" => Rule::E3,
        "seq" => Rule::E4,
        "ts" => Rule::E5,
        "parentId" => Rule::E6,
        "type" => Rule::E7,
        _ => Rule::E8,
    }
}
