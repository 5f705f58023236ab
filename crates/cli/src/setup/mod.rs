//! What is written outside our own folders, and taken away again.

#[allow(dead_code, reason = "called by install, uninstall and doctor")]
pub mod codex;
pub mod systemd;
pub mod tmux;
