//! Hook calls: dedupe, project, redact, record, observe.

use std::borrow::Cow;

use herdbook_attention::{Cause, Moment};
use herdbook_events::observation::Signal;
use herdbook_events::{CanonicalEvent, Family, NormalizedEvent, Origin, SessionKey, replace_lone_surrogates};
use herdbook_hosts::{Projected, Salvage, project};
use herdbook_redact::Redactor;

use crate::engine::{Engine, Outcome, Twin};
use crate::payload::{self, HookPayload, UnreadablePayload};
use crate::record::{Record, RecordView};
use crate::types::HookDelivery;

/// What is kept of an event's name, and of its detail, to say why a session is in its state.
const FACT_LETTERS: usize = 256;

/// Folds a hook call.
pub(crate) fn hook(engine: &mut Engine, at: Moment, call: HookDelivery, out: &mut Outcome) {
    if engine.deliveries.is_known(call.delivery) {
        return;
    }
    let id = engine.next_id(at);
    engine.deliveries.insert(call.delivery, &id);
    // A name given beside the payload is kept and folded as it is marked, so that a replay sees the same.
    let native_event = call.native_event.map(|name| engine.redactor.text(&name).into_owned());
    let call = HookDelivery { native_event, ..call };
    let event = match project(&call.host, call.native_event.as_deref(), &call.body) {
        Projected::Event(event) if !call.cut => event,
        Projected::Event(event) => {
            let salvage = Salvage {
                error: "the input was cut: over the hook's limit".into(),
                host: event.host.clone(),
                session: event.session.clone(),
                native_event: event.native_event.clone(),
                text: event.native.get().to_owned(),
                ..Salvage::default()
            };
            return unreadable(engine, at, &id, call, salvage, out);
        }
        Projected::Unreadable(salvage) => return unreadable(engine, at, &id, call, salvage, out),
    };
    if herdbook_hosts::table(&event.host).is_none() {
        let text = format!("unknown host '{}': its hook calls are kept, but say nothing", event.host);
        engine.warn_once(herdbook_redact::clean_line(&text), out);
    }
    let key = event.idempotency_key.clone();
    let call = HookDelivery { origin: marked_origin(&engine.redactor, call.origin), ..call };
    // Its stamp cannot be compared with any other.
    let repeat_of = match call.earlier_boot {
        true => None,
        false => repeat_of(engine, at, &event, &call.host, call.stamp_ms, &id),
    };
    let event = redacted(engine, event, &call);
    let hook = HookPayload {
        clock: at.at_ms,
        delivery: format!("{:032x}", call.delivery),
        stamp: call.stamp_ms,
        started_at: call.started_at_ms,
        spooled: call.spooled,
        earlier_boot: call.earlier_boot,
        adapter: (call.host != event.host).then(|| call.host.clone()),
        host: event.host.clone(),
        event: event.event.map(|family| family.as_str().to_owned()),
        native_event: event.native_event.as_deref().map(|name| engine.redactor.text(name).into_owned()),
        session: event.session.clone(),
        idempotency_key: key,
        repeat_of,
        origin: call.origin,
        native: event.native.clone(),
    };
    out.records.push(Record::new(&id, at, "hook", payload::raw(&hook)));
    engine.received.hook(at.wall_ms, &event, &hook.origin, hook.repeat_of.is_some());
    let transitions = fold(engine, at, &id, &event, &hook);
    engine.record_transitions(at, transitions, out);
}

/// Folds a recorded hook call again.
pub(crate) fn replay(
    engine: &mut Engine,
    at: Moment,
    record: &RecordView<'_>,
) -> Result<(), serde_json::Error> {
    if record.kind == "unreadable" {
        let read: UnreadablePayload = serde_json::from_str(record.payload)?;
        remember(engine, &read.delivery, record.id);
        engine.received.unreadable(at.wall_ms, &read.host);
        rule_out_unreadable(engine, at, record.id, &read);
        return Ok(());
    }
    let hook: HookPayload = serde_json::from_str(record.payload)?;
    remember(engine, &hook.delivery, record.id);
    let adapter = hook.adapter.as_deref().unwrap_or(&hook.host);
    if let Projected::Event(event) =
        project(adapter, hook.native_event.as_deref(), hook.native.get().as_bytes())
    {
        engine.received.hook(at.wall_ms, &event, &hook.origin, hook.repeat_of.is_some());
        if hook.repeat_of.is_none() && !hook.earlier_boot {
            repeat_of(engine, at, &event, adapter, hook.stamp, record.id);
        }
        fold(engine, at, record.id, &event, &hook);
    }
    Ok(())
}

