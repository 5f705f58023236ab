//! The environment: the variables that are read by name here, and the one place of this crate that looks.

use std::ffi::OsString;

/// Where programs are found.
pub const PATH: &str = "PATH";
/// The user's home folder.
pub const HOME: &str = "HOME";
/// Set by tmux for what runs inside it: `socket,server pid,session number`.
pub const TMUX: &str = "TMUX";
/// Set by tmux for what runs inside it: the pane's id.
pub const TMUX_PANE: &str = "TMUX_PANE";
/// Folder in which tmux has its own folder of sockets, `/tmp` if unset.
pub const TMUX_TMPDIR: &str = "TMUX_TMPDIR";
/// Folder of private state, `$HOME/.local/state` if unset.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// Folder of sockets; there may be none.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// Folder of settings, `$HOME/.config` if unset.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// What a program that we run gets of our environment (overview D15): enough to be found and to find its own files.
pub const PASSED_ON: &[&str] = &[PATH, HOME];

/// Reads one variable. An empty value counts as not set.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment; values are passed on from here"
)]
pub fn read(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
