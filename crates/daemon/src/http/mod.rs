//! What is served over HTTP: the paths of Trail Boss, and our own under `/v1` (overview section 5).

mod body;
mod events;
mod extract;
mod hooks;
mod lines;
mod report;
mod routes;
mod stats;
mod stream;
mod trail;
mod v1;
mod waits;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use herdbook_api::{ErrorBody, v1::Listen};
use herdbook_log::Store;
use hyper::body::Incoming;
use serde::Serialize;
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

use crate::agents::Agents;
use crate::answering::Answering;
use crate::attention::Source;
use crate::core::{Core, Counters, Refused};
use crate::holds::Holds;
use crate::sessions::SessionLogs;
use crate::upkeep::Standing;

/// An event that cannot be kept within this time is answered with 503.
const KEEP_TIME: Duration = Duration::from_secs(2);

/// What the handlers look at.
pub(crate) struct App {
    pub answering: Arc<Answering>,
    pub core: Core,
    pub store: Arc<Store>,
    pub told: Arc<Source>,
    pub counters: Arc<Counters>,
    pub stop: watch::Receiver<bool>,
    pub version: String,
    pub store_id: String,
    pub state_dir: PathBuf,
    pub sockets: Vec<PathBuf>,
    pub http: Vec<Listen>,
    /// Our HTTP ports.
    pub ports: Vec<u16>,
    pub started_at: u64,
    /// `store.json` was damaged: what that costs, in words.
    pub renewed: Option<String>,
    /// `CLOCK_MONOTONIC` at the start.
    pub started_mono_ms: u64,
    /// Journal records that could not be folded at the start.
    pub unfolded: u64,
    /// Places for readers of the attention stream.
    pub streams: Arc<Semaphore>,
    /// Running agents.
    pub agents: Agents,
    /// Hook calls that wait for the human.
    pub holds: Arc<Holds>,
    /// Logs of sessions that producers append to.
    pub logs: Arc<SessionLogs>,
    /// What did not work when old logs were looked after last.
    pub upkeep: Standing,
}

/// Makes the router.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/event/normalized", post(trail::normalized))
        .route("/event", post(hooks::trail_event))
        .route("/queue", get(trail::queue))
        .route("/next", get(trail::next))
        .route("/skip", post(trail::skip))
        .route("/status", get(trail::status))
        .route("/v1/status", get(v1::status).post(report::status))
        .route("/v1/queue", get(v1::queue))
        .route("/v1/queue/skip", post(v1::skip))
        .route("/v1/queue/snooze", post(v1::snooze))
        .route("/v1/queue/pin", post(v1::pin))
        .route("/v1/queue/settle", post(v1::settle))
        .route("/v1/sessions", get(v1::sessions))
        .route("/v1/sessions/{key}", get(v1::session))
        .route("/v1/sessions/{key}/why", get(v1::why))
        .route("/v1/sessions/{key}/events", get(lines::read).post(events::append))
        .route("/v1/sessions/{key}/ephemeral", post(events::ephemeral))
        .route("/v1/sessions/{key}/synced", get(events::synced))
        .route("/v1/waits", get(waits::waits))
        .route("/v1/waits/{id}/answer", post(waits::answer))
        .route("/v1/agents", get(v1::agents))
        .route("/v1/routes", get(routes::routes))
        .route("/v1/stats", get(stats::get_stats))
        .route("/metrics", get(stats::get_metrics))
        .route("/v1/attention", get(stream::attention))
        .route("/v1/hooks", get(v1::hooks))
        .route("/v1/hooks/{host}", post(hooks::hook))
        .fallback(|| async { refuse(StatusCode::NOT_FOUND, "no such route") })
        .method_not_allowed_fallback(|| async {
            refuse(StatusCode::METHOD_NOT_ALLOWED, "this route does not take that method")
        })
        .with_state(app)
}

/// Hands a request that passed the guard to its route.
pub(crate) async fn call(mut router: Router, request: Request<Incoming>) -> Response<Body> {
    // A router is always ready and never fails.
    let answered: Result<Response<Body>, Infallible> = router.call(request).await;
    answered.unwrap_or_else(|never| match never {})
}

/// An answer other than 2xx.
pub(crate) fn refuse(status: StatusCode, words: impl Into<String>) -> Response<Body> {
    json(status, &ErrorBody { error: words.into() })
}

/// An answer as compact JSON.
fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    // The types have string keys and no failing serializers, so they always print.
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What a route answers.
type Answer = Result<Response<Body>, Refusal>;

/// Why a route did not do what was asked.
#[derive(Debug)]
struct Refusal(StatusCode, String);

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        let status = match refused {
            Refused::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
            Refused::Stopping | Refused::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Refusal(status, refused.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        refuse(self.0, self.1)
    }
}

fn ok(value: &impl Serialize) -> Answer {
    Ok(json(StatusCode::OK, value))
}

impl App {
    /// Folds an input and waits until it is kept, but not for ever.
    async fn keep(
        &self,
        input: herdbook_engine::Input,
        durability: herdbook_log::Durability,
    ) -> Result<(), Refusal> {
        match tokio::time::timeout(KEEP_TIME, self.core.step(input, durability)).await {
            Ok(kept) => Ok(kept?),
            Err(_) => {
                let why = self.store.health().error.unwrap_or_else(|| "the disk is too slow".to_owned());
                Err(Refused::Journal(why).into())
            }
        }
    }
}
