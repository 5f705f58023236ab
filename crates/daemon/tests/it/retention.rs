//! What happens to old sessions.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use herdbook_daemon::Retention;
use herdbook_daemon::retention::{Keeper, Round, hold};
use herdbook_log::{Durability, NewRecord, OpenError, Options, Reader, SessionLog, Sessions};

const DAY_MS: u64 = 24 * 3600 * 1000;
/// 2026-01-01T00:00:00Z.
const START_MS: u64 = 1_767_225_600_000;

fn append(log: &mut SessionLog, number: u64, ts_ms: u64, kind: &str, payload: &str) {
    let record = NewRecord {
        id: format!("01KDWS62XR{number:016}"),
        ts_ms,
        kind: kind.to_owned(),
        payload: payload.to_owned(),
    };
    let (sender, answer) = std::sync::mpsc::channel();
    log.append(vec![record], Durability::Synced, move |done| drop(sender.send(done)));
    answer.recv().unwrap().unwrap();
}

/// A session that started the others and whose last event is so many days after the start.
fn session(sessions: &Sessions, key: &str, last_day: u64, started: &[&str]) {
    let (mut log, _) = sessions.open(key, Options::of_session(START_MS)).unwrap();
    append(&mut log, 1, START_MS, "session.started", "{}");
    for (number, child) in (2..).zip(started) {
        let payload = format!(r#"{{"childSessionId":"{child}"}}"#);
        append(&mut log, number, START_MS, "subtask.created", &payload);
    }
    append(&mut log, 99, START_MS + last_day * DAY_MS, "note", "{}");
    log.close();
    written(&sessions.folder(key), last_day);
}

/// Its files were last written to so many days after the start.
fn written(folder: &Path, day: u64) {
    for entry in fs::read_dir(folder).unwrap() {
        let file = fs::File::open(entry.unwrap().path()).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(START_MS + day * DAY_MS)).unwrap();
    }
}

fn round(keeper: &mut Keeper, state: &Path, rules: Retention, day: u64) -> Round {
    keeper.round(state, rules, START_MS + day * DAY_MS, &mut || true)
}

fn left(sessions: &Sessions, keys: &[&str]) -> Vec<String> {
    keys.iter().filter(|key| sessions.has(key)).map(|key| (*key).to_owned()).collect()
}

const KEEP: Retention = Retention { journal_payload_days: 0, session_days: 0, compress_after_days: 0 };

#[test]
fn sessions_are_compressed_some_days_after_their_last_event() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    session(&sessions, "old", 0, &[]);
    session(&sessions, "new", 10, &[]);
    let rules = Retention { compress_after_days: 14, ..KEEP };
    let mut keeper = Keeper::default();
    assert_eq!(round(&mut keeper, state.path(), rules, 13), Round::default());
    assert_eq!(round(&mut keeper, state.path(), KEEP, 500), Round::default());
    // Not while somebody writes to it.
    let (log, _) = sessions.open("old", Options::of_session(START_MS)).unwrap();
    assert_eq!(round(&mut keeper, state.path(), rules, 14).compressed, 0);
    log.close();
    drop(log);
    assert_eq!(round(&mut keeper, state.path(), rules, 14), Round { compressed: 1, ..Round::default() });
    assert_eq!(round(&mut keeper, state.path(), rules, 14), Round::default());
    assert!(sessions.folder("old").join("0000000001.jsonl.zst").exists());
    assert!(sessions.folder("new").join("0000000001.jsonl").exists());
    assert_eq!(Reader::open(&sessions.folder("old")).filter_map(Result::ok).count(), 2);
}

#[test]
fn old_sessions_are_deleted_whole_with_those_they_started() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    session(&sessions, "alone", 0, &[]);
    session(&sessions, "parent", 0, &["child", "nobody"]);
    session(&sessions, "child", 5, &["grandchild"]);
    session(&sessions, "grandchild", 2, &[]);
    session(&sessions, "held", 0, &[]);
    hold(&sessions.folder("held"), true).unwrap();
    let keys = ["alone", "parent", "child", "grandchild", "held"];
    let rules = Retention { session_days: 100, ..KEEP };
    let mut keeper = Keeper::default();
    assert_eq!(round(&mut keeper, state.path(), rules, 99), Round::default());
    // The child had its last event on day 5: the family stays until day 105.
    assert_eq!(round(&mut keeper, state.path(), rules, 104).deleted, 1);
    assert_eq!(left(&sessions, &keys), ["parent", "child", "grandchild", "held"]);
    let (log, _) = sessions.open("grandchild", Options::of_session(START_MS)).unwrap();
    assert_eq!(round(&mut keeper, state.path(), rules, 105).deleted, 0);
    log.close();
    drop(log);
    assert_eq!(round(&mut keeper, state.path(), rules, 105).deleted, 3);
    assert_eq!(left(&sessions, &keys), ["held"]);
    assert!(
        hold(&sessions.folder("held"), false).unwrap() && !hold(&sessions.folder("held"), false).unwrap()
    );
    assert_eq!(round(&mut keeper, state.path(), rules, 105).deleted, 1);
    assert!(left(&sessions, &keys).is_empty());
    assert_eq!(fs::read_dir(state.path().join("sessions/.deleted")).unwrap().count(), 0);

    let told = fs::read_to_string(state.path().join("retention.jsonl")).unwrap();
    let told: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sessions: Vec<&str> = told.iter().filter_map(|line| line["session"].as_str()).collect();
    assert_eq!(sessions, ["alone", "grandchild", "child", "parent", "held"]);
    let first = &told[0];
    assert_eq!(
        (&first["what"], &first["lastSeq"], &first["sessionDays"]),
        (&"deleted".into(), &2.into(), &100.into())
    );
    assert_eq!(first["at"], START_MS + 104 * DAY_MS);
    assert_eq!(first["lastTs"], START_MS);
}

