//! `GET /v1/sessions/{key}/events`: the lines of a session's log, up to its end or as they come.
//!
//! Everything durable comes out of the files, a page at a time: a reader that is slow waits by itself, and the writer never
//! knows. Ephemeral events come out of a small memory; who is too slow for it misses them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::channel::{Channel, Sender};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use super::events::find;
use super::extract::{InPath, InQuery};
use super::stream::{HELLO, KEEP_ALIVE, RESET};
use super::{Answer, App, Refusal};
use crate::attention::parse_stream_id;
use crate::config::stopped;
use crate::sessions::{Entry, Item, Pages, Shown};

/// So many pieces wait for a slow reader; then its task waits, and nobody else does.
const AHEAD: usize = 4;
/// A piece has so many bytes at most: a page may be one long line.
const PIECE_BYTES: usize = 64 << 10;
/// Another program may append to a log that is not open here: so often it is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// How often somebody who wants synced lines alone looks whether more are.
const LOOK_SYNCED: Duration = Duration::from_millis(20);

/// Query of `GET /v1/sessions/{key}/events`.
#[derive(Deserialize)]
pub(super) struct ReadQuery {
    after: Option<u64>,
    limit: Option<u64>,
    durable: Option<u8>,
}

/// `GET /v1/sessions/{key}/events`: lines, or server-sent events where they are accepted.
pub(super) async fn read(
    State(app): State<Arc<App>>,
    InPath(key): InPath<String>,
    InQuery(query): InQuery<ReadQuery>,
    headers: HeaderMap,
) -> Answer {
    let entry = find(&app, &key)?;
    let is_durable = match query.durable {
        None | Some(0) => false,
        Some(1) => true,
        Some(_) => {
            return Err(Refusal(StatusCode::BAD_REQUEST, "invalid query: durable must be 0 or 1".to_owned()));
        }
    };
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let follows = accepted.is_some_and(|accepted| accepted.contains("text/event-stream"));
    let words = "too many read session logs at once; try again".to_owned();
    let place = Arc::clone(&app.logs.readers)
        .try_acquire_owned()
        .map_err(|_| Refusal(StatusCode::SERVICE_UNAVAILABLE, words))?;
    let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let (sender, body) = Channel::<Bytes, Unfinished>::new(AHEAD);
    let mut reader = Reader { app, entry, is_durable, sender };
    let mut stop = reader.app.stop.clone();
    tokio::spawn(async move {
        let told =
            async { if follows { reader.follow(last, query).await } else { reader.lines(query).await } };
        let done = tokio::select! {
            done = told => done,
            () = stopped(&mut stop) => Err(Gone),
        };
        if done.is_err() {
            // Half a log must not look like a whole one.
            reader.sender.abort(Unfinished);
        }
        drop(place);
    });
    let mut response = Response::new(Body::new(body));
    let kind = if follows { "text/event-stream" } else { "application/x-ndjson" };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The reader is gone, or cannot be told more.
struct Gone;

/// There was more to tell.
#[derive(Debug, thiserror::Error)]
#[error("the lines end before the log does")]
struct Unfinished;

/// Somebody who reads a log.
struct Reader {
    app: Arc<App>,
    entry: Arc<Entry>,
    /// Synced lines alone, and nothing ephemeral.
    is_durable: bool,
    sender: Sender<Bytes, Unfinished>,
}

impl Reader {
    async fn send(&mut self, text: impl Into<Bytes>) -> Result<(), Gone> {
        let mut text = text.into();
        while !text.is_empty() {
            let piece = text.split_to(text.len().min(PIECE_BYTES));
            self.sender.send_data(piece).await.map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// Tells the lines up to the end of the log.
    async fn lines(&mut self, query: ReadQuery) -> Result<(), Gone> {
        let (folder, after) = (self.entry.folder.clone(), query.after.unwrap_or(0));
        let mut pages = blocking(move || Pages::after(&folder, after)).await?;
        let mut left = usize::try_from(query.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        while left > 0 {
            let up_to = self.up_to().await;
            let (turned, items) = turn(pages, up_to).await?;
            pages = turned;
            if items.is_empty() {
                break;
            }
            let mut text = String::new();
            let count = items.len();
            // What was made text is not kept while a slow reader takes that.
            for item in items.into_iter().take(left) {
                match item {
                    Item::Line(line) => text.push_str(&line.raw),
                    Item::Damaged(damaged) => text.push_str(&print(&damaged)),
                }
                text.push('\n');
            }
            left = left.saturating_sub(count);
            self.send(text).await?;
        }
        Ok(())
    }

    /// Tells lines and ephemeral events as they come.
    async fn follow(&mut self, last: Option<String>, query: ReadQuery) -> Result<(), Gone> {
        // Subscribed before the first look, so that nothing falls in between.
        let mut changed = self.entry.told.watch();
        let mut shown = self.entry.told.now().shown;
        self.send(HELLO).await?;
        let mut pages = self.start(last, query.after).await?;
        let mut said = Instant::now();
        let mut looked_again = 0;
        let mut begun = self.entry.told.now().begun;
        loop {
            changed.mark_unchanged();
            let now = self.entry.told.now().begun;
            if std::mem::replace(&mut begun, now) != now {
                let (turned, is_over) = blocking(move || {
                    let is_over = pages.is_over();
                    (pages, is_over)
                })
                .await?;
                pages = turned;
                if is_over {
                    // It was deleted, or lost its end, and began anew.
                    self.send(RESET).await?;
                    pages = self.first().await?;
                    looked_again = 0;
                }
            }
            // Before the lines: each stands behind lines that are written already.
            let live = if self.is_durable { Vec::new() } else { self.entry.shown.from(shown) };
            let written_seq = self.entry.told.now().written_seq;
            let up_to = self.up_to().await;
            let (turned, items) = turn(pages, up_to).await?;
            pages = turned;
            if items.is_empty() && written_seq.min(up_to) > pages.seq.max(looked_again) {
                // What is read is not what is written to: another file was put in its place (`log scrub`). Once for each
                // seq: where it is something else, looking again changes nothing.
                looked_again = written_seq;
                pages = blocking(move || pages.again()).await?;
                continue;
            }
            let mut live = live.into_iter().peekable();
            let mut text = String::new();
            let is_end = items.is_empty();
            for item in items {
                if let Item::Line(line) = &item {
                    while let Some(event) = live.next_if(|event| event.after_seq < line.seq) {
                        shown = event.number + 1;
                        push_shown(&mut text, &event);
                    }
                }
                push_item(&mut text, &item);
            }
            while let Some(event) = live.next_if(|event| is_end || event.after_seq <= pages.seq) {
                shown = event.number + 1;
                push_shown(&mut text, &event);
            }
            if !text.is_empty() {
                self.send(text).await?;
                said = Instant::now();
                continue;
            }
            let more_is_synced_soon = up_to < self.entry.told.now().written_seq;
            let wait = if more_is_synced_soon { LOOK_SYNCED } else { LOOK };
            // Over or not, the next look tells.
            let _ = timeout(wait, changed.changed()).await;
            if said.elapsed() >= KEEP_ALIVE {
                self.send(":\n\n").await?;
                said = Instant::now();
            }
        }
    }

    /// Finds where to start: behind the last event that the reader saw, behind a seq, or with what comes. Where the log has
    /// not got so far, or has another event there, it is not the one that he read: it begins anew.
    async fn start(&mut self, last: Option<String>, after: Option<u64>) -> Result<Pages, Gone> {
        let folder = self.entry.folder.clone();
        let found = match (last.filter(|last| !last.is_empty()), after) {
            (Some(last), _) if last == "0" => return self.first().await,
            (Some(last), _) => {
                let place = parse_stream_id(&last);
                blocking(move || place.and_then(|(seq, id)| Pages::after_line(&folder, seq, &id))).await?
            }
            (None, Some(seq)) => {
                let given_seq = self.app.logs.given_seq(&self.entry).await;
                blocking(move || Pages::after_known(&folder, seq, given_seq)).await?
            }
            (None, None) => Some(blocking(move || Pages::at_end(&folder)).await?),
        };
        match found {
            Some(pages) => Ok(pages),
            None => {
                self.send(RESET).await?;
                self.first().await
            }
        }
    }

    async fn first(&self) -> Result<Pages, Gone> {
        let folder = self.entry.folder.clone();
        blocking(move || Pages::after(&folder, 0)).await
    }

    /// The last seq that may be told.
    async fn up_to(&self) -> u64 {
        if self.is_durable { self.app.logs.synced_seq(&self.entry).await } else { u64::MAX }
    }
}

/// Reads a page on a thread that may block.
async fn turn(mut pages: Pages, up_to: u64) -> Result<(Pages, Vec<Item>), Gone> {
    blocking(move || {
        let items = pages.next(up_to);
        (pages, items)
    })
    .await
}

/// A panic ends this reader's stream; he comes back with his last id.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Gone> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Gone)
}

/// Lines and types have no raw line ends.
fn push_item(text: &mut String, item: &Item) {
    match item {
        Item::Line(line) => {
            text.push_str(&format!(
                "id: {}-{}\nevent: {}\ndata: {}\n\n",
                line.seq, line.id, line.kind, line.raw
            ));
        }
        Item::Damaged(damaged) => text.push_str(&format!("event: damaged\ndata: {}\n\n", print(damaged))),
    }
}

fn push_shown(text: &mut String, event: &Shown) {
    text.push_str(&format!("event: {}\ndata: {}\n\n", event.kind, event.data));
}

fn print(value: &impl Serialize) -> String {
    // It has string keys and no failing serializers, so it always prints.
    serde_json::to_string(value).unwrap_or_default()
}
