//! What was counted: `/v1/stats` and `/metrics`.

use std::collections::BTreeMap;

use herdbook_api::stats::Stats;
use herdbook_wire::clock::Start;
use herdbook_wire::{Delivery, Origin, Tty, spool};
use serde_json::{Value, json};

use crate::support::{Daemon, Scratch, claude, stuck};

/// Three permissions answered after 10, 20 and 90 s, a turn end of 5 min, and a session that ended while it waited,
/// as they lie in the spool when the daemon was down: hooks say when they ran. It began an hour ago: returns when.
fn spooled(scratch: &Scratch) -> u64 {
    let start_ms = Start::now().unix_ms - 3_600_000;
    let mut delivery = 0;
    let mut hook = |at_s: u64, session: &str, event: &str, more: Value| {
        delivery += 1;
        let call = Delivery {
            stamp_ms: 1_000 + at_s * 1_000 + u64::try_from(delivery).unwrap(),
            started_at_ms: start_ms + at_s * 1_000,
            origin: Origin { tty: Tty::Some, ..Origin::default() },
            ..claude(delivery, session, event, more)
        };
        spool::write(&scratch.state().join("spool"), &call).unwrap();
    };
    let call = |id: &str| json!({ "tool_name": "Bash", "tool_input": { "command": id }, "tool_use_id": id });
    hook(0, "one", "UserPromptSubmit", json!({ "prompt": "x" }));
    for (id, asked_s, answered_s) in [("a", 5, 15), ("b", 20, 40), ("c", 45, 135)] {
        hook(asked_s, "one", "PreToolUse", call(id));
        hook(asked_s, "one", "PermissionRequest", call(id));
        hook(answered_s, "one", "PostToolUse", call(id));
    }
    hook(140, "one", "Stop", json!({}));
    hook(440, "one", "UserPromptSubmit", json!({ "prompt": "y" }));
    hook(470, "one", "PreToolUse", call("d"));
    hook(470, "one", "PermissionRequest", call("d"));
    hook(510, "one", "SessionEnd", json!({ "reason": "other" }));
    start_ms
}

fn stats(daemon: &Daemon, start_ms: u64, query: &str) -> Stats {
    let mut stats: Stats = daemon.client().get(&format!("/v1/stats?since={start_ms}{query}")).unwrap();
    assert!(stats.until_at > start_ms);
    stats.until_at = 0;
    stats
}

/// The answer with durations to a tenth of a second: the two clocks that a time goes through are each cut to a millisecond.
fn told(daemon: &Daemon, start_ms: u64) -> Value {
    fn round(value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(name, value)| match value.as_u64() {
                Some(ms) if name.ends_with("_ms") => *value = ((ms + 50) / 100 * 100).into(),
                _ => round(value),
            }),
            Value::Array(items) => items.iter_mut().for_each(round),
            _ => {}
        }
    }
    let mut told = serde_json::to_value(stats(daemon, start_ms, "")).unwrap();
    round(&mut told);
    told
}

#[test]
fn known_waits_give_exactly_these_numbers_also_after_a_restart() {
    let scratch = Scratch::new();
    let start_ms = spooled(&scratch);
    let daemon = scratch.start();
    let answer = told(&daemon, start_ms);
    let permission = json!({
        "name": "permission", "sessions": 1, "waits": 4, "answered": 3, "settled": 0, "ended": 1, "stale": 0,
        "open": 0, "answer_p50_ms": 20_000, "answer_p90_ms": 90_000, "longest_ms": 90_000, "waiting_ms": 160_000,
        "working_ms": 0,
    });
    let turn_end = json!({
        "name": "turn_end", "sessions": 1, "waits": 1, "answered": 1, "settled": 0, "ended": 0, "stale": 0,
        "open": 0, "answer_p50_ms": 300_000, "answer_p90_ms": 300_000, "longest_ms": 300_000,
        "waiting_ms": 300_000, "working_ms": 0,
    });
    let total = json!({
        "name": "", "sessions": 1, "waits": 5, "answered": 4, "settled": 0, "ended": 1, "stale": 0, "open": 0,
        "answer_p50_ms": 20_000, "answer_p90_ms": 300_000, "longest_ms": 300_000, "waiting_ms": 460_000,
        "working_ms": 50_000,
    });
    let long = |kind: &str, at_s: u64, lasted_ms: u64, outcome: &str| {
        json!({
            "session_id": "claude-one", "host": "claude", "cwd": "/home/dev/app", "kind": kind,
            "opened_at": start_ms + at_s * 1_000, "lasted_ms": lasted_ms, "outcome": outcome,
        })
    };
    let expected = json!({
        "since_at": start_ms, "until_at": 0, "by": "kind", "forgotten_at": null, "total": total,
        "rows": [turn_end, permission],
        "longest": [
            long("turn_end", 140, 300_000, "answered"), long("permission", 45, 90_000, "answered"),
            long("permission", 470, 40_000, "ended"), long("permission", 20, 20_000, "answered"),
            long("permission", 5, 10_000, "answered"),
        ],
    });
    assert_eq!(answer, expected);
    let rows = |query: &str| -> Vec<String> {
        stats(&daemon, start_ms, query)
            .rows
            .into_iter()
            .map(|row| format!("{} {}", row.name, row.waits))
            .collect()
    };
    assert_eq!(rows("&by=host"), ["claude 5"]);
    assert_eq!(rows("&by=project"), ["/home/dev/app 5"]);
    // They may lie on both sides of midnight.
    let days = stats(&daemon, start_ms, "&by=day").rows;
    assert_eq!(days.iter().map(|day| day.waits).sum::<u64>(), 5);
    let metrics = metrics(&daemon.get("/metrics").body);
    daemon.stop();
    let again = scratch.start();
    assert_eq!(told(&again, start_ms), expected);
    let of_waits = |all: &BTreeMap<String, f64>| -> Vec<(String, f64)> {
        let waits = all.iter().filter(|(name, _)| name.contains("wait") || name.contains("hook"));
        waits.map(|(name, value)| (name.clone(), *value)).collect()
    };
    assert_eq!(of_waits(&self::metrics(&again.get("/metrics").body)), of_waits(&metrics));
}

