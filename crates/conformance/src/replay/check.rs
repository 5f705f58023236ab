//! One key of a check step: what it asks the engine, and whether the answer is right.

use herdbook_engine::view::{FromSource, SessionView, State};
use herdbook_events::Reason;
use serde_json::{Map, Value, json};

use crate::expect::{Expected, equal};
use crate::replay::herd::VirtualHerd;

const STATES: [&str; 6] = ["registered", "working", "stuck", "ended", "unknown", "absent"];
const KINDS: [&str; 8] =
    ["turn_end", "error", "interrupted", "permission", "question", "plan", "elicitation", "dialog"];
const REASONS: [&str; 2] = ["stopped", "permission"];

/// A key of a check step with its expectation.
#[derive(Clone, Debug)]
pub struct CheckKey {
    name: String,
    written: Value,
    ask: Ask,
}

/// What is asked.
#[derive(Clone, Debug)]
enum Ask {
    /// State, kind and reason of sessions; each a list of the words that are right.
    Sessions(Vec<SessionAsk>),
    /// One value over the whole herd.
    Whole(Whole, Expected),
    /// One value for each of these sessions.
    Each(PerSession, Vec<String>, Expected),
    /// These texts are part of the messages of these sessions.
    MessageContains(Vec<(String, Vec<String>)>),
    /// None of these is in the queue.
    AbsentFromQueue(Vec<String>),
    /// None of these is the first of the queue.
    NotFirstInQueue(Vec<String>),
    /// Announcements since a time.
    Notified { from_ms: u64, bounds: Expected },
    /// The calls for these sessions were taken back; an empty list: for none.
    Withdrawn(Vec<String>),
    /// Where going to the first entry leads; only the members given are compared.
    Jump(Vec<(String, Expected)>),
    /// Sessions, and the queue, as they were at an earlier time, out of the log.
    AsOf { t_ms: u64, sessions: Vec<SessionAsk>, queue: Option<Expected> },
    /// Remember the state of sessions and queue.
    Snapshot(String),
    /// It is as it was remembered.
    SameAs(String),
}

#[derive(Clone, Debug)]
struct SessionAsk {
    id: String,
    states: Option<Vec<String>>,
    kinds: Option<Vec<String>>,
    reasons: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug)]
enum Whole {
    Queue,
    QueueLen,
    Count,
    LogEvents,
}

#[derive(Clone, Copy, Debug)]
enum PerSession {
    Pending,
    Children,
    Turns,
    Tools,
    Agents,
    PaneOf,
    Linked,
    Waits,
    LogEvents,
    RuledOut,
    WouldChange,
    NotLookedAt,
}

impl CheckKey {
    /// Reads one key.
    ///
    /// # Errors
    /// The key is not known, or its value has another shape.
    pub fn parse(name: &str, written: Value) -> Result<CheckKey, String> {
        let at = |error: String| format!("key '{name}': {error}");
        let whole = |whole| Expected::parse(&written).map(|expected| Ask::Whole(whole, expected)).map_err(at);
        let each = |each| {
            let ids = members(&written).map_err(at)?.keys().cloned().collect();
            Expected::parse(&written).map(|expected| Ask::Each(each, ids, expected)).map_err(at)
        };
        let ask = match name {
            "sessions" => Ask::Sessions(session_asks(&written).map_err(at)?),
            "queue" => whole(Whole::Queue)?,
            "queue_len" => whole(Whole::QueueLen)?,
            "count" => whole(Whole::Count)?,
            "pending" => each(PerSession::Pending)?,
            "children" => each(PerSession::Children)?,
            "turns" => each(PerSession::Turns)?,
            "tools" => each(PerSession::Tools)?,
            "agents" => each(PerSession::Agents)?,
            "pane_of" => each(PerSession::PaneOf)?,
            "linked" => each(PerSession::Linked)?,
            "waits" => each(PerSession::Waits)?,
            "ruled_out" => each(PerSession::RuledOut)?,
            "would_change" => each(PerSession::WouldChange)?,
            "not_looked_at" => each(PerSession::NotLookedAt)?,
            "log_events" if is_per_session(&written) => each(PerSession::LogEvents)?,
            "log_events" => whole(Whole::LogEvents)?,
            "message_contains" => {
                let mut all = Vec::new();
                for (id, value) in members(&written).map_err(at)? {
                    all.push((id.clone(), words(value).map_err(at)?));
                }
                Ask::MessageContains(all)
            }
            "absent_from_queue" => Ask::AbsentFromQueue(words(&written).map_err(at)?),
            "not_first_in_queue" => Ask::NotFirstInQueue(words(&written).map_err(at)?),
            "notified" => notified(&written, false).map_err(at)?,
            "notified_since" => notified(&written, true).map_err(at)?,
            "withdrawn" => Ask::Withdrawn(words(&written).map_err(at)?),
            "jump" => {
                let mut all = Vec::new();
                for (key, value) in members(&written).map_err(at)? {
                    if !matches!(key.as_str(), "pane" | "machine") {
                        return Err(at(format!("'{key}' is neither pane nor machine")));
                    }
                    all.push((key.clone(), Expected::parse(value).map_err(at)?));
                }
                Ask::Jump(all)
            }
            "as_of" => as_of(&written).map_err(at)?,
            "snapshot" => Ask::Snapshot(word(&written).map_err(at)?),
            "same_as" => Ask::SameAs(word(&written).map_err(at)?),
            other => return Err(format!("key '{other}' is not known")),
        };
        Ok(CheckKey { name: name.to_owned(), written, ask })
    }

