//! Putting Herdbook into programs of the user's, and taking it out again: what `install` and `uninstall` do.
//!
//! What an edit is, is decided in [`herdbook_hosts::settings`] (pure). Here are the files: where they lie ([`target`]),
//! whether they are ours to touch ([`mod@file`]), what they were before us ([`receipt`]), and the two of them together
//! ([`change`]).

pub mod ask;
pub mod change;
pub mod codex;
pub mod diff;
pub mod file;
pub mod program;
pub mod receipt;
pub mod refusal;
pub mod session;
pub mod show;
pub mod systemd;
pub mod target;
pub mod tmux;
pub mod trust;
