//! Folders of sessions, their locks and keys.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use herdbook_log::{
    Ack, AppendError, Durability, Expected, Misplaced, NewRecord, OpenError, Options, Reader, SessionLog,
    Sessions,
};

use crate::disk::Disk;
use crate::support::{NOW_MS, answer, padded_record, read_all, record, send_to, seqs};

pub fn open(sessions: &Sessions, key: &str) -> SessionLog {
    sessions.open(key, Options::of_session(NOW_MS)).unwrap().0
}

pub fn append(log: &mut SessionLog, records: Vec<NewRecord>) -> Result<Ack, AppendError> {
    answer(&send_to(log, records, Durability::Synced))
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_open_session_is_locked_by_itself_and_the_holder_is_named() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let mut log = open(&sessions, "s-1");
    append(&mut log, vec![record(1)]).unwrap();
    let Err(error) = sessions.open("s-1", Options::of_session(NOW_MS)) else { panic!("opened twice") };
    let own = std::process::id();
    let path = sessions.folder("s-1").join("LOCK");
    assert!(
        matches!(&error, OpenError::Locked { path: at, pid: Some(pid), .. } if (at, *pid) == (&path, own))
    );
    assert!(error.to_string().starts_with(&format!("process {own} already writes here")), "{error}");
    // Another session is nobody's yet, and reading needs no lock.
    append(&mut open(&sessions, "s-2"), vec![record(1)]).unwrap();
    assert_eq!(seqs(&read_all(&mut Reader::open(log.folder())).0), [1]);
    log.close();
    assert_eq!(open(&sessions, "s-1").last_seq(), 1);
}

#[test]
fn all_that_is_made_is_private() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(&state.path().join("new/state"));
    append(&mut open(&sessions, "s-1"), vec![record(1)]).unwrap();
    let folder = sessions.folder("s-1");
    for made in [state.path().join("new"), folder.parent().unwrap().to_owned(), folder.clone()] {
        assert_eq!(mode(&made), 0o700, "{}", made.display());
    }
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["0000000001.idx", "0000000001.jsonl", "LOCK"]);
    for name in names {
        assert_eq!(mode(&folder.join(&name)), 0o600, "{name}");
    }
}

#[test]
fn links_in_the_place_of_folders_and_files_are_not_followed() {
    let state = tempfile::tempdir().unwrap();
    let victim = state.path().join("victim");
    fs::create_dir(&victim).unwrap();
    let refused = |sessions: &Sessions, what: &str| {
        let Err(error) = sessions.open("s-1", Options::of_session(NOW_MS)) else { panic!("{what}: opened") };
        assert!(matches!(error, OpenError::Io { .. }), "{what}: {error}");
    };
    let linked_root = Sessions::new(&state.path().join("a"));
    fs::create_dir(state.path().join("a")).unwrap();
    symlink(&victim, state.path().join("a/sessions")).unwrap();
    refused(&linked_root, "all sessions");

    let sessions = Sessions::new(&state.path().join("b"));
    open(&sessions, "s-2").close();
    symlink(&victim, sessions.folder("s-1")).unwrap();
    refused(&sessions, "a session's folder");
    assert!(!sessions.has("s-1"));
    assert_eq!(sessions.folders().unwrap(), [sessions.folder("s-2")]);

    let sessions = Sessions::new(&state.path().join("c"));
    open(&sessions, "s-1").close();
    fs::remove_file(sessions.folder("s-1").join("LOCK")).unwrap();
    symlink(victim.join("file"), sessions.folder("s-1").join("LOCK")).unwrap();
    refused(&sessions, "a lock");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
}

#[test]
fn a_folder_tells_whose_it_is() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let odd = format!("../\"\\\n{}", "é".repeat(500));
    for key in ["s-1", &odd] {
        let mut log = open(&sessions, key);
        assert_eq!(sessions.key_of_folder(log.folder()).unwrap(), None);
        append(&mut log, vec![padded_record(1, 100_000)]).unwrap();
        assert_eq!(sessions.key_of_folder(log.folder()).unwrap().as_deref(), Some(key));
    }
    // A folder whose name is another's tells nothing.
    let copy = sessions.folder("s-3");
    fs::rename(sessions.folder("s-1"), &copy).unwrap();
    let error = sessions.key_of_folder(&copy).unwrap_err();
    assert_eq!(error.to_string(), "its first line is not one of a session whose folder has this name");
    let too_long = "k".repeat(1025);
    let refused = sessions.open(&too_long, Options::of_session(NOW_MS));
    assert!(matches!(refused, Err(OpenError::SessionId { bytes: 1025 })));
}

#[test]
fn a_damaged_session_is_refused_by_name_and_can_be_read() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let mut log = open(&sessions, "s-1");
    append(&mut log, (1..=3).map(record).collect()).unwrap();
    log.close();
    let path = log.folder().join("0000000001.jsonl");
    let text = fs::read_to_string(&path).unwrap().replace("\"n\":2", "\"n\":7");
    File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let Err(error) = sessions.open("s-1", Options::of_session(NOW_MS)) else { panic!("opened") };
    let wanted = format!(
        "the log in {} is damaged: 0000000001.jsonl line 2 (seq 2): the checksum does not fit; nothing of it was changed",
        log.folder().display()
    );
    assert_eq!(error.to_string(), wanted);
    let (lines, damage) = read_all(&mut Reader::open(log.folder()));
    assert_eq!((seqs(&lines), damage.len()), (vec![1, 3], 1));
    // What was refused keeps no lock.
    let Err(OpenError::Damaged { damage, .. }) = sessions.open("s-1", Options::of_session(NOW_MS)) else {
        panic!("not damaged")
    };
    assert_eq!(damage[0].seq, 2);
}

