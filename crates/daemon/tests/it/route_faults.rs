//! Routes that fail: the host is unharmed, nothing waits longer than it may, and the human hears of it.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use herdbook_daemon::Notice;
use herdbook_daemon::routes::{load, run};
use herdbook_hosts::Outcome;
use herdbook_wire::Answer;
use serde_json::{Value, json};

use crate::route_bench::{Home, ask, begin, next, printed, told, tool_call};
use crate::support::{LONG, wait_until};

/// Ways to fail, and how that is told.
const FAULTS: &[(&str, &str)] = &[
    ("exit 7", "ended with exit code 7; where it has nothing to say it must be 0"),
    ("echo 'no such thing' >&2; exit 1", "ended with exit code 1: no such thing"),
    ("kill -9 $$", "was ended by signal 9"),
    ("echo nonsense", "printed what is no answer: "),
    ("echo '{\"outcome\":\"block\"}'", "printed what is no answer: "),
    ("echo '{\"decision\":\"deny\"}'", "printed what is no answer: "),
    ("echo '{\"outcome\":\"allow\"}'", "answered allow, which it may not"),
    ("head -c 2097152 /dev/zero", "printed more than 1048576 bytes"),
    ("exec sleep 1000", "did not answer within 300 ms"),
    ("sleep 1000 & sleep 1000", "did not answer within 300 ms"),
    ("trap '' TERM; sleep 1000; sleep 1000", "did not answer within 300 ms"),
];

#[test]
fn whatever_fails_lets_the_call_go_on_and_is_told_once() {
    for (script, words) in FAULTS {
        let home = Home::new();
        home.route("tool/before/x", script, "timeout_ms = 300");
        let daemon = home.start();
        for _ in 0..2 {
            assert_eq!(told(&daemon, || tool_call("claude", "ls")), Answer::Done, "{script}");
        }
        let route = daemon.client().routes().unwrap().items.remove(0);
        assert_eq!((route.runs, route.failed), (2, 2), "{script}");
        let failure = route.last_failure.unwrap();
        assert!(failure.starts_with(words), "{script}: {failure}");
        let decision = home.decisions().remove(0);
        assert_eq!((&decision["outcome"], &decision["told"]), (&json!("continue"), &Value::Null));
        assert_eq!(decision["routes"][0]["error"], json!(failure));
        let warnings = daemon.client().status().unwrap().warnings;
        assert_eq!(warnings, [format!("route tool/before/x failed lately (2 times in all): {failure}")]);
        let told = format!("route tool/before/x failed: {failure}");
        let notices = daemon.notices();
        let heard: Vec<_> = notices.iter().filter(|notice| notice.to_string().starts_with(&told)).collect();
        assert_eq!(heard.len(), 1, "{notices:?}");
        assert!(matches!(heard[0], Notice::Warning(text) if text.ends_with("; the call goes on")));
    }
}

#[test]
fn what_fails_closed_denies_with_its_name() {
    for (script, words) in &FAULTS[..8] {
        let home = Home::new();
        home.route("tool/before/x", script, "fail = 'closed'\ntimeout_ms = 300");
        let daemon = home.start();
        let answer = printed(&told(&daemon, || tool_call("claude", "ls")));
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], "deny");
        let reason = output["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("tool/before/x") && reason.contains(words), "{reason}");
        assert_eq!(home.decisions()[0]["outcome"], "deny");
    }
}

#[test]
fn a_route_that_reads_nothing_of_a_long_call_or_leaves_processes_behind_answers_all_the_same() {
    let home = Home::new();
    home.write("tool/before/deaf", "echo '{\"context\":\"deaf\"}'", "");
    home.write("tool/before/forks", "sleep 1000 &\necho '{\"context\":\"forks\"}'", "");
    home.route("tool/before/reads", "wc -c | tr -d ' ' > @/count; echo '{\"context\":\"reads\"}'", "");
    let daemon = home.start();
    // More than a pipe holds, and long enough to be read on another thread.
    let long = "x".repeat(96 << 10);
    let answer = printed(&told(&daemon, || tool_call("claude", &long)));
    assert_eq!(answer["hookSpecificOutput"]["additionalContext"], "deaf\nforks\nreads");
    let count: usize = std::fs::read_to_string(home.at("count")).unwrap().trim().parse().unwrap();
    assert!(count > 2 * long.len(), "canonical and native: {count}");
}

#[test]
fn the_longest_call_passes_through_a_route_whether_it_reads_or_not() {
    let home = Home::new();
    home.write("tool/before/deaf", "exit 0", "");
    home.route("tool/before/reads", "wc -c | tr -d ' ' > @/count", "");
    let routes = load(&home.config(), &home.scratch.state()).routes;
    let table = herdbook_hosts::table("claude").unwrap();
    let given: Arc<[u8]> = vec![b' '; 16 << 20].into();
    for route in &routes {
        let event = table.event("PreToolUse").unwrap();
        let ran = run(route, (table, event), Arc::clone(&given), LONG, None);
        assert_eq!(ran.answer.unwrap().outcome, Outcome::Continue);
    }
    assert_eq!(std::fs::read_to_string(home.at("count")).unwrap().trim(), (16 << 20).to_string());
}

