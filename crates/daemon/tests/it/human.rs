//! The human's acts over `/v1/queue`.

use serde_json::json;

use crate::support::{Scratch, stuck};

const T: u64 = 1_735_689_600_000;

fn order(daemon: &crate::support::Daemon) -> Vec<String> {
    daemon.client().queue().unwrap().into_iter().map(|item| item.session_id).collect()
}

#[test]
fn acts_change_the_queue_and_answer_with_the_new_head() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    for (at, id) in ["a", "b", "c"].iter().enumerate() {
        daemon.post_event(&stuck(id, T + at as u64));
    }
    let client = daemon.client();
    let acted = client.skip(None).unwrap();
    assert_eq!((acted.session.as_deref(), acted.next.unwrap().session_id.as_str()), (Some("a"), "b"));
    assert_eq!(order(&daemon), ["b", "c", "a"]);
    let acted = client.pin("c", true).unwrap();
    assert_eq!(acted.next.unwrap().session_id, "c");
    assert!(client.queue().unwrap()[0].pinned);
    client.pin("c", false).unwrap();
    assert_eq!(order(&daemon), ["b", "c", "a"]);
    let acted = client.snooze("b", 60_000).unwrap();
    assert_eq!(acted.next.unwrap().session_id, "c");
    let acted = client.settle("c").unwrap();
    assert_eq!((acted.session.as_deref(), acted.next), (Some("c"), None));
    let mut left = order(&daemon);
    left.sort();
    assert_eq!(left, ["a", "b"]);
    let acts: Vec<String> = scratch
        .journal()
        .into_iter()
        .filter(|line| line.kind == "human")
        .map(|line| serde_json::from_str::<serde_json::Value>(&line.payload).unwrap()["act"].to_string())
        .collect();
    assert_eq!(acts, ["\"skip\"", "\"pin\"", "\"unpin\"", "\"snooze\"", "\"settle\""]);
}

#[test]
fn acts_on_nobody_are_refused_by_name() {
    let daemon = Scratch::new().start();
    let client = daemon.client();
    let acted = client.skip(None).unwrap();
    assert_eq!((acted.session, acted.next), (None, None));
    for error in [
        client.skip(Some("x")).unwrap_err(),
        client.snooze("x", 1).unwrap_err(),
        client.pin("x", true).unwrap_err(),
        client.settle("x").unwrap_err(),
    ] {
        assert!(error.is_not_found());
        assert_eq!(error.to_string(), "session 'x' is not in the queue");
    }
}

#[test]
fn bad_bodies_name_the_field() {
    let daemon = Scratch::new().start();
    let refused = |path: &str, body: &str| {
        let answer = daemon.post(path, body);
        assert_eq!(answer.status, 400, "{path} {body}");
        answer.json()["error"].as_str().unwrap().to_owned()
    };
    assert!(refused("/v1/queue/snooze", r#"{"session":"a"}"#).contains("`for_ms`"));
    assert!(refused("/v1/queue/pin", r#"{"session":"a","pinned":"yes"}"#).contains("line 1 column"));
    assert!(refused("/v1/queue/skip", r#"{"sesion":"a"}"#).contains("`sesion`"));
    let zero = json!({ "session": "a", "for_ms": 0 }).to_string();
    assert_eq!(refused("/v1/queue/snooze", &zero), "invalid body: 'for_ms' must be 1 to 2592000000");
}
