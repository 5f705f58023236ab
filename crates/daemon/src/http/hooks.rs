//! Hook payloads over HTTP: of any host, and as Trail Boss's emitter sends them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use herdbook_api::trail::Accepted;
use herdbook_engine::{HookDelivery, Input, posted_origin};
use herdbook_events::Origin;
use herdbook_log::Durability;
use serde::Deserialize;

use super::body::{self, HOOK_BYTES};
use super::extract::{InPath, InQuery};
use super::{Answer, App, Refusal, ok};
use crate::clock;
use crate::core::Refused;
use crate::store_file::fill_random;

const PANE_HEADER: &str = "x-tmux-pane";
/// A host's or an event's name, and a pane id, may be so long.
const NAME_BYTES: usize = 255;

/// Query of `POST /v1/hooks/{host}`.
#[derive(Deserialize)]
pub(super) struct HookQuery {
    /// The native event name, where the payload does not say it.
    event: Option<String>,
}

/// `POST /v1/hooks/{host}`: any bytes; what cannot be read is kept as it came. Answers once it is written.
pub(super) async fn hook(
    State(app): State<Arc<App>>,
    InPath(host): InPath<String>,
    InQuery(query): InQuery<HookQuery>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    if host.is_empty()
        || host.len() > NAME_BYTES
        || query.event.as_ref().is_some_and(|e| e.len() > NAME_BYTES)
    {
        let words = format!("host and event must have 1 to {NAME_BYTES} bytes");
        return Err(Refusal(StatusCode::BAD_REQUEST, words));
    }
    let origin = pane(&headers).map(|pane| posted_origin(&pane)).unwrap_or_default();
    take(&app, host, query.event, origin, body).await
}

/// `POST /event` with `X-Tmux-Pane`: a raw Claude payload; the pane counts as its terminal.
pub(super) async fn trail_event(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let Some(pane) = pane(&headers) else {
        return Err(Refusal(StatusCode::BAD_REQUEST, "missing header 'X-Tmux-Pane'".to_owned()));
    };
    take(&app, "claude".to_owned(), None, posted_origin(&pane), body).await
}

pub(super) fn pane(headers: &HeaderMap) -> Option<String> {
    let pane = headers.get(PANE_HEADER)?.to_str().ok()?.trim();
    (!pane.is_empty() && pane.len() <= NAME_BYTES).then(|| pane.to_owned())
}

async fn take(app: &App, host: String, native_event: Option<String>, origin: Origin, body: Body) -> Answer {
    let stamp_ms = Some(clock::boot_ms());
    let started_at_ms = Some(clock::wall_ms());
    let body = body::read(body, HOOK_BYTES).await?.into();
    let mut random = [0; 16];
    fill_random(&mut random).map_err(|error| Refused::Journal(error.to_string()))?;
    let delivery = u128::from_le_bytes(random);
    let (cut, spooled) = (false, false);
    let call = HookDelivery {
        host,
        native_event,
        delivery,
        stamp_ms,
        started_at_ms,
        origin,
        body,
        cut,
        spooled,
        earlier_boot: false,
    };
    app.keep(Input::Hook(call), Durability::Written).await?;
    ok(&Accepted { ok: true })
}
