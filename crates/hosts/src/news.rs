//! What a hook call holds that its host's table does not: drift between the host and what we know of it.

use std::collections::HashSet;
use std::sync::OnceLock;

use herdbook_events::CanonicalEvent;
use herdbook_events::canonical::{for_each_member, read_text};

use crate::detail::Detail;
use crate::{HOSTS, HostTable};

/// So many new keys of one call are told: a payload may be made of nothing else.
const MOST_FIELDS: usize = 64;

/// Keys under which payloads tell the client's version.
const VERSION_KEYS: [&str; 3] = ["cursor_version", "client_version", "cli_version"];

/// Key under which our plugin in a host tells how many events it did not pass on.
pub(crate) const DROPPED_KEY: &str = "herdbook_dropped";

/// What one hook call says of its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Top-level keys that the table does not know, as sent. A host without a table has none: nothing of it is known.
    pub fields: Vec<String>,
    /// The client's version, where the payload tells it.
    pub version: Option<String>,
    /// So many events before this one were not passed on, says our plugin in the host.
    pub dropped: u64,
}

/// Returns what the host's table does not know of an event: top-level keys that are neither in [`HostTable::common`]
/// nor in its details nor in [`HostTable::more`] nor read by a mapping; and the client's version.
pub fn news(event: &CanonicalEvent) -> News {
    let is_beside = event.native_event.as_deref().is_some_and(|name| is_beside(&event.host, name));
    let known = known(&event.host).filter(|_| !is_beside);
    let mut news = News::default();
    for_each_member(event.native.get(), |key, value| {
        if VERSION_KEYS.contains(&key.as_ref()) {
            news.version = read_text(value).filter(|version| !version.is_empty()).or(news.version.take());
        }
        if key == DROPPED_KEY {
            news.dropped = value.get().parse().unwrap_or(0);
        }
        let is_new = known.is_some_and(|keys| !keys.contains(key.as_ref())) && !key.is_empty();
        if is_new && news.fields.len() < MOST_FIELDS && !news.fields.iter().any(|field| *field == key) {
            news.fields.push(key.into_owned());
        }
    });
    news
}

/// True for a call that is read although its name is in no table.
pub fn is_beside(host: &str, event: &str) -> bool {
    crate::table(host).is_some_and(|table| table.beside.contains(&event))
}

fn known(host: &str) -> Option<&'static HashSet<&'static str>> {
    static KNOWN: OnceLock<Vec<(&str, HashSet<&str>)>> = OnceLock::new();
    let all = KNOWN.get_or_init(|| HOSTS.iter().map(|table| (table.host, keys(table))).collect());
    all.iter().find(|(name, _)| *name == host).map(|(_, keys)| keys)
}

fn keys(table: &'static HostTable) -> HashSet<&'static str> {
    let identity = &table.identity;
    let lists =
        [identity.event, identity.session, identity.turn, identity.agent, identity.parent, identity.tool_use];
    let mapped = table.events.iter().flat_map(|event| event.mappings()).map(|mapping| mapping.key);
    let told = lists.into_iter().flatten().copied().chain(identity.roots);
    let carried = table.details.iter().flat_map(Detail::keys).chain(table.common).map(|key| key.name);
    let plain: Vec<&str> = carried.chain(table.more.iter().copied()).chain(mapped).chain(told).collect();
    let respelled = plain.iter().filter_map(|key| table.layout.respelled(key));
    plain.iter().copied().chain(respelled).chain(table.layout.wrappers.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Projected, project};

    fn of(host: &str, body: &str) -> News {
        match project(host, None, body.as_bytes()) {
            Projected::Event(event) => news(&event),
            Projected::Unreadable(salvage) => panic!("{}", salvage.error),
        }
    }

    #[test]
    fn a_key_that_no_list_of_the_table_has_is_news() {
        let known = r#"{"session_id":"1","hook_event_name":"Stop","cwd":"/srv/a","stop_hook_active":false}"#;
        assert_eq!(of("claude", known), News::default());
        let body = r#"{"session_id":"1","hook_event_name":"Stop","dream":1,"dream":2,"cwd":"/srv/a"}"#;
        assert_eq!(of("claude", body), News { fields: vec!["dream".into()], ..News::default() });
        assert_eq!(of("nobody", body), News::default(), "nothing is known of that host");
        let body = r#"{"conversation_id":"1","hook_event_name":"stop","cursor_version":"1.7.2"}"#;
        assert_eq!(of("cursor", body), News { version: Some("1.7.2".into()), ..News::default() });
    }
}
