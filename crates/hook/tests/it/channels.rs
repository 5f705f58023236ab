//! Who the hook talks to, what it says, and whom it does not trust (cases F-098, F-111).

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::thread::{self, sleep};
use std::time::Duration;

use herdbook_wire::frame::{encode, encode_answer, read_delivery};
use herdbook_wire::{Answer, Tty};

use crate::bench::{HOOK, Home, answer_with, run, serve_one, wait_for_close};

#[test]
fn the_daemon_gets_the_call_with_its_origin_and_no_secret() {
    let home = Home::new();
    let daemon = serve_one(&home.socket(), answer_with(vec![Answer::Done]));
    let mut command = home.command(HOOK);
    command.args(["copilot", "event:preToolUse"]);
    command.env("TMUX", "/tmp/tmux-1000/default,77,0").env("TMUX_PANE", "%7");
    command.env("SSH_CONNECTION", "192.0.2.7 50000 192.0.2.1 22").env("ANTHROPIC_API_KEY", "sk-demo-secret");
    run(command, |mut stdin| stdin.write_all(b"{\"a\":1}").unwrap()).assert_silent_within(1_000);
    let delivery = daemon.join().unwrap();
    assert_eq!((delivery.host.as_str(), delivery.native_event.as_deref()), ("copilot", Some("preToolUse")));
    assert_eq!((delivery.body.as_slice(), delivery.cut), (&b"{\"a\":1}"[..], false));
    assert_eq!(delivery.origin.ancestors[0].pid, std::process::id());
    assert!(delivery.origin.ancestors.iter().all(|process| process.start.is_some()));
    assert_ne!(delivery.origin.tty, Tty::Some);
    assert_eq!(delivery.origin.cwd.as_deref(), home.path("").canonicalize().unwrap().to_str());
    let home_var = home.path("home").to_str().unwrap().to_owned();
    let expected = [
        ("TMUX", "/tmp/tmux-1000/default,77,0"),
        ("TMUX_PANE", "%7"),
        ("HOME", &home_var),
        ("SSH_CONNECTION", "1"),
    ];
    assert_eq!(delivery.origin.vars, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let bytes = String::from_utf8_lossy(&encode(&delivery)).into_owned();
    assert!(!bytes.contains("sk-demo") && !bytes.contains("192.0.2"));
    assert!(home.drain().is_empty());
}

#[test]
fn a_decision_is_printed_and_nothing_else() {
    let home = Home::new();
    let decision = vec![b'd'; 200_000];
    let daemon = serve_one(&home.socket(), answer_with(vec![Answer::Decision(decision.clone())]));
    let ran = home.run_on(&["claude"], b"{}");
    assert_eq!((ran.code, ran.stdout == decision, ran.stderr.as_slice()), (Some(0), true, &b""[..]));
    daemon.join().unwrap();
    assert!(home.drain().is_empty());
}

#[test]
fn a_refusal_goes_to_standard_error_with_exit_code_2() {
    let home = Home::new();
    let words = vec![b'w'; 200_000];
    let daemon =
        serve_one(&home.socket(), answer_with(vec![Answer::Wait(2_000), Answer::Refusal(words.clone())]));
    let ran = home.run_on(&["droid"], b"{}");
    assert_eq!((ran.code, ran.stdout.as_slice(), ran.stderr == words), (Some(2), &b""[..], true));
    daemon.join().unwrap();
    assert!(home.drain().is_empty());
}

#[test]
fn the_daemon_may_ask_to_wait_once() {
    let home = Home::new();
    let socket = home.socket();
    let daemon = serve_one(&socket, |mut stream| {
        read_delivery(&stream).unwrap();
        stream.write_all(&encode_answer(&Answer::Wait(2_000)).unwrap()).unwrap();
        // Longer than the hook waits without being asked.
        sleep(Duration::from_millis(150));
        stream.write_all(&encode_answer(&Answer::Decision(b"{\"ok\":1}".to_vec())).unwrap()).unwrap();
    });
    assert_eq!(home.run_on(&["claude"], b"{}").stdout, b"{\"ok\":1}");
    daemon.join().unwrap();
    assert!(home.drain().is_empty());

    for answers in [vec![Answer::Wait(30)], vec![Answer::Wait(5_000), Answer::Wait(5_000)]] {
        fs::remove_file(&socket).unwrap();
        let daemon = serve_one(&socket, answer_with(answers));
        home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
        assert_eq!(home.drain_one(), daemon.join().unwrap());
    }
}

#[test]
fn where_calls_may_be_answered_a_busy_daemon_gets_a_second() {
    for (file, answered) in [(None, false), (Some("trusted-routes.json"), true), (Some("hold.json"), true)] {
        let home = Home::new();
        if let Some(file) = file {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(home.path("state/herdbook")).unwrap();
            fs::write(home.path("state/herdbook").join(file), "{}").unwrap();
        }
        let daemon = serve_one(&home.socket(), |mut stream| {
            read_delivery(&stream).unwrap();
            // Longer than the hook waits where nobody can answer.
            sleep(Duration::from_millis(300));
            let _ = stream.write_all(&encode_answer(&Answer::Decision(b"{\"ok\":1}".to_vec())).unwrap());
        });
        let ran = home.run_on(&["claude"], b"{}");
        daemon.join().unwrap();
        assert_eq!(ran.stdout, if answered { &b"{\"ok\":1}"[..] } else { b"" }, "{file:?}");
        assert_eq!(home.drain().len(), usize::from(!answered), "{file:?}");
    }
}

#[test]
fn what_is_no_answer_means_the_spool_with_the_same_delivery() {
    for said in [
        &b""[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0HBA\x09\0\0\0\0\0\0\0",
        b"\0HBA\x02\0\0\0\xff\xff\xff\xff",
    ] {
        let home = Home::new();
        let daemon = serve_one(&home.socket(), move |mut stream| {
            let delivery = read_delivery(&stream).unwrap();
            stream.write_all(said).unwrap();
            delivery
        });
        home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
        assert_eq!(home.drain_one(), daemon.join().unwrap());
    }
}

#[test]
fn a_daemon_that_speaks_another_protocol_sends_the_hook_to_the_spool() {
    let home = Home::new();
    // What any version reads of any frame, and what any version understands: see `wire::frame`.
    let daemon = serve_one(&home.socket(), |mut stream| {
        let mut fixed = [0; 6];
        stream.read_exact(&mut fixed).unwrap();
        stream.write_all(b"\0HBA\x04\0\0\0\0\0\0\0").unwrap();
        wait_for_close(&stream);
        fixed
    });
    home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
    assert_eq!(&daemon.join().unwrap(), b"\0HBK\x01\0");
    assert_eq!(home.drain_one().body, b"{}");
}

#[test]
fn eight_mebibytes_go_over_the_socket_and_a_daemon_that_does_not_read_them_holds_nobody() {
    let home = Home::new();
    let body = vec![b'8'; 8 << 20];
    let daemon = serve_one(&home.socket(), |mut stream| {
        stream.read_exact(&mut [0; 10]).unwrap();
        wait_for_close(&stream);
    });
    // Its own reading keeps the stand-in busy; what counts is that the hook ends and keeps the event.
    home.run_on(&["claude"], &body).assert_silent_within(1_500);
    daemon.join().unwrap();
    assert!(home.drain_one().body == body);
}

#[test]
fn the_second_place_is_tried_and_the_named_one_alone() {
    let home = Home::new();
    let state = home.path("state/herdbook");
    fs::DirBuilder::new().mode(0o700).create(&state).unwrap();
    let daemon = serve_one(&state.join("sock"), answer_with(vec![Answer::Done]));
    home.run_on(&["claude"], b"[1]").assert_silent_within(1_000);
    assert_eq!(daemon.join().unwrap().body, b"[1]");

    // A place that the human named needs no folder of ours, and its path may be longer than an address.
    let named = home.path(&"d".repeat(150));
    fs::create_dir(&named).unwrap();
    let named = named.join("own.sock");
    let bound = herdbook_wire::paths::socket_address(&named).unwrap();
    let daemon = serve_one(&bound.path, answer_with(vec![Answer::Done]));
    let mut command = home.command(HOOK);
    command.arg("claude").env("HERDBOOK_SOCKET", &named);
    run(command, |mut stdin| stdin.write_all(b"[2]").unwrap()).assert_silent_within(1_000);
    assert_eq!(daemon.join().unwrap().body, b"[2]");
    assert!(home.drain().is_empty());
}

#[test]
fn a_socket_in_a_folder_others_can_change_is_passed_over() {
    let home = Home::new();
    let socket = home.socket();
    let _trap = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(socket.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    home.run_on(&["claude"], b"[1]").assert_silent_within(1_000);
    assert_eq!(home.drain_one().body, b"[1]");
}

#[test]
fn another_user_behind_the_socket_gets_nothing() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: another_user_behind_the_socket_gets_nothing: needs root");
        return;
    }
    let home = Home::new();
    let path = home.path("foreign.sock");
    // The peer's uid is that of who listens: a thread of ours that has become somebody else.
    fs::set_permissions(home.path(""), fs::Permissions::from_mode(0o777)).unwrap();
    let at = path.clone();
    let listener = thread::spawn(move || {
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(12_345)).unwrap();
        UnixListener::bind(at).unwrap()
    })
    .join()
    .unwrap();
    let mut command = home.command(HOOK);
    command.arg("claude").env("HERDBOOK_SOCKET", &path);
    run(command, |mut stdin| stdin.write_all(b"[1]").unwrap()).assert_silent_within(1_000);
    let (mut stream, _) = listener.accept().unwrap();
    assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
    assert_eq!(home.drain_one().body, b"[1]");
}

#[test]
fn nothing_is_written_through_a_state_folder_that_is_not_ours_alone() {
    let home = Home::new();
    let state = home.path("state/herdbook");
    let real = home.path("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, &state).unwrap();
    home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
    fs::remove_file(&state).unwrap();
    fs::write(&state, "a file").unwrap();
    home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
    assert!(fs::read_dir(&real).unwrap().next().is_none() && fs::read_dir(&state).unwrap().next().is_none());
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    home.run_on(&["claude"], b"{}").assert_silent_within(1_000);
    assert_eq!(home.drain().len(), 1);
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn without_a_home_the_hook_still_minds_its_manners() {
    let home = Home::new();
    let mut command = home.command(HOOK);
    command.arg("claude").env_clear();
    run(command, |mut stdin| stdin.write_all(b"{}").unwrap()).assert_silent_within(1_000);
    assert!(home.drain().is_empty());
}
