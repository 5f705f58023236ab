//! Real disks that others fill: what waits for room, and what was reserved before.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, UNIX_EPOCH};

use herdbook_log::{Durability, Reader, Sessions};
use rustix::fs::{FallocateFlags, fallocate};

use crate::sessions::{append, open};
use crate::support::{padded_record, read_all, record, seqs, until};

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

/// Set for the child: it has a small disk at this folder.
const SMALL_DISK: &str = "HERDBOOK_TEST_LOG_SMALL_DISK";

/// Runs a test of this file with a disk of its own, of so many MiB, where that may be made.
#[expect(clippy::disallowed_methods, reason = "this very program, once more, with a disk of its own")]
fn on_a_small_disk(name: &str, mebibytes: u32, test: fn(&Path)) {
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        return test(disk.as_ref());
    }
    let scratch = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size={mebibytes}m,mode=700 tmpfs \"$0\" && exec \"$@\"");
    let run = |program: &Path, arguments: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        command.arg(scratch.path()).arg(program).args(arguments).env(SMALL_DISK, scratch.path()).output()
    };
    if !run("true".as_ref(), &[]).is_ok_and(|output| output.status.success()) {
        println!("skipped: {name}: no mounts of our own here");
        return;
    }
    let name = format!("full::{name}");
    let output = run(&std::env::current_exe().unwrap(), &["--exact", &name, "--nocapture"]).unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_session_waits_for_room_on_a_full_disk_and_loses_nothing() {
    on_a_small_disk("a_session_waits_for_room_on_a_full_disk_and_loses_nothing", 1, |disk| {
        let sessions = Sessions::new(disk);
        let mut log = open(&sessions, "s-1");
        append(&mut log, (1..=10).map(record).collect()).unwrap();
        let ballast = Ballast::fill(disk);
        // The last page has room yet; then an append waits, and says why.
        let mut number = 10;
        let (sender, receiver) = channel();
        while log.health().error.is_none() {
            number += 1;
            let sender = sender.clone();
            let records = vec![padded_record(number, 1000)];
            log.append(records, Durability::Synced, move |answer| drop(sender.send(answer)));
            let mut answered = false;
            until("written, or said why not", || {
                answered |= receiver.try_recv().is_ok_and(|answer| answer.is_ok());
                answered || log.health().error.is_some()
            });
            assert!(number < 100, "the disk is full");
        }
        let error = log.health().error.unwrap();
        let why = "could not write 0000000001.jsonl: No space left on device";
        assert!(error.starts_with(why), "{error}");
        // No half line is left where others read.
        assert_eq!(seqs(&read_all(&mut Reader::open(log.folder())).0), (1..number).collect::<Vec<_>>());
        let text = fs::read_to_string(log.folder().join("0000000001.jsonl")).unwrap();
        assert!(text.ends_with("}\n"));
        drop(ballast);
        until("there is room again", || log.health().error.is_none());
        append(&mut log, vec![record(number + 1)]).unwrap();
        log.close();
        let log = open(&sessions, "s-1");
        assert_eq!(log.last_seq(), number + 1);
        let (lines, damage) = read_all(&mut Reader::open(log.folder()));
        assert_eq!((seqs(&lines), damage), ((1..=number + 1).collect(), vec![]));
    });
}

/// What a file takes on the disk, in KiB, beyond its bytes; of tmpfs, which has pages of 4 KiB.
fn reserved_kib(file: &Path) -> u64 {
    let found = fs::metadata(file).unwrap();
    (found.blocks() * 512 - found.len().next_multiple_of(4096)) / 1024
}

#[test]
fn an_open_session_has_room_of_its_own_on_a_disk_that_others_fill_and_gives_it_back() {
    let name = "an_open_session_has_room_of_its_own_on_a_disk_that_others_fill_and_gives_it_back";
    on_a_small_disk(name, 4, |disk| {
        let sessions = Sessions::new(disk);
        let mut log = open(&sessions, "s-1");
        append(&mut log, (1..=3).map(record).collect()).unwrap();
        let segment = log.folder().join("0000000001.jsonl");
        assert_eq!(reserved_kib(&segment), 1024 - 4);
        let ballast = Ballast::fill(disk);
        for number in 4..=900 {
            append(&mut log, vec![padded_record(number, 1000)]).unwrap();
        }
        assert_eq!(log.health().error, None);
        log.close();
        assert_eq!(reserved_kib(&segment), 0);

        // A writer that was killed gave nothing back: the next one does.
        drop(ballast);
        let length = fs::metadata(&segment).unwrap().len();
        let file = File::options().append(true).open(&segment).unwrap();
        fallocate(&file, FallocateFlags::KEEP_SIZE, length, 1 << 20).unwrap();
        assert!(reserved_kib(&segment) >= 1020);
        // What is known of the log by the time of its files stays known.
        let written = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        file.set_modified(written).unwrap();
        let log = open(&sessions, "s-1");
        assert_eq!((log.last_seq(), reserved_kib(&segment)), (900, 0));
        assert_eq!(fs::metadata(&segment).unwrap().modified().unwrap(), written);
        log.close();
        assert_eq!(seqs(&read_all(&mut Reader::open(log.folder())).0), (1..=900).collect::<Vec<_>>());
    });
}

#[test]
fn a_segment_that_is_left_gives_back_what_it_did_not_use() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let mut options = herdbook_log::Options::of_session(crate::support::NOW_MS);
    options.segment_bytes = 2000;
    let (mut log, _) = sessions.open("s-1", options).unwrap();
    for number in 1..=3 {
        append(&mut log, vec![padded_record(number, 1000)]).unwrap();
    }
    let blocks = |name: &str| fs::metadata(log.folder().join(name)).unwrap().blocks() * 512;
    assert!(blocks("0000000001.jsonl") <= 8192);
    assert!(blocks("0000000002.jsonl") <= 8192);
}
