//! A scripted agent that writes its own session log, as an example for whoever writes a producer, and as its test.
//!
//! It holds nothing that the log does not say. Started, it reads its log ([`Book::read`]), folds it into its place in the
//! script ([`Place`]), the model history and what is open; it closes with one batch what a death left open
//! ([`herdbook_story::resume`]), and goes on ([`run`]). So it may die anywhere. What the model is to see comes out of
//! [`herdbook_story::History`], fed with the lines as they were logged, never out of what the agent remembers.
//!
//! The story itself is data: [`tale::tale`] walks through every type of the catalog.

mod book;
pub mod command;
mod fill;
pub mod http;
mod memory;
mod place;
mod run;
pub mod script;
pub mod tale;

pub use book::{Book, Entry, Page, Trouble};
pub use memory::{MemoryBook, Mortal};
pub use place::{NotThisStory, Place};
pub use run::{Ending, Keeper, Stopped, Witness, run};
