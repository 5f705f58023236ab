//! Bodies that are posted, up to the journal and back: what a body parses to, what the engine writes of it, and what a
//! new engine makes of what was written.
//!
//! The input holds requests, `%%` alone on a line between them. The first line of each is its path; the rest its body.
//! `/event/normalized`, `/event`, `/v1/status`, `/v1/hooks/HOST?event=NAME`, `/v1/sessions/s-1/events` and
//! `/v1/sessions/s-1/ephemeral` are known; `/tick` lets a minute go by.

use herdbook_engine::record::{KINDS, Record, RecordView};
use herdbook_engine::view::{QueueEntry, SessionView};
use herdbook_engine::{Config, Effect, Engine, HookDelivery, Input, Now, posted_origin};
use herdbook_events::status::Scanner;
use herdbook_events::{NormalizedEvent, PostedStatus, StatusPlace, Ulid};
use serde_json::{Map, Value};

use crate::producer::Session;

const START: Now = Now { wall_ms: 1_767_225_603_000, mono_ms: 1_000_000 };

/// The input is requests, as the module says.
pub fn run(data: &[u8]) {
    let mut herd = Herd { engine: Engine::new(Config::default()), now: START, journal: Vec::new(), calls: 0 };
    let mut session = Session::new();
    for request in split(data, b"\n%%\n").into_iter().take(16) {
        let (path, body) = match request.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&request[..at], &request[at + 1..]),
            None => (request, &[][..]),
        };
        match std::str::from_utf8(path) {
            Ok("/v1/sessions/s-1/events") => session.append(body),
            Ok("/v1/sessions/s-1/ephemeral") => session.show(body),
            Ok(path) => herd.request(path, body),
            Err(_) => {}
        }
    }
    herd.input(Input::Daemon { what: "stop", version: "0".to_owned(), boot: None });
    let again = herd.restarted();
    assert_eq!(seen(&herd.engine, herd.now), seen(&again, herd.now), "the journal gives the state");
}

struct Herd {
    engine: Engine,
    now: Now,
    journal: Vec<Record>,
    calls: u128,
}

impl Herd {
    fn request(&mut self, path: &str, body: &[u8]) {
        self.pass(100);
        match path {
            "/tick" => self.pass(60_000),
            "/event/normalized" => self.normalized(body),
            "/event" => self.hook("claude", None, body),
            "/v1/status" => self.status(body),
            _ => {
                let Some(rest) = path.strip_prefix("/v1/hooks/") else { return };
                let (host, event) =
                    rest.split_once("?event=").map_or((rest, None), |(host, event)| (host, Some(event)));
                if !host.is_empty() && host.len() <= 255 {
                    self.hook(host, event, body);
                }
            }
        }
    }

    fn normalized(&mut self, body: &[u8]) {
        let Ok(event) = NormalizedEvent::parse(body) else { return };
        let written = serde_json::to_vec(&event).expect("an event is JSON");
        assert_eq!(
            NormalizedEvent::parse(&written).ok(),
            Some(event.clone()),
            "an event reads back as it was written"
        );
        let body = String::from_utf8(body.to_vec()).expect("what is JSON is UTF-8");
        self.input(Input::Normalized { event, body });
    }

    fn hook(&mut self, host: &str, event: Option<&str>, body: &[u8]) {
        self.calls += 1;
        self.input(Input::Hook(HookDelivery {
            host: host.to_owned(),
            native_event: event.map(str::to_owned),
            delivery: self.calls,
            stamp_ms: Some(self.now.mono_ms),
            started_at_ms: Some(self.now.wall_ms),
            origin: posted_origin("%1"),
            body: body.to_vec(),
            cut: false,
            spooled: false,
            earlier_boot: false,
        }));
    }

    /// A report as JSON, or as the bytes that a program writes to its terminal.
    fn status(&mut self, body: &[u8]) {
        let place = StatusPlace::new(Some("%1".to_owned()), None, None, None).expect("a pane is a place");
        let mut reports: Vec<PostedStatus> = Vec::new();
        if let Ok(members) = serde_json::from_slice::<Map<String, Value>>(body) {
            reports.extend(PostedStatus::read(&members));
        }
        for report in Scanner::new().feed(body).into_iter().flatten() {
            reports.push(PostedStatus { report, place: place.clone(), written_ms: None });
        }
        for report in reports {
            self.input(Input::Status(report));
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now = Now { wall_ms: self.now.wall_ms + ms, mono_ms: self.now.mono_ms + ms };
        self.input(Input::Tick);
    }

    fn input(&mut self, input: Input) {
        for effect in self.engine.step(self.now, input) {
            if let Effect::Append(records) = effect {
                for record in records {
                    self.check(&record);
                    self.journal.push(record);
                }
            }
        }
    }

    /// A record can be a line of the journal, and ids rise.
    fn check(&self, record: &Record) {
        assert!(KINDS.contains(&record.kind));
        let id = Ulid::parse(&record.id).expect("an id is a ULID");
        let last = self.journal.last().and_then(|last| Ulid::parse(&last.id));
        assert!(last.is_none_or(|last| last < id), "ids rise");
        let text = record.payload.get();
        assert!(text.starts_with('{') && text.ends_with('}'), "a payload is an object");
        assert!(!text.contains(['\n', '\r']), "a payload has one line");
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(), "a payload is JSON");
    }

    fn restarted(&self) -> Engine {
        let mut engine = Engine::new(Config::default());
        for record in &self.journal {
            let Record { id, ts_ms, kind, payload } = record;
            let view = RecordView { id, ts_ms: *ts_ms, kind, payload: payload.get() };
            engine.replay(&view).expect("what was written is read");
        }
        engine
    }
}

fn seen(engine: &Engine, now: Now) -> (Vec<QueueEntry>, Vec<SessionView>) {
    (engine.queue(now), engine.sessions())
}

fn split<'a>(mut rest: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest);
    parts
}
