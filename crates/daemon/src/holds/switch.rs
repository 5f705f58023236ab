//! Whether the human switched holding on, and how long the hosts' entries let it last. `herdbook hold` writes both files.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::Deserialize;

use crate::own_file;
use crate::spool::lock;

/// `{"claude": {"hold_ms": 600000}}`.
const SWITCHES: &str = herdbook_wire::paths::HOLDS;
/// `{"claude": {"PermissionRequest": 602000}}`: our entries that grant more than the usual.
const LIMITS: &str = "entry-limits.json";

/// What is written about one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Switch {
    /// How long a hook is held at most, in milliseconds.
    pub hold_ms: u64,
    /// Time-outs of our entries, by event, in milliseconds.
    pub limits: HashMap<String, u64>,
}

/// The files, read anew when they change: a switch counts at once.
pub(super) struct Switches {
    state_dir: PathBuf,
    known: Mutex<(Stamps, HashMap<String, Switch>)>,
}

/// What tells that a file changed: inode, size, time of the last change.
type Stamps = [Option<(u64, u64, i64, i64)>; 2];

impl Switches {
    pub(super) fn new(state_dir: PathBuf) -> Switches {
        Switches { state_dir, known: Mutex::default() }
    }

    /// Returns the switch of a host, where it is on.
    pub(super) fn of(&self, host: &str) -> Option<Switch> {
        let stamps = [SWITCHES, LIMITS].map(|name| {
            let found = fs::metadata(self.state_dir.join(name)).ok()?;
            Some((found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
        });
        stamps[0]?;
        let mut known = lock(&self.known);
        if known.0 != stamps {
            *known = (stamps, self.read());
        }
        known.1.get(host).cloned()
    }

    /// What cannot be read holds nothing.
    fn read(&self) -> HashMap<String, Switch> {
        #[derive(Deserialize)]
        struct Hold {
            hold_ms: u64,
        }
        let text = |name: &str| own_file::read(&self.state_dir.join(name)).ok().flatten().unwrap_or_default();
        let holds: HashMap<String, Hold> = serde_json::from_str(&text(SWITCHES)).unwrap_or_default();
        let mut limits: HashMap<String, HashMap<String, u64>> =
            serde_json::from_str(&text(LIMITS)).unwrap_or_default();
        let switch = |(host, hold): (String, Hold)| {
            let limits = limits.remove(&host).unwrap_or_default();
            (host, Switch { hold_ms: hold.hold_ms, limits })
        };
        holds.into_iter().map(switch).collect()
    }
}
