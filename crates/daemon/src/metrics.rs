//! `GET /metrics` in Prometheus' text format 0.0.4.
//!
//! Only what is really known, and no label that grows with the work: hosts, kinds, states, outcomes. What is counted
//! of waits, work and hook calls is folded from the journal, so it does not begin anew with the daemon.

use std::fmt::{Display, Write as _};

use herdbook_engine::book::{BUCKETS_S, Totals};
use herdbook_engine::received::Named;
use herdbook_engine::view::State;
use herdbook_engine::{Engine, Now};
use herdbook_events::WaitKind;

/// What the format calls itself.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const KINDS: [WaitKind; 8] = [
    WaitKind::TurnEnd,
    WaitKind::Error,
    WaitKind::Interrupted,
    WaitKind::Permission,
    WaitKind::Question,
    WaitKind::Plan,
    WaitKind::Elicitation,
    WaitKind::Dialog,
];
const STATES: [(&str, State); 4] = [
    ("registered", State::Registered),
    ("working", State::Working),
    ("stuck", State::Stuck),
    ("unknown", State::Unknown),
];

/// The text, one metric after the other.
#[derive(Debug, Default)]
pub(crate) struct Text(String);

impl Text {
    /// Begins a metric: its type and what it is, in words without a line feed or backslash.
    pub(crate) fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP herdbook_{name} {help}\n# TYPE herdbook_{name} {kind}\n");
    }

    /// Adds one value of the metric that was begun last.
    pub(crate) fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "herdbook_{name}{labels} {value}");
    }

    /// Adds a metric of one value.
    pub(crate) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.metric(name, kind, help);
        self.value(name, &[], value);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Milliseconds as seconds.
pub(crate) fn seconds(ms: u64) -> String {
    match ms % 1_000 {
        0 => (ms / 1_000).to_string(),
        rest => format!("{}.{rest:03}", ms / 1_000),
    }
}

/// What the engine knows.
pub(crate) fn engine(text: &mut Text, engine: &Engine, now: Now) {
    let queue = engine.queue(now);
    text.metric("waiting", "gauge", "Entries of the queue, those in cooldown included.");
    for kind in KINDS {
        let count = queue.iter().filter(|entry| entry.kind == kind).count();
        text.value("waiting", &[("kind", kind.as_str())], count);
    }
    let sessions = engine.sessions();
    text.metric("sessions", "gauge", "Sessions that are not over.");
    for (name, state) in STATES {
        let count = sessions.iter().filter(|session| session.state == state).count();
        text.value("sessions", &[("state", name)], count);
    }
    waits(text, engine.totals());
    calls(text, engine);
    let lost = "Events that are known to be lost before they reached the journal.";
    text.single("events_lost_total", "counter", lost, engine.totals().lost);
}

fn waits(text: &mut Text, totals: &Totals) {
    text.metric("wait_seconds", "histogram", "How long waits lasted that were answered.");
    for ((host, kind), waits) in &totals.waits {
        let labels = [("host", *host), ("kind", kind.as_str())];
        let mut up_to = 0;
        for (bound, count) in BUCKETS_S.iter().zip(waits.buckets) {
            up_to += count;
            text.value("wait_seconds_bucket", &[labels[0], labels[1], ("le", &bound.to_string())], up_to);
        }
        text.value("wait_seconds_bucket", &[labels[0], labels[1], ("le", "+Inf")], waits.answered);
        text.value("wait_seconds_sum", &labels, seconds(waits.answered_ms));
        text.value("wait_seconds_count", &labels, waits.answered);
    }
    text.metric("waits_total", "counter", "Waits that are over, by how they ended.");
    for ((host, kind), waits) in &totals.waits {
        for (outcome, count) in [
            ("answered", waits.answered),
            ("settled", waits.settled),
            ("ended", waits.ended),
            ("stale", waits.stale),
        ] {
            let labels = [("host", *host), ("kind", kind.as_str()), ("outcome", outcome)];
            text.value("waits_total", &labels, count);
        }
    }
    let worked = "How long sessions worked, up to the last time each began to wait.";
    text.metric("working_seconds_total", "counter", worked);
    for (host, worked_ms) in &totals.worked_ms {
        text.value("working_seconds_total", &[("host", host)], seconds(*worked_ms));
    }
}

fn calls(text: &mut Text, engine: &Engine) {
    let hosts = engine.received();
    let repeats = |named: &Named| named.values().map(|seen| seen.count).sum::<u64>();
    let mut of_hosts =
        |name: &str, help: &str, count: &dyn Fn(&herdbook_engine::received::Received) -> u64| {
            text.metric(name, "counter", help);
            for (host, received) in hosts {
                text.value(name, &[("host", host)], count(received));
            }
        };
    of_hosts("hook_calls_total", "Hook calls that came in, repeats and unreadable ones included.", &|host| {
        host.all.count
    });
    of_hosts("hook_calls_unreadable_total", "Hook calls that could not be read.", &|host| {
        host.unreadable.count
    });
    of_hosts("hook_calls_faulty_total", "Hook calls that were not as the host's table promises.", &|host| {
        host.faulty.count
    });
    of_hosts("hook_calls_repeated_total", "Hook calls that another registration had made.", &|host| {
        repeats(&host.repeats)
    });
    of_hosts("hook_events_dropped_total", "Events that the plugin in the host did not pass on.", &|host| {
        host.dropped.count
    });
}
