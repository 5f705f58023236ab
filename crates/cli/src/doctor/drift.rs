//! Drift: what a host sends that this build does not know, and what it should send and never did.

use std::collections::BTreeMap;

use herdbook_api::v1::HostHooks;
use herdbook_events::Family;
use herdbook_hosts::{HostTable, Install};

use super::check::{Check, finding, some};
use crate::text::counted;

/// After so many turns an event that every turn has must have come.
const TURNS: u64 = 5;
/// After so many tool calls one of them must have come back.
const TOOLS: u64 = 20;
/// What came before that time is not told any more.
const RECENT_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Looks for drift in what one host sent.
///
/// An event counts as never seen only where every turn has one: after 5 turns there must have been a prompt and a turn
/// end, after 20 tool calls a result. Everything else (compaction, elicitation, subagents, …) may rightly never happen.
pub fn host(table: &HostTable, sent: &HostHooks, now_ms: u64) -> Vec<Check> {
    let is_recent = |at: u64| now_ms.saturating_sub(at) < RECENT_MS;
    let mut checks = never_seen(table, sent);
    checks.extend(unknown(table, sent, &is_recent));
    checks.extend(faulty(table, sent, &is_recent));
    if sent.unreadable_at.is_some_and(is_recent) {
        let words = format!("{} could not be read", counted(sent.unreadable_count, "hook call"));
        checks.push(
            Check::warning(table.host, finding::UNREADABLE_SENT, words)
                .fix("nothing is lost: each is kept as it came; please report it"),
        );
    }
    if sent.dropped_at.is_some_and(is_recent) {
        let words = format!("{} not passed on by its plugin", counted(sent.dropped_count, "event"));
        checks.push(
            Check::warning(table.host, finding::LOST, words)
                .fix("the hook programs before them hung; is the disk full or the machine overloaded?"),
        );
    }
    checks
}

fn never_seen(table: &HostTable, sent: &HostHooks) -> Vec<Check> {
    let count = |families: &[Family]| -> u64 {
        let of = |family: &str| families.iter().any(|wanted| wanted.as_str() == family);
        sent.events
            .iter()
            .filter(|event| event.family.as_deref().is_some_and(of))
            .map(|event| event.count)
            .sum()
    };
    let turn_ends = [Family::Stop, Family::StopFailure];
    let turns = count(&[Family::PromptSubmit]).max(count(&turn_ends));
    let tools = count(&[Family::ToolBefore]);
    let results = [Family::ToolAfter, Family::ToolFailure];
    let rules: [(&[Family], bool, String); 3] = [
        (&[Family::PromptSubmit], turns >= TURNS, counted(turns, "turn")),
        (&turn_ends, turns >= TURNS, counted(turns, "turn")),
        (&results, tools >= TOOLS, counted(tools, "tool call")),
    ];
    let due = rules.into_iter().filter(|(families, is_due, _)| *is_due && count(families) == 0);
    due.filter_map(|(families, _, after)| {
        let name = registered(table, families)?;
        let words = format!("{name} never came in {after}");
        let fix = format!("herdbook install {}, then restart its sessions", table.host);
        Some(Check::warning(table.host, finding::NEVER_SEEN, words).fix(fix))
    })
    .collect()
}

/// The host's own name of the first event of these families that is always registered.
fn registered(table: &HostTable, families: &[Family]) -> Option<&'static str> {
    let is_wanted = |family: Option<Family>| family.is_some_and(|family| families.contains(&family));
    table
        .events
        .iter()
        .find(|event| event.install == Install::Always && is_wanted(event.family))
        .map(|event| event.name)
}

fn unknown(table: &HostTable, sent: &HostHooks, is_recent: &dyn Fn(u64) -> bool) -> Option<Check> {
    let events: Vec<&str> = sent
        .events
        .iter()
        .filter(|event| !event.known && is_recent(event.last_at))
        .map(|event| event.event.as_str())
        .collect();
    let fields: Vec<String> = sent
        .unknown_fields
        .iter()
        .filter(|field| is_recent(field.last_at))
        .map(|field| format!("{} ({})", field.field, field.event))
        .collect();
    let mut parts = Vec::new();
    for (noun, names) in [("event", events), ("field", fields.iter().map(String::as_str).collect())] {
        if !names.is_empty() {
            parts.push(format!("{}: {}", counted(names.len() as u64, noun), some(&names)));
        }
    }
    if parts.is_empty() {
        return None;
    }
    let words = format!("sends what this version does not know, {}", parts.join("; "));
    let check = Check::warning(table.host, finding::UNKNOWN_SENT, words);
    Some(check.fix("nothing is lost; look for a newer Herdbook"))
}

