//! Our own paths: status, queue, sessions, and the human's acts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use herdbook_api::v1;
use herdbook_engine::view::State as SessionState;
use herdbook_engine::{Engine, HumanAct, Input, Now};
use herdbook_events::{Reason, SessionKey};
use herdbook_log::Durability;
use herdbook_wire::paths::SPOOL;
use herdbook_wire::spool;
use serde::Deserialize;

use super::extract::{InPath, InQuery};
use super::{Answer, App, Refusal, body, ok, routes};
use crate::config::PORT_HINT;
use crate::spool::{foreign_words, lock};
use crate::upkeep::UPKEEP;
use crate::{clock, convert};

/// So many items are on a page.
const PAGE: usize = 1_000;
/// The longest snooze: 30 days.
const SNOOZE_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Query of the paged listings.
#[derive(Deserialize)]
pub(super) struct PageQuery {
    after: Option<String>,
}

/// `GET /v1/status`.
pub(super) async fn status(State(app): State<Arc<App>>) -> Answer {
    let (stuck_count, blocked_count, session_count) = app
        .core
        .look(|engine, now| {
            let queue = engine.queue(now);
            let blocked = queue.iter().filter(|entry| entry.kind.reason() == Reason::Permission).count();
            let live = engine.sessions().iter().filter(|view| view.state != SessionState::Ended).count();
            (queue.len(), blocked, live)
        })
        .await?;
    let health = app.store.health();
    let spool_dir = app.state_dir.join(SPOOL);
    // A spool that cannot be read counts as empty: the daemon tells that by a warning of its own.
    let spool_count = spool::count(&spool_dir).unwrap_or_default();
    let spool_lost = spool::lost(&spool_dir).ok().flatten().map_or(0, |lost| lost.new);
    let log_troubles = app.logs.troubles();
    let mut warnings = warnings(&app, &health, &log_troubles, spool_lost);
    let upkeep_failed = app.upkeep.failed();
    warnings.extend(upkeep_failed.iter().map(|text| format!("{UPKEEP}: {text}")));
    let (foreign, version) = *lock(&app.counters.foreign);
    if foreign.min(spool_count) > 0 {
        warnings.push(foreign_words(foreign.min(spool_count), version));
    }
    ok(&v1::Status {
        version: app.version.clone(),
        pid: std::process::id(),
        protocol: herdbook_wire::PROTOCOL_VERSION,
        store_id: app.store_id.clone(),
        state_dir: app.state_dir.display().to_string(),
        sockets: app.sockets.iter().map(|socket| socket.display().to_string()).collect(),
        http: app.http.clone(),
        started_at: app.started_at,
        uptime_ms: clock::now().mono_ms.saturating_sub(app.started_mono_ms),
        stuck_count,
        blocked_count,
        session_count,
        announced: app.counters.announced.load(Ordering::Relaxed),
        spool_count,
        spool_lost,
        pane_looks: app.counters.looks.load(Ordering::Relaxed),
        pane_looks_us: app.counters.looks_us.load(Ordering::Relaxed),
        journal: v1::Journal {
            written_seq: health.written_seq,
            synced_seq: health.synced_seq,
            error: health.error,
            pending_bytes: health.pending_bytes,
            lost: health.lost,
            unfolded: app.unfolded,
            damage: health.damage.iter().map(ToString::to_string).collect(),
        },
        log_troubles,
        upkeep_failed,
        warnings,
    })
}

fn warnings(
    app: &App,
    health: &herdbook_log::Health,
    log_troubles: &[v1::LogTrouble],
    spool_lost: u64,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for listen in app.http.iter().filter(|listen| listen.state == v1::Listen::TAKEN) {
        let holder = match (listen.pid, &listen.name) {
            (Some(pid), Some(name)) => format!("process {pid} ({name})"),
            _ => "another process".to_owned(),
        };
        warnings.push(format!("{} is taken by {holder}; HTTP is not served there: {PORT_HINT}", listen.addr));
    }
    if let Some(error) = &health.error {
        warnings.push(format!("the journal cannot be written: {error}"));
    }
    if let Some(damage) = health.damage.first() {
        let count = health.damage.len();
        warnings.push(format!("the journal is damaged in {count} places, the first: {damage}"));
    }
    warnings.extend(health.torn.iter().map(|torn| format!("the journal was torn: {torn}")));
    if app.unfolded > 0 {
        warnings.push(format!("{} journal records could not be folded at the start", app.unfolded));
    }
    warnings.extend(app.renewed.clone());
    warnings.extend(log_troubles.iter().map(|trouble| trouble.error.clone()));
    warnings.extend(routes::warnings(app));
    if spool_lost > 0 {
        warnings.push(format!("{spool_lost} hook events were lost: the spool could not take them"));
    }
    warnings
}

