//! Values of one room as values of another.

use herdbook_api::{trail, v1};
use herdbook_engine::HookDelivery;
use herdbook_engine::received::{FaultOf, Received, Seen, SeenField};
use herdbook_engine::view::{Evidence, FromSource, QueueEntry, RuledOut, SessionView, State, WhyView};
use herdbook_events::observation::PaneRef;
use herdbook_events::origin::Terminal;
use herdbook_events::{Family, Origin, Process};
use herdbook_wire::{Delivery, Tty};

/// The longest `ask`, in characters.
const ASK_CHARS: usize = 200;

/// A hook call as the engine takes it.
pub(crate) fn delivery(wire: Delivery, spooled: bool) -> HookDelivery {
    HookDelivery {
        host: wire.host,
        native_event: wire.native_event,
        delivery: wire.delivery,
        stamp_ms: Some(wire.stamp_ms),
        started_at_ms: Some(wire.started_at_ms),
        origin: origin(wire.origin),
        body: wire.body,
        cut: wire.cut,
        spooled,
        earlier_boot: false,
    }
}

fn origin(wire: herdbook_wire::Origin) -> Origin {
    let process = |process: herdbook_wire::Process| Process { pid: process.pid, start: process.start };
    Origin {
        ancestors: wire.ancestors.into_iter().map(process).collect(),
        tty: match wire.tty {
            Tty::Unknown => Terminal::Unknown,
            Tty::None => Terminal::None,
            Tty::Some => Terminal::Some,
            Tty::Named(name) => Terminal::Named(name),
        },
        cwd: wire.cwd,
        vars: wire.vars,
        machine: wire.machine,
    }
}

/// True while a skip or snooze keeps the entry behind the others.
pub(crate) fn in_cooldown(entry: &QueueEntry, wall_ms: u64) -> bool {
    entry.skip_cooldown_until_ms.is_some_and(|until| until > wall_ms)
}

/// The answer about the head of the queue.
pub(crate) fn next(queue: &[QueueEntry], wall_ms: u64) -> trail::Next {
    match queue.iter().find(|entry| !in_cooldown(entry, wall_ms)) {
        Some(entry) => trail::Next::head(entry.pane_id.clone(), entry.session.as_str().to_owned()),
        None => trail::Next::empty(),
    }
}

/// An entry as `/queue` shows it.
pub(crate) fn trail_item(entry: QueueEntry) -> trail::Item {
    trail::Item {
        id: entry.id,
        session_id: entry.session.as_str().to_owned(),
        pane_id: entry.pane_id,
        cwd: entry.cwd,
        reason: entry.kind.reason().as_str().to_owned(),
        last_message: entry.message,
        stuck_at: entry.stuck_at_ms,
        skip_cooldown_until: entry.skip_cooldown_until_ms,
    }
}

/// An entry as `/v1/queue` shows it.
pub(crate) fn item(entry: QueueEntry) -> v1::Item {
    v1::Item {
        ask: ask(&entry.message),
        host: entry.host.clone(),
        kind: entry.kind.as_str().to_owned(),
        order: entry.order,
        pinned: entry.pinned,
        pane: entry.pane.as_ref().map(pane),
        pane_uncertain: entry.pane_uncertain,
        machine: entry.machine,
        id: entry.id,
        session_id: entry.session.as_str().to_owned(),
        pane_id: entry.pane_id,
        cwd: entry.cwd,
        reason: entry.kind.reason().as_str().to_owned(),
        last_message: entry.message,
        stuck_at: entry.stuck_at_ms,
        skip_cooldown_until: entry.skip_cooldown_until_ms,
    }
}

/// The first line with anything on it, cleaned and cut.
fn ask(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let cleaned = herdbook_redact::clean_line(line);
    let cleaned = cleaned.trim();
    if cleaned.chars().nth(ASK_CHARS).is_none() {
        return cleaned.to_owned();
    }
    let mut cut: String = cleaned.chars().take(ASK_CHARS - 1).collect();
    cut.push('…');
    cut
}

fn pane(pane: &PaneRef) -> v1::Pane {
    v1::Pane { socket: pane.socket.clone(), server_pid: pane.server_pid, pane: pane.pane.clone() }
}

