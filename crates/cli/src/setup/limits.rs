//! `entry-limits.json` of the state folder: how long the hooks of an event may take, where our entries grant more than
//! the standard. The daemon lets no hook wait longer than its entry.
//!
//! It is read out of the settings files themselves. Where several have our entries, the shortest time-out counts: nobody
//! tells by which of them a hook was started.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use herdbook_hosts::{HostTable, settings};
use herdbook_machine::replace_file;

use super::receipt::Receipts;
use crate::error::Problem;

/// Time-outs in milliseconds, by host and event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of every event that has an entry of ours.
    all: BTreeMap<(&'static str, String), u32>,
}

/// Returns where they are kept.
pub fn file(state: &Path) -> PathBuf {
    state.join("entry-limits.json")
}

impl Limits {
    /// Adds the entries of ours in one settings file. One that is not understood grants the standard at every event.
    pub fn add(&mut self, table: &'static HostTable, text: &str) {
        let mut shorten = |event: &str, limit_ms: u32| {
            let least = self.all.entry((table.host, event.to_owned())).or_insert(limit_ms);
            *least = limit_ms.min(*least);
        };
        match settings::granted(table, text) {
            Ok(granted) => {
                for granted in granted {
                    shorten(&granted.event, granted.limit_ms.unwrap_or(table.entry_ms));
                }
            }
            Err(_) => table.events.iter().for_each(|event| shorten(event.name, table.entry_ms(event))),
        }
    }

    /// Reads all files that we ever wrote and that are still there.
    pub fn standing(receipts: &Receipts) -> Limits {
        let mut limits = Limits::default();
        for receipt in receipts.all() {
            let Some(table) = herdbook_hosts::table(&receipt.host) else { continue };
            match fs::read_to_string(&receipt.path) {
                Ok(text) => limits.add(table, &text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => limits.add(table, "?"),
            }
        }
        limits
    }

    /// Returns the text for the daemon: those that are longer than the standard. Nothing where there is none.
    pub fn text(&self) -> Option<String> {
        let mut longer: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
        for ((host, event), limit_ms) in &self.all {
            let Some(table) = herdbook_hosts::table(host) else { continue };
            let standard = table.event(event).map_or(table.entry_ms, |event| table.entry_ms(event));
            if *limit_ms > standard {
                longer.entry(host).or_default().insert(event, *limit_ms);
            }
        }
        if longer.is_empty() { None } else { serde_json::to_string(&longer).ok() }
    }

    /// Tells the daemon, unless it has been told so already.
    ///
    /// # Errors
    /// The system refuses.
    pub fn write(&self, state: &Path) -> Result<(), Problem> {
        let path = file(state);
        let failed = |source| Problem::File { what: "write", path: path.clone(), source };
        let text = self.text();
        if text == fs::read_to_string(&path).ok() {
            return Ok(());
        }
        match text {
            Some(text) => replace_file(&path, text.as_bytes(), 0o600).map_err(failed),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with entries of ours for these events.
    fn text(key: &str, rows: &[(&str, u32)]) -> String {
        let entry = |(event, timeout): &(&str, u32)| {
            format!(
                "\"{event}\": [{{\"hooks\": [{{\"command\": \"/a/herdbook-hook h\", \"{key}\": {timeout}}}]}}]"
            )
        };
        format!("{{\"hooks\": {{{}}}}}", rows.iter().map(entry).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn only_what_is_longer_than_the_standard_is_told_and_the_shortest_counts() {
        let (claude, gemini) = (&herdbook_hosts::claude::TABLE, &herdbook_hosts::gemini::TABLE);
        let mut limits = Limits::default();
        limits.add(claude, &text("timeout", &[("PreToolUse", 62), ("Stop", 5), ("PermissionRequest", 602)]));
        limits.add(gemini, &text("timeout", &[("BeforeTool", 8_000), ("AfterTool", 5_000)]));
        let told = "{\"claude\":{\"PermissionRequest\":602000,\"PreToolUse\":62000},\"gemini\":{\"BeforeTool\":8000}}";
        assert_eq!(limits.text().as_deref(), Some(told));
        limits.add(claude, &text("timeout", &[("PreToolUse", 5)]));
        assert!(
            !limits.text().unwrap().contains("PreToolUse"),
            "nobody tells by which file a hook was started"
        );
        limits.add(claude, "{");
        limits.add(gemini, &text("other", &[("BeforeTool", 8_000)]));
        assert_eq!(limits.text(), None, "nobody knows");
    }
}
