//! How long the host's own entry lets a hook take.

use std::collections::HashMap;
use std::path::Path;

use herdbook_hosts::{HostTable, NativeEvent};

use crate::own_file;

/// Written by `install`: entries of ours that grant more than the usual, `{"HOST": {"EVENT": MS}}`.
const NAME: &str = "entry-limits.json";

/// Time-outs of our entries in the hosts' settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryLimits(HashMap<String, HashMap<String, u64>>);

impl EntryLimits {
    /// Reads them. What cannot be read grants nothing more: the usual always holds.
    pub(crate) fn read(state_dir: &Path) -> EntryLimits {
        let text = own_file::read(&state_dir.join(NAME)).ok().flatten();
        EntryLimits(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Returns the longest time-out of our entries for a host, in milliseconds.
    pub(crate) fn most(&self, table: &HostTable) -> u64 {
        let written = self.0.get(table.host).into_iter().flat_map(HashMap::values).copied().max();
        written.unwrap_or_default().max(u64::from(table.entry_ms))
    }

    /// Returns the time-out of our entry for an event, in milliseconds.
    pub(crate) fn of(&self, table: &HostTable, event: &NativeEvent) -> u64 {
        let written = self.0.get(table.host).and_then(|events| events.get(event.name)).copied();
        let usual = u64::from(table.entry_ms(event));
        written.map_or(usual, |written| written.max(usual))
    }
}