fn remember(engine: &mut Engine, delivery: &str, record: &str) {
    if let Ok(delivery) = u128::from_str_radix(delivery, 16) {
        engine.deliveries.insert(delivery, record);
    }
}

fn fold(
    engine: &mut Engine,
    at: Moment,
    id: &str,
    event: &CanonicalEvent,
    hook: &HookPayload,
) -> Vec<herdbook_attention::Transition> {
    let cause = Cause {
        id: id.to_owned(),
        source: "hook",
        fact: fact(event),
        stamp_ms: hook.stamp,
        happened_at_ms: hook.started_at.filter(|_| hook.spooled),
        started_at_ms: hook.started_at,
    };
    let key = event.session.as_deref().and_then(|session| SessionKey::hooked(&event.host, session));
    let passed = match hook.repeat_of {
        Some(_) => Some("the same call by another registration of the hook"),
        None => hook.earlier_boot.then_some("it ran before the machine was started"),
    };
    if let Some(reason) = passed {
        if let Some(key) = key {
            engine.attention.rule_out(&key, at, &cause, reason);
        }
        return Vec::new();
    }
    if let Some(key) = key {
        engine.forget_counts(&key);
        let counts = engine.counts.entry(key).or_default();
        match event.event {
            Some(Family::PromptSubmit) => counts.turns += 1,
            Some(Family::ToolBefore) => counts.tools += 1,
            _ => {}
        }
    }
    engine.observe(at, &cause, event, &hook.origin)
}

/// The hook in words, for `why`.
fn fact(event: &CanonicalEvent) -> String {
    let name = event.native_event.as_deref().unwrap_or("an unnamed event");
    let detail = ["tool_name", "notification_type", "source", "reason"];
    // A dozen are kept a session, and names may be megabytes long.
    let start = |text: &str| text.chars().take(FACT_LETTERS).collect::<String>();
    match detail.iter().find_map(|key| event.native_text(key)) {
        Some(detail) => format!("{} ({})", start(name), start(&detail)),
        None => start(name),
    }
}

/// Returns the record of the same call by another registration, if there was one just now; remembers this one.
fn repeat_of(
    engine: &mut Engine,
    at: Moment,
    event: &CanonicalEvent,
    adapter: &str,
    stamp_ms: Option<u64>,
    id: &str,
) -> Option<String> {
    let session = event.session.as_deref()?;
    let window = engine.config.twin_window_ms;
    // Out of the spool many calls come at one moment: there the times at which the hooks ran bound what is kept.
    let is_past = |twin: &Twin| {
        at.at_ms.saturating_sub(twin.at_ms) > window
            || matches!((twin.stamp_ms, stamp_ms), (Some(other), Some(own)) if own > other.saturating_add(window))
    };
    while engine.twins.front().is_some_and(is_past) {
        engine.twins.pop_front();
    }
    let family = event.event.map_or("", Family::as_str);
    // The same content through the same adapter; through another one the names differ, so the call's own ids decide.
    let content = match &event.idempotency_key {
        Some(key) => key.clone(),
        None => format!("{:?} {}", event.native_event, event.native.get()),
    };
    let turn = event.lineage.turn.as_deref().unwrap_or_default();
    let tool = event.native_text("tool_use_id").unwrap_or_default();
    let call = format!("{}\u{0}{session}\u{0}{family}\u{0}{turn}\u{0}{tool}", event.host);
    // Spooled calls arrive together: what counts is when the hooks ran (case F-098).
    let together = |twin: &Twin| match (twin.stamp_ms, stamp_ms) {
        (Some(other), Some(own)) => own.abs_diff(other) <= window,
        _ => true,
    };
    let found = engine.twins.iter().filter(|twin| together(twin)).find(|twin| {
        (twin.adapter == adapter && twin.key == content)
            || (twin.adapter != adapter && !family.is_empty() && twin.key == call)
    });
    let found = found.map(|twin| twin.id.clone()).filter(|_| !is_expected(engine, event));
    if found.is_none() {
        for key in [content, call] {
            let (id, adapter) = (id.to_owned(), adapter.to_owned());
            engine.twins.push_back(Twin { at_ms: at.at_ms, stamp_ms, key, id, adapter });
        }
    }
    found
}

