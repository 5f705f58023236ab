//! Our own routes.

use herdbook_api::v1;
use herdbook_wire::Delivery;
use serde_json::json;

use crate::support::{Scratch, claude, stop_call, stuck};

const T: u64 = 1_735_689_600_000;

#[test]
fn status_tells_who_we_are_and_how_we_do() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    daemon.post_event(&stuck("a", T));
    let mut asking = stuck("b", T + 1);
    asking["reason"] = json!("permission");
    daemon.post_event(&asking);
    let status = daemon.client().status().unwrap();
    assert_eq!((status.version.as_str(), status.pid, status.protocol), ("0.0.0-test", std::process::id(), 1));
    assert_eq!((status.stuck_count, status.blocked_count, status.session_count), (2, 1, 2));
    assert_eq!(status.http.len(), 1);
    assert_eq!(status.http[0].state, v1::Listen::LISTENING);
    assert_eq!(status.http[0].addr, format!("127.0.0.1:{}", daemon.port()));
    assert_eq!(status.sockets, [scratch.socket().display().to_string()]);
    assert_eq!((status.spool_count, status.spool_lost), (0, 0));
    assert_eq!(status.warnings, [] as [&str; 0]);
    assert!(status.journal.written_seq > 0 && status.journal.error.is_none());
    assert!(status.store_id.len() == 26 && status.uptime_ms < 60_000);
}

#[test]
fn hooks_are_counted_by_host_and_event_also_after_a_restart() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    assert_eq!(daemon.client().hooks().unwrap(), v1::Hooks::default());
    daemon.frame(&claude(1, "s", "Dreamed", json!({ "dream": 1 })));
    daemon.frame(&stop_call(2, "s"));
    let mut again = stop_call(3, "s");
    again.stamp_ms = 1_003;
    daemon.frame(&again);
    let hooks = daemon.client().hooks().unwrap();
    let [host] = &hooks.hosts[..] else { panic!("{hooks:?}") };
    assert_eq!((host.host.as_str(), host.count, host.unreadable_count), ("claude", 3, 0));
    let events: Vec<_> = host.events.iter().map(|one| (one.event.as_str(), one.known, one.count)).collect();
    assert_eq!(events, [("Dreamed", false, 1), ("Stop", true, 2)]);
    assert_eq!((host.events[1].family.as_deref(), host.events[1].last_at), (Some("stop"), host.last_at));
    assert_eq!((host.repeats.len(), host.repeats[0].event.as_str()), (1, "Stop"));
    assert_eq!((host.unknown_fields[0].field.as_str(), host.unknown_fields[0].count), ("dream", 1));
    daemon.stop();
    assert_eq!(scratch.start().client().hooks().unwrap(), hooks);
}

