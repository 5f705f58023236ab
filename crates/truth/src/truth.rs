//! The truth of a recorded run (`truth.json`): who waited when, and which source can prove it.

use std::path::Path;

use serde::Deserialize;

/// The truth about one scenario.
#[derive(Clone, Debug, Deserialize)]
pub struct Truth {
    /// Its sessions.
    pub sessions: Vec<TrueSession>,
    /// What was true, from when to when.
    pub spans: Vec<Span>,
}

/// A session of the recorded run.
#[derive(Clone, Debug, Deserialize)]
pub struct TrueSession {
    /// Its id in the recording; a live run has another.
    pub id: String,
    /// Its place, from 1, in the order in which ids first appear.
    pub order: usize,
    /// Nobody sits at it: it must never be queued.
    #[serde(default)]
    pub headless: bool,
}

/// A stretch of time in which one thing was true of a session.
#[derive(Clone, Debug, Deserialize)]
pub struct Span {
    /// The session's id in the recording, or `pane:…` before there is one.
    pub session: String,
    /// Where it begins.
    pub from: Anchor,
    /// Where it ends; nothing is the end of the run.
    pub to: Option<Anchor>,
    /// `registered`, `working`, `stuck` or `ended`.
    pub state: String,
    /// What a stuck session waits for.
    pub kind: Option<String>,
    /// `stopped` or `permission`.
    pub reason: Option<String>,
    /// Kinds that are right as well.
    #[serde(default)]
    pub accept_kinds: Vec<String>,
    /// The sources that can prove it: `hook`, `transcript`, `screen`, `process`.
    pub provable_by: Vec<String>,
    /// The moment from which a hook proves it.
    pub proof: Option<Anchor>,
    /// How much later the product must know, in milliseconds.
    #[serde(default)]
    pub lag_ms: u64,
    /// Either answer is right.
    #[serde(default)]
    pub soft: bool,
    /// The state is the one of the span before: nothing has to be noticed.
    #[serde(default)]
    pub continues: bool,
}

impl Span {
    /// It is about a pane's dialog before any session is known.
    pub fn is_of_a_pane(&self) -> bool {
        self.session.starts_with("pane:")
    }

    /// The words for people: `stuck permission`.
    pub fn name(&self) -> String {
        match &self.kind {
            Some(kind) => format!("{} {kind}", self.state),
            None => self.state.clone(),
        }
    }

    /// The reason that the kinds which are right as well stand for.
    pub fn accepts_reason(&self, reason: &str) -> bool {
        let reason_of = |kind: &str| match kind {
            "permission" | "question" | "plan" | "elicitation" | "dialog" => "permission",
            _ => "stopped",
        };
        self.reason.as_deref().is_none_or(|own| own == reason)
            || self.accept_kinds.iter().any(|kind| reason_of(kind) == reason)
    }
}

/// A moment of a run, told by something that happens in every run of the scenario.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Anchor {
    /// The n-th of its like, from 1.
    pub n: Option<usize>,
    /// So much later, in milliseconds.
    #[serde(default)]
    pub plus_ms: f64,
    /// The end of the run.
    pub end: Option<bool>,
    /// A hook of that native name was called.
    pub hook: Option<String>,
    /// The model was asked in that lane.
    pub api: Option<String>,
    /// The driver saw a text.
    pub saw: Option<String>,
    /// The driver pressed a key.
    pub key: Option<String>,
    /// The driver typed a text.
    #[serde(rename = "type")]
    pub typed: Option<String>,
    /// The driver sent a signal.
    pub signal: Option<String>,
    /// The driver killed the pane.
    pub kill: Option<bool>,
    /// The client was gone.
    pub gone: Option<bool>,
    /// The client was started.
    pub start: Option<bool>,
}

/// Reads the truth of a scenario.
///
/// # Errors
/// The file cannot be read, or is not of that form; the text names it.
pub fn read(path: &Path) -> Result<Truth, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
