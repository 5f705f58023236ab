//! Putting Herdbook into programs of the user's, and taking it out again.

#[allow(dead_code, reason = "called by install, uninstall and doctor")]
pub mod codex;
pub mod tmux;