#[test]
fn what_payloads_lack_is_told_by_event_and_field() {
    let daemon = Scratch::new().start();
    let whole = r#"{"session_id":"1","transcript_path":"/t","cwd":"/","hook_event_name":"Stop","stop_hook_active":false}"#;
    let call = |delivery, body: &str| Delivery { body: body.into(), ..claude(delivery, "", "", json!({})) };
    daemon.frame(&call(1, whole));
    let broken = whole.replace(r#""cwd":"/","#, "").replace("false", "0");
    daemon.frame(&call(2, &broken));
    let hooks = daemon.client().hooks().unwrap();
    let host = &hooks.hosts[0];
    assert_eq!((host.count, host.faulty_count, host.faulty_at), (2, 1, Some(host.last_at)));
    let faults: Vec<_> = host
        .faults
        .iter()
        .map(|fault| (fault.event.as_str(), fault.field.as_str(), fault.wanted.as_deref(), fault.count))
        .collect();
    assert_eq!(faults, [("Stop", "cwd", None, 1), ("Stop", "stop_hook_active", Some("boolean"), 1)]);
    let metrics = daemon.get("/metrics").body;
    assert!(metrics.contains("\nherdbook_hook_calls_faulty_total{host=\"claude\"} 1\n"), "{metrics}");
}

#[test]
fn a_session_of_another_machine_says_so() {
    let daemon = Scratch::new().start();
    let mut call = stop_call(1, "far");
    call.origin.machine = Some("build-7".into());
    daemon.frame(&call);
    daemon.frame(&stop_call(2, "near"));
    let session = |key| daemon.client().session(key).unwrap().machine;
    assert_eq!([session("claude-far"), session("claude-near")], [Some("build-7".into()), None]);
    let queue = daemon.client().queue().unwrap().into_iter().map(|item| item.machine);
    assert_eq!(queue.collect::<Vec<_>>(), [Some("build-7".into()), None]);
}

#[test]
fn queue_items_have_what_the_reference_has_and_more() {
    let daemon = Scratch::new().start();
    let mut event = stuck("a", T);
    event["message"] = json!("\n\u{1b}[31mTool: Bash | Command: ls\nsecond line");
    event["reason"] = json!("permission");
    daemon.post_event(&event);
    let trail = daemon.get("/queue").json()["items"][0].clone();
    let own = daemon.get("/v1/queue").json()["items"][0].clone();
    for (name, value) in trail.as_object().unwrap() {
        assert_eq!(&own[name], value, "{name}");
    }
    assert_eq!(
        (&own["host"], &own["kind"], &own["order"]),
        (&json!("posted"), &json!("permission"), &json!(0))
    );
    assert!(own["ask"].as_str().unwrap().ends_with("Tool: Bash | Command: ls"), "{}", own["ask"]);
    assert!(!own["ask"].as_str().unwrap().contains('\u{1b}'));
}

#[test]
fn long_queues_come_in_pages_of_a_thousand() {
    let daemon = Scratch::new().start();
    let threads: Vec<_> = (0..8u64)
        .map(|part| {
            let (client, first) = (daemon.client(), part * 150);
            std::thread::spawn(move || {
                for at in first..first + 150 {
                    client.post_normalized(&stuck(&format!("s-{at:04}"), T + at).to_string()).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let first: v1::Queue = daemon.client().get("/v1/queue").unwrap();
    assert_eq!((first.items.len(), first.count), (1000, 1200));
    let next = first.next.unwrap();
    let path = format!("/v1/queue?after={}", herdbook_api::encode_segment(&next));
    let second: v1::Queue = daemon.client().get(&path).unwrap();
    assert_eq!((second.items.len(), second.count, second.next), (200, 1200, None));
    let ids: Vec<String> = daemon.client().queue().unwrap().into_iter().map(|item| item.session_id).collect();
    let expected: Vec<String> = (0..1200).map(|at| format!("s-{at:04}")).collect();
    assert_eq!(ids, expected);
    assert_eq!(daemon.client().sessions().unwrap().len(), 1200);
    assert_eq!(daemon.get("/queue").json()["count"], 1200);
    let bad = daemon.get("/v1/queue?after=nonsense");
    assert_eq!(bad.both(), (400, r#"{"error":"'after' must be the 'next' of an earlier page"}"#));
}

#[test]
fn sessions_and_why_show_what_a_state_rests_on() {
    let daemon = Scratch::new().start();
    daemon.frame(&claude(1, "one", "UserPromptSubmit", json!({ "prompt": "go" })));
    let working = daemon.client().session("claude-one").unwrap();
    assert_eq!(
        (working.state.as_str(), working.host.as_str(), working.native_id.as_str()),
        ("working", "claude", "one")
    );
    daemon.frame(&stop_call(2, "one"));
    let why = daemon.client().why("claude-one").unwrap();
    assert_eq!((why.session.state.as_str(), why.session.kind.as_deref()), ("stuck", Some("turn_end")));
    let last = why.evidence.last().unwrap();
    assert_eq!(last.source, "hook");
    let record = crate::support::journal(&daemon.state).into_iter().find(|line| line.id == last.id).unwrap();
    assert_eq!(record.kind, "hook", "evidence names its record");
    assert_eq!(daemon.client().sessions().unwrap().len(), 1);
    let error = daemon.client().why("nobody").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "no session 'nobody'");
}

#[test]
fn hooks_of_any_host_come_in_over_http() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let body =
        r#"{"session_id":"c1","cwd":"/home/dev/app","hook_event_name":"UserPromptSubmit","prompt":"x"}"#;
    assert_eq!(daemon.post("/v1/hooks/claude", body).both(), (200, r#"{"ok":true}"#));
    assert_eq!(daemon.client().session("claude-c1").unwrap().state, "working");
    assert_eq!(daemon.post("/v1/hooks/claude?event=Odd", "{broken").status, 200);
    let kinds: Vec<String> = scratch.journal().into_iter().map(|line| line.kind).collect();
    assert!(kinds.contains(&"unreadable".to_owned()), "{kinds:?}");
    let long = format!("/v1/hooks/{}", "h".repeat(300));
    assert_eq!(daemon.post(&long, body).status, 400);
}

#[test]
fn addresses_that_cannot_be_read_are_refused_as_json() {
    let daemon = Scratch::new().start();
    let path = r#"{"error":"the path is not UTF-8 once decoded"}"#;
    let twice = |name: &str| format!(r#"{{"error":"invalid query: duplicate field `{name}`"}}"#);
    for (answer, words) in [
        (daemon.get("/v1/sessions/%ff"), path.to_owned()),
        (daemon.get("/v1/sessions/%ff/why"), path.to_owned()),
        (daemon.post("/v1/hooks/%ff", "{}"), path.to_owned()),
        (daemon.get("/v1/queue?after=a&after=b"), twice("after")),
        (daemon.get("/v1/sessions?after=a&after=b"), twice("after")),
        (daemon.post("/v1/hooks/claude?event=a&event=b", "{}"), twice("event")),
    ] {
        assert_eq!(answer.both(), (400, words.as_str()));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}
