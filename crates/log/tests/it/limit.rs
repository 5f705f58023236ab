//! The kernel's file size limit, as `ulimit -f` sets it: a real short write, a real EFBIG, and SIGXFSZ.
//!
//! The limit belongs to a whole process, so the test runs itself again as a child that plays the writer.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use herdbook_log::{AppendError, Durability, Lost, NewRecord, Options, Reader, Store};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::{NOW_MS, answer, append, options, padded_record, read_all, send, seqs, until};

/// Set for the child: the folder of its log.
const DIR: &str = "HERDBOOK_TEST_LOG_DIR";
/// Set for the child: it does without [`herdbook_log::ignore_sigxfsz`].
const UNPROTECTED: &str = "HERDBOOK_TEST_LOG_UNPROTECTED";

const LIMIT_BYTES: u64 = 65_536;

fn limit_file_size(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the child needs a process of its own for the limit")]
fn run_child(dir: &Path, unprotected: bool) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "limit::a_file_size_limit_is_a_full_disk"]);
    child.env(DIR, dir).stdout(Stdio::null()).stderr(Stdio::null());
    if unprotected {
        child.env(UNPROTECTED, "1");
    }
    child.status().unwrap()
}

#[test]
fn a_file_size_limit_is_a_full_disk() {
    #[expect(clippy::disallowed_methods, reason = "tells the child that it is one")]
    let (dir, unprotected) = (std::env::var_os(DIR), std::env::var_os(UNPROTECTED).is_some());
    if let Some(dir) = dir {
        if !unprotected {
            herdbook_log::ignore_sigxfsz().unwrap();
        }
        return write_beyond_the_limit(dir.as_ref());
    }

    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let status = run_child(&dir, false);
    assert!(status.success(), "the child says {status}");
    let (lines, damage) = read_all(&mut Reader::open(&dir));
    assert_eq!((seqs(&lines), damage), ((1..=lines.len() as u64).collect(), vec![]));
    // Some 60 records fit below the limit and 4 more into memory; the rest of 70 is owned up to, and one came later.
    let gap = lines.iter().find(|line| line.kind == "gap").unwrap();
    assert_eq!(lines.iter().filter(|line| line.kind == "hook").count() + lost_of(&gap.payload), 71);
    assert!(lines.len() > 60 && std::fs::metadata(dir.join("0000000001.jsonl")).unwrap().len() > LIMIT_BYTES);

    // Without the handler the same write kills the process: the signal is real.
    let status = run_child(&scratch.path().join("other"), true);
    assert_eq!(status.signal(), Some(25), "SIGXFSZ; the child says {status}");
}

fn lost_of(payload: &str) -> usize {
    payload.strip_prefix(r#"{"lost":"#).unwrap().strip_suffix('}').unwrap().parse().unwrap()
}

fn write_beyond_the_limit(dir: &Path) {
    let gap = |lost: &Lost| NewRecord {
        id: "gap".to_owned(),
        ts_ms: NOW_MS,
        kind: "gap".to_owned(),
        payload: format!(r#"{{"lost":{}}}"#, lost.records),
    };
    let pending_bytes = 5000;
    let options = Options { gap: Some(Box::new(gap)), pending_bytes, ..options(dir) };
    let (store, _) = Store::open(dir, options).unwrap();
    limit_file_size(Some(LIMIT_BYTES));
    // One after the other, until one is not answered because it does not fit.
    let mut number = 0;
    let mut waiting = Vec::new();
    while store.health().error.is_none() {
        number += 1;
        assert!(number < 70, "the limit was never met");
        let receiver = send(&store, vec![padded_record(number, 940)], Durability::Written);
        let mut answered = false;
        until("written, or said why not", || {
            answered = receiver.try_recv().is_ok();
            answered || store.health().error.is_some()
        });
        if !answered {
            waiting.push(receiver);
        }
    }
    let records =
        (number + 1..=70).map(|number| send(&store, vec![padded_record(number, 940)], Durability::Synced));
    waiting.extend(records);
    let full = waiting.pop().unwrap();
    assert!(matches!(answer(&full), Err(AppendError::Full { .. })));
    let error = store.health().error.unwrap();
    assert!(error.starts_with("could not write 0000000001.jsonl: File too large"), "{error}");
    let content = std::fs::read(dir.join("0000000001.jsonl")).unwrap();
    assert!(content.len() as u64 <= LIMIT_BYTES && content.ends_with(b"}\n"));
    limit_file_size(None);
    until("there is room again", || store.health().error.is_none());
    append(&store, [71], Durability::Synced);
    assert!(store.health().lost > 0);
}
