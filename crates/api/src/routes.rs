//! Answer of `GET /v1/routes`: the human's routes, and what was counted of them since the daemon's start.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All routes. The daemon looks at their files for it, so that whoever trusts one asks this and finds it at work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routes {
    /// The routes, by id.
    pub items: Vec<Route>,
    /// What lies among them and is not used.
    pub refused: Vec<NotRoute>,
    /// Decisions that hosts were told and that the journal did not take in time.
    pub unnoted: u64,
}

/// One route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Route {
    /// For example `tool/before/no-force-push`.
    pub id: String,
    /// The program.
    pub path: String,
    /// SHA-256 in hex over the program and its settings.
    pub sha256: String,
    /// `active`, `new`, `changed` or `refused`; only an active one is run.
    pub state: String,
    /// Why it is refused.
    pub why: Option<String>,
    /// How often it was run.
    pub runs: u64,
    /// What it answered, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// How often it failed.
    pub failed: u64,
    /// How often it was ended because nobody waited for it any more.
    pub cut_short: u64,
    /// When it was run last, Unix milliseconds.
    pub last_run_at: Option<u64>,
    /// When it failed last, Unix milliseconds.
    pub last_failed_at: Option<u64>,
    /// How it failed then, in words that go on after its name.
    pub last_failure: Option<String>,
    /// Within how many microseconds half of its last runs were over.
    pub p50_us: Option<u64>,
    /// Within how many microseconds 99 of a hundred of its last runs were over.
    pub p99_us: Option<u64>,
    /// How long the longest run took, in microseconds.
    pub most_us: Option<u64>,
}

/// Something among the routes that is not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRoute {
    /// What it is.
    pub path: String,
    /// Why not, in words that go on after the path.
    pub why: String,
}