    /// Returns the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the expected value as written.
    pub fn written(&self) -> &Value {
        &self.written
    }

    /// Returns the need that this key alone depends on.
    pub fn need(&self) -> Option<&'static str> {
        match self.name.as_str() {
            "notified" | "notified_since" | "withdrawn" => Some("notify"),
            "pane_of" | "jump" => Some("tmux"),
            "log_events" | "waits" | "as_of" => Some("log"),
            _ => None,
        }
    }

    /// Asks the herd and returns what was observed and whether it is right.
    pub fn test(&self, herd: &mut VirtualHerd) -> (Value, bool) {
        match &self.ask {
            Ask::Sessions(asks) => test_sessions(asks, &herd.sessions()),
            Ask::Whole(whole, expected) => {
                let observed = match whole {
                    Whole::Queue => json!(herd.queue_ids()),
                    Whole::QueueLen => json!(herd.queue_ids().len()),
                    Whole::Count => json!(herd.sessions().iter().filter(|view| is_live(view)).count()),
                    Whole::LogEvents => json!(herd.log_events()),
                };
                let ok = expected.holds(Some(&observed));
                (observed, ok)
            }
            Ask::Each(each, ids, expected) => {
                let sessions = herd.sessions();
                let mut observed = Map::new();
                for id in ids {
                    observed.insert(id.clone(), per_session(*each, id, find(&sessions, id), herd));
                }
                let observed = Value::Object(observed);
                let ok = expected.holds(Some(&observed));
                (observed, ok)
            }
            Ask::MessageContains(asks) => {
                let sessions = herd.sessions();
                let message = |id: &str| find(&sessions, id).map(|view| view.message.clone());
                let ok = asks.iter().all(|(id, parts)| {
                    message(id).is_some_and(|text| parts.iter().all(|part| text.contains(part.as_str())))
                });
                let observed = asks.iter().map(|(id, _)| (id.clone(), json!(message(id)))).collect();
                (Value::Object(observed), ok)
            }
            Ask::AbsentFromQueue(ids) => {
                let queue = herd.queue_ids();
                (json!(queue), !ids.iter().any(|id| queue.contains(id)))
            }
            Ask::NotFirstInQueue(ids) => {
                let queue = herd.queue_ids();
                let ok = queue.first().is_none_or(|first| !ids.contains(first));
                (json!(queue), ok)
            }
            Ask::Notified { from_ms, bounds } => {
                let observed = json!(herd.announced_since(*from_ms));
                let ok = bounds.holds(Some(&observed));
                (observed, ok)
            }
            Ask::Withdrawn(ids) => {
                let withdrawn = herd.withdrawn();
                let ok = if ids.is_empty() {
                    withdrawn.is_empty()
                } else {
                    ids.iter().all(|id| withdrawn.contains(id))
                };
                (json!(withdrawn), ok)
            }
            Ask::Jump(asks) => {
                let target = herd.jump();
                let ok = asks.iter().all(|(key, expected)| expected.holds(Some(&target[key.as_str()])));
                (target, ok)
            }
            Ask::AsOf { t_ms, sessions, queue } => {
                let Some((seen, waiting)) = herd.past(*t_ms) else { return (Value::Null, false) };
                let (mut observed, mut ok) = test_sessions(sessions, &seen);
                if let Some(queue) = queue {
                    ok &= queue.holds(Some(&json!(waiting)));
                    observed = json!({"sessions": observed, "queue": waiting});
                }
                (observed, ok)
            }
            Ask::Snapshot(name) => {
                let state = state_of(herd);
                herd.remember(name, state.clone());
                (state, true)
            }
            Ask::SameAs(name) => {
                let state = state_of(herd);
                let ok = herd.recall(name).is_some_and(|earlier| equal(earlier, &state));
                (state, ok)
            }
        }
    }
}

