//! Tests of the real `herdbook` binary, each in an environment of its own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test they help")]

mod answer;
mod demo;
mod discovery;
mod doctor;
mod down;
mod examples;
mod faults;
mod install;
mod life;
mod lifecycle;
mod listing;
mod logs;
mod next;
mod normalize;
mod reference;
mod routes;
mod screens;
mod stats;
mod support;
mod tmux_keys;
mod uninstall;
mod units;
mod words;
