//! The pure core of Herdbook: `step(now, input)` folds one input and returns effects.
//!
//! No IO, no clock, no environment: time and randomness come in, and what shall happen goes out as [`Effect`]s.
//! The daemon is a loop around it; the conformance runner drives the same engine with recorded inputs.
//! Start with [`Engine::step`], then [`Input`] and [`Effect`].

mod aged;
pub mod book;
mod decision;
mod detected;
mod engine;
mod intake;
mod pane;
mod payload;
pub mod received;
pub mod record;
mod show;
mod status;
mod transcript;
mod types;
pub mod view;
mod waits;
mod why;

pub use aged::{Shown, aged, session_of};
pub use engine::Engine;
pub use herdbook_attention::{Doing, End};
pub use intake::posted_origin;
pub use payload::{HookPayload, UnreadablePayload};
pub use types::{
    Config, Decided, DecidedBy, Effect, Focus, HookDelivery, HumanAct, Input, Now, RouteRun, TmuxFacts,
    ToldRecord, TranscriptNews,
};
