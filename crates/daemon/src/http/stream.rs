//! `GET /v1/attention`: the normalized events as server-sent events, with resume.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::channel::{Channel, Sender};
use tokio::sync::OwnedSemaphorePermit;

use super::{Answer, App, Refusal};
use crate::attention::{self, CatchUp, Feed, Told};
use crate::config::stopped;

/// A comment goes out after so long without an event, so that both sides notice a dead connection.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a browser waits before it connects again.
pub(super) const HELLO: &str = "retry: 2000\n\n";
/// The reader's id is not in what is read: it must be read anew.
pub(super) const RESET: &str = "event: reset\ndata: {}\n\n";
/// So many pieces wait for a slow reader; then its task waits, and nobody else does.
const AHEAD: usize = 4;

/// Answers with the stream. `Last-Event-ID` resumes after that event, `0` starts with the journal, none with what comes.
pub(super) async fn attention(State(app): State<Arc<App>>, headers: HeaderMap) -> Answer {
    let Ok(place) = Arc::clone(&app.streams).try_acquire_owned() else {
        let words = "too many readers of the attention stream".to_owned();
        return Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, words));
    };
    let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let (sender, body) = Channel::<Bytes>::new(AHEAD);
    tokio::spawn(tell(app, last, sender, place));
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn tell(app: Arc<App>, last: Option<String>, sender: Sender<Bytes>, place: OwnedSemaphorePermit) {
    let mut stop = app.stop.clone();
    tokio::select! {
        // The reader has gone when its connection fails; there is nobody to tell.
        _ = tell_all(&app, last, sender) => {}
        () = stopped(&mut stop) => {}
    }
    drop(place);
}

/// The reader is gone.
struct Gone;

async fn send(sender: &mut Sender<Bytes>, text: impl Into<Bytes>) -> Result<(), Gone> {
    sender.send_data(text.into()).await.map_err(|_| Gone)
}

async fn tell_all(app: &Arc<App>, last: Option<String>, mut sender: Sender<Bytes>) -> Result<(), Gone> {
    // Subscribed before the first look, so that nothing falls in between.
    let mut changed = app.told.ring.watch();
    let mut seq = app.told.ring.newest_seq();
    send(&mut sender, HELLO).await?;
    if let Some(last) = last {
        match resume_seq(app, &last).await {
            Some(found) => seq = found,
            None => send(&mut sender, RESET).await?,
        }
    }
    loop {
        changed.mark_unchanged();
        match app.told.ring.after(seq) {
            Feed::Behind => seq = catch_up(app, seq, &mut sender).await?,
            Feed::Events(events) if events.is_empty() => {
                match tokio::time::timeout(KEEP_ALIVE, changed.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return Ok(()),
                    Err(_) => send(&mut sender, ":\n\n").await?,
                }
            }
            Feed::Events(events) => {
                seq = events.last().map_or(seq, |told| told.seq);
                send(&mut sender, text_of(&events)).await?;
            }
        }
    }
}

/// Returns the seq to go on from, if the id is one of ours.
async fn resume_seq(app: &Arc<App>, last: &str) -> Option<u64> {
    let (seq, id) = attention::parse_stream_id(last)?;
    let app = Arc::clone(app);
    let there = tokio::task::spawn_blocking(move || attention::is_in_journal(&app.told.dir, seq, &id));
    there.await.unwrap_or(false).then_some(seq)
}

/// Tells what is in the journal after a seq, and returns the seq from which the memory goes on.
async fn catch_up(app: &Arc<App>, seq: u64, sender: &mut Sender<Bytes>) -> Result<u64, Gone> {
    let mut reading = CatchUp::after(&app.told.dir, seq);
    loop {
        let app = Arc::clone(app);
        let page = tokio::task::spawn_blocking(move || {
            let (events, done) = reading.page(&app.told.ring);
            (reading, events, done)
        });
        // A panic while reading ends this stream; the reader comes back with its last id.
        let (returned, events, done) = page.await.map_err(|_| Gone)?;
        reading = returned;
        if !events.is_empty() {
            send(sender, text_of(&events)).await?;
        }
        if done {
            return Ok(reading.seq);
        }
    }
}

/// Events as text. Their JSON has no raw line ends.
fn text_of(events: &[Told]) -> String {
    let mut text = String::new();
    for told in events {
        let id = attention::stream_id(told);
        text.push_str(&format!("id: {id}\nevent: {}\ndata: {}\n\n", told.kind, told.data));
    }
    text
}
