//! The daemon over real sockets, each in a scratch folder of its own.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail a test by panicking, and a skipped test says so"
)]

mod agents;
mod bounds;
mod child;
mod clocks;
mod crash;
mod detector;
mod events;
mod follows;
mod frames;
mod guard;
mod holds;
mod human;
mod lifecycle;
mod panes;
mod processes;
mod producers;
mod reconcile;
mod report;
mod retention;
mod route_bench;
mod route_faults;
mod route_files;
mod routes;
mod service;
mod skew;
mod stats;
mod stream;
mod support;
mod tmux;
mod trail;
mod transcripts;
mod v1;
