//! A full disk and a damaged journal, with the real programs: the rest goes on, and what was lost is said.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herdbook_api::{Client, ClientError};
use herdbook_log::{Line, Reader};
use serde_json::{Value, json};

use crate::support::{Ran, TestDaemon, TestEnv, finish};

const SMALL_DISK: &str = "HERDBOOK_TEST_SMALL_DISK";
const LONG: Duration = Duration::from_secs(20);

#[expect(clippy::disallowed_methods, reason = "how the child is told what to be")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < LONG, "{what} did not come");
        std::thread::yield_now();
    }
}

fn state(env: &TestEnv) -> PathBuf {
    env.path().join("state/herdbook")
}

fn client(env: &TestEnv) -> Client {
    let status: Value = serde_json::from_str(&env.run(&["status", "--json"]).stdout).unwrap();
    Client::new(vec![status["sockets"][0].as_str().unwrap().into()])
}

fn journal(env: &TestEnv, kind: &str) -> Vec<Line> {
    let lines = Reader::open(&state(env).join("journal")).map(Result::unwrap);
    lines.filter(|line| line.kind == kind).collect()
}

/// What an agent does after a turn.
fn hook(env: &TestEnv, session: &str) -> Ran {
    let payload = json!({ "session_id": session, "hook_event_name": "Stop", "cwd": "/home/dev/app" });
    finish(env.herdbook(&["hook", "claude"]), payload.to_string().as_bytes())
}

fn assert_harmless(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

fn post(client: &Client, session: &str) -> Result<(), ClientError> {
    let event = json!({
        "type": "stuck", "sessionId": session, "paneId": "job", "cwd": "/srv/demo", "transcriptPath": "",
        "reason": "stopped", "message": "x".repeat(1_000), "timestamp": 1_767_225_600_000u64,
    });
    client.post_normalized(&event.to_string()).map(drop)
}

/// Sessions named in the records of a kind, at a place of the payload.
fn sessions(env: &TestEnv, kind: &str, place: &str) -> Vec<String> {
    let of = |line: Line| {
        let payload: Value = serde_json::from_str(&line.payload).unwrap();
        payload.pointer(place).and_then(Value::as_str).unwrap().to_owned()
    };
    journal(env, kind).into_iter().map(of).collect()
}

/// Takes all room there is on the disk of a folder; gives it back when it is dropped.
struct Ballast(PathBuf);

impl Ballast {
    fn fill(folder: &Path) -> Ballast {
        let path = folder.join("ballast");
        let mut file = File::create(&path).unwrap();
        for bytes in [4_096, 1] {
            while file.write_all(&vec![b'x'; bytes]).is_ok() {}
        }
        Ballast(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs a test of this file once more where it may mount disks of its own, and there only.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this very program, once more, with a disk of its own; a skipped test says so"
)]
fn where_it_may_mount(test: &str, body: fn()) {
    if variable(SMALL_DISK).is_some() {
        return body();
    }
    let isolated = || {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]);
        command
    };
    if !isolated()
        .args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        println!("skipped: {test}: no namespaces of our own here");
        return;
    }
    let output = isolated()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("faults::{test}"), "--nocapture"])
        .env(SMALL_DISK, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// An environment whose state folder is on a disk of its own, of so many MiB.
fn on_a_disk_of(mebibytes: u32) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(state(&env)).unwrap();
    let mut command = env.program("mount");
    command.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=700"), "tmpfs"]).arg(state(&env));
    let mounted = finish(command, b"");
    assert_eq!((mounted.code, mounted.stderr.as_str()), (0, ""));
    env
}

#[test]
fn a_full_disk_harms_no_agent_and_what_it_cost_is_said() {
    where_it_may_mount("a_full_disk_harms_no_agent_and_what_it_cost_is_said", on_a_full_disk);
}

