//! The paths of the Trail Boss reference: exact bodies, its own clients work on them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use herdbook_api::trail;
use herdbook_engine::{HumanAct, Input};
use herdbook_events::NormalizedEvent;
use herdbook_log::Durability;

use super::body::{self, POST_BYTES};
use super::{Answer, App, Refusal, ok};
use crate::convert;

/// `POST /event/normalized`: answers once the event is synced.
pub(super) async fn normalized(State(app): State<Arc<App>>, body: Body) -> Answer {
    let bytes = body::read(body, POST_BYTES).await?;
    let refused = |error: &dyn std::fmt::Display| Refusal(StatusCode::BAD_REQUEST, error.to_string());
    let event = NormalizedEvent::parse(&bytes).map_err(|error| refused(&error))?;
    // What parses as JSON is UTF-8 as a whole.
    let body = String::from_utf8(bytes.into()).map_err(|error| refused(&error))?;
    app.keep(Input::Normalized { event, body }, Durability::Synced).await?;
    ok(&trail::Accepted { ok: true })
}

/// `GET /queue`: the entries that are not in cooldown.
pub(super) async fn queue(State(app): State<Arc<App>>) -> Answer {
    let items = app
        .core
        .look(|engine, now| {
            let queue = engine.queue(now).into_iter();
            let shown = queue.filter(|entry| !convert::in_cooldown(entry, now.wall_ms));
            shown.map(convert::trail_item).collect::<Vec<_>>()
        })
        .await?;
    ok(&trail::Queue { count: items.len(), items })
}

/// `GET /next`: the head of the queue.
pub(super) async fn next(State(app): State<Arc<App>>) -> Answer {
    ok(&app.core.look(|engine, now| convert::next(&engine.queue(now), now.wall_ms)).await?)
}

/// `POST /skip`: puts the head into cooldown and answers as `/next` then would. A body is passed over.
pub(super) async fn skip(State(app): State<Arc<App>>) -> Answer {
    app.keep(Input::Human(HumanAct::Skip(None)), Durability::Synced).await?;
    next(State(app)).await
}

/// `GET /status`.
pub(super) async fn status(State(app): State<Arc<App>>) -> Answer {
    let stuck_count = app
        .core
        .look(|engine, now| {
            engine.queue(now).iter().filter(|entry| !convert::in_cooldown(entry, now.wall_ms)).count()
        })
        .await?;
    ok(&trail::Status { status: "ok".to_owned(), stuck_count })
}