/// `GET /v1/hooks`.
pub(super) async fn hooks(State(app): State<Arc<App>>) -> Answer {
    let received = app.core.look(|engine, _| engine.received().clone()).await?;
    ok(&v1::Hooks { hosts: received.into_iter().map(convert::received).collect() })
}

/// `GET /v1/queue?after=CURSOR`: every entry, those in cooldown included.
pub(super) async fn queue(State(app): State<Arc<App>>, InQuery(query): InQuery<PageQuery>) -> Answer {
    let queue = app.core.look(|engine, now| engine.queue(now)).await?;
    let count = queue.len();
    let start = page_start(query.after.as_deref(), queue.iter().map(|entry| entry.id.as_str()))?;
    let items: Vec<_> = queue.into_iter().skip(start).take(PAGE).map(convert::item).collect();
    let next = next_cursor(start, count, items.last().map(|item| item.id.as_str()));
    ok(&v1::Queue { items, count, next })
}

/// `GET /v1/sessions?after=CURSOR`.
pub(super) async fn sessions(State(app): State<Arc<App>>, InQuery(query): InQuery<PageQuery>) -> Answer {
    let mut sessions = app.core.look(|engine, _| engine.sessions()).await?;
    // A fixed order, so that pages fit together; ended ones stay last.
    sessions.sort_by(|a, b| {
        let rank = |view: &herdbook_engine::view::SessionView| view.state == SessionState::Ended;
        rank(a).cmp(&rank(b)).then_with(|| a.key.cmp(&b.key))
    });
    let count = sessions.len();
    let start = page_start(query.after.as_deref(), sessions.iter().map(|view| view.key.as_str()))?;
    let items: Vec<_> = sessions.iter().skip(start).take(PAGE).map(convert::session).collect();
    let next = next_cursor(start, count, items.last().map(|item| item.session_id.as_str()));
    ok(&v1::Sessions { items, count, next })
}

/// `GET /v1/agents`.
pub(super) async fn agents(State(app): State<Arc<App>>) -> Answer {
    let claims = app.core.look(|engine, _| engine.claims()).await?;
    let items = app.agents.without_hooks(&claims).await;
    ok(&v1::Agents { count: items.len(), items })
}

/// Where the page after a cursor begins. A cursor is `POSITION:ID` of the last item seen: the position counts when
/// that item has gone. Nothing before it can have come in at a later place, so nothing that stayed is left out.
fn page_start<'a>(after: Option<&str>, mut ids: impl Iterator<Item = &'a str>) -> Result<usize, Refusal> {
    let Some(after) = after else { return Ok(0) };
    let cursor = after.split_once(':').and_then(|(position, id)| Some((position.parse().ok()?, id)));
    let Some((position, id)) = cursor else {
        let words = "'after' must be the 'next' of an earlier page".to_owned();
        return Err(Refusal(StatusCode::BAD_REQUEST, words));
    };
    Ok(ids.position(|other| other == id).map_or(position, |at| at + 1))
}

fn next_cursor(start: usize, count: usize, last: Option<&str>) -> Option<String> {
    let last = last.filter(|_| start + PAGE < count)?;
    // Items that went away before this place moved the rest forward, so start where the last page began anew.
    Some(format!("{start}:{last}"))
}

/// `GET /v1/sessions/{key}`.
pub(super) async fn session(State(app): State<Arc<App>>, InPath(key): InPath<String>) -> Answer {
    let view = known(&app, &key, |engine, _, key| engine.session(key)).await?;
    ok(&convert::session(&view))
}

/// `GET /v1/sessions/{key}/why`.
pub(super) async fn why(State(app): State<Arc<App>>, InPath(key): InPath<String>) -> Answer {
    let why = known(&app, &key, |engine, now, key| engine.why(now, key)).await?;
    ok(&convert::why(&why))
}