#[test]
fn what_was_appended_or_held_while_a_round_rested_is_not_deleted() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    for key in ["old", "resumed", "held"] {
        session(&sessions, key, 0, &[]);
    }
    let rules = Retention { session_days: 100, ..KEEP };
    let now_ms = START_MS + 200 * DAY_MS;
    let mut rested = false;
    let done = Keeper::default().round(state.path(), rules, now_ms, &mut || {
        if !std::mem::replace(&mut rested, true) {
            let (mut log, _) = sessions.open("resumed", Options::of_session(now_ms)).unwrap();
            append(&mut log, 100, now_ms, "note", "{}");
            log.close();
            hold(&sessions.folder("held"), true).unwrap();
        }
        true
    });
    assert_eq!(done, Round { deleted: 1, ..Round::default() });
    assert_eq!(left(&sessions, &["old", "resumed", "held"]), ["resumed", "held"]);
    assert_eq!(Reader::open(&sessions.folder("resumed")).filter_map(Result::ok).count(), 3);
    let told = fs::read_to_string(state.path().join("retention.jsonl")).unwrap();
    assert_eq!(told.lines().count(), 1);
}

#[test]
fn a_damaged_session_is_left_to_its_human() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    session(&sessions, "old", 0, &[]);
    let segment = sessions.folder("old").join("0000000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap().replace("\"note\"", "\"nope\"");
    fs::File::create(&segment).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
    session(&sessions, "other", 0, &[]);
    let rules = Retention { session_days: 1, ..KEEP };
    // Its last line is damaged: it may have started the other one.
    let done = round(&mut Keeper::default(), state.path(), rules, 500);
    assert_eq!((done.deleted, done.failed.len()), (0, 1), "{done:?}");
    assert!(done.failed[0].contains("nobody knows which sessions it started"), "{done:?}");
    assert!(segment.exists() && sessions.has("other"));
    // So it is where the first line is damaged, or nothing can be read.
    for text in ["nothing\n", ""] {
        fs::remove_file(&segment).unwrap();
        if text.is_empty() {
            std::os::unix::fs::symlink("/dev/null", &segment).unwrap();
        } else {
            fs::File::create(&segment).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
        }
        let done = round(&mut Keeper::default(), state.path(), rules, 500);
        assert_eq!(done.deleted, 0, "{text} {done:?}");
        assert!(done.failed.iter().any(|text| text.contains("none is deleted until")), "{done:?}");
    }
    assert!(sessions.has("other"));
}

#[test]
fn an_imported_session_is_as_new_as_its_import() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    session(&sessions, "imported", 0, &[]);
    written(&sessions.folder("imported"), 50);
    let rules = Retention { session_days: 10, compress_after_days: 14, ..KEEP };
    let mut keeper = Keeper::default();
    // Compressed it is no newer.
    assert_eq!(round(&mut keeper, state.path(), rules, 51), Round { compressed: 1, ..Round::default() });
    assert_eq!(round(&mut keeper, state.path(), rules, 59).deleted, 0);
    assert_eq!(round(&mut keeper, state.path(), rules, 60).deleted, 1);
}

#[test]
fn a_session_of_a_clock_that_was_wrong_is_not_old() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let (mut log, _) = sessions.open("s", Options::of_session(START_MS)).unwrap();
    append(&mut log, 1, 5_000, "note", "{}");
    log.close();
    drop(log);
    for name in ["LOCK", "0000000001.jsonl"] {
        let file = fs::File::open(sessions.folder("s").join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(5)).unwrap();
    }
    let rules = Retention { session_days: 1, ..KEEP };
    assert_eq!(round(&mut Keeper::default(), state.path(), rules, 500), Round::default());
    assert!(sessions.has("s"));
}

