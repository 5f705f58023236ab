//! Hooks of another version than the daemon: nothing of theirs is lost.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use herdbook_daemon::Notice;
use herdbook_wire::{Answer, PROTOCOL_VERSION, frame, spool};

use crate::support::{Scratch, send_frame, stop_call, wait_until};

/// Changes the version of a frame.
fn of_version(mut bytes: Vec<u8>, version: u16) -> Vec<u8> {
    bytes[4..6].copy_from_slice(&version.to_le_bytes());
    bytes
}

fn overwrite(path: &Path, bytes: &[u8]) {
    fs::File::options().write(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Puts a call into the spool as a hook of that version would: the names do not change.
fn spooled(scratch: &Scratch, id: u128, version: u16) -> (PathBuf, Vec<u8>) {
    let dir = scratch.state().join("spool");
    spool::write(&dir, &stop_call(id, &format!("s{id}"))).unwrap();
    let entry = spool::entries(&dir).unwrap().into_iter().find(|entry| entry.delivery == id).unwrap();
    let path = dir.join(entry.name());
    let bytes = of_version(fs::read(&path).unwrap(), version);
    overwrite(&path, &bytes);
    (path, bytes)
}

#[test]
fn an_older_and_a_newer_hook_are_sent_to_the_spool() {
    let daemon = Scratch::new().start();
    for version in [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1] {
        let bytes = of_version(frame::encode(&stop_call(1, "one")), version);
        assert_eq!(send_frame(&daemon.socket, &bytes), Some(Answer::Spool), "version {version}");
    }
    assert_eq!(daemon.queue(), [] as [&str; 0]);
}

#[test]
fn a_spooled_event_of_a_future_version_is_kept_and_told_and_the_others_are_taken() {
    let scratch = Scratch::new();
    herdbook_wire::paths::private_dir(&scratch.state()).unwrap();
    let (future, bytes) = spooled(&scratch, 1, PROTOCOL_VERSION + 1);
    let (ours, _) = spooled(&scratch, 2, PROTOCOL_VERSION);
    let words = "hook events of protocol version 2 are kept in the spool (1): this daemon does not read them, a newer \
                 herdbook does";
    // A restart makes no difference.
    for _ in 0..2 {
        let daemon = scratch.start();
        assert_eq!(daemon.queue(), ["claude-s2"]);
        wait_until("the removal of what was taken", || !ours.exists());
        assert_eq!(fs::read(&future).unwrap(), bytes, "not a byte is changed");
        let status = daemon.client().status().unwrap();
        assert_eq!((status.spool_count, status.warnings.as_slice()), (1, [words.to_owned()].as_slice()));
        assert!(daemon.before.contains(&Notice::Warning(words.to_owned())), "{:?}", daemon.before);
        daemon.stop();
    }
    // The daemon that can read it: here the frame becomes one of our version.
    let bytes = of_version(bytes, PROTOCOL_VERSION);
    overwrite(&future, &bytes);
    let daemon = scratch.start();
    assert_eq!(daemon.queue(), ["claude-s1", "claude-s2"]);
    wait_until("the removal of what was taken", || !future.exists());
    assert_eq!(daemon.client().status().unwrap().warnings, [] as [&str; 0]);
}

#[test]
fn a_spooled_event_from_before_the_oldest_version_is_kept_and_told() {
    let scratch = Scratch::new();
    herdbook_wire::paths::private_dir(&scratch.state()).unwrap();
    let (path, bytes) = spooled(&scratch, 1, 0);
    let daemon = scratch.start();
    wait_until("the warning", || {
        daemon.client().status().unwrap().warnings.iter().any(|words| words.contains("protocol version 0"))
    });
    daemon.stop();
    assert_eq!(fs::read(&path).unwrap(), bytes);
}
