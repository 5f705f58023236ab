//! The attention fold: who waits for the human, since when, for what.
//!
//! Pure: observations, posted events and human acts go in with a [`Moment`]; [`Transition`]s come out, and the queue
//! can be read at any time. It knows no host and no journal format. Start with [`Attention`], then `fold.rs` and `turn.rs`
//! for the rules about hooks, `transcript.rs` for transcripts, `screen.rs` for panes, `status.rs` for what programs
//! report, `posted.rs` for normalized events, `decided.rs` for what hosts were told in answer, `queue.rs` for the order, `time.rs` for what time alone changes, `ledger.rs`
//! for how long it lasted, `passed.rs` for what came in and changed nothing, `outlook.rs` for what would change something.

mod child;
mod decided;
mod fold;
mod herd;
mod human;
mod ledger;
mod outlook;
mod panes;
mod parts;
mod passed;
mod posted;
mod queue;
mod screen;
mod session;
mod status;
mod time;
mod transcript;
mod turn;

pub use decided::Ruling;
pub use herd::{Attention, Call, Limits};
pub use ledger::{Doing, End, Span};
pub use outlook::Eyes;
pub use passed::RuledOut;
pub use queue::Entry;
pub use session::{Cause, Evidence, Moment, Phase, Session, Transition, Wait};
pub use status::StatusFact;
pub use transcript::TranscriptFact;

/// Version of the rules in this crate; kept beside each transition.
pub const RULES_VERSION: u32 = 1;
