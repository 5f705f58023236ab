//! Any bytes on the hook's input (cases F-024, F-025, F-027, F-031, F-033).

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use proptest::prelude::*;

use crate::bench::{HOOK, Home, hold_open, run};

const PAYLOAD: &str = r#"{"session_id":"0d9c3a52-0000-4000-8000-000000000001","cwd":"/home/dev/shop","hook_event_name":"SessionEnd","reason":"clear","note":"{\"nested\": [1, 2]}"}"#;

#[test]
fn whatever_comes_is_kept_byte_for_byte() {
    let home = Home::new();
    let padded = format!(r#"{{"hook_event_name":"Stop","note":"{}"}}"#, "x".repeat(400_000));
    let inputs: &[&[u8]] = &[
        b"",
        PAYLOAD.as_bytes(),
        b"{\"a\":1}\r\n",
        "\u{feff}{\"a\":1}".as_bytes(),
        "\u{feff}\u{feff}{\"a\":\"b\u{feff}c\"}".as_bytes(),
        "\u{feff}".as_bytes(),
        br#"{"last_assistant_message":"Ready \ud83d"}"#,
        br#"{"last_assistant_message":"x \udc00\ud83d y"}"#,
        b"{\"raw\":\"\xed\xa0\xbd\"}",
        b"42",
        b"-0.5e3",
        b"null",
        b"true",
        b"\"only a string\"",
        b"\0\0\0\0",
        b"\xff\xfe{\0}\0",
        br#"{"session_id":"0d9c3a52","hook_event_name":"Stop","last_assistant_message":"half"#,
        b"{}{}",
        b"[1,2]",
        b"not json at all",
        &[b'{'; 100_000],
        &[b'\\'; 1_000],
        padded.as_bytes(),
    ];
    for input in inputs {
        home.run_on(&["claude"], input).assert_silent_within(1_000);
        let kept = home.drain_one();
        assert!(kept.body == *input, "{:?}", String::from_utf8_lossy(input));
        assert_eq!((kept.host.as_str(), kept.cut), ("claude", false));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]
    #[test]
    fn random_bytes_are_kept(
        first in prop::sample::select(vec![&b""[..], b"{", b"[", b"{\"", b"\xef\xbb\xbf"]),
        bytes in prop::collection::vec(any::<u8>(), 0..5_000),
    ) {
        let home = Home::new();
        let input = [first, &bytes].concat();
        home.run_on(&["codex"], &input).assert_silent_within(1_000);
        prop_assert!(home.drain_one().body == input);
    }
}

#[test]
fn a_whole_value_is_enough_when_the_input_stays_open() {
    let home = Home::new();
    home.run(&["claude"], |mut stdin| {
        stdin.write_all(PAYLOAD.as_bytes()).unwrap();
        hold_open(stdin);
    })
    .assert_silent_within(450);
    assert_eq!(home.drain_one().body, PAYLOAD.as_bytes());
}

#[test]
fn a_value_that_trickles_in_is_put_together() {
    let home = Home::new();
    home.run(&["claude"], |mut stdin| {
        for piece in PAYLOAD.as_bytes().chunks(16) {
            stdin.write_all(piece).unwrap();
            sleep(Duration::from_millis(30));
        }
        hold_open(stdin);
    })
    .assert_silent_within(1_000);
    assert_eq!(home.drain_one().body, PAYLOAD.as_bytes());
}

#[test]
fn a_late_first_byte_is_waited_for() {
    let home = Home::new();
    home.run(&["claude"], |mut stdin| {
        sleep(Duration::from_millis(1_000));
        stdin.write_all(PAYLOAD.as_bytes()).unwrap();
        hold_open(stdin);
    })
    .assert_silent_within(1_700);
    assert_eq!(home.drain_one().body, PAYLOAD.as_bytes());
}

#[test]
fn silence_after_a_first_byte_ends_the_wait() {
    for begun in [&PAYLOAD.as_bytes()[..60], b"42", b"{}{}", b"\xef\xbb\xbf"] {
        let home = Home::new();
        let ran = home.run(&["claude"], move |mut stdin| {
            stdin.write_all(begun).unwrap();
            hold_open(stdin);
        });
        ran.assert_silent_within(1_000);
        assert!(ran.ms >= 500, "only {} ms", ran.ms);
        assert_eq!(home.drain_one().body, begun);
    }
}

#[test]
fn two_seconds_are_the_end_of_it() {
    let home = Home::new();
    let ran = home.run(&["claude"], |mut stdin| {
        for piece in PAYLOAD.as_bytes().chunks(8) {
            if stdin.write_all(piece).is_err() {
                return;
            }
            sleep(Duration::from_millis(300));
        }
    });
    ran.assert_silent_within(2_600);
    assert!(ran.ms >= 1_900, "only {} ms", ran.ms);
    let kept = home.drain_one().body;
    assert!(PAYLOAD.as_bytes().starts_with(&kept) && kept.len() >= 40, "{} bytes", kept.len());
}

#[test]
fn nothing_ever_is_a_call_all_the_same() {
    let home = Home::new();
    let ran = home.run(&["copilot", "event:sessionStart"], hold_open);
    ran.assert_silent_within(2_600);
    assert!(ran.ms >= 1_900, "only {} ms", ran.ms);
    let kept = home.drain_one();
    assert_eq!((kept.body.len(), kept.native_event.as_deref()), (0, Some("sessionStart")));
}

#[test]
fn a_payload_as_the_last_argument_is_taken_and_the_input_left_alone() {
    let home = Home::new();
    home.run(&["codex", r#"{"type":"agent-turn-complete"}"#], hold_open).assert_silent_within(450);
    assert_eq!(home.drain_one().body, br#"{"type":"agent-turn-complete"}"#);
}

#[test]
fn an_unknown_host_is_delivered_and_no_host_is_nothing() {
    let home = Home::new();
    home.run_on(&["some-later-agent", "--its=flag"], b"{}").assert_silent_within(1_000);
    assert_eq!(home.drain_one().host, "some-later-agent");
    for args in [&[][..], &[""], &["--help"]] {
        home.run_on(args, b"{}").assert_silent_within(1_000);
        assert!(home.drain().is_empty());
    }
}

#[test]
fn closed_and_odd_channels_are_survived() {
    for (script, body) in [
        ("exec \"$0\" claude <&- >&- 2>&-", &b""[..]),
        ("exec \"$0\" claude >&- 2>&-", b"{\"a\":1}"),
        ("exec \"$0\" claude </", b""),
        ("exec \"$0\" claude </dev/null", b""),
        ("exec \"$0\" claude >/dev/full 2>&1", b"{\"a\":1}"),
    ] {
        let home = Home::new();
        let mut command = home.command("sh");
        command.args(["-c", script, HOOK]);
        run(command, |mut stdin| {
            let _ = stdin.write_all(b"{\"a\":1}");
        })
        .assert_silent_within(1_000);
        assert_eq!(home.drain_one().body, body, "{script}");
    }
}

#[test]
fn a_terminal_is_not_read() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let home = Home::new();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut slave = open();
    let mut master = File::from(master);
    master.write_all(b"typed by a human\n").unwrap();
    let mut command = home.command(HOOK);
    command.arg("claude").stdin(Stdio::from(open()));
    run(command, drop).assert_silent_within(450);
    assert_eq!(home.drain_one().body, b"");
    let mut line = [0; 17];
    slave.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"typed by a human\n");
}
