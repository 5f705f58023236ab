//! `GET /v1/routes`, and what status and metrics say of routes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use herdbook_api::routes::{NotRoute, Route, Routes};

use super::{Answer, App, ok};
use crate::clock;
use crate::core::Refused;
use crate::metrics::Text;
use crate::routes::{LoadedRoute, RouteState};

/// `GET /v1/routes`: looks at the files first.
pub(super) async fn routes(State(app): State<Arc<App>>) -> Answer {
    let kept = Arc::clone(&app.answering.kept);
    let found =
        tokio::task::spawn_blocking(move || kept.look_again()).await.map_err(|_| Refused::Panicked)?;
    let refused = found.loaded.refused.iter();
    ok(&Routes {
        items: found.loaded.routes.iter().map(|loaded| route(&app, loaded)).collect(),
        refused: refused
            .map(|not| NotRoute { path: not.path.display().to_string(), why: not.why.clone() })
            .collect(),
        unnoted: app.counters.unnoted.load(Ordering::Relaxed),
    })
}

fn route(app: &App, loaded: &LoadedRoute) -> Route {
    let counts = app.answering.tally.of(&loaded.route.id);
    let (last_failed_at, last_failure) = counts.last_failure.clone().unzip();
    Route {
        id: loaded.route.id.clone(),
        path: loaded.path.display().to_string(),
        sha256: loaded.sha256.clone(),
        state: loaded.state.as_str().to_owned(),
        why: match &loaded.state {
            RouteState::Refused(why) => Some(why.clone()),
            _ => None,
        },
        runs: counts.runs,
        p50_us: counts.percentile_us(50),
        p99_us: counts.percentile_us(99),
        most_us: (counts.most_us > 0).then_some(counts.most_us),
        outcomes: counts.outcomes.into_iter().map(|(outcome, count)| (outcome.to_owned(), count)).collect(),
        failed: counts.failed,
        cut_short: counts.cut_short,
        last_run_at: counts.last_run_at,
        last_failed_at,
        last_failure,
    }
}

/// What the human should know of his routes, one sentence each.
pub(super) fn warnings(app: &App) -> Vec<String> {
    let found = app.answering.kept.found();
    let mut warnings: Vec<String> =
        found.loaded.refused.iter().map(|not| format!("{} {}", not.path.display(), not.why)).collect();
    for loaded in &found.loaded.routes {
        let id = &loaded.route.id;
        warnings.extend(match &loaded.state {
            RouteState::Active => {
                let counts = app.answering.tally.of(id);
                let lately = counts.failed_lately(clock::wall_ms());
                lately.map(|how| format!("route {id} failed lately ({} times in all): {how}", counts.failed))
            }
            RouteState::New => {
                Some(format!("route {id} is not run until you trust it: look at it, then herdbook route trust {id}"))
            }
            RouteState::Changed => Some(format!(
                "route {id} was changed and is not run until you trust it again: look at it, then herdbook route trust {id}"
            )),
            RouteState::Refused(why) => Some(format!("route {id} is refused: {why}")),
        });
    }
    let unnoted = app.counters.unnoted.load(Ordering::Relaxed);
    if unnoted > 0 {
        warnings
            .push(format!("{unnoted} decisions are missing in the journal: it could not be written in time"));
    }
    warnings
}

/// What is counted of routes.
pub(super) fn metrics(text: &mut Text, app: &App) {
    let found = app.answering.kept.found();
    let counted: Vec<_> = found
        .loaded
        .routes
        .iter()
        .map(|loaded| (&loaded.route.id, app.answering.tally.of(&loaded.route.id)))
        .collect();
    text.metric("route_runs_total", "counter", "Runs of routes since the start, by what they answered.");
    for (id, counts) in &counted {
        let outcomes = counts.outcomes.iter().map(|(outcome, count)| (*outcome, *count));
        let others = [("failed", counts.failed), ("cut_short", counts.cut_short)];
        for (outcome, count) in outcomes.chain(others).filter(|(_, count)| *count > 0) {
            text.value("route_runs_total", &[("route", id), ("outcome", outcome)], count);
        }
    }
    text.metric("routes", "gauge", "Routes by state; only active ones are run.");
    for state in ["active", "new", "changed", "refused"] {
        let count = found.loaded.routes.iter().filter(|loaded| loaded.state.as_str() == state).count();
        let refused = if state == "refused" { found.loaded.refused.len() } else { 0 };
        text.value("routes", &[("state", state)], count + refused);
    }
    let unnoted = "Decisions that hosts were told and that the journal did not take in time.";
    text.single("decisions_unnoted_total", "counter", unnoted, app.counters.unnoted.load(Ordering::Relaxed));
}
