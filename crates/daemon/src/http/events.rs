//! `/v1/sessions/{key}/events`: producers append to session logs, and logs are read.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use herdbook_api::events::{self, SyncedTo};
use herdbook_events::SessionKey;
use herdbook_events::ids::MAX_SESSION_ID_BYTES;
use http_body_util::channel::{Channel, Sender};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;

use super::extract::{InPath, InQuery};
use super::{Answer, App, Refusal, body, json, ok};
use crate::config::stopped;
use crate::sessions::{Entry, Item, Pages, Refused};

/// An append may be so long.
const APPEND_BYTES: usize = 8 << 20;
/// So many pieces wait for a slow reader; then its task waits, and nobody else does.
const AHEAD: usize = 4;

/// `POST /v1/sessions/{key}/events`.
pub(super) async fn append(State(app): State<Arc<App>>, InPath(key): InPath<String>, body: Body) -> Answer {
    may_write(&app, &key).await?;
    let body = body::read(body, APPEND_BYTES).await?;
    let logs = Arc::clone(&app.logs);
    let asked = tokio::task::spawn_blocking(move || logs.read_append(&body)).await;
    let asked = asked
        .map_err(|_| Refusal::from(crate::core::Refused::Panicked))?
        .map_err(|words| Refusal(StatusCode::BAD_REQUEST, words))?;
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
        Err(refused) => Ok(refusal(refused)),
    }
}

/// Query of `GET /v1/sessions/{key}/events`.
#[derive(Deserialize)]
pub(super) struct ReadQuery {
    after: Option<u64>,
    limit: Option<u64>,
}

/// `GET /v1/sessions/{key}/events`.
pub(super) async fn read(
    State(app): State<Arc<App>>,
    InPath(key): InPath<String>,
    InQuery(query): InQuery<ReadQuery>,
    _headers: HeaderMap,
) -> Answer {
    let entry = find(&app, &key)?;
    let place = place(&app)?;
    let (sender, body) = Channel::<Bytes>::new(AHEAD);
    tokio::spawn(lines(app, entry, query, sender, place));
    Ok(streamed(body, "application/x-ndjson"))
}

async fn lines(
    app: Arc<App>,
    entry: Arc<Entry>,
    query: ReadQuery,
    sender: Sender<Bytes>,
    place: OwnedSemaphorePermit,
) {
    let mut stop = app.stop.clone();
    tokio::select! {
        // The reader has gone when its connection fails; there is nobody to tell.
        _ = all_lines(&entry, query, sender) => {}
        () = stopped(&mut stop) => {}
    }
    drop(place);
}

/// The reader is gone.
struct Gone;

async fn all_lines(entry: &Entry, query: ReadQuery, mut sender: Sender<Bytes>) -> Result<(), Gone> {
    let mut pages = Pages::after(&entry.folder, query.after.unwrap_or(0));
    let mut left = query.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let (page, items) = turn(pages, u64::MAX).await?;
        pages = page;
        let mut text = String::new();
        for item in items.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            match item {
                Item::Line(line) => text.push_str(&line.raw),
                Item::Damaged(damaged) => text.push_str(&serde_json::to_string(damaged).unwrap_or_default()),
            }
            text.push('\n');
            left -= 1;
        }
        if items.is_empty() {
            break;
        }
        sender.send_data(text.into()).await.map_err(|_| Gone)?;
    }
    Ok(())
}

/// Reads a page on a thread that may block.
async fn turn(mut pages: Pages, up_to: u64) -> Result<(Pages, Vec<Item>), Gone> {
    let read = tokio::task::spawn_blocking(move || {
        let items = pages.next(up_to);
        (pages, items)
    });
    // A panic while reading ends this stream; the reader comes back with its last id.
    read.await.map_err(|_| Gone)
}

fn find(app: &App, key: &str) -> Result<Arc<Entry>, Refusal> {
    session_key(key)?;
    let unknown =
        || Refusal(StatusCode::NOT_FOUND, format!("session '{key}' has no log; the first append begins it"));
    app.logs.find(key).ok_or_else(unknown)
}

fn place(app: &App) -> Result<OwnedSemaphorePermit, Refusal> {
    let full =
        |_| Refusal(StatusCode::SERVICE_UNAVAILABLE, "too many readers of streams; try again".to_owned());
    Arc::clone(&app.streams).try_acquire_owned().map_err(full)
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
                let field = if breach.field.is_empty() { "" } else { " " };
                format!(
                    "events[{}] breaks rule {}:{field}{} {}",
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

fn streamed(body: Channel<Bytes>, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
