//! Held hooks have places of their own.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use herdbook_wire::clock::Start;
use herdbook_wire::{Answer, frame};
use serde_json::json;

use crate::route_bench::Home;
use crate::support::{Daemon, LONG, Scratch, claude, stop_call, wait_until};

/// Sends a request for a permission and returns the first answer, and the connection.
fn request(daemon: &Daemon, number: u128) -> (Option<Answer>, UnixStream) {
    request_for(daemon, number, "make")
}

fn request_for(daemon: &Daemon, number: u128, command: &str) -> (Option<Answer>, UnixStream) {
    let mut call = claude(
        number,
        &format!("s{number}"),
        "PermissionRequest",
        json!({"tool_name": "Bash", "tool_input": {"command": command}}),
    );
    call.stamp_ms = Start::now().stamp_ms();
    let mut stream = UnixStream::connect(&daemon.socket).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(&frame::encode(&call)).unwrap();
    let mut answer = vec![0; frame::ANSWER_HEADER_BYTES];
    stream.read_exact(&mut answer).unwrap();
    (frame::decode_answer(&answer).unwrap().map(|(answer, _)| answer), stream)
}

#[expect(clippy::disallowed_methods, reason = "a test's own files")]
fn switch_on(daemon: &Daemon) {
    std::fs::write(daemon.state.join("hold.json"), r#"{"claude":{"hold_ms":600000}}"#).unwrap();
    let limits = r#"{"claude":{"PermissionRequest":30000}}"#;
    std::fs::write(daemon.state.join("entry-limits.json"), limits).unwrap();
}

#[test]
fn held_hooks_take_no_place_of_others_and_there_is_a_limit() {
    let daemon = Scratch::new().start();
    switch_on(&daemon);
    let mut held = Vec::new();
    let mut number = 0;
    // On a busy machine the daemon may miss a hook's time and say "spool": then another one is sent.
    wait_until("64 holds", || {
        number += 1;
        match request(&daemon, number) {
            (Some(Answer::Wait(ms)), stream) => {
                assert!((25_000..=29_300).contains(&ms), "less than its entry's time less a second: {ms}");
                held.push(stream);
            }
            (answer, _) => assert_eq!(answer, Some(Answer::Spool)),
        }
        held.len() == 64
    });
    let idle: Vec<UnixStream> = (0..200).map(|_| UnixStream::connect(&daemon.socket).unwrap()).collect();
    assert_eq!(daemon.frame(&stop_call(5_000, "beside")), Answer::Done);
    wait_until("one that is not held", || request(&daemon, 6_000).0 == Some(Answer::Done));
    drop(idle);
    // One that goes makes room.
    drop(held.pop());
    wait_until("a place", || {
        number += 1;
        matches!(request(&daemon, 7_000 + number).0, Some(Answer::Wait(_)))
    });
    assert!(daemon.stop() < Duration::from_secs(5));
    for mut stream in held {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        let done = frame::decode_answer(&rest).unwrap().map(|(answer, _)| answer);
        assert_eq!(done, Some(Answer::Done), "the stop lets each of them go");
    }
}

#[test]
fn routes_are_asked_first_and_the_hook_waits_once_for_both() {
    let home = Home::new();
    let script =
        "input=$(cat)\ncase $input in *say-deny*) echo '{\"outcome\":\"deny\",\"reason\":\"why\"}';; esac";
    home.route("permission/request/look", script, "");
    let daemon = home.start();
    switch_on(&daemon);
    let mut number = 0;
    let mut waiting = |command: &str| {
        let mut stream = None;
        wait_until("a hook that waits", || {
            number += 1;
            let (answer, connection) = request_for(&daemon, number, command);
            let Some(Answer::Wait(ms)) = answer else { return false };
            assert!(ms > 25_000, "the human has his time after the routes: {ms}");
            stream = Some(connection);
            true
        });
        stream.unwrap()
    };
    let rest_of = |stream: &mut UnixStream| {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        frame::decode_answer(&rest).unwrap().map(|(answer, _)| answer)
    };
    let mut denied = waiting("say-deny");
    let Some(Answer::Decision(told)) = rest_of(&mut denied) else { panic!("the route decided") };
    assert!(String::from_utf8(told).unwrap().contains(r#""behavior":"deny","message":"why""#));
    let mut open = waiting("make");
    let is_held = || daemon.client().waits().unwrap().iter().any(|wait| wait.held_until.is_some());
    wait_until("the hold", is_held);
    daemon.stop.stop();
    assert_eq!(rest_of(&mut open), Some(Answer::Done), "nothing more was asked of the hook");
}