#[test]
fn a_denial_among_more_words_than_an_answer_holds_is_told_and_kept() {
    let home = Home::new();
    let words = "long() { head -c 500000 /dev/zero | tr '\\0' x; }\n\
                 printf '{\"outcome\":\"deny\",\"reason\":\"%s\",\"context\":\"%s\"}' \"$(long)\" \"$(long)\"";
    for number in 1..=12 {
        home.write(&format!("tool/before/{number}"), words, "");
    }
    home.trust();
    let daemon = home.start();
    let answer = printed(&told(&daemon, || tool_call("claude", "ls")));
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    wait_until("the record", || !home.decisions().is_empty());
    let decision = home.decisions().remove(0);
    assert_eq!(decision["given"], "deny");
    assert_eq!(decision["routes"][11]["reason"].as_str().unwrap().chars().count(), 4_096);
}

#[test]
fn a_route_that_hangs_holds_up_nothing_else() {
    let home = Home::new();
    home.write("tool/before/hangs", "exec sleep 1000", "hosts = ['codex']\ntimeout_ms = 600000");
    home.route("tool/before/quick", "echo '{\"context\":\"quick\"}'", "hosts = ['claude']");
    let daemon = home.start();
    // More than may run at once.
    let mut hanging: Vec<_> = (0..24).map(|_| begin(&daemon, &tool_call("codex", "ls"))).collect();
    assert!(hanging.iter_mut().any(|stream| matches!(next(stream), Answer::Wait(_))));
    for _ in 0..3 {
        assert!(matches!(told(&daemon, || tool_call("claude", "ls")), Answer::Decision(_)));
    }
    assert_eq!(daemon.get("/queue").status, 200);
}

#[test]
fn a_hook_that_hangs_up_ends_the_route_and_all_it_started() {
    let home = Home::new();
    home.route(
        "tool/before/x",
        "mkfifo @/pipe; exec 3> @/pipe; sleep 1000 & sleep 1000",
        "timeout_ms = 600000",
    );
    let daemon = home.start();
    let mut stream = begin(&daemon, &tool_call("claude", "ls"));
    assert!(matches!(next(&mut stream), Answer::Wait(_)));
    wait_until("the route", || home.at("pipe").exists());
    // Nobody has it open for writing once all of them are gone.
    let mut pipe = File::open(home.at("pipe")).unwrap();
    drop(stream);
    assert_eq!(io::copy(&mut pipe, &mut io::sink()).unwrap(), 0);
    wait_until("the record", || !home.decisions().is_empty());
    let decision = home.decisions().remove(0);
    assert_eq!((&decision["outcome"], &decision["told"]), (&json!("continue"), &Value::Null));
    assert_eq!(decision["routes"][0]["error"], "was ended: the hook did not wait for it");
    let route = daemon.client().routes().unwrap().items.remove(0);
    assert_eq!((route.runs, route.cut_short, route.failed), (1, 1, 0));
}

#[test]
fn a_daemon_that_stops_answers_for_the_routes_that_run() {
    let home = Home::new();
    home.write("tool/before/hangs", "mkfifo @/pipe; exec 3> @/pipe; sleep 1000", "fail = 'closed'");
    home.route("tool/before/told", "echo '{\"context\":\"note\"}'", "");
    let daemon = home.start();
    let mut stream = begin(&daemon, &tool_call("claude", "ls"));
    assert!(matches!(next(&mut stream), Answer::Wait(_)));
    wait_until("the route", || home.at("pipe").exists());
    let _pipe = File::open(home.at("pipe")).unwrap();
    let took = daemon.stop();
    assert!(took < Duration::from_secs(2), "{took:?}");
    let output = printed(&next(&mut stream))["hookSpecificOutput"].clone();
    assert_eq!(
        (&output["permissionDecision"], &output["additionalContext"]),
        (&json!("deny"), &json!("note"))
    );
    let decision = home.decisions().remove(0);
    assert_eq!(decision["routes"][0]["error"], "was ended: the daemon is stopping");
}

#[test]
fn nothing_is_waited_for_beyond_the_hosts_own_time() {
    let home = Home::new();
    home.route("tool/before/x", "exec sleep 1000", "timeout_ms = 600000\nfail = 'closed'");
    let daemon = home.start();
    let late = |passed_ms: u64| {
        move || {
            let mut call = tool_call("claude", "ls");
            call.stamp_ms -= passed_ms;
            call
        }
    };
    // Of 5 s, one is kept back and 3.7 have passed.
    let answers = ask(&daemon, late(3_700));
    let [Answer::Wait(wait_ms), last] = &answers[..] else { panic!("{answers:?}") };
    assert!(*wait_ms <= 500, "{wait_ms}");
    let reason = printed(last)["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned();
    assert!(reason.contains("did not answer within"), "{reason}");
    let answers = ask(&daemon, late(60_000));
    let reason = printed(&answers[1])["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    assert!(reason.contains("no time was left"), "{reason}");
}