/// One line a version of the client: another one may be right again.
fn faulty(table: &HostTable, sent: &HostHooks, is_recent: &dyn Fn(u64) -> bool) -> Vec<Check> {
    let mut versions: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for fault in sent.faults.iter().filter(|fault| is_recent(fault.last_at)) {
        let wrong = match &fault.wanted {
            None => format!("{} is missing ({})", fault.field, fault.event),
            Some(shape) => format!("{} is no {shape} ({})", fault.field, fault.event),
        };
        versions.entry(fault.version.as_deref()).or_default().push(wrong);
    }
    let check = |(version, wrong): (Option<&str>, Vec<String>)| {
        let version = version.map_or(String::new(), |version| format!("version {version} "));
        let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
        let words = format!("{version}sends payloads that are not as documented, {}", some(&wrong));
        Check::warning(table.host, finding::FAULTY_SENT, words)
            .fix("the calls are taken all the same, but what is missing is not seen; look for a newer Herdbook, else report it")
    };
    versions.into_iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use herdbook_api::v1::{HookEvent, HookFault, UnknownField};

    use super::*;

    const NOW_MS: u64 = 1_800_000_000_000;

    fn sent(events: &[(&str, u64)]) -> HostHooks {
        let table = herdbook_hosts::table("claude").unwrap();
        let event = |(name, count): &(&str, u64)| {
            let known = table.event(name);
            let family = known.and_then(|known| known.family).map(|family| family.as_str().to_owned());
            HookEvent {
                event: (*name).to_owned(),
                family,
                known: known.is_some(),
                count: *count,
                last_at: NOW_MS - 1_000,
                ..HookEvent::default()
            }
        };
        HostHooks {
            host: "claude".into(),
            events: events.iter().map(event).collect(),
            ..HostHooks::default()
        }
    }

    fn of(sent: &HostHooks) -> Vec<(Option<&'static str>, String)> {
        let checks = host(herdbook_hosts::table("claude").unwrap(), sent, NOW_MS);
        checks.into_iter().map(|check| (check.finding, check.message)).collect()
    }

    #[test]
    fn only_what_every_turn_has_is_missed() {
        let whole = [("UserPromptSubmit", 9), ("Stop", 8), ("PreToolUse", 40), ("PostToolUse", 39)];
        assert_eq!(of(&sent(&whole)), [], "nothing else is missed");
        assert_eq!(of(&sent(&[("UserPromptSubmit", 4)])), [], "too few to tell");
        let expected = (Some("never-seen"), "Stop never came in 5 turns".to_owned());
        assert_eq!(of(&sent(&[("UserPromptSubmit", 5)])), [expected]);
        let failing = [("UserPromptSubmit", 5), ("StopFailure", 5)];
        assert_eq!(of(&sent(&failing)), [], "a failed turn has ended");
        let tools = [("PreToolUse", 20)];
        let expected = (Some("never-seen"), "PostToolUse never came in 20 tool calls".to_owned());
        assert_eq!(of(&sent(&tools)), [expected]);
    }

    #[test]
    fn events_that_a_plugin_dropped_are_told_while_it_is_recent() {
        let mut sent = HostHooks { dropped_count: 7, dropped_at: Some(NOW_MS - 1), ..sent(&[]) };
        assert_eq!(of(&sent), [(Some("lost"), "7 events not passed on by its plugin".to_owned())]);
        sent.dropped_at = Some(NOW_MS - RECENT_MS);
        assert_eq!(of(&sent), []);
    }

    #[test]
    fn faults_are_told_in_one_line_a_version() {
        let mut sent = sent(&[("Stop", 1)]);
        let fault = |event: &str, field: &str, wanted: Option<&str>, version: Option<&str>| HookFault {
            event: event.into(),
            field: field.into(),
            wanted: wanted.map(str::to_owned),
            version: version.map(str::to_owned),
            count: 1,
            last_at: NOW_MS,
        };
        sent.faults = vec![
            fault("Stop", "cwd", None, None),
            fault("Stop", "stop_hook_active", Some("boolean"), Some("2.1.0")),
            fault("PreToolUse", "tool_name", None, Some("2.1.0")),
        ];
        let line = |words: &str| (Some("faulty-sent"), words.to_owned());
        assert_eq!(
            of(&sent),
            [
                line("sends payloads that are not as documented, cwd is missing (Stop)"),
                line(
                    "version 2.1.0 sends payloads that are not as documented, stop_hook_active is no boolean (Stop), \
                     tool_name is missing (PreToolUse)"
                ),
            ]
        );
        sent.faults.iter_mut().for_each(|fault| fault.last_at = 0);
        assert_eq!(of(&sent), [], "long ago");
    }

    #[test]
    fn unknown_names_are_told_in_one_line() {
        let mut sent = sent(&[("Dreamed", 1), ("Stop", 1)]);
        let field = |field: &str| UnknownField {
            field: field.into(),
            event: "Stop".into(),
            last_at: NOW_MS - RECENT_MS + 1,
            ..UnknownField::default()
        };
        sent.unknown_fields = ["a", "b", "c", "d", "e"].map(field).into();
        let words = "sends what this version does not know, 1 event: Dreamed; 5 fields: a (Stop), b (Stop), c (Stop), \
                     d (Stop), …";
        assert_eq!(of(&sent), [(Some("unknown-sent"), words.to_owned())]);
        sent.events.iter_mut().for_each(|event| event.last_at = 0);
        sent.unknown_fields.iter_mut().for_each(|field| field.last_at = 0);
        assert_eq!(of(&sent), [], "long ago");
    }
}
