//! Setting up the hosts: hooks, and what else a host wants before it runs them.

#[allow(dead_code, reason = "called by install, uninstall and doctor")]
pub mod codex;
