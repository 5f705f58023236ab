//! The runner as a whole: case folders of the project and of the reference data, its command line, and the stand-in
//! agents it plays.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on panics, and one that is skipped says so"
)]

mod agent;
mod command;
mod corpus;
mod disorder;
mod folders;
mod past;
mod screens;
mod stand_in;
mod walk;
