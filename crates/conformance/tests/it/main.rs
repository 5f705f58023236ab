//! The runner as a whole: case folders of the project and of the reference data, its command line, and the stand-in
//! agents it plays.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod command;
mod folders;
mod stand_in;
