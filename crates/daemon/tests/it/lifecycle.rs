//! Start, stop, restart; a second daemon; a taken port; a folder that must not be used.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use herdbook_api::v1;
use herdbook_daemon::{DaemonError, Notice};
use serde_json::Value;

use crate::support::{Scratch, stop_call, stuck};

const T: u64 = 1_735_689_600_000;

#[test]
fn the_queue_after_a_restart_is_the_queue_before() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    daemon.post_event(&stuck("b", T + 2));
    daemon.post_event(&stuck("a", T + 1));
    daemon.frame(&stop_call(1, "one"));
    daemon.client().pin("b", true).unwrap();
    let before = daemon.client().queue().unwrap();
    daemon.stop();
    let daemon = scratch.start();
    assert_eq!(daemon.client().queue().unwrap(), before);
    let kinds: Vec<String> = scratch.journal().into_iter().map(|line| line.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "daemon").count(), 3, "start, stop, start: {kinds:?}");
}

#[test]
fn a_stop_with_open_streams_takes_less_than_two_seconds() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    daemon.post_event(&stuck("a", T));
    let mut streams: Vec<_> = (0..5).map(|_| daemon.client().attention(None).unwrap()).collect();
    let socket = scratch.socket();
    assert!(socket.exists());
    let took = daemon.stop();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(!socket.exists(), "the socket is removed");
    for stream in &mut streams {
        assert!(stream.next().is_none(), "the stream ends");
    }
    let last = scratch.journal().pop().unwrap();
    let payload: Value = serde_json::from_str(&last.payload).unwrap();
    assert_eq!((last.kind.as_str(), &payload["what"]), ("daemon", &Value::from("stop")));
}

#[test]
fn a_second_daemon_names_the_first_and_touches_nothing() {
    let scratch = Scratch::new();
    let first = scratch.start();
    let error = scratch.try_start().err().unwrap();
    let pid = std::process::id();
    assert!(matches!(&error, DaemonError::AlreadyRunning { pid: Some(found), .. } if *found == pid));
    let words = error.to_string();
    assert!(
        words.starts_with("a daemon is already running on ") && words.ends_with(&format!("(pid {pid})")),
        "{words}"
    );
    assert_eq!(first.get("/status").status, 200);
    assert!(first.client().status().is_ok());
}

#[test]
fn a_taken_port_leaves_the_socket_working_and_is_named() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = stranger.local_addr().unwrap();
    let mut scratch = Scratch::new();
    scratch.http = vec![taken];
    let daemon = scratch.start();
    assert!(daemon.http.is_none());
    let notice = daemon.before.iter().find(|notice| matches!(notice, Notice::PortTaken { .. })).unwrap();
    let words = notice.to_string();
    assert!(words.contains(&taken.to_string()) && words.contains(&std::process::id().to_string()), "{words}");
    let status = daemon.client().status().unwrap();
    let listen = status.taken().unwrap();
    assert_eq!((listen.addr.as_str(), listen.pid), (taken.to_string().as_str(), Some(std::process::id())));
    assert_eq!(status.http[0].state, v1::Listen::TAKEN);
    assert!(status.warnings[0].contains("is taken by process"), "{:?}", status.warnings);
    for words in [&words, &status.warnings[0]] {
        assert!(words.ends_with(": stop it, or set HERDBOOK_ADDR to another address"), "{words}");
    }
    daemon.frame(&stop_call(1, "one"));
    assert_eq!(daemon.client().queue().unwrap().len(), 1);
}

#[test]
fn both_loopbacks_are_served_where_there_are_two() {
    let mut scratch = Scratch::new();
    scratch.http = vec!["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()];
    let daemon = scratch.start();
    let status = daemon.client().status().unwrap();
    assert_eq!(status.http[0].state, v1::Listen::LISTENING);
    let other = &status.http[1];
    if other.state == v1::Listen::LISTENING {
        let mut stream = std::net::TcpStream::connect(&other.addr).unwrap();
        let request = format!("GET /status HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", other.addr);
        assert_eq!(crate::support::exchange(&mut stream, request.as_bytes()).status, 200);
    } else {
        assert_eq!(other.state, v1::Listen::FAILED, "no IPv6 here");
    }
}

#[test]
fn state_folders_that_others_could_change_are_refused_in_one_line() {
    let refused = |make: &dyn Fn(&Scratch)| {
        let scratch = Scratch::new();
        make(&scratch);
        let words = scratch.try_start().err().unwrap().to_string();
        assert!(!words.contains('\n'), "{words}");
        words
    };
    let linked = refused(&|scratch| {
        fs::create_dir(scratch.dir.path().join("real")).unwrap();
        symlink(scratch.dir.path().join("real"), scratch.state()).unwrap();
    });
    assert!(linked.contains("is a symlink"), "{linked}");
    let writable = refused(&|scratch| {
        fs::create_dir(scratch.state()).unwrap();
        fs::set_permissions(scratch.state(), fs::Permissions::from_mode(0o777)).unwrap();
    });
    assert!(writable.contains("writable for others"), "{writable}");
    let file = refused(&|scratch| drop(fs::File::create(scratch.state()).unwrap()));
    assert!(file.contains("not a folder"), "{file}");
}

#[test]
fn planted_links_are_not_followed() {
    let scratch = Scratch::new();
    let names: Vec<String> = {
        let daemon = Scratch::new();
        let state = daemon.state();
        daemon.start().stop();
        fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(names.len() >= 3, "{names:?}");
    let victim = scratch.dir.path().join("victim");
    let precious =
        |text: &str| std::io::Write::write_all(&mut fs::File::create(&victim).unwrap(), text.as_bytes());
    precious("precious").unwrap();
    for name in names {
        let state = scratch.state();
        herdbook_wire::paths::private_dir(&state).unwrap();
        symlink(&victim, state.join(&name)).unwrap();
        // Refused or not, the victim is left alone.
        drop(scratch.try_start().map(|daemon| daemon.stop()));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
        fs::remove_dir_all(&state).unwrap();
    }
}

#[test]
fn files_of_the_store_are_private() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    daemon.post_event(&stuck("a", T));
    let mut folders = vec![scratch.state()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode & 0o077, 0, "{:?} {mode:o}", entry.path());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

#[test]
fn damage_in_the_journal_is_told_and_lived_with() {
    let scratch = Scratch::new();
    let daemon = scratch.start();
    for at in 0..3u64 {
        daemon.post_event(&stuck(&format!("s{at}"), T + at));
    }
    daemon.stop();
    let file = scratch.state().join("journal/0000000001.jsonl");
    let text = fs::read_to_string(&file).unwrap().replacen("words of s0", "words of sX", 1);
    std::io::Write::write_all(&mut fs::File::create(&file).unwrap(), text.as_bytes()).unwrap();
    let daemon = scratch.start();
    let status = daemon.client().status().unwrap();
    assert_eq!(status.journal.damage.len(), 1, "{:?}", status.journal.damage);
    assert!(status.warnings.iter().any(|warning| warning.contains("damaged")), "{:?}", status.warnings);
    assert_eq!(daemon.queue(), ["s1", "s2"]);
    assert_eq!(daemon.post_event(&stuck("s3", T + 9)).status, 200);
}