fn on_a_full_disk() {
    let env = on_a_disk_of(1);
    let daemon = TestDaemon::start(&env);
    assert!(!state(&env).join("reserve").exists(), "there is no room to keep any");
    let client = client(&env);
    post(&client, "before").unwrap();
    assert_harmless(&hook(&env, "before"));
    let ballast = Ballast::fill(&state(&env));

    // The last page of the journal has room yet; then whoever posts is told.
    let mut taken = 0;
    let refused = loop {
        match post(&client, &format!("posted-{taken}")) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 20, "the disk is full");
    };
    assert!(matches!(refused, ClientError::Refused { status: 503, .. }), "{refused:?}");
    let why = "the journal cannot be written: could not write 0000000001.jsonl: No space left on device";
    assert!(refused.to_string().starts_with(why), "{refused}");
    assert!(refused.to_string().contains("wait in memory, trying again"), "{refused}");
    for n in 0..3 {
        assert_harmless(&hook(&env, &format!("full-{n}")));
    }
    // Everything still answers, and says how it is.
    let listed = env.run(&["ls"]);
    assert_eq!(listed.code, 0);
    assert!(listed.stdout.contains("full-2"), "what could not be written is in the queue: {}", listed.stdout);
    assert!(listed.stderr.contains(why), "{}", listed.stderr);
    let doctor: Value = serde_json::from_str(&env.run(&["doctor", "--json"]).stdout).unwrap();
    assert!(findings(&doctor).contains(&"journal-error".to_owned()), "{doctor}");

    drop(ballast);
    wait_until("room", || client.status().unwrap().journal.error.is_none());
    post(&client, "after").unwrap();
    assert_harmless(&hook(&env, "after"));
    wait_until("an empty spool", || client.status().unwrap().spool_count == 0);
    let mut expected = vec!["before".to_owned()];
    expected.extend((0..=taken).map(|n| format!("posted-{n}")));
    expected.push("after".to_owned());
    assert_eq!(
        sessions(&env, "normalized", "/event/sessionId"),
        expected,
        "each once, also what was refused"
    );
    let hooks = ["before", "full-0", "full-1", "full-2", "after"];
    assert_eq!(sessions(&env, "hook", "/session"), hooks, "the daemon had them in memory");

    // Their hooks could not know that, and counted them as lost: too many are told rather than too few.
    wait_until("the gap record", || told_lost(&env) == 3);

    // Nobody there, and no room: then hooks are lost, and counted.
    drop(daemon);
    let ballast = Ballast::fill(&state(&env));
    for n in 0..2 {
        assert_harmless(&hook(&env, &format!("lost-{n}")));
    }
    let daemon = TestDaemon::start(&env);
    assert!(env.run(&["ls"]).stdout.contains("full-2"), "it starts on a full disk, too");
    drop(ballast);
    wait_until("the gap record", || told_lost(&env) == 5);
    post(&client, "again").unwrap();
    assert_eq!(client.status().unwrap().warnings, [""; 0]);
    drop(daemon);
}

#[test]
fn a_daemon_that_stops_on_a_full_disk_writes_what_waits_in_its_memory() {
    where_it_may_mount(
        "a_daemon_that_stops_on_a_full_disk_writes_what_waits_in_its_memory",
        stops_on_a_full_disk,
    );
}

fn stops_on_a_full_disk() {
    let env = on_a_disk_of(64);
    let daemon = TestDaemon::start(&env);
    let reserve = state(&env).join("reserve");
    assert_eq!(fs::metadata(&reserve).unwrap().len(), 16 << 20);
    let client = client(&env);
    let append = |body: Value| client.post::<Value>("/v1/sessions/s-1/events", &json!({ "events": [body] }));
    append(json!({ "type": "session.started", "payload": {
        "title": "t", "projectHash": "p", "workingDirectory": "/w", "gitBranch": null, "model": "m",
        "auxModel": "a", "khaelorVersion": "1",
    } }))
    .unwrap();
    post(&client, "before").unwrap();
    let ballast = Ballast::fill(&state(&env));

    // Both logs have a mebibyte of room of their own; then what comes waits in memory.
    let mut posted = vec!["before".to_owned()];
    while client.status().unwrap().journal.error.is_none() {
        posted.push(format!("posted-{}", posted.len()));
        drop(post(&client, &posted[posted.len() - 1]));
        assert!(posted.len() < 2000, "the disk is full");
    }
    let renamed =
        |title: &str| json!({ "type": "session.renamed", "payload": { "title": title.repeat(200_000) } });
    let mut appended = 1;
    std::thread::scope(|scope| {
        let waits = loop {
            let one = scope.spawn(|| append(renamed("x")));
            wait_until("written, or said why not", || {
                one.is_finished() || !client.status().unwrap().log_troubles.is_empty()
            });
            appended += 1;
            if !one.is_finished() {
                break one;
            }
            one.join().unwrap().unwrap();
            assert!(appended < 20, "the disk is full");
        };
        assert_harmless(&hook(&env, "last"));
        // It waits no longer than the daemon.
        drop(daemon);
        drop(waits.join().unwrap());
    });
    assert!(!reserve.exists(), "its room was needed");
    assert_eq!(sessions(&env, "normalized", "/event/sessionId"), posted);
    assert_eq!(sessions(&env, "hook", "/session"), ["last"]);
    let log = env.run(&["log", "check", "s-1"]);
    assert!(log.code == 0 && log.stdout.contains(&format!("{appended} ")), "{}{}", log.stdout, log.stderr);

    drop(ballast);
    let daemon = TestDaemon::start(&env);
    assert_eq!(fs::metadata(&reserve).unwrap().len(), 16 << 20, "it is made again where there is room");
    assert!(env.run(&["ls"]).stdout.contains("last"));
    assert_eq!(client.status().unwrap().warnings, [""; 0]);
    drop(daemon);
    assert!(reserve.exists(), "a stop that needs no room leaves it");
}