/// Finds a session by the host's own id. Should two hosts have the same one, the live one counts.
fn find<'a>(sessions: &'a [SessionView], id: &str) -> Option<&'a SessionView> {
    let mut found = sessions.iter().filter(|view| view.native_id == id);
    let first = found.next()?;
    if is_live(first) { Some(first) } else { found.find(|view| is_live(view)).or(Some(first)) }
}

fn is_live(view: &SessionView) -> bool {
    matches!(view.state, State::Registered | State::Working | State::Stuck)
}

fn state_word(view: Option<&SessionView>) -> &'static str {
    match view.map(|view| view.state) {
        None => "absent",
        Some(State::Registered) => "registered",
        Some(State::Working) => "working",
        Some(State::Stuck) => "stuck",
        Some(State::Ended) => "ended",
        Some(State::Unknown) => "unknown",
    }
}

fn kind_word(view: Option<&SessionView>) -> Option<&'static str> {
    view.and_then(|view| view.kind).map(|kind| kind.as_str())
}

fn reason_word(view: Option<&SessionView>) -> Option<&'static str> {
    view.and_then(|view| view.kind).map(|kind| match kind.reason() {
        Reason::Stopped => "stopped",
        Reason::Permission => "permission",
    })
}

fn test_sessions(asks: &[SessionAsk], sessions: &[SessionView]) -> (Value, bool) {
    let mut observed = Map::new();
    let mut ok = true;
    for ask in asks {
        let view = find(sessions, &ask.id);
        let (state, kind, reason) = (state_word(view), kind_word(view), reason_word(view));
        let mut said = Map::new();
        said.insert("state".into(), json!(state));
        let mut compare = |key: &str, wanted: &Option<Vec<String>>, word: Option<&str>| {
            if let Some(wanted) = wanted {
                said.insert(key.into(), json!(word));
                ok &= word.is_some_and(|word| wanted.iter().any(|one| one == word));
            }
        };
        compare("state", &ask.states, Some(state));
        compare("kind", &ask.kinds, kind);
        compare("reason", &ask.reasons, reason);
        observed.insert(ask.id.clone(), Value::Object(said));
    }
    (Value::Object(observed), ok)
}

fn per_session(each: PerSession, id: &str, view: Option<&SessionView>, herd: &VirtualHerd) -> Value {
    if let PerSession::LogEvents = each {
        return json!(herd.log_events_of(id));
    }
    let Some(view) = view else { return Value::Null };
    match each {
        PerSession::Pending => json!(view.pending),
        PerSession::Children => json!(view.children),
        PerSession::Turns => json!(view.turns),
        PerSession::Tools => json!(view.tools),
        PerSession::Agents => json!(view.host),
        PerSession::PaneOf => json!(view.pane.as_ref().map(|pane| &pane.pane)),
        PerSession::Linked => {
            json!(view.linked.as_ref().or(view.resumed_from.as_ref()).map(|key| herd.native_id(key)))
        }
        PerSession::Waits => json!(view.waits),
        PerSession::RuledOut => {
            let why = herd.why(&view.key).map(|why| why.ruled_out).unwrap_or_default();
            json!(why.iter().map(|out| format!("{}: {}", out.fact, out.reason)).collect::<Vec<_>>())
        }
        PerSession::WouldChange => said(herd.why(&view.key).map(|why| why.would_change)),
        PerSession::NotLookedAt => said(herd.why(&view.key).map(|why| why.not_looked_at)),
        PerSession::LogEvents => Value::Null,
    }
}

/// One text a source.
fn said(list: Option<Vec<FromSource>>) -> Value {
    let list = list.unwrap_or_default();
    json!(list.iter().map(|said| format!("{}: {}", said.source, said.words)).collect::<Vec<_>>())
}

/// What `snapshot` remembers: the state and kind of every session, and the queue.
fn state_of(herd: &VirtualHerd) -> Value {
    let mut sessions = Map::new();
    for view in herd.sessions() {
        let said = json!({"state": state_word(Some(&view)), "kind": kind_word(Some(&view))});
        sessions.insert(view.key.to_string(), said);
    }
    json!({"sessions": sessions, "queue": herd.queue_ids()})
}

