//! What each host has sent so far: counts and times for `doctor`, and what its table does not know.
//!
//! Folded from hook records like everything else, so a restart brings it back. Its size is bounded whatever comes in:
//! names of events, fields and versions are foreign text.

use std::collections::BTreeMap;

use herdbook_events::{CanonicalEvent, Family, Origin};
use herdbook_hosts::Fault;
use herdbook_redact::{clean_line, clip};

/// So many hosts without a table are told apart; what further ones send is not counted.
const HOSTS: usize = 32;
/// So many different events a host (known and unknown ones apart), unknown fields, faults, and versions are told apart; the
/// one that was not seen for the longest time makes room.
const NAMES: usize = 64;
/// Columns that are kept of a name.
const NAME_COLUMNS: usize = 64;
/// Variables of the hook's environment that tell it.
const VERSION_VARS: [&str; 1] = ["CURSOR_VERSION"];

/// How often something came, and when. Times are Unix milliseconds of its arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// The first time.
    pub first_ms: u64,
    /// The last time.
    pub last_ms: u64,
}

impl Seen {
    fn again(&mut self, at_ms: u64) {
        self.add(1, at_ms);
    }

    fn add(&mut self, count: u64, at_ms: u64) {
        if self.count == 0 {
            self.first_ms = at_ms;
        }
        self.count = self.count.saturating_add(count);
        self.last_ms = self.last_ms.max(at_ms);
    }
}

/// What is told apart by name, up to 64 names.
pub type Named<T = Seen> = BTreeMap<String, T>;

/// A native event of the host's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenEvent {
    /// The canonical family, where the event has one.
    pub family: Option<Family>,
    /// How often and when.
    pub seen: Seen,
}

/// A top-level key that the host's table does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenField {
    /// An event that carried it.
    pub event: String,
    /// How often and when.
    pub seen: Seen,
}

/// A key of an event's payload that is not as the host's table promises, in one version of the client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultOf {
    /// The event, by its name in the host's table.
    pub event: &'static str,
    /// What is wrong with which key.
    pub fault: Fault,
    /// The version of the client, where the payload or the hook's environment tells it.
    pub version: Option<String>,
}

/// What one host has sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Everything, repeats and unreadable calls included.
    pub all: Seen,
    /// Events that are known, by their names in the host's table.
    pub events: Named<SeenEvent>,
    /// Events the table does not know; all of a host without a table.
    pub unknown_events: Named,
    /// Top-level keys the table does not know.
    pub unknown_fields: Named<SeenField>,
    /// Calls whose payload lacks something of what the host's table promises, or has it in another shape.
    pub faulty: Seen,
    /// What they lacked.
    pub faults: BTreeMap<FaultOf, Seen>,
    /// Calls that could not be read.
    pub unreadable: Seen,
    /// Events that our plugin in the host did not pass on: how many, and when it told so.
    pub dropped: Seen,
    /// Versions of the client, where it tells them.
    pub versions: Named,
    /// Calls that repeated another registration's call (`repeatOf`), by event.
    pub repeats: Named,
}

/// What all hosts have sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) hosts: BTreeMap<String, Received>,
}

impl Ledger {
    /// Counts a readable call, a repeat or not.
    pub(crate) fn hook(&mut self, at_ms: u64, event: &CanonicalEvent, origin: &Origin, is_repeat: bool) {
        let Some(host) = self.host(&event.host) else { return };
        host.all.again(at_ms);
        let news = herdbook_hosts::news(event);
        let sent = event.native_event.as_deref().unwrap_or("(unnamed)");
        let contract = herdbook_hosts::table(&event.host).and_then(|table| table.event(sent));
        if contract.is_some() || herdbook_hosts::is_beside(&event.host, sent) {
            let known = entry(&mut host.events, name(contract.map_or(sent, |contract| contract.name)));
            known.family = contract.and_then(|contract| contract.family);
            known.seen.again(at_ms);
        } else {
            again(&mut host.unknown_events, sent, at_ms);
        }
        for field in &news.fields {
            let field = entry(&mut host.unknown_fields, name(field));
            field.event = name(sent);
            field.seen.again(at_ms);
        }
        let told = news.version.as_deref();
        let version = told.or_else(|| VERSION_VARS.iter().find_map(|var| origin.var(var)));
        if let Some(version) = version {
            again(&mut host.versions, version, at_ms);
        }
        let faults = herdbook_hosts::faults(event);
        if let Some(contract) = contract.filter(|_| !faults.is_empty()) {
            host.faulty.again(at_ms);
            for fault in faults {
                let fault = FaultOf { event: contract.name, fault, version: version.map(name) };
                entry(&mut host.faults, fault).again(at_ms);
            }
        }
        if news.dropped > 0 && !is_repeat {
            host.dropped.add(news.dropped, at_ms);
        }
        if is_repeat {
            again(&mut host.repeats, sent, at_ms);
        }
    }

    /// Counts a call that could not be read.
    pub(crate) fn unreadable(&mut self, at_ms: u64, host: &str) {
        if let Some(host) = self.host(host) {
            host.all.again(at_ms);
            host.unreadable.again(at_ms);
        }
    }

    fn host(&mut self, host: &str) -> Option<&mut Received> {
        let host = name(host);
        // Whatever else calls itself a host takes no place from one that is known.
        let is_known = |host: &str| herdbook_hosts::table(host).is_some();
        if !is_known(&host) && !self.hosts.contains_key(&host) {
            let unknown = self.hosts.keys().filter(|host| !is_known(host)).count();
            if unknown >= HOSTS {
                return None;
            }
        }
        Some(self.hosts.entry(host).or_default())
    }
}

fn again(named: &mut Named, key: &str, at_ms: u64) {
    entry(named, name(key)).again(at_ms);
}

fn entry<K: Clone + Ord, T: Default + Last>(named: &mut BTreeMap<K, T>, key: K) -> &mut T {
    if named.len() >= NAMES && !named.contains_key(&key) {
        let oldest = named.iter().min_by_key(|(_, one)| one.last_ms()).map(|(key, _)| key.clone());
        oldest.and_then(|oldest| named.remove(&oldest));
    }
    named.entry(key).or_default()
}

/// When something came last.
trait Last {
    fn last_ms(&self) -> u64;
}

impl Last for Seen {
    fn last_ms(&self) -> u64 {
        self.last_ms
    }
}

impl Last for SeenEvent {
    fn last_ms(&self) -> u64 {
        self.seen.last_ms
    }
}

impl Last for SeenField {
    fn last_ms(&self) -> u64 {
        self.seen.last_ms
    }
}

/// A foreign name as it is kept: one short line that acts on no terminal.
fn name(foreign: &str) -> String {
    // Cut before it is cleaned, too: a name may be megabytes long.
    let start: String = foreign.chars().take(4 * NAME_COLUMNS).collect();
    clip(&clean_line(&start), NAME_COLUMNS)
}
