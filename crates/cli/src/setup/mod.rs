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
pub mod holds;
pub mod left;
pub mod limits;
pub mod needs;
pub mod program;
pub mod receipt;
pub mod refit;
pub mod refusal;
pub mod session;
pub mod show;
pub mod systemd;
pub mod target;
pub mod tmux;
pub mod trust;

use std::ffi::OsString;
use std::path::PathBuf;

use herdbook_wire::env::Env as Places;

/// Returns where programs keep their settings: `XDG_CONFIG_HOME`, else `.config` in the home. A path that is not absolute
/// counts as not set.
fn config_folder(places: &Places) -> Option<PathBuf> {
    let absolute =
        |value: &Option<OsString>| value.as_ref().map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(&places.xdg_config_home).or_else(|| Some(absolute(&places.home)?.join(".config")))
}
