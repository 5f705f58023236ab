//! What was counted: `/v1/stats` for people, `/metrics` for Prometheus.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use herdbook_wire::paths::SPOOL;
use herdbook_wire::spool;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::extract::InQuery;
use super::{Answer, App, Refusal, ok, routes};
use crate::core::Refused;
use crate::metrics::{self, Text, seconds};
use crate::stats::{By, stats};

/// What is counted when nothing else is asked for: the last seven days.
const SINCE_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

#[derive(Deserialize)]
pub(super) struct StatsQuery {
    since: Option<u64>,
    by: Option<String>,
}

/// `GET /v1/stats?since=MS&by=project|host|kind|day`.
pub(super) async fn get_stats(State(app): State<Arc<App>>, InQuery(query): InQuery<StatsQuery>) -> Answer {
    let by = match query.by.as_deref() {
        None => By::Kind,
        Some(word) => By::of(word).ok_or_else(|| {
            let words = "invalid query: 'by' must be project, host, kind or day";
            Refusal(StatusCode::BAD_REQUEST, words.to_owned())
        })?,
    };
    let (since_ms, until_ms, spans) = app
        .core
        .look(move |engine, now| {
            let since_ms = query.since.unwrap_or(now.wall_ms.saturating_sub(SINCE_MS));
            (since_ms, now.wall_ms, engine.spans(now, since_ms))
        })
        .await?;
    // Months of a busy herd take some milliseconds, and the zone is read from a file.
    let counted =
        tokio::task::spawn_blocking(move || stats(&spans, since_ms, until_ms, by, &TimeZone::system()));
    ok(&counted.await.map_err(|_| Refused::Panicked)?)
}

/// `GET /metrics`.
pub(super) async fn get_metrics(State(app): State<Arc<App>>) -> Answer {
    let mut text = app
        .core
        .look(|engine, now| {
            let mut text = Text::default();
            metrics::engine(&mut text, engine, now);
            text
        })
        .await?;
    let announced = app.counters.announced.load(Ordering::Relaxed);
    text.single(
        "announced_total",
        "counter",
        "Sessions for which the human was called since the start.",
        announced,
    );
    // A spool that cannot be read counts as empty: the daemon tells that by a warning of its own.
    let spooled = spool::count(&app.state_dir.join(SPOOL)).unwrap_or_default();
    text.single("spool_events", "gauge", "Hook events that wait in the spool.", spooled);
    routes::metrics(&mut text, &app);
    let health = app.store.health();
    let written = "Number of the last journal record that was written.";
    text.single("journal_written_seq", "gauge", written, health.written_seq);
    let pending = "Bytes that wait in memory for the disk.";
    text.single("journal_pending_bytes", "gauge", pending, health.pending_bytes);
    let up = "1 while the journal can be written.";
    text.single("journal_up", "gauge", up, u8::from(health.error.is_none()));
    let start = "When the daemon started, in seconds since 1970.";
    text.single("start_time_seconds", "gauge", start, seconds(app.started_at));
    text.metric("build_info", "gauge", "Version of the daemon.");
    text.value("build_info", &[("version", &app.version)], 1);
    let mut response = Response::new(Body::from(text.into_text()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
