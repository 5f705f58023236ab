//! What a session log says: canonical text of payloads (CJ-1), the rules a log must keep, the model history that its
//! events give, what a resumed session adds, and how people read it.
//!
//! It folds lines that are handed to it. It never reads a clock, a file or the environment, and it never guesses: where
//! a log does not say what the model saw, there is a refusal with the place.
//! Start with [`check::Checker`], then [`history::History`].

pub mod canonical;
pub mod check;
pub mod history;
mod items;
pub mod line;
pub mod numbering;
mod plain;
mod print;
pub mod reference;
pub mod resume;
pub mod tell;
pub mod template;
pub mod upgrade;

pub use canonical::canonical;
pub use check::{Checker, Finding, Level, Options, Profile, Rule, Standing};
pub use history::{History, Refusal};
pub use line::{Line, Unreadable};
pub use numbering::Numbering;
pub use resume::{CannotResume, Offer, resume};
pub use tell::{Teller, Telling};
pub use template::Templates;
pub use upgrade::{Changed, UPGRADES, Upgrade, upgrade};
