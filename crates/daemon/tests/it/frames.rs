//! Hook frames: from the bytes to the journal line and the queue.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use herdbook_wire::{Answer, frame, spool};
use serde_json::{Value, json};

use crate::support::{LONG, Scratch, claude, send_frame, stop_call, wait_until};

#[test]
fn hook_bytes_become_a_journal_line_and_an_entry_of_the_queue() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let call = stop_call(0x2a, "one");
    assert_eq!(daemon.frame(&call), Answer::Done);
    assert_eq!(daemon.queue(), ["claude-one"]);
    let lines = scratch.journal();
    let hook = lines.iter().find(|line| line.kind == "hook").unwrap();
    let payload: Value = serde_json::from_str(&hook.payload).unwrap();
    assert_eq!(payload["delivery"], format!("{:032x}", 0x2a));
    assert_eq!(payload["native"], serde_json::from_slice::<Value>(&call.body).unwrap());
    let told = lines.iter().find(|line| line.kind == "transition" && line.payload.contains("stuck")).unwrap();
    assert!(told.payload.contains(&hook.id), "a transition names its cause");
    assert!(told.seq > hook.seq);
}

#[test]
fn the_same_delivery_is_kept_once() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let call = stop_call(7, "one");
    for _ in 0..3 {
        assert_eq!(daemon.frame(&call), Answer::Done);
    }
    spool::write(&scratch.state().join("spool"), &call).unwrap();
    assert_eq!(daemon.queue(), ["claude-one"]);
    wait_until("the spooled copy's removal", || daemon.client().status().unwrap().spool_count == 0);
    assert_eq!(scratch.journal().iter().filter(|line| line.kind == "hook").count(), 1);
}

#[test]
fn what_cannot_be_read_is_kept_as_it_came() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    for (at, body) in [&b"{\"session_id\":\"x\","[..], b"", b"\xff\xfe\x00", b"17"].into_iter().enumerate() {
        let mut call = stop_call(at as u128 + 1, "x");
        call.body = body.to_vec();
        assert_eq!(daemon.frame(&call), Answer::Done, "{body:?}");
    }
    assert_eq!(scratch.journal().iter().filter(|line| line.kind == "unreadable").count(), 4);
}

#[test]
fn another_protocol_version_and_broken_frames_go_to_the_spool() {
    let daemon = Scratch::new().start();
    let mut bytes = frame::encode(&stop_call(1, "one"));
    bytes[4] = 9;
    assert_eq!(send_frame(&daemon.socket, &bytes), Some(Answer::Spool));
    let mut bytes = frame::encode(&stop_call(1, "one"));
    bytes[1] = b'X';
    assert_eq!(send_frame(&daemon.socket, &bytes), Some(Answer::Spool));
    let mut bytes = frame::encode(&stop_call(1, "one"));
    bytes[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(send_frame(&daemon.socket, &bytes), Some(Answer::Spool));
    assert_eq!(daemon.queue(), [] as [&str; 0]);
}

#[test]
fn a_frame_that_is_cut_short_leaves_nothing() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let bytes = frame::encode(&stop_call(1, "one"));
    for end in [1, 23, bytes.len() - 1] {
        let mut stream = UnixStream::connect(&daemon.socket).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(&bytes[..end]).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"", "{end}");
    }
    assert_eq!(daemon.frame(&stop_call(1, "one")), Answer::Done);
    assert_eq!(scratch.journal().iter().filter(|line| line.kind == "hook").count(), 1);
}

#[test]
fn what_was_spooled_comes_in_by_its_stamp_and_before_later_calls() {
    let scratch = Scratch::new();
    let spool_dir = scratch.state().join("spool");
    // Written in another order than the hooks ran.
    spool::write(&spool_dir, &stop_call(3, "one")).unwrap();
    spool::write(&spool_dir, &claude(1, "one", "SessionStart", json!({ "source": "startup" }))).unwrap();
    spool::write(&spool_dir, &claude(2, "one", "UserPromptSubmit", json!({ "prompt": "x" }))).unwrap();
    let daemon = scratch.start();
    assert_eq!(daemon.queue(), ["claude-one"]);
    // While the daemon runs: the spooled prompt is folded before the live one's Stop.
    spool::write(&spool_dir, &claude(4, "two", "UserPromptSubmit", json!({ "prompt": "y" }))).unwrap();
    assert_eq!(daemon.frame(&stop_call(5, "two")), Answer::Done);
    let deliveries: Vec<u64> = scratch
        .journal()
        .iter()
        .filter(|line| line.kind == "hook")
        .map(|line| {
            let payload: Value = serde_json::from_str(&line.payload).unwrap();
            u64::from_str_radix(payload["delivery"].as_str().unwrap(), 16).unwrap()
        })
        .collect();
    assert_eq!(deliveries, [1, 2, 3, 4, 5]);
    wait_until("an empty spool", || spool::count(&spool_dir).unwrap() == 0);
}

#[test]
fn losses_of_the_spool_and_unreadable_files_are_owned_up_to() {
    let scratch = Scratch::new();
    let spool_dir = scratch.state().join("spool");
    spool::write(&spool_dir, &stop_call(1, "one")).unwrap();
    let name = spool::entries(&spool_dir).unwrap()[0].name();
    // A power cut left an empty file, and two events found no room.
    std::fs::File::options().write(true).truncate(true).open(spool_dir.join(name)).unwrap();
    std::fs::File::create(spool_dir.join("lost")).unwrap().set_len(2).unwrap();
    let daemon = scratch.start();
    let lost = || -> Vec<u64> {
        let gaps = scratch.journal().into_iter().filter(|line| line.kind == "gap");
        gaps.map(|line| serde_json::from_str::<Value>(&line.payload).unwrap()["lost"].as_u64().unwrap())
            .collect()
    };
    wait_until("the gap records", || lost() == [1, 2]);
    wait_until("the number told", || daemon.client().status().unwrap().spool_lost == 0);
    daemon.stop();
    let _daemon = scratch.start();
    assert_eq!(lost(), [1, 2], "told once");
}