/// A session as `/v1/sessions` shows it.
pub(crate) fn session(view: &SessionView) -> v1::Session {
    v1::Session {
        session_id: view.key.as_str().to_owned(),
        host: view.host.clone(),
        native_id: view.native_id.clone(),
        state: state(view.state).to_owned(),
        kind: view.kind.map(|kind| kind.as_str().to_owned()),
        since_at: view.since_ms,
        message: view.message.clone(),
        cwd: view.cwd.clone(),
        transcript_path: view.transcript_path.clone(),
        pane: view.pane.as_ref().map(pane),
        pane_uncertain: view.pane_uncertain,
        headless: view.headless,
        stale: view.stale,
        children: view.children,
        pending: view.pending,
        turns: view.turns,
        tools: view.tools,
        waits: view.waits,
        linked: view.linked.as_ref().map(|key| key.as_str().to_owned()),
        detached: view.detached,
        machine: view.machine.clone(),
        resumed_from: view.resumed_from.as_ref().map(|key| key.as_str().to_owned()),
    }
}

/// A session with what its state rests on.
pub(crate) fn why(why: &WhyView) -> v1::Why {
    let view = &why.session;
    let evidence = |evidence: &Evidence| v1::Evidence {
        id: evidence.id.clone(),
        source: evidence.source.clone(),
        fact: evidence.fact.clone(),
        seen_at: evidence.at_ms,
    };
    v1::Why {
        session: session(view),
        evidence: view.evidence.iter().map(evidence).collect(),
        looks_again: view.looks_again.clone().map(|(due_at, reason)| v1::LooksAgain { due_at, reason }),
        ruled_out: why.ruled_out.iter().map(ruled_out).collect(),
        would_change: why.would_change.iter().map(from_source).collect(),
        not_looked_at: why.not_looked_at.iter().map(from_source).collect(),
    }
}

fn ruled_out(passed: &RuledOut) -> v1::RuledOut {
    v1::RuledOut {
        id: passed.id.clone(),
        source: passed.source.clone(),
        fact: passed.fact.clone(),
        reason: passed.reason.clone(),
        seen_at: passed.at_ms,
        count: passed.times,
    }
}

fn from_source(said: &FromSource) -> v1::FromSource {
    v1::FromSource { source: said.source.clone(), words: said.words.clone() }
}

/// What a host has sent, as `/v1/hooks` shows it.
pub(crate) fn received((host, received): (String, Received)) -> v1::HostHooks {
    let event = |event: String, family: Option<Family>, known: bool, seen: Seen| v1::HookEvent {
        event,
        family: family.map(|family| family.as_str().to_owned()),
        known,
        count: seen.count,
        first_at: seen.first_ms,
        last_at: seen.last_ms,
    };
    let repeat = |(name, seen): (&String, &Seen)| {
        let known = received.events.get(name);
        event(name.clone(), known.and_then(|known| known.family), known.is_some(), *seen)
    };
    let repeats = received.repeats.iter().map(repeat).collect();
    let known = received.events.into_iter().map(|(name, one)| event(name, one.family, true, one.seen));
    let unknown = received.unknown_events.into_iter().map(|(name, seen)| event(name, None, false, seen));
    let mut events: Vec<v1::HookEvent> = known.chain(unknown).collect();
    events.sort_by(|a, b| a.event.cmp(&b.event));
    let mut versions: Vec<v1::SeenVersion> = received
        .versions
        .into_iter()
        .map(|(version, seen)| v1::SeenVersion { version, last_at: seen.last_ms })
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.last_at));
    let field = |(field, one): (String, SeenField)| v1::UnknownField {
        field,
        event: one.event,
        count: one.seen.count,
        last_at: one.seen.last_ms,
    };
    let fault = |(one, seen): (FaultOf, Seen)| v1::HookFault {
        event: one.event.to_owned(),
        field: one.fault.key.to_owned(),
        wanted: one.fault.wanted.map(|shape| shape.as_str().to_owned()),
        version: one.version,
        count: seen.count,
        last_at: seen.last_ms,
    };
    v1::HostHooks {
        count: received.all.count,
        last_at: received.all.last_ms,
        events,
        unknown_fields: received.unknown_fields.into_iter().map(field).collect(),
        faulty_count: received.faulty.count,
        faulty_at: (received.faulty.count > 0).then_some(received.faulty.last_ms),
        faults: received.faults.into_iter().map(fault).collect(),
        unreadable_count: received.unreadable.count,
        unreadable_at: (received.unreadable.count > 0).then_some(received.unreadable.last_ms),
        dropped_count: received.dropped.count,
        dropped_at: (received.dropped.count > 0).then_some(received.dropped.last_ms),
        versions,
        repeats,
        host,
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Registered => "registered",
        State::Working => "working",
        State::Stuck => "stuck",
        State::Ended => "ended",
        State::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_is_one_short_line() {
        assert_eq!(ask("\n  Tool: Bash | Command: ls\nmore"), "Tool: Bash | Command: ls");
        assert_eq!(ask(""), "");
        let long = ask(&"ä".repeat(500));
        assert_eq!(long.chars().count(), ASK_CHARS);
        assert!(long.ends_with('…'));
    }
}
