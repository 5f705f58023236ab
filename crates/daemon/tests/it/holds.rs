//! Held hooks have places of their own.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use herdbook_wire::clock::Start;
use herdbook_wire::{Answer, frame};
use serde_json::json;

use crate::support::{Daemon, LONG, Scratch, claude, stop_call, wait_until};

/// Sends a request for a permission and returns the first answer, and the connection.
fn request(daemon: &Daemon, number: u128) -> (Option<Answer>, UnixStream) {
    let mut call = claude(
        number,
        &format!("s{number}"),
        "PermissionRequest",
        json!({"tool_name": "Bash", "tool_input": {"command": "make"}}),
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
fn holding() -> (Scratch, Daemon) {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    std::fs::write(scratch.state().join("hold.json"), r#"{"claude":{"hold_ms":600000}}"#).unwrap();
    let limits = r#"{"claude":{"PermissionRequest":30000}}"#;
    std::fs::write(scratch.state().join("entry-limits.json"), limits).unwrap();
    (scratch, daemon)
}

#[test]
fn held_hooks_take_no_place_of_others_and_there_is_a_limit() {
    let (_scratch, daemon) = holding();
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
