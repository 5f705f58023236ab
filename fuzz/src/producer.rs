//! What producers post to a session's log, up to the checker and the fold.

use herdbook_events::Ulid;
use herdbook_redact::Redactor;
use herdbook_story::{Checker, History, Line, Options, Templates, canonical};
use serde::de::IgnoredAny;

use crate::asked::{self, Event};

/// One session: what was taken of it stands in the next lines of its log.
pub struct Session {
    redactor: Redactor,
    checker: Checker,
    history: History,
    seq: u64,
}

impl Session {
    /// A session without lines.
    pub fn new() -> Session {
        let (redactor, checker) = (Redactor::new(&[0; 32]), Checker::new(Options::native()));
        Session { redactor, checker, history: History::new(Templates::default()), seq: 0 }
    }

    /// `POST /v1/sessions/{key}/events`.
    pub fn append(&mut self, body: &[u8]) {
        let Ok(asked) = asked::append(body, &self.redactor) else { return };
        let events: Vec<String> = asked.events.iter().map(Session::as_sent).collect();
        let expected = asked.expected.map(|seq| format!(r#""expected":{seq},"#)).unwrap_or_default();
        let sent_again =
            format!(r#"{{{expected}"synced":{},"events":[{}]}}"#, asked.synced, events.join(","));
        let again = asked::append(sent_again.as_bytes(), &self.redactor).expect("what is kept can be sent");
        assert_eq!((asked.expected, asked.synced), (again.expected, again.synced));
        for (event, again) in asked.events.iter().zip(&again.events) {
            self.kept(event);
            assert_eq!((&event.id, &event.event_type), (&again.id, &again.event_type));
            assert_eq!(
                (&event.payload, false),
                (&again.payload, again.is_changed),
                "what is kept stays as it is"
            );
        }
        for event in &asked.events {
            self.line(event);
        }
    }

    /// `POST /v1/sessions/{key}/ephemeral`.
    pub fn show(&self, body: &[u8]) {
        for event in asked::shown(body, &self.redactor).unwrap_or_default() {
            self.kept(&event);
        }
    }

    fn as_sent(event: &Event) -> String {
        let id = event.id.map(|id| format!(r#""id":"{id}","#)).unwrap_or_default();
        format!(r#"{{{id}"type":{},"payload":{}}}"#, quoted(&event.event_type), event.payload)
    }

    fn kept(&self, event: &Event) {
        assert!(
            event.payload.starts_with('{') && !event.payload.contains(['\n', '\r']),
            "a payload is one line"
        );
        assert_eq!(canonical(&event.payload).ok().as_ref(), Some(&event.payload), "a payload is canonical");
    }

    /// The checker and the fold take any line that can be written.
    fn line(&mut self, event: &Event) {
        self.seq += 1;
        let id = event.id.unwrap_or_else(|| Ulid::from_parts(1_767_225_603_000 + self.seq, 1));
        let (event_type, payload) = (quoted(&event.event_type), &event.payload);
        let (seq, ts) = (self.seq, 1_767_225_603_000 + self.seq);
        let line = format!(
            r#"{{"v":1,"id":"{id}","sessionId":"s-1","seq":{seq},"ts":{ts},"type":{event_type},"payload":{payload}}}"#
        );
        for finding in self.checker.push(&line) {
            assert_eq!(finding.seq.min(seq), finding.seq, "a finding is of a line that was there");
        }
        if let Ok(line) = Line::read(&line) {
            let _ = self.history.apply(&line);
        }
        if let Ok(messages) = self.history.messages() {
            assert!(serde_json::from_str::<IgnoredAny>(&messages).is_ok(), "a history is JSON");
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}
