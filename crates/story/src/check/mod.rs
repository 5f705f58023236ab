//! The checker: 67 rules over a stream of lines. It keeps what is open, and of the rest ids and places.
//!
//! `lines.rs` holds the envelope, the other files a family of events each, with what must be remembered of it.

mod checker;
mod context;
mod finding;
mod lines;
mod live;
mod model;
mod permission;
mod phase;
mod rules;
mod session;
mod standing;
mod state;
mod task;
mod tool;
mod user;
mod work;

pub use checker::{Checker, Options};
pub use finding::Finding;
pub use rules::{Level, Profile, Rule, Weight};
pub use standing::{OpenPermission, OpenProcess, OpenTool, Standing};