#[test]
fn what_happens_to_a_session_in_the_middle_of_a_round_is_seen() {
    let rules = Retention { session_days: 10, ..KEEP };
    for what in ["appended", "held", "open", "nothing"] {
        let state = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(state.path());
        session(&sessions, "parent", 0, &["child"]);
        session(&sessions, "child", 0, &[]);
        let mut open = None;
        let mut meanwhile = || {
            match what {
                "held" => drop(hold(&sessions.folder("parent"), true).unwrap()),
                "nothing" => {}
                _ => {
                    let (mut log, _) = sessions.open("parent", Options::of_session(START_MS)).unwrap();
                    if what == "appended" {
                        append(&mut log, 100, START_MS, "note", "{}");
                        log.close();
                    } else {
                        open = Some(log);
                    }
                }
            }
            true
        };
        let now_ms = START_MS + 20 * DAY_MS;
        let done = Keeper::default().round(state.path(), rules, now_ms, &mut meanwhile);
        let deleted = if what == "nothing" { 2 } else { 0 };
        assert_eq!(done, Round { deleted, ..Round::default() }, "{what}");
        assert_eq!(left(&sessions, &["parent", "child"]).len(), 2 - deleted, "{what}");
    }
}

#[test]
fn a_round_ends_when_it_is_told_to() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    for key in ["a", "b", "c"] {
        session(&sessions, key, 0, &[]);
    }
    let rules = Retention { compress_after_days: 1, ..KEEP };
    let mut asked = 0;
    let mut twice = || {
        asked += 1;
        asked <= 2
    };
    let done = Keeper::default().round(state.path(), rules, START_MS + 2 * DAY_MS, &mut twice);
    assert_eq!(done, Round { compressed: 2, ..Round::default() });
}

#[test]
fn a_link_in_the_place_of_the_logs_is_refused_and_nothing_is_told_to_be_deleted() {
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    session(&Sessions::new(other.path()), "old", 0, &[]);
    std::os::unix::fs::symlink(other.path().join("sessions"), state.path().join("sessions")).unwrap();
    let rules = Retention { session_days: 1, compress_after_days: 1, ..KEEP };
    let done = round(&mut Keeper::default(), state.path(), rules, 500);
    let words = "it is a link, and links are not followed here; to keep logs on another disk mount that here, or lay the whole \
                 state folder there";
    let failed = vec![format!("{}: {words}", state.path().join("sessions").display())];
    assert_eq!(done, Round { failed, ..Round::default() });
    assert!(!state.path().join("retention.jsonl").exists());
    // The same words for who opens and who lists.
    let sessions = Sessions::new(state.path());
    assert!(!sessions.has("old"));
    assert_eq!(sessions.folders().unwrap_err().to_string(), words);
    match sessions.open("old", Options::of_session(START_MS)).map(drop) {
        Err(OpenError::Io { source, .. }) => assert_eq!(source.to_string(), words),
        other => panic!("{other:?}"),
    }
    assert!(Sessions::new(other.path()).folder("old").join("0000000001.jsonl").exists());
}

#[test]
fn what_could_not_leave_is_not_told_to_be_deleted_and_half_a_deletion_is_finished() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    session(&sessions, "old", 0, &[]);
    let rules = Retention { session_days: 1, ..KEEP };
    let told = || fs::read_to_string(state.path().join("retention.jsonl")).unwrap_or_default();
    // Something lies where it is to go.
    let name = sessions.folder("old").file_name().unwrap().to_owned();
    let in_the_way = state.path().join("sessions/.deleted").join(&name);
    let now_ms = START_MS + 500 * DAY_MS;
    let done = Keeper::default().round(state.path(), rules, now_ms, &mut || {
        fs::create_dir_all(in_the_way.join("x")).unwrap();
        true
    });
    assert_eq!((done.deleted, done.failed.len()), (0, 1), "{done:?}");
    assert!(sessions.has("old") && told().is_empty());
    // The daemon was killed before it told what it deletes.
    fs::remove_dir_all(&in_the_way).unwrap();
    fs::rename(sessions.folder("old"), &in_the_way).unwrap();
    assert_eq!(sessions.folders().unwrap(), [""; 0].map(std::path::PathBuf::from));
    assert_eq!(round(&mut Keeper::default(), state.path(), rules, 500), Round::default());
    assert!(!in_the_way.exists());
    assert!(told().contains(r#""what":"deleted""#) && told().contains(r#""session":"old""#), "{}", told());
}

#[test]
fn what_cannot_be_told_is_not_deleted() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    session(&sessions, "old", 0, &[]);
    fs::create_dir(state.path().join("retention.jsonl")).unwrap();
    let rules = Retention { session_days: 1, ..KEEP };
    let done = round(&mut Keeper::default(), state.path(), rules, 500);
    assert_eq!((done.deleted, done.failed.len()), (0, 1), "{done:?}");
    assert_eq!(Reader::open(&sessions.folder("old")).filter_map(Result::ok).count(), 2);
}
