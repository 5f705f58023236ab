//! The pane eye, its pure half: from samples of a pane to a verdict.
//!
//! What a host's screens look like is data: `screen.toml` in the host's folder, read by [`Manifest::parse`], so that a
//! user can put another text in its place. One sample gives a [`Reading`]; a [`Watch`] counts a reading only when the
//! next sample says the same, and keeps what it knew while a sample says nothing (copy mode, a pane just resized).
//!
//! Only the live region counts: the composer, the row of work above it and the keys below it; or, where there is no
//! composer, the box at the bottom. Quoted text and old rows above are never looked at (field case F-076).

mod manifest;
mod read;
mod rows;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::OnceLock;

use herdbook_events::WaitKind;

pub use manifest::{Manifest, ManifestError};
pub use read::{Reading, read};
pub use watch::{Judgement, Watch};

/// A pane is not read below this size: nothing can be told apart there (field case F-082).
pub const MIN_SIZE: (u32, u32) = (20, 5);

/// What a pane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The agent works.
    Busy,
    /// Quiet at a prompt.
    Ready,
    /// It asks the human something.
    Dialog,
    /// A menu that the human opened: he is at the keyboard.
    Menu,
    /// Cannot be told, or could not be looked at: proves nothing.
    #[default]
    Unknown,
}

impl Verdict {
    /// Returns the word for answers and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Busy => "busy",
            Verdict::Ready => "ready",
            Verdict::Dialog => "dialog",
            Verdict::Menu => "menu",
            Verdict::Unknown => "unknown",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Verdict> {
        [Verdict::Busy, Verdict::Ready, Verdict::Dialog, Verdict::Menu, Verdict::Unknown]
            .into_iter()
            .find(|verdict| verdict.as_str() == word)
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confidence {
    /// A rule of the host's manifest names it.
    #[default]
    High,
    /// It only looks like a dialog: nobody has seen it before.
    Low,
}

/// One look at a pane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// When, in milliseconds of any clock that never falls.
    pub at_ms: u64,
    /// The visible rows, without escape sequences.
    pub text: &'a str,
    /// Columns and rows, where known.
    pub size: Option<(u32, u32)>,
    /// The pane's title.
    pub title: &'a str,
    /// The pane shows its history (copy mode): the text is not what the agent shows now.
    pub in_mode: bool,
    /// How long ago its size changed, in milliseconds (`None`: not lately).
    pub resized_ms_ago: Option<u64>,
    /// The cursor: column and row from 0, where known.
    pub cursor: Option<(u32, u32)>,
}

/// Texts of the manifests that come with the program.
const TEXTS: [(&str, &str); 6] = [
    ("claude", include_str!("../claude/screen.toml")),
    ("codex", include_str!("../codex/screen.toml")),
    ("copilot", include_str!("../copilot/screen.toml")),
    ("cursor", include_str!("../cursor/screen.toml")),
    ("gemini", include_str!("../gemini/screen.toml")),
    ("opencode", include_str!("../opencode/screen.toml")),
];

/// Returns the text of the manifest of a host as it comes with the program: where one of the user's own begins.
pub fn manifest_text(host: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == host).map(|(_, text)| *text)
}

/// Returns the manifest of a host as it comes with the program, or nothing for a host whose screens nobody recorded.
pub fn manifest(host: &str) -> Option<&'static Manifest> {
    static READ: OnceLock<Vec<(&'static str, Option<Manifest>)>> = OnceLock::new();
    // A test holds that each of them can be read.
    let read = READ
        .get_or_init(|| TEXTS.iter().map(|(host, text)| (*host, Manifest::parse(host, text).ok())).collect());
    read.iter().find(|(known, _)| *known == host)?.1.as_ref()
}

/// Reads the word of a wait kind, as [`WaitKind::as_str`] gives it.
pub(crate) fn wait_kind(word: &str) -> Option<WaitKind> {
    use WaitKind::{Dialog, Elicitation, Error, Interrupted, Permission, Plan, Question, TurnEnd};
    [TurnEnd, Error, Interrupted, Permission, Question, Plan, Elicitation, Dialog]
        .into_iter()
        .find(|kind| kind.as_str() == word)
}
