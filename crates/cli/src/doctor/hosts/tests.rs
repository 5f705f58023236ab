//! One host's hooks in every way they can be wrong.

use super::*;

const NOW_MS: u64 = 1_800_000_000_000;

/// A host whose hooks are whole, and whose hook program is this very test.
fn well(host: &str) -> Facts {
    let table = herdbook_hosts::table(host).unwrap();
    let program = std::env::current_exe().unwrap();
    let version = Some("99.0.0".to_owned());
    let ours =
        |event: &herdbook_hosts::NativeEvent| Ours { event: event.name.to_owned(), program: program.clone() };
    let ours = settings::events(table, version.as_deref(), &Needs::NONE).map(ours).collect();
    let sent = HostHooks { host: host.into(), count: 3, last_at: NOW_MS - 120_000, ..HostHooks::default() };
    Facts {
        table,
        is_there: true,
        installed_at: Some(NOW_MS - 600_000),
        user: File { path: "~/.claude/settings.json".into(), ours, ..File::default() },
        project: Vec::new(),
        trust: Trust::NotNeeded,
        sent: Some(sent),
        version,
        program,
    }
}

fn found(facts: &Facts) -> Vec<(Level, Option<&'static str>)> {
    host(facts, NOW_MS).iter().map(|check| (check.level, check.finding)).collect()
}

#[test]
fn hooks_that_fire_are_well() {
    let checks = host(&well("claude"), NOW_MS);
    let count = well("claude").user.ours.len();
    assert_eq!(checks, [Check::ok("claude", format!("99.0.0, {count} events registered, last seen 2m ago"))]);
}

#[test]
fn a_host_without_our_hooks_is_told_only_where_it_is_here() {
    let mut facts = well("claude");
    facts.user.ours.clear();
    assert_eq!(found(&facts), [(Level::Warning, Some("not-installed"))]);
    assert_eq!(host(&facts, NOW_MS)[0].fix.as_deref(), Some("herdbook install claude"));
    facts.is_there = false;
    assert_eq!(found(&facts), []);
    assert_eq!(all(&[facts], NOW_MS)[0].level, Level::Fault, "then nothing is seen at all");
}

#[test]
fn installed_and_never_fired_is_a_warning_unless_nobody_can_tell() {
    let mut facts = well("cursor");
    facts.sent = Some(HostHooks::default());
    assert_eq!(found(&facts), [(Level::Warning, Some("never-fired"))]);
    facts.sent = None;
    assert_eq!(found(&facts), [(Level::Ok, None)]);
    let mut facts = well("cursor");
    facts.installed_at = Some(NOW_MS - 60_000);
    assert_eq!(found(&facts), [(Level::Warning, Some("never-fired"))]);
    let words = "nothing has come since they were written 1m ago";
    assert!(host(&facts, NOW_MS)[0].message.ends_with(words));
}

#[test]
fn a_missing_event_can_be_mended() {
    let mut facts = well("claude");
    let gone = facts.user.ours.remove(3).event;
    let checks = host(&facts, NOW_MS);
    assert_eq!(found(&facts), [(Level::Warning, Some("missing-events"))]);
    assert_eq!(checks[0].message, format!("1 event not registered: {gone}"));
    assert_eq!(checks[0].mend, Some(Mend::Install("claude")));
}

#[test]
fn another_program_is_a_warning_and_a_missing_one_a_fault() {
    let mut facts = well("claude");
    facts.user.ours[0].program = "/nonexistent/herdbook-hook".into();
    assert_eq!(found(&facts), [(Level::Fault, Some("program-missing"))]);
    facts.user.ours[0].program = "/bin/sh".into();
    assert_eq!(found(&facts), [(Level::Warning, Some("stale-path"))]);
    let mut facts = well("claude");
    facts.user.is_stale = true;
    assert_eq!(found(&facts), [(Level::Warning, Some("stale-entries"))]);
}

#[test]
fn two_registrations_are_named_with_both_files() {
    let mut facts = well("claude");
    let path = "/srv/demo/.claude/settings.json".to_owned();
    facts.project = vec![File { path, ours: facts.user.ours.clone(), ..File::default() }];
    let checks = host(&facts, NOW_MS);
    assert_eq!(found(&facts), [(Level::Warning, Some("registered-twice"))]);
    let words = "registered in ~/.claude/settings.json and in /srv/demo/.claude/settings.json";
    assert_eq!(checks[0].message, words);
    let mut facts = well("claude");
    facts.user.ours.push(facts.user.ours[0].clone());
    assert_eq!(found(&facts), [(Level::Warning, Some("registered-twice"))]);
    // A place that is not looked into shows by what came.
    let mut facts = well("claude");
    let event = |event: &&str| HookEvent { event: (*event).into(), last_at: 7, ..HookEvent::default() };
    let sent = facts.sent.as_mut().unwrap();
    sent.events = ["SessionStart", "Stop", "UserPromptSubmit"].iter().map(event).collect();
    sent.repeats = sent.events.clone();
    assert_eq!(found(&facts), [(Level::Warning, Some("registered-twice"))]);
    // The last prompt came once.
    facts.sent.as_mut().unwrap().events[2].last_at = 8;
    assert_eq!(found(&facts), [(Level::Ok, None)]);
}

#[test]
fn what_keeps_hooks_from_running_is_a_fault() {
    let mut facts = well("claude");
    facts.user.disabled = Some("disableAllHooks".into());
    assert_eq!(found(&facts), [(Level::Fault, Some("hooks-disabled"))]);
    let mut facts = well("codex");
    facts.trust = Trust::Missing(vec!["Stop".into()]);
    assert_eq!(found(&facts), [(Level::Fault, Some("untrusted"))]);
    facts.trust = Trust::NotListed("are hooks switched off there?".into());
    assert_eq!(found(&facts), [(Level::Fault, Some("hooks-disabled"))]);
    // In a project's settings alone, what mends it is another command, and not ours to do.
    facts.project = vec![File { path: "/srv/demo/.codex/hooks.json".into(), ..facts.user.clone() }];
    facts.user.ours.clear();
    let check = &host(&facts, NOW_MS)[0];
    assert_eq!((check.finding, &check.mend), (Some("hooks-disabled"), &None));
    assert_eq!(
        check.fix.as_deref(),
        Some("start Codex in that folder and trust it, then look at /hooks there")
    );
    facts.trust = Trust::Missing(vec!["Stop".into()]);
    let check = &host(&facts, NOW_MS)[0];
    assert_eq!((check.finding, &check.mend), (Some("untrusted"), &None));
    let fix = "herdbook install codex --project, or answer /hooks in Codex";
    assert_eq!(check.fix.as_deref(), Some(fix));
    let mut facts = well("codex");
    facts.trust = Trust::Unknown("no answer".into());
    assert!(host(&facts, NOW_MS)[0].message.ends_with("(trust unknown: no answer)"));
    let mut facts = well("claude");
    facts.user = File { error: Some("line 3, column 1: x".into()), ..facts.user };
    facts.user.ours.clear();
    assert_eq!(found(&facts), [(Level::Fault, Some("unreadable-settings"))]);
}
