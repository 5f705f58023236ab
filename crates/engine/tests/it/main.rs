//! The engine as its users see it: inputs in, queue and published events out, in virtual time.

#![expect(missing_docs, reason = "a test: names say it")]
#![expect(clippy::unwrap_used, reason = "a test: what is missing fails it")]

mod aged;
mod decisions;
mod detected;
mod endings;
mod gemini;
mod hooks;
mod house;
mod human;
mod ids;
mod ledger;
mod panes;
mod posted;
mod programs;
mod received;
mod replay;
mod screen;
mod status;
mod transcripts;
mod why;

use herdbook_engine::record::{Record, RecordView};
use herdbook_engine::{
    Config, Decided, DecidedBy, Effect, Engine, HookDelivery, HumanAct, Input, Now, ToldRecord,
    TranscriptNews,
};
use herdbook_events::{NormalizedEvent, Origin, SessionKey, Told};

fn view(record: &Record) -> RecordView<'_> {
    RecordView { id: &record.id, ts_ms: record.ts_ms, kind: record.kind, payload: record.payload.get() }
}

/// An engine with its clock and journal.
pub struct Herd {
    pub engine: Engine,
    pub now: Now,
    pub journal: Vec<Record>,
    pub published: Vec<NormalizedEvent>,
    pub calls: Vec<Vec<String>>,
    pub withdrawn: Vec<String>,
    /// Hooks that are made now started so long ago.
    pub behind_ms: u64,
    /// Hooks that are made now ran before the machine was started.
    pub earlier_boot: bool,
    deliveries: u128,
}

pub const START_MS: u64 = 1_768_467_600_000;

impl Default for Herd {
    fn default() -> Herd {
        Herd::new()
    }
}

impl Herd {
    pub fn new() -> Herd {
        Herd {
            engine: Engine::new(Config::default()),
            now: Now { wall_ms: START_MS, mono_ms: 1_000_000 },
            journal: Vec::new(),
            published: Vec::new(),
            calls: Vec::new(),
            withdrawn: Vec::new(),
            behind_ms: 0,
            earlier_boot: false,
            deliveries: 0,
        }
    }

    pub fn input(&mut self, input: Input) {
        for effect in self.engine.step(self.now, input) {
            match effect {
                Effect::Append(records) => self.journal.extend(records),
                Effect::Publish { event, .. } => self.published.push(event),
                Effect::Announce { sessions, .. } => {
                    self.calls.push(sessions.iter().map(ToString::to_string).collect());
                }
                Effect::Withdraw { session } => self.withdrawn.push(session.to_string()),
                Effect::Warn(_) => {}
            }
        }
    }

    /// Lets time go by, with a tick wherever the engine asks for one.
    pub fn wait(&mut self, ms: u64) {
        let end = self.now.mono_ms + ms;
        while let Some(due) = self.engine.next_deadline_ms().filter(|due| *due <= end) {
            let step = due.saturating_sub(self.now.mono_ms).max(1);
            self.now = Now { wall_ms: self.now.wall_ms + step, mono_ms: self.now.mono_ms + step };
            self.input(Input::Tick);
        }
        let rest = end.saturating_sub(self.now.mono_ms);
        self.now = Now { wall_ms: self.now.wall_ms + rest, mono_ms: self.now.mono_ms + rest };
    }

    pub fn post(&mut self, body: &str) {
        let event = NormalizedEvent::parse(body.as_bytes()).unwrap();
        self.input(Input::Normalized { event, body: body.to_owned() });
    }

    pub fn stuck(&mut self, id: &str, timestamp: u64, message: &str) {
        self.post(&format!(
            r#"{{"type":"stuck","sessionId":"{id}","paneId":"%{id}","cwd":"","transcriptPath":"","reason":"stopped","message":"{message}","timestamp":{timestamp}}}"#
        ));
    }

