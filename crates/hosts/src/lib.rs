//! Hosts: one folder each with the host's contract as one declarative table, and its signals.
//!
//! Pure: bytes in, values out; it never reads a file, a clock or the environment, and it never guesses what a host
//! did not say. Start with [`project()`], then a host's table, for example [`claude::TABLE`].

pub mod amp;
pub mod answer;
mod app;
pub mod author;
pub mod claude;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod decision;
pub mod detail;
pub mod detector;
pub mod droid;
mod ecmascript;
mod envelope;
mod form;
pub mod gemini;
mod json;
mod native;
mod news;
pub mod observe;
pub mod opencode;
pub mod project;
pub mod route;
mod sample;
mod say;
pub mod screen;
pub mod settings;
pub mod table;
pub mod transcript;

pub use answer::{Answer, Nearest, Refusal};
pub use app::host_of_app;
pub use decision::{Decision, Outcome, Output, Said};
pub use detail::{Can, Cannot, Detail, Intent, Key, Shape, Wording};
pub use ecmascript::canonical_text;
pub use envelope::{Fault, faults};
pub use json::MAX_DEPTH;
pub use native::Native;
pub use news::{News, is_beside, news};
pub use observe::observe;
pub use project::{Projected, Salvage, cwd, idempotency_key, project, read};
pub use route::{Route, RouteError, RouteFault};
pub use sample::sample;
pub use table::{
    Decode, Form, Home, HostTable, Identity, Install, Layout, Mapping, NativeEvent, Setup, Switch,
    Transcripts, Unit,
};

/// The hosts that have a table.
pub const HOSTS: &[&HostTable] = &[
    &claude::TABLE,
    &codex::TABLE,
    &cursor::TABLE,
    &amp::TABLE,
    &gemini::TABLE,
    &copilot::TABLE,
    &opencode::TABLE,
    &droid::TABLE,
];

/// The hosts that `install` has hooks for.
pub fn installable() -> impl Iterator<Item = &'static HostTable> {
    HOSTS.iter().copied().filter(|table| table.is_installable())
}

/// Returns the table of a host, or nothing for a host that is not known.
pub fn table(host: &str) -> Option<&'static HostTable> {
    HOSTS.iter().find(|table| table.host == host).copied()
}
