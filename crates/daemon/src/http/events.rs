//! `POST /v1/sessions/{key}/events`: producers append to session logs.

use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::State;
use axum::http::{Response, StatusCode};
use herdbook_api::events::{self, ShownTo, SyncedTo};
use herdbook_events::SessionKey;
use herdbook_events::ids::MAX_SESSION_ID_BYTES;
use serde::Deserialize;

use super::body::POST_BYTES;
use super::extract::{InPath, InQuery};
use super::{Answer, App, Refusal, body, json, ok};
use crate::sessions::{Entry, Refused};

/// An append may be so long.
const APPEND_BYTES: usize = 8 << 20;
/// A longer one waits for room, so that many at once do not fill the memory.
const SMALL_BYTES: u64 = 64 << 10;

/// `POST /v1/sessions/{key}/events`.
pub(super) async fn append(State(app): State<Arc<App>>, InPath(key): InPath<String>, body: Body) -> Answer {
    may_write(&app, &key).await?;
    let bytes = body.size_hint().upper().unwrap_or(u64::MAX).min(APPEND_BYTES as u64);
    let _room = if bytes <= SMALL_BYTES {
        None
    } else {
        match app.logs.room_for(bytes).await {
            Ok(room) => Some(room),
            Err(refused) => return Ok(refusal(refused)),
        }
    };
    let body = body::read(body, APPEND_BYTES).await?;
    let logs = Arc::clone(&app.logs);
    let asked = aside(move || logs.read_append(&body)).await?;
    match app.logs.append(&key, asked).await {
        Ok(appended) => ok(&appended),
        Err(refused) => Ok(refusal(refused)),
    }
}

/// Query of `GET /v1/sessions/{key}/synced`.
#[derive(Deserialize)]
pub(super) struct SyncedQuery {
    seq: u64,
}

/// `GET /v1/sessions/{key}/synced?seq=SEQ`.
pub(super) async fn synced(
    State(app): State<Arc<App>>,
    InPath(key): InPath<String>,
    InQuery(query): InQuery<SyncedQuery>,
) -> Answer {
    let entry = find(&app, &key)?;
    match app.logs.synced(&entry, query.seq).await {
        Ok(synced_seq) => ok(&SyncedTo { synced_seq }),
        Err(Refused::WrongSeq { last_seq }) => {
            let error = format!("the log ends at seq {last_seq}; there is no seq {} to wait for", query.seq);
            let refused = events::Refused { error, last_seq: Some(last_seq), ..events::Refused::default() };
            Ok(json(StatusCode::CONFLICT, &refused))
        }
        Err(refused) => Ok(refusal(refused)),
    }
}

/// `POST /v1/sessions/{key}/ephemeral`: shown to who reads live, and never written.
pub(super) async fn ephemeral(
    State(app): State<Arc<App>>,
    InPath(key): InPath<String>,
    body: Body,
) -> Answer {
    may_write(&app, &key).await?;
    let entry = find(&app, &key)?;
    let body = body::read(body, POST_BYTES).await?;
    let logs = Arc::clone(&app.logs);
    let events = aside(move || logs.read_shown(&body)).await?;
    let shown = events.len();
    app.logs.show(&entry, events);
    Ok(json(StatusCode::ACCEPTED, &ShownTo { shown }))
}

/// Reads a body on a thread that may take its time.
async fn aside<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Refusal> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|_| Refusal::from(crate::core::Refused::Panicked))?
        .map_err(|words| Refusal(StatusCode::BAD_REQUEST, words))
}

pub(super) fn find(app: &App, key: &str) -> Result<Arc<Entry>, Refusal> {
    session_key(key)?;
    let unknown =
        || Refusal(StatusCode::NOT_FOUND, format!("session '{key}' has no log; the first append begins it"));
    let found = app.logs.find(key).map_err(|words| Refusal(StatusCode::SERVICE_UNAVAILABLE, words))?;
    found.ok_or_else(unknown)
}

/// A session that hooks feed is written by nobody else.
async fn may_write(app: &App, key: &str) -> Result<(), Refusal> {
    let session = session_key(key)?;
    let is_hooked = app.core.look(move |engine, _| engine.is_hook_fed(&session)).await?;
    if is_hooked {
        let words =
            format!("session '{key}' is fed by its host's hooks; producers append to sessions of their own");
        return Err(Refusal(StatusCode::FORBIDDEN, words));
    }
    Ok(())
}

fn session_key(key: &str) -> Result<SessionKey, Refusal> {
    SessionKey::posted(key).ok_or_else(|| {
        Refusal(
            StatusCode::BAD_REQUEST,
            format!("a session's key must have 1 to {MAX_SESSION_ID_BYTES} bytes"),
        )
    })
}

fn refusal(refused: Refused) -> Response<Body> {
    let said = |error: String| events::Refused { error, ..events::Refused::default() };
    let (status, refused) = match refused {
        Refused::WrongSeq { last_seq } => {
            let words = format!("the log ends at seq {last_seq}; read what is there and append after it");
            (StatusCode::CONFLICT, events::Refused { last_seq: Some(last_seq), ..said(words) })
        }
        Refused::OtherContent { id, seq, last_seq } => {
            let words = format!("id {id} already belongs to another event, at seq {seq}; take a new id");
            let known = (Some(last_seq), Some(id), Some(seq));
            (
                StatusCode::CONFLICT,
                events::Refused { last_seq: known.0, id: known.1, seq: known.2, ..said(words) },
            )
        }
        Refused::Breaks(breaks) => {
            let first = breaks.first();
            let words = first.map_or("an event breaks a rule".to_owned(), |breach| {
                let colon = if breach.field.is_empty() { "" } else { ": " };
                format!(
                    "events[{}] breaks rule {}: {}{colon}{}",
                    breach.index, breach.rule, breach.field, breach.message
                )
            });
            (StatusCode::UNPROCESSABLE_ENTITY, events::Refused { breaks, ..said(words) })
        }
        Refused::Unusable(words) => (StatusCode::CONFLICT, said(words)),
        Refused::Away(words) => (StatusCode::SERVICE_UNAVAILABLE, said(words)),
        Refused::Panicked => {
            let words =
                "the daemon failed on this request; send the same again, with the same ids".to_owned();
            (StatusCode::INTERNAL_SERVER_ERROR, said(words))
        }
    };
    json(status, &refused)
}