    pub fn tell(&mut self, kind: &str, id: &str) {
        self.post(&format!(r#"{{"type":"{kind}","sessionId":"{id}","paneId":"%{id}","cwd":"/srv/a","transcriptPath":"","timestamp":1}}"#));
    }

    /// A Claude hook of session `id` with further members.
    pub fn claude(&mut self, id: &str, event: &str, more: &str) {
        let comma = if more.is_empty() { "" } else { "," };
        let body =
            format!(r#"{{"session_id":"{id}","cwd":"/srv/demo","hook_event_name":"{event}"{comma}{more}}}"#);
        let vars =
            vec![("TMUX_PANE".into(), format!("%{id}")), ("TMUX".into(), "/tmp/t/default,42,0".into())];
        self.hook("claude", &body, Origin { vars, ..Origin::default() });
    }

    pub fn hook(&mut self, host: &str, body: &str, origin: Origin) {
        self.deliveries += 1;
        let delivery = self.deliveries;
        self.deliver(host, body, origin, delivery);
    }

    pub fn deliver(&mut self, host: &str, body: &str, origin: Origin, delivery: u128) {
        self.input(Input::Hook(HookDelivery {
            host: host.to_owned(),
            native_event: None,
            delivery,
            stamp_ms: Some(self.now.mono_ms.saturating_sub(self.behind_ms)),
            started_at_ms: Some(self.now.wall_ms.saturating_sub(self.behind_ms)),
            origin,
            body: body.as_bytes().to_vec(),
            cut: false,
            spooled: self.earlier_boot,
            earlier_boot: self.earlier_boot,
        }));
    }

    /// A Claude hook whose process says that it started at that time since boot.
    pub fn stamped(&mut self, id: &str, event: &str, more: &str, stamp_ms: u64) {
        self.deliveries += 1;
        let body = format!(r#"{{"session_id":"{id}","cwd":"/srv/demo","hook_event_name":"{event}",{more}}}"#);
        self.input(Input::Hook(HookDelivery {
            host: "claude".into(),
            native_event: None,
            delivery: self.deliveries,
            stamp_ms: Some(stamp_ms),
            started_at_ms: Some(self.now.wall_ms),
            origin: Origin::default(),
            body: body.into_bytes(),
            cut: false,
            spooled: false,
            earlier_boot: false,
        }));
    }

    /// A Claude hook without a stamp that started at that wall time.
    pub fn late(&mut self, id: &str, event: &str, more: &str, started_at_ms: u64) {
        self.deliveries += 1;
        let body = format!(r#"{{"session_id":"{id}","cwd":"/srv/demo","hook_event_name":"{event}",{more}}}"#);
        self.input(Input::Hook(HookDelivery {
            host: "claude".into(),
            native_event: None,
            delivery: self.deliveries,
            stamp_ms: None,
            started_at_ms: Some(started_at_ms),
            origin: Origin::default(),
            body: body.into_bytes(),
            cut: false,
            spooled: false,
            earlier_boot: false,
        }));
    }

    /// A fact out of the transcript of a Claude session.
    pub fn told(&mut self, id: &str, fresh: bool, written_ms: Option<u64>, told: Told) {
        self.input(Input::Transcript(TranscriptNews {
            session: SessionKey::hooked("claude", id).unwrap(),
            host: "claude".into(),
            path: format!("/home/dev/.claude/projects/-app/{id}.jsonl"),
            fresh,
            facts: vec![ToldRecord { record: None, written_ms, told }],
        }));
    }

    /// What was decided about one of the hook calls, counted from 1, and told to its host.
    pub fn decide(&mut self, delivery: u128, session: &str, outcome: &'static str, by: DecidedBy) {
        let told = matches!(outcome, "allow" | "deny").then(|| format!(r#"{{"decision":"{outcome}"}}"#));
        self.input(Input::Decided(Decided {
            delivery,
            host: "claude".into(),
            native_event: "PermissionRequest".into(),
            session: SessionKey::posted(session),
            by,
            outcome,
            given: outcome,
            reason: None,
            told,
            left_out: Vec::new(),
            took_ms: 40,
        }));
    }

    /// The delivery id of the last hook call.
    pub fn last(&self) -> u128 {
        self.deliveries
    }

    pub fn act(&mut self, act: HumanAct) {
        self.input(Input::Human(act));
    }

    /// Session ids in queue order.
    pub fn queue(&self) -> Vec<String> {
        self.engine.queue(self.now).iter().map(|entry| entry.session.to_string()).collect()
    }

    pub fn state(&self, key: &str) -> String {
        let Some(view) = self.engine.session(&SessionKey::posted(key).unwrap()) else {
            return "absent".into();
        };
        let kind = view.kind.map(|kind| format!("/{}", kind.as_str())).unwrap_or_default();
        format!("{:?}{kind}", view.state).to_lowercase()
    }

    /// What was published since the last call, one word an event.
    pub fn take_published(&mut self) -> Vec<String> {
        self.published.drain(..).map(|event| format!("{} {}", event.kind(), event.session_id())).collect()
    }

    /// A new engine that folds the journal again.
    pub fn restarted(&self) -> Herd {
        let mut herd = Herd::new();
        herd.now = Now { wall_ms: self.now.wall_ms, mono_ms: 5 };
        herd.deliveries = self.deliveries;
        self.journal.iter().for_each(|record| herd.engine.replay(&view(record)).unwrap());
        herd
    }

    /// A new engine that folds another journal, at this one's time.
    pub fn folded(&self, journal: Vec<Record>) -> Herd {
        Herd { journal, now: self.now, deliveries: self.deliveries, ..Herd::new() }.restarted()
    }

    /// The herd of a moment of the past, out of the journal.
    pub fn past(&self, wall_ms: u64) -> Herd {
        let mut herd = Herd::new();
        let until = self.journal.iter().rposition(|record| record.ts_ms <= wall_ms).unwrap() + 1;
        self.journal[..until].iter().for_each(|record| herd.engine.replay(&view(record)).unwrap());
        let next = self.journal.get(until).map(view);
        herd.now = herd.engine.rest_until(wall_ms, next.as_ref());
        herd
    }
}