#[test]
fn ids_of_all_segments_are_known_however_many_there_are() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let mut log = open(&sessions, "s-1");
    for first in (0..20_000).step_by(500) {
        append(&mut log, (first + 1..=first + 500).map(record).collect()).unwrap();
    }
    log.close();
    drop(log);
    let options = Options { segment_bytes: 100_000, ..Options::of_session(NOW_MS) };
    let (mut log, opened) = sessions.open("s-1", options).unwrap();
    assert_eq!(opened.last_seq, 20_000);
    append(&mut log, vec![record(20_001)]).unwrap();
    for number in [1, 255, 256, 257, 9_999, 20_000, 20_001] {
        let placed = log.place(&[record(number)], Expected::Any).unwrap();
        assert_eq!((placed.seqs, placed.duplicates), (vec![number], vec![0]));
    }
    assert_eq!(log.place(&[record(20_002)], Expected::After(20_001)).unwrap().duplicates, []);
}

#[test]
fn what_was_placed_behind_a_refused_append_is_refused_too() {
    let disk = Disk::new();
    let sessions = Sessions::new("unused".as_ref());
    let storage = Some(Arc::new(disk.clone()) as Arc<dyn herdbook_log::Storage>);
    let again = || Options { storage: storage.clone(), ..Options::of_session(NOW_MS) };
    let mut log = sessions.open("s-1", again()).unwrap().0;
    append(&mut log, vec![record(1)]).unwrap();
    // The writer is held inside an answer, so that it takes one of the next two after the other: both are long.
    let (release, held) = channel::<()>();
    let (inside, entered) = channel();
    log.append(Vec::new(), Durability::Written, move |_| {
        let _ = inside.send(());
        let _ = held.recv();
    });
    entered.recv().unwrap();
    disk.set(|faults| faults.panicking_writes = 1);
    let (sender, answers) = channel();
    for (number, seq) in [(2, 2), (3, 3)] {
        let records = vec![padded_record(number, 1 << 20)];
        assert_eq!(log.place(&records, Expected::After(seq - 1)).unwrap().seqs, [seq]);
        let sender = sender.clone();
        log.append(records, Durability::Written, move |answer| drop(sender.send(answer)));
    }
    release.send(()).unwrap();
    assert_eq!(answers.recv().unwrap(), Err(AppendError::Panicked));
    assert_eq!(answers.recv().unwrap(), Err(AppendError::Moved { next_seq: 2 }));
    log.close();
    let (mut log, opened) = sessions.open("s-1", again()).unwrap();
    assert_eq!(opened.last_seq, 1);
    assert_eq!(append(&mut log, vec![record(4)]).unwrap().first_seq, 2);
}

#[test]
fn a_part_that_is_there_is_gone_on_with_only_where_nothing_else_came_behind_it() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let mut log = open(&sessions, "s-1");
    append(&mut log, vec![record(1), record(2)]).unwrap();
    let both = [record(2), record(4)];
    assert_eq!(log.place(&both, Expected::After(1)).unwrap().seqs, [2, 3]);
    append(&mut log, vec![record(3)]).unwrap();
    assert_eq!(log.place(&both, Expected::After(1)), Err(Misplaced::WrongSeq { last_seq: 3 }));
    assert_eq!(log.place(&both, Expected::Any).unwrap().seqs, [2, 4]);
    assert_eq!(log.place(&[record(9)], Expected::After(u64::MAX)), Err(Misplaced::WrongSeq { last_seq: 3 }));
}

#[test]
fn ids_that_cannot_be_read_are_not_taken_for_new_ones() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let mut log = open(&sessions, "s-1");
    append(&mut log, (1..=3).map(record).collect()).unwrap();
    log.close();
    drop(log);
    let mut log = open(&sessions, "s-1");
    append(&mut log, vec![record(4)]).unwrap();
    // Nothing of the file can be opened, as when there are too many open files.
    let segment = log.folder().join("0000000001.jsonl");
    let aside = log.folder().join("aside");
    fs::rename(&segment, &aside).unwrap();
    let refused = log.place(&[record(2)], Expected::Any).unwrap_err();
    assert_eq!(refused, Misplaced::Unread("0 of its 3 lines could be read".to_owned()));
    fs::rename(&aside, &segment).unwrap();
    assert_eq!(log.place(&[record(2), record(4)], Expected::Any).unwrap().duplicates, [0, 1]);
}

#[test]
fn ids_that_are_not_in_the_file_yet_are_known() {
    let disk = Disk::new();
    let options = crate::session_damage::on(&disk, "s-1");
    let (mut log, _) = Sessions::new("unused".as_ref()).open("s-1", options).unwrap();
    append(&mut log, vec![record(1)]).unwrap();
    disk.set(|faults| faults.room = Some(0));
    log.append(vec![record(2)], Durability::Written, |_| {});
    // It waits for room: what it is can be compared only when it can be read.
    let unread = log.place(&[record(2)], Expected::Any).unwrap_err();
    assert_eq!(unread.to_string(), "the log could not be read: seq 2 is not written yet");
    disk.set(|faults| faults.room = None);
    append(&mut log, vec![record(3)]).unwrap();
    let placed = log.place(&[record(1), record(2), record(3), record(4)], Expected::After(0)).unwrap();
    assert_eq!((placed.seqs, placed.duplicates), (vec![1, 2, 3, 4], vec![0, 1, 2]));
}