/// How many events the journal owns up to have lost.
fn told_lost(env: &TestEnv) -> u64 {
    let lost = |line: &Line| serde_json::from_str::<Value>(&line.payload).unwrap()["lost"].as_u64().unwrap();
    journal(env, "gap").iter().map(lost).sum()
}

fn findings(doctor: &Value) -> Vec<String> {
    let checks = doctor.as_array().unwrap().iter();
    checks.filter_map(|check| Some(check["finding"].as_str()?.to_owned())).collect()
}

#[test]
fn a_damaged_journal_costs_what_stood_there_and_says_so() {
    let env = TestEnv::new();
    let daemon = TestDaemon::start(&env);
    for session in ["one", "two", "three"] {
        assert_harmless(&hook(&env, session));
    }
    wait_until("the hooks", || journal(&env, "hook").len() == 3);
    drop(daemon);
    let segment = state(&env).join("journal/0000000001.jsonl");
    let mut bytes = fs::read(&segment).unwrap();
    // One letter of the second session's hook.
    let text = String::from_utf8(bytes.clone()).unwrap();
    let is_it = |line: &str| line.contains(r#""session_id":"two""#) && !line.contains("transition");
    let hook_line = text.lines().position(is_it).unwrap();
    let at = text.lines().take(hook_line).map(|line| line.len() + 1).sum::<usize>();
    let within = text[at..].find("two").unwrap();
    bytes[at + within] = b'T';
    File::create(&segment).unwrap().write_all(&bytes).unwrap();

    let daemon = TestDaemon::start(&env);
    let listed = env.run(&["ls"]);
    for session in ["one", "three"] {
        assert!(listed.stdout.contains(session), "{}", listed.stdout);
    }
    assert!(!listed.stdout.contains("two"), "{}", listed.stdout);
    let words = format!(
        "the journal is damaged in 1 places, the first: 0000000001.jsonl line {line} (seq {line}): the checksum does not fit",
        line = hook_line + 1
    );
    assert!(listed.stderr.contains(&words), "{}", listed.stderr);
    let doctor: Value = serde_json::from_str(&env.run(&["doctor", "--json"]).stdout).unwrap();
    assert!(findings(&doctor).contains(&"damaged".to_owned()), "{doctor}");
    // It goes on, and what is damaged stays as it is.
    assert_harmless(&hook(&env, "four"));
    assert!(env.run(&["ls"]).stdout.contains("four"));
    drop(daemon);
    assert!(fs::read(&segment).unwrap().starts_with(&bytes));
    // Nor does it need the small file beside it.
    File::create(state(&env).join("store.json")).unwrap().write_all(b"{").unwrap();
    let daemon = TestDaemon::start(&env);
    let listed = env.run(&["ls"]);
    assert!(listed.stdout.contains("four"), "also after the next start: {}", listed.stdout);
    assert!(listed.stderr.contains("store.json was damaged"), "{}", listed.stderr);
    drop(daemon);
}