fn session_asks(written: &Value) -> Result<Vec<SessionAsk>, String> {
    let mut asks = Vec::new();
    for (id, value) in members(written)? {
        let mut ask = SessionAsk { id: id.clone(), states: None, kinds: None, reasons: None };
        for (key, value) in members(value)? {
            let words = words(value)?;
            let known = |allowed: &[&str]| match words.iter().find(|word| !allowed.contains(&word.as_str())) {
                Some(word) => Err(format!("{key} '{word}' is not known; use one of {}", allowed.join(", "))),
                None => Ok(Some(words.clone())),
            };
            match key.as_str() {
                "state" => ask.states = known(&STATES)?,
                "kind" => ask.kinds = known(&KINDS)?,
                "reason" if words.iter().all(|word| REASONS.contains(&word.as_str())) => {
                    ask.reasons = known(&REASONS)?;
                }
                // Older collections write the kind under `reason`.
                "reason" => ask.kinds = known(&KINDS)?,
                other => return Err(format!("'{other}' is none of state, kind, reason")),
            }
        }
        asks.push(ask);
    }
    Ok(asks)
}

fn as_of(written: &Value) -> Result<Ask, String> {
    let (mut t_ms, mut sessions, mut queue) = (None, Vec::new(), None);
    for (key, value) in members(written)? {
        match key.as_str() {
            "t_ms" => t_ms = Some(value.as_u64().ok_or("t_ms must be a whole number of milliseconds")?),
            "sessions" => sessions = session_asks(value)?,
            "queue" => queue = Some(Expected::parse(value)?),
            other => return Err(format!("'{other}' is none of t_ms, sessions, queue")),
        }
    }
    Ok(Ask::AsOf { t_ms: t_ms.ok_or("t_ms is missing")?, sessions, queue })
}

fn notified(written: &Value, since: bool) -> Result<Ask, String> {
    let mut operators = Map::new();
    let mut from_ms = (!since).then_some(0);
    for (key, value) in members(written)? {
        match key.as_str() {
            "exact" => {
                operators.insert("$min".into(), value.clone());
                operators.insert("$max".into(), value.clone());
            }
            "max" => drop(operators.insert("$max".into(), value.clone())),
            "min" => drop(operators.insert("$min".into(), value.clone())),
            "from_ms" if since => {
                from_ms = Some(value.as_u64().ok_or("from_ms must be a whole number of milliseconds")?);
            }
            other => return Err(format!("'{other}' is not known; use exact, max or min")),
        }
    }
    if operators.is_empty() {
        return Err("needs exact, max or min".into());
    }
    let bounds = Expected::parse(&Value::Object(operators))?;
    Ok(Ask::Notified { from_ms: from_ms.ok_or("from_ms is missing")?, bounds })
}

fn members(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| "must be an object".into())
}

fn is_per_session(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.keys().any(|key| key.starts_with('$')))
}

fn word(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "must be a text".into())
}

/// One text, or a list of texts.
fn words(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(members) => members.iter().map(word).collect(),
        _ => Err("must be a text or a list of texts".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(name: &str, written: Value) -> String {
        CheckKey::parse(name, written).unwrap_err()
    }

    #[test]
    fn mistakes_in_check_keys_are_named() {
        assert_eq!(
            problem("sessions", json!({"a": {"state": "asleep"}})),
            "key 'sessions': state 'asleep' is not known; use one of registered, working, stuck, ended, unknown, absent"
        );
        assert_eq!(
            problem("sessions", json!({"a": {"stat": "stuck"}})),
            "key 'sessions': 'stat' is none of state, kind, reason"
        );
        assert_eq!(problem("notified", json!({})), "key 'notified': needs exact, max or min");
        assert_eq!(problem("notified_since", json!({"max": 1})), "key 'notified_since': from_ms is missing");
        assert_eq!(problem("jump", json!({"window": 1})), "key 'jump': 'window' is neither pane nor machine");
        assert_eq!(
            problem("absent_from_queue", json!(1)),
            "key 'absent_from_queue': must be a text or a list of texts"
        );
    }

    #[test]
    fn a_kind_under_reason_is_read_as_the_kind() {
        let asks =
            session_asks(&json!({"a": {"reason": "question"}, "b": {"reason": "permission"}})).unwrap();
        assert_eq!(asks[0].kinds.as_deref(), Some(&["question".to_owned()][..]));
        assert_eq!(asks[1].reasons.as_deref(), Some(&["permission".to_owned()][..]));
    }

    #[test]
    fn a_session_that_is_not_listed_is_absent_and_has_no_kind() {
        let asks = session_asks(&json!({"a": {"state": ["absent", "ended"]}})).unwrap();
        assert_eq!(test_sessions(&asks, &[]), (json!({"a": {"state": "absent"}}), true));
        let asks = session_asks(&json!({"a": {"state": "absent", "kind": "error"}})).unwrap();
        assert!(!test_sessions(&asks, &[]).1);
    }
}
