//! Inputs that do not fit into memory, disks and limits that do not fit the input.

use std::fs;
use std::io::Write;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use herdbook_wire::spool;

use crate::bench::{HOOK, Home, hold_open, run};

const MIB: usize = 1 << 20;

/// Bytes that are no JSON and do not repeat soon.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn a_hundred_megabytes_are_kept_in_bounded_memory() {
    let home = Home::new();
    let input = noise(100_000_000);
    let mut child = home.command(HOOK).arg("claude").spawn().unwrap();
    let started = Instant::now();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&input).unwrap();
    // All but the last pipe full has been read, and the hook still waits for more.
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    assert!(started.elapsed() < Duration::from_millis(2_600), "{:?}", started.elapsed());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 24 * 1024, "{peak_kib} KiB");
    let kept = home.drain_one();
    assert!(kept.body == input && !kept.cut);
}

#[test]
fn a_large_value_that_is_whole_ends_the_reading() {
    let home = Home::new();
    let input = [b"{\"tool_response\":\"", vec![b'x'; 9 * MIB].as_slice(), b"\"}"].concat();
    let expected = input.clone();
    home.run(&["claude"], move |mut stdin| {
        stdin.write_all(&input).unwrap();
        hold_open(stdin);
    })
    .assert_silent_within(1_000);
    let kept = home.drain_one();
    assert!(kept.body == expected && !kept.cut);
}

#[test]
fn of_more_than_256_mebibytes_the_first_is_kept() {
    let home = Home::new();
    let (sender, receiver) = channel();
    let ran = home.run(&["claude"], move |mut stdin| {
        let (piece, started) = (noise(MIB), Instant::now());
        let whole = (0..258).all(|_| stdin.write_all(&piece).is_ok());
        // On a slow disk the two seconds end first; then what came until then is kept as it is.
        sender.send(whole && started.elapsed() < Duration::from_millis(1_700)).unwrap();
    });
    ran.assert_silent_within(2_600);
    let kept = home.drain_one();
    if receiver.recv().unwrap() {
        assert_eq!((kept.body.len(), kept.cut), (MIB, true));
    }
    assert!(kept.body.starts_with(&noise(MIB)));
}

#[test]
fn no_limit_of_the_host_ends_the_hook() {
    for (limit, kept) in [("ulimit -v 65536", true), ("ulimit -S -f 0", true), ("ulimit -f 0", false)] {
        let home = Home::new();
        let mut command = home.command("sh");
        command.args(["-c", &format!("{limit}; exec \"$0\" claude"), HOOK]);
        run(command, |mut stdin| {
            let _ = stdin.write_all(&vec![b'x'; 20 * MIB]);
        })
        .assert_silent_within(2_600);
        assert_eq!(spool::count(&home.spool()).unwrap(), u64::from(kept), "{limit}");
    }
}