/// True when two equal calls wait for their requests: then an equal request is the other call's.
fn is_expected(engine: &Engine, event: &CanonicalEvent) -> bool {
    event.event == Some(Family::PermissionRequest)
        && herdbook_hosts::observe(event, &Origin::default()).iter().any(|seen| match &seen.signal {
            Signal::Asked { tool, .. } => {
                engine.attention.expects_request(&seen.session, &seen.agent, &tool.fingerprint)
            }
            _ => false,
        })
}

/// Marks secrets, and replaces lone surrogates, which other readers refuse (case F-025). The marked event is what is
/// kept and folded, so that a replay sees the same.
fn redacted(engine: &Engine, event: Box<CanonicalEvent>, call: &HookDelivery) -> Box<CanonicalEvent> {
    let whole = replace_lone_surrogates(event.native.get());
    let marked = engine.redactor.json(&whole);
    if matches!((&whole, &marked), (Cow::Borrowed(_), Cow::Borrowed(_))) {
        return event;
    }
    match project(&call.host, call.native_event.as_deref(), marked.as_bytes()) {
        Projected::Event(marked) => marked,
        Projected::Unreadable(_) => event,
    }
}

fn unreadable(
    engine: &mut Engine,
    at: Moment,
    id: &str,
    call: HookDelivery,
    salvage: Salvage,
    out: &mut Outcome,
) {
    let mark = |text: String| engine.redactor.text(&text).into_owned();
    let text = mark(salvage.text);
    let record = UnreadablePayload {
        clock: at.at_ms,
        delivery: format!("{:032x}", call.delivery),
        host: mark(salvage.host),
        error: salvage.error,
        salvaged: salvage.session.is_some() || salvage.native_event.is_some(),
        session: salvage.session,
        native_event: salvage.native_event.map(mark),
        cwd: salvage.cwd.map(mark),
        cut: call.cut,
        origin: marked_origin(&engine.redactor, call.origin),
        text,
    };
    out.records.push(Record::new(id, at, "unreadable", payload::raw(&record)));
    engine.received.unreadable(at.wall_ms, &record.host);
    rule_out_unreadable(engine, at, id, &record);
    let text =
        format!("a hook call of {} could not be read and is kept as it came: {}", record.host, record.error);
    engine.warn_once(herdbook_redact::clean_line(&text), out);
}

/// What was taken out of broken input moves nothing.
fn rule_out_unreadable(engine: &mut Engine, at: Moment, id: &str, read: &UnreadablePayload) {
    let session = read.session.as_deref().and_then(|session| SessionKey::hooked(&read.host, session));
    if let Some(key) = session {
        let name = read.native_event.as_deref().unwrap_or("an unnamed event");
        let fact = name.chars().take(FACT_LETTERS).collect();
        let cause = Cause { id: id.to_owned(), source: "hook", fact, ..Cause::default() };
        engine.attention.rule_out(&key, at, &cause, "it could not be read");
    }
}

/// Marks secrets in what a producer says of itself; ids and times are as posted.
pub(crate) fn marked(redactor: &Redactor, event: NormalizedEvent) -> NormalizedEvent {
    let mark = |text: String| match redactor.text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(marked) => marked,
    };
    match event {
        NormalizedEvent::Stuck { session_id, pane_id, cwd, transcript_path, reason, message, timestamp } => {
            NormalizedEvent::Stuck {
                session_id,
                pane_id: mark(pane_id),
                cwd: mark(cwd),
                transcript_path: mark(transcript_path),
                reason,
                message: mark(message),
                timestamp,
            }
        }
        NormalizedEvent::Registered { session_id, pane_id, cwd, transcript_path, timestamp } => {
            NormalizedEvent::Registered {
                session_id,
                pane_id: mark(pane_id),
                cwd: mark(cwd),
                transcript_path: mark(transcript_path),
                timestamp,
            }
        }
        bare => bare,
    }
}

/// Marks secrets in the texts of an origin: variables and folders are foreign text, too.
fn marked_origin(redactor: &Redactor, mut origin: Origin) -> Origin {
    for (_, value) in &mut origin.vars {
        if let Cow::Owned(marked) = redactor.text(value) {
            *value = marked;
        }
    }
    origin.cwd = origin.cwd.map(|cwd| redactor.text(&cwd).into_owned());
    origin
}

/// The origin of a raw Claude payload that came over HTTP: its pane is all that is known, and counts as attended.
pub fn posted_origin(pane: &str) -> Origin {
    Origin {
        vars: vec![("TMUX_PANE".into(), pane.into()), ("CLAUDE_CODE_SESSION_ATTENDED".into(), "1".into())],
        ..Origin::default()
    }
}