async fn known<T: Send + 'static>(
    app: &App,
    key: &str,
    look: impl FnOnce(&Engine, Now, &SessionKey) -> Option<T> + Send + 'static,
) -> Result<T, Refusal> {
    let session = parse_key(key)?;
    let found = app.core.look(move |engine, now| look(engine, now, &session)).await?;
    found.ok_or_else(|| Refusal(StatusCode::NOT_FOUND, format!("no session '{key}'")))
}

fn parse_key(key: &str) -> Result<SessionKey, Refusal> {
    SessionKey::posted(key)
        .ok_or_else(|| Refusal(StatusCode::NOT_FOUND, "no session has an id like that".to_owned()))
}

/// `POST /v1/queue/skip`.
pub(super) async fn skip(State(app): State<Arc<App>>, body: Body) -> Answer {
    let request: v1::Skip = body::read_json_or_default(body).await?;
    match request.session {
        Some(session) => act(&app, &session, HumanAct::Skip(Some(parse_key(&session)?))).await,
        None => {
            let head = app
                .core
                .look(|engine, now| {
                    let queue = engine.queue(now).into_iter();
                    queue.map(|entry| (convert::in_cooldown(&entry, now.wall_ms), entry.session)).next()
                })
                .await?;
            match head {
                // The head that was seen is skipped, not one that took its place meanwhile.
                Some((false, session)) => {
                    let named = session.as_str().to_owned();
                    act(&app, &named, HumanAct::Skip(Some(session))).await
                }
                _ => ok(&v1::Acted { session: None, next: None }),
            }
        }
    }
}

/// `POST /v1/queue/snooze`.
pub(super) async fn snooze(State(app): State<Arc<App>>, body: Body) -> Answer {
    let request: v1::Snooze = body::read_json(body).await?;
    if !(1..=SNOOZE_MS).contains(&request.for_ms) {
        let words = format!("invalid body: 'for_ms' must be 1 to {SNOOZE_MS}");
        return Err(Refusal(StatusCode::BAD_REQUEST, words));
    }
    let session = parse_key(&request.session)?;
    act(&app, &request.session, HumanAct::Snooze(session, request.for_ms)).await
}

/// `POST /v1/queue/pin`.
pub(super) async fn pin(State(app): State<Arc<App>>, body: Body) -> Answer {
    let request: v1::Pin = body::read_json(body).await?;
    let session = parse_key(&request.session)?;
    act(&app, &request.session, HumanAct::Pin(session, request.pinned)).await
}

/// `POST /v1/queue/settle`.
pub(super) async fn settle(State(app): State<Arc<App>>, body: Body) -> Answer {
    let request: v1::Settle = body::read_json(body).await?;
    let session = parse_key(&request.session)?;
    act(&app, &request.session, HumanAct::Settle(session)).await
}

/// Carries out an act on an entry that is in the queue, and answers once it is synced.
async fn act(app: &App, session: &str, act: HumanAct) -> Answer {
    let named = session.to_owned();
    let waits = app
        .core
        .look(move |engine, now| engine.queue(now).iter().any(|entry| entry.session.as_str() == named))
        .await?;
    if !waits {
        let words = format!("session '{session}' is not in the queue");
        return Err(Refusal(StatusCode::NOT_FOUND, words));
    }
    app.keep(Input::Human(act), Durability::Synced).await?;
    let next = app
        .core
        .look(|engine, now| {
            engine.queue(now).into_iter().find(|entry| !convert::in_cooldown(entry, now.wall_ms))
        })
        .await?;
    ok(&v1::Acted { session: Some(session.to_owned()), next: next.map(convert::item) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_after_its_cursor_or_where_the_last_one_began() {
        let ids = ["a", "b", "c"];
        assert_eq!(page_start(None, ids.into_iter()).unwrap(), 0);
        assert_eq!(page_start(Some("0:b"), ids.into_iter()).unwrap(), 2);
        assert_eq!(page_start(Some("0:gone"), ids.into_iter()).unwrap(), 0);
        assert!(page_start(Some("b"), ids.into_iter()).is_err());
        assert_eq!(next_cursor(0, PAGE, Some("z")), None);
        assert_eq!(next_cursor(0, PAGE + 1, Some("z")), Some("0:z".into()));
    }
}
