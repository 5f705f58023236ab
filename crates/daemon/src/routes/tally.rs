//! What is counted of each route since the daemon's start.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;

use super::load::LoadedRoute;
use super::run::Run;
use crate::spool::lock;

/// Times of so many last runs are kept for the percentiles.
const TIMES: usize = 512;
/// A route whose last failure is so long ago is not warned of.
const LATELY_MS: u64 = 10 * 60 * 1_000;

/// Counts of one route.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub runs: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    pub failed: u64,
    /// Runs that were ended because nobody waited for them any more.
    pub cut_short: u64,
    /// Unix milliseconds.
    pub last_run_at: Option<u64>,
    /// The last failure: when, and how.
    pub last_failure: Option<(u64, String)>,
    times_us: VecDeque<u64>,
    pub most_us: u64,
    /// The human was told that it fails, and it has not succeeded since.
    is_told: bool,
}

impl Counts {
    /// Returns the time within which so many of a hundred runs were over, of the last [`TIMES`].
    pub(crate) fn percentile_us(&self, percent: usize) -> Option<u64> {
        let mut times: Vec<u64> = self.times_us.iter().copied().collect();
        times.sort_unstable();
        let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(at).copied()
    }

    /// Returns how it failed, where that was lately.
    pub(crate) fn failed_lately(&self, wall_ms: u64) -> Option<&str> {
        let (at, words) = self.last_failure.as_ref()?;
        (wall_ms < at + LATELY_MS).then_some(words.as_str())
    }
}

/// Counts of all routes, by id.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<HashMap<String, Counts>>);

impl Tally {
    /// Counts a run. Returns what the human should be told of it, once.
    pub(crate) fn count(
        &self,
        loaded: &LoadedRoute,
        run: &Run,
        is_cut_short: bool,
        wall_ms: u64,
    ) -> Option<String> {
        let mut all = lock(&self.0);
        let counts = all.entry(loaded.route.id.clone()).or_default();
        counts.runs += 1;
        counts.last_run_at = Some(wall_ms);
        if is_cut_short {
            counts.cut_short += 1;
            return None;
        }
        let took_us = u64::try_from(run.took.as_micros()).unwrap_or(u64::MAX);
        counts.most_us = counts.most_us.max(took_us);
        counts.times_us.push_back(took_us);
        if counts.times_us.len() > TIMES {
            counts.times_us.pop_front();
        }
        match &run.answer {
            Ok(decision) => {
                *counts.outcomes.entry(decision.outcome.as_str()).or_default() += 1;
                counts.is_told = false;
                None
            }
            Err(why) => {
                counts.failed += 1;
                counts.last_failure = Some((wall_ms, why.clone()));
                let was_told = std::mem::replace(&mut counts.is_told, true);
                let goes = if loaded.route.closed { "is denied" } else { "goes on" };
                (!was_told).then(|| format!("route {} failed: {why}; the call {goes}", loaded.route.id))
            }
        }
    }

    /// Returns what was counted of a route.
    pub(crate) fn of(&self, id: &str) -> Counts {
        lock(&self.0).get(id).cloned().unwrap_or_default()
    }
}
