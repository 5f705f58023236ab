//! `hold.json` of the state folder: at which hosts permission requests may be answered from elsewhere, and for how long
//! their hook waits. The daemon reads it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use herdbook_events::Family;
use herdbook_hosts::{HOSTS, HostTable, NativeEvent};
use herdbook_machine::replace_file;
use serde::{Deserialize, Serialize};

use crate::error::Problem;

/// The switches, by host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Holds {
    hosts: BTreeMap<String, Hold>,
}

/// One switch that is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// How long the hook waits for an answer at most, in milliseconds.
    pub hold_ms: u32,
}

/// Returns where the switches are kept.
pub fn file(state: &Path) -> PathBuf {
    state.join(herdbook_wire::paths::HOLDS)
}

/// Returns the event of a host at which a hook may wait for an answer: the host shows its dialog meanwhile.
pub fn held_event(table: &HostTable) -> Option<&'static NativeEvent> {
    let is_safe = |event: &&NativeEvent| table.detail(event).is_some_and(|detail| detail.hold_safe);
    table.events.iter().find(is_safe)
}

/// The hosts at which that can be switched on.
pub fn holdable() -> impl Iterator<Item = &'static HostTable> {
    HOSTS.iter().copied().filter(|table| table.is_installable() && held_event(table).is_some())
}

/// Says why nothing may be held at a host.
pub fn why_not(table: &HostTable) -> String {
    let title = table.title;
    let is_asking = |event: &&NativeEvent| event.family == Some(Family::PermissionRequest) && event.can_block;
    let asks = table.events.iter().find(is_asking);
    match asks {
        _ if !table.is_installable() => format!("there are no hooks for {title}"),
        Some(event) => format!("{title} shows its dialog only after its hook for {} is over", event.name),
        None => format!("{title} has no hook that could answer when it asks for permission"),
    }
}

impl Holds {
    /// Reads them; no file, no switch.
    ///
    /// # Errors
    /// The file cannot be read, or is no such file.
    pub fn read(state: &Path) -> Result<Holds, Problem> {
        let path = file(state);
        let failed = |source| Problem::File { what: "read", path: path.clone(), source };
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Holds::default()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes them; with none there is no file.
    ///
    /// # Errors
    /// The system refuses.
    pub fn write(&self, state: &Path) -> Result<(), Problem> {
        let path = file(state);
        let failed = |source| Problem::File { what: "write", path: path.clone(), source };
        if self.hosts.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        replace_file(&path, &text, 0o600).map_err(failed)
    }

    /// Returns the switch of a host, if it is on.
    pub fn of(&self, host: &str) -> Option<Hold> {
        self.hosts.get(host).copied()
    }

    /// Switches a host on, or off.
    #[must_use]
    pub fn with(mut self, host: &str, hold: Option<Hold>) -> Holds {
        match hold {
            Some(hold) => self.hosts.insert(host.to_owned(), hold),
            None => self.hosts.remove(host),
        };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_that_shows_its_dialog_meanwhile_can_be_held() {
        let names: Vec<&str> = holdable().map(|table| table.host).collect();
        assert_eq!(names, ["claude"]);
        let why = |host| why_not(herdbook_hosts::table(host).unwrap());
        assert_eq!(why("codex"), "Codex shows its dialog only after its hook for PermissionRequest is over");
        assert_eq!(why("gemini"), "Gemini CLI has no hook that could answer when it asks for permission");
        assert_eq!(why("amp"), "there are no hooks for Amp");
    }

    #[test]
    fn switches_are_kept_as_the_daemon_reads_them() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        let on = Holds::read(state).unwrap().with("claude", Some(Hold { hold_ms: 600_000 }));
        on.write(state).unwrap();
        assert_eq!(fs::read_to_string(file(state)).unwrap(), "{\"claude\":{\"hold_ms\":600000}}");
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(file(state)).unwrap());
        assert_eq!(mode & 0o7777, 0o600);
        assert_eq!(Holds::read(state).unwrap(), on);
        on.with("claude", None).write(state).unwrap();
        assert!(!file(state).exists());
        assert_eq!(Holds::read(state).unwrap(), Holds::default());
    }
}