#[test]
fn a_question_that_cannot_be_understood_is_refused_by_name() {
    let daemon = Scratch::new().start();
    let words = r#"{"error":"invalid query: 'by' must be project, host, kind or day"}"#;
    assert_eq!(daemon.get("/v1/stats?by=month").both(), (400, words));
    assert_eq!(daemon.get("/v1/stats?since=yesterday").status, 400);
    // Without a time it is the last seven days.
    let told: Stats = daemon.client().get("/v1/stats").unwrap();
    assert_eq!((told.until_at - told.since_at, told.by.as_str()), (7 * 86_400_000, "kind"));
    assert_eq!((told.total, told.rows.len()), (Default::default(), 0));
}

#[test]
fn metrics_are_in_the_text_format_and_say_what_is_known() {
    let scratch = Scratch::new();
    spooled(&scratch);
    let daemon = scratch.start();
    daemon.post_event(&stuck("a", 1));
    let mut event = stuck("b", 1);
    event["reason"] = json!("permission");
    daemon.post_event(&event);
    let reply = daemon.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let metrics = metrics(&reply.body);
    let permission = r#"host="claude",kind="permission""#;
    for (name, value) in [
        (format!(r#"herdbook_wait_seconds_bucket{{{permission},le="5"}}"#), 0.0),
        (format!(r#"herdbook_wait_seconds_bucket{{{permission},le="15"}}"#), 1.0),
        (format!(r#"herdbook_wait_seconds_bucket{{{permission},le="30"}}"#), 2.0),
        (format!(r#"herdbook_wait_seconds_bucket{{{permission},le="60"}}"#), 2.0),
        (format!(r#"herdbook_wait_seconds_bucket{{{permission},le="120"}}"#), 3.0),
        (format!(r#"herdbook_wait_seconds_bucket{{{permission},le="+Inf"}}"#), 3.0),
        (format!("herdbook_wait_seconds_sum{{{permission}}}"), 120.0),
        (format!("herdbook_wait_seconds_count{{{permission}}}"), 3.0),
        (format!(r#"herdbook_waits_total{{{permission},outcome="answered"}}"#), 3.0),
        (format!(r#"herdbook_waits_total{{{permission},outcome="ended"}}"#), 1.0),
        (r#"herdbook_working_seconds_total{host="claude"}"#.into(), 50.0),
        (r#"herdbook_waiting{kind="turn_end"}"#.into(), 1.0),
        (r#"herdbook_waiting{kind="permission"}"#.into(), 1.0),
        (r#"herdbook_waiting{kind="question"}"#.into(), 0.0),
        (r#"herdbook_sessions{state="stuck"}"#.into(), 2.0),
        (r#"herdbook_sessions{state="working"}"#.into(), 0.0),
        (r#"herdbook_hook_calls_total{host="claude"}"#.into(), 15.0),
        (r#"herdbook_hook_calls_unreadable_total{host="claude"}"#.into(), 0.0),
        ("herdbook_events_lost_total".into(), 0.0),
        ("herdbook_journal_up".into(), 1.0),
        (r#"herdbook_build_info{version="0.0.0-test"}"#.into(), 1.0),
    ] {
        assert!((metrics[&name] - value).abs() < 0.01, "{name} is {}", metrics[&name]);
    }
}

#[test]
fn labels_do_not_grow_with_the_work_and_foreign_names_cannot_forge_a_line() {
    let daemon = Scratch::new().start();
    let series = || metrics(&daemon.get("/metrics").body).into_keys().collect::<Vec<_>>();
    let mut delivery = 0;
    let mut session = |host: &str, id: u64| {
        for event in ["UserPromptSubmit", "Stop"] {
            delivery += 1;
            let mut call = claude(delivery, &id.to_string(), event, json!({ "cwd": format!("/srv/{id}") }));
            call.host = host.into();
            daemon.frame(&call);
        }
    };
    // One whose prompt and end came in the same millisecond did not work; the first that did brings all series of its host.
    let worked = |id: &u64| {
        session("claude", *id);
        series().iter().any(|name| name.starts_with("herdbook_working_seconds_total"))
    };
    let first = (0..1000).find(worked).unwrap();
    let before = series();
    for id in first + 1..first + 20 {
        session("claude", id);
    }
    assert_eq!(series(), before);
    session("a\"} 7\nherdbook_forged 1\\", 1);
    let named: Vec<String> = series().into_iter().filter(|name| name.contains("forged")).collect();
    assert_eq!(named.len(), 5, "{named:?}");
    assert!(named.iter().all(|name| name.starts_with("herdbook_hook_")), "{named:?}");
}

#[test]
fn what_the_plugin_in_a_host_dropped_is_told() {
    let daemon = Scratch::new().start();
    let body = r#"{"hook_event_name":"session.idle","properties":{"sessionID":"1"},"directory":"/srv","herdbook_dropped":7}"#;
    let call = Delivery { host: "opencode".into(), body: body.into(), ..claude(1, "", "", json!({})) };
    daemon.frame(&call);
    let hooks = daemon.client().hooks().unwrap();
    assert_eq!((hooks.hosts[0].dropped_count, hooks.hosts[0].dropped_at), (7, Some(hooks.hosts[0].last_at)));
    assert_eq!(hooks.hosts[0].unknown_fields, []);
    let metrics = metrics(&daemon.get("/metrics").body);
    assert_eq!(metrics[r#"herdbook_hook_events_dropped_total{host="opencode"}"#], 7.0);
}

/// Reads the text format strictly: every sample belongs to the metric above it, which has one HELP and one TYPE line;
/// no series comes twice; histograms have rising buckets up to `+Inf`, which is their count, and a sum.
fn metrics(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let (mut samples, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    let (mut helped, mut current) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').unwrap();
            assert!(!words.is_empty() && !kinds.contains_key(name), "{line}");
            helped = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(name == helped && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            kinds.insert(name.to_owned(), kind.to_owned());
            current = name.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
            let rest =
                name.strip_prefix(&*current).unwrap_or_else(|| panic!("{line} stands below {current}"));
            match kinds[&current].as_str() {
                "histogram" => assert!(["_bucket", "_sum", "_count"].contains(&rest), "{line}"),
                _ => assert_eq!(rest, "", "{line}"),
            }
            labels(&series[name.len()..]);
            assert_eq!(samples.insert(series.to_owned(), value.parse::<f64>().unwrap()), None, "{line}");
        }
    }
    histograms(text, &samples);
    samples
}

/// Checks that labels are closed and what stands in them is escaped.
fn labels(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut rest = text.strip_prefix('{').unwrap();
    loop {
        let (name, tail) = rest.split_once("=\"").unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_lowercase()), "{text}");
        let mut letters = tail.char_indices();
        let end = loop {
            match letters.next().unwrap() {
                (_, '\\') => assert!(matches!(letters.next().unwrap().1, '\\' | '"' | 'n'), "{text}"),
                (end, '"') => break end,
                _ => {}
            }
        };
        rest = &tail[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return assert_eq!(rest, "}", "{text}"),
        }
    }
}

fn histograms(text: &str, samples: &BTreeMap<String, f64>) {
    let mut last: Option<(String, f64, f64)> = None;
    for line in text.lines().filter(|line| line.contains("_bucket{")) {
        let (series, count) = line.rsplit_once(' ').unwrap();
        let (labels, bound) = series.rsplit_once(",le=\"").unwrap();
        let count: f64 = count.parse().unwrap();
        let bound: f64 = bound.trim_end_matches("\"}").replace("+Inf", "inf").parse().unwrap();
        if let Some((_, below, fewer)) = last.take_if(|(former, ..)| former == labels) {
            assert!(below < bound && fewer <= count, "{line}");
        }
        last = Some((labels.to_owned(), bound, count));
        if bound.is_infinite() {
            let of = |part: &str| samples[&format!("{}}}", labels.replace("_bucket", part))];
            assert_eq!(of("_count"), count);
            assert!(of("_sum") >= 0.0);
            last = None;
        }
    }
    assert_eq!(last, None, "the last bucket is +Inf");
}
