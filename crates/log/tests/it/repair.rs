//! Damaged logs: what a compressed copy gives back, and how a session goes on under a new key.

#![expect(clippy::disallowed_methods, reason = "a test's own files")]

use std::path::Path;
use std::sync::Arc;

use herdbook_log::{
    Durability, NewRecord, Options, Reader, RepairError, Sessions, Storage, compress, continue_as, glance,
    has_bytes, look, repair, repair_in, scrub,
};

use crate::disk::{Disk, Random};
use crate::support::{NOW_MS, answer, lines_of, read_all, record, send_to, seqs};

const SEGMENT: &str = "0000000001.jsonl";

/// Sessions with the log of `s-1`: six lines, three a segment, and the plain first segment beside its compressed copy.
fn sessions(state: &Path) -> Sessions {
    let sessions = Sessions::new(state);
    let options = Options { segment_bytes: 450, ..Options::of_session(NOW_MS) };
    let (mut log, _) = sessions.open("s-1", options).unwrap();
    for number in 1..=6 {
        append(&mut log, record(number));
    }
    log.close();
    drop(log);
    let folder = sessions.folder("s-1");
    let plain = std::fs::read(folder.join(SEGMENT)).unwrap();
    compress(&folder, NOW_MS).unwrap();
    std::fs::write(folder.join(SEGMENT), plain).unwrap();
    sessions
}

fn append(log: &mut herdbook_log::SessionLog, record: NewRecord) {
    answer(&send_to(log, vec![record], Durability::Synced)).unwrap();
}

#[test]
fn damaged_lines_are_taken_from_the_copy_and_the_damaged_bytes_are_kept() {
    let state = tempfile::tempdir().unwrap();
    let sessions = sessions(state.path());
    let folder = sessions.folder("s-1");
    let path = folder.join(SEGMENT);
    let whole = std::fs::read(&path).unwrap();
    let [first, second, third] = &lines_of(&whole)[..] else { panic!("three lines") };
    let flipped = |at: usize| {
        let mut line = second.clone();
        line[at] ^= 1;
        line
    };
    for (what, damaged, from_copy) in [
        ("a flipped bit in the payload", [first.clone(), flipped(120), third.clone()].concat(), 1),
        ("a flipped bit in the seq", [first.clone(), flipped(75), third.clone()].concat(), 1),
        ("a flipped bit in the crc", [first.clone(), flipped(second.len() - 5), third.clone()].concat(), 1),
        ("a lost line", [first.clone(), third.clone()].concat(), 1),
        ("zero bytes", [first.clone(), vec![0; second.len() + third.len()]].concat(), 2),
        ("a line put in", [first.clone(), third.clone(), second.clone(), third.clone()].concat(), 0),
    ] {
        std::fs::write(&path, &damaged).unwrap();
        let found = look(&folder).unwrap();
        assert_eq!((found.readable_to, found.mended.len()), (1, 1), "{what}");
        assert_eq!((found.mended[0].lines, &found.mended[0].kept), (from_copy, &None), "{what}");
        assert!(std::fs::read(&path).unwrap() == damaged, "a look changes nothing");
        let done = repair(&folder, NOW_MS).unwrap();
        assert_eq!((done.damage, done.left), (found.damage, vec![]), "{what}");
        assert!(std::fs::read(&path).unwrap() == whole, "{what}");
        let kept = done.mended[0].kept.clone().unwrap();
        assert!(kept.starts_with("0000000001.damaged-1767225603000"), "{kept}");
        assert!(std::fs::read(folder.join(kept)).unwrap() == damaged, "{what}");
        assert_eq!(repair(&folder, NOW_MS).unwrap().mended, []);
        assert_eq!(sessions.open("s-1", Options::of_session(NOW_MS)).unwrap().1.last_seq, 6, "{what}");
    }
}

#[test]
fn a_copy_that_does_not_have_all_gives_nothing_back() {
    let state = tempfile::tempdir().unwrap();
    let sessions = sessions(state.path());
    let folder = sessions.folder("s-1");
    let path = folder.join(SEGMENT);
    let whole = std::fs::read(&path).unwrap();
    let parts = lines_of(&whole);
    let copy = |text: &[u8]| {
        std::fs::write(folder.join("0000000001.jsonl.zst"), zstd::bulk::compress(text, 3).unwrap()).unwrap();
    };
    // The second line is damaged in both; then the copy ends before it; then it is another log's.
    let mut damaged = whole.clone();
    damaged[parts[0].len() + 120] ^= 1;
    let other = String::from_utf8(whole.clone()).unwrap().replace("s-1", "s-2");
    for text in [&damaged[..], &parts[0], other.as_bytes()] {
        copy(text);
        std::fs::write(&path, &damaged).unwrap();
        let done = repair(&folder, NOW_MS).unwrap();
        assert_eq!((done.mended.len(), done.left.len()), (0, 1));
        assert!(std::fs::read(&path).unwrap() == damaged);
    }
    // Damage behind the end of the copy, in the last segment.
    std::fs::write(&path, &whole).unwrap();
    let last = folder.join("0000000004.jsonl");
    let packed = std::fs::read(folder.join("0000000004.jsonl.zst")).unwrap();
    let text = zstd::bulk::decompress(&packed, 1 << 20).unwrap();
    let parts = lines_of(&text);
    let cut = zstd::bulk::compress(&parts[..2].concat(), 3).unwrap();
    std::fs::write(folder.join("0000000004.jsonl.zst"), cut).unwrap();
    std::fs::write(&last, [&parts[0][..], b"?\n", &parts[2][..].replace(b"\"n\":6", b"\"n\":7")].concat())
        .unwrap();
    assert_eq!(repair(&folder, NOW_MS).unwrap().mended, []);
    std::fs::write(&last, [&parts[0][..], b"?\n", &parts[2][..]].concat()).unwrap();
    assert_eq!(repair(&folder, NOW_MS).unwrap().mended[0].lines, 1);
    assert_eq!(seqs(&read_all(&mut Reader::open(&folder)).0), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_copy_with_more_lines_than_are_left_gives_all_of_them_back() {
    let state = tempfile::tempdir().unwrap();
    let sessions = sessions(state.path());
    let folder = sessions.folder("s-1");
    let last = folder.join("0000000004.jsonl");
    let packed = std::fs::read(folder.join("0000000004.jsonl.zst")).unwrap();
    let whole = zstd::bulk::decompress(&packed, 1 << 20).unwrap();
    // The disk kept the first line, and gave other bytes for the two behind it.
    std::fs::write(&last, [&lines_of(&whole)[0][..], b"what is this\n"].concat()).unwrap();
    let done = repair(&folder, NOW_MS).unwrap();
    assert_eq!((done.mended[0].lines, done.left), (2, vec![]));
    assert!(std::fs::read(&last).unwrap() == whole);
}

#[test]
fn a_scrub_leaves_no_compressed_copy_beside_a_plain_file() {
    let state = tempfile::tempdir().unwrap();
    let sessions = sessions(state.path());
    let folder = sessions.folder("s-1");
    let copy = folder.join("0000000001.jsonl.zst");
    std::fs::write(&copy, zstd::bulk::compress(b"of another time: the secret\n", 3).unwrap()).unwrap();
    let done = scrub(&folder, NOW_MS, &mut |_| None, &|_| None).unwrap();
    assert_eq!(done.lines.lines, 0);
    assert!(!copy.exists() && folder.join(SEGMENT).exists() && folder.join("0000000004.jsonl.zst").exists());
    assert_eq!(seqs(&read_all(&mut Reader::open(&folder)).0), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn bytes_are_found_in_plain_compressed_damaged_and_kept_lines() {
    let state = tempfile::tempdir().unwrap();
    let sessions = sessions(state.path());
    let folder = sessions.folder("s-1");
    std::fs::write(folder.join("0000000004.torn-5"), b"cut off").unwrap();
    let path = folder.join(SEGMENT);
    let damaged = std::fs::read(&path).unwrap().replace(b"hook", b"h00k");
    std::fs::write(&path, damaged).unwrap();
    let has = |wanted: &str| {
        let has_it = |bytes: &[u8]| bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes());
        has_bytes(&folder, &has_it).unwrap()
    };
    // The second segment is compressed.
    for (wanted, is_there) in
        [(r#""seq":2"#, true), ("h00k", true), (r#""seq":6"#, true), ("cut off", true), (r#""seq":7"#, false)]
    {
        assert_eq!(has(wanted), is_there, "{wanted}");
    }
}

/// Bytes with one part replaced by another.
trait Replace {
    fn replace(&self, from: &[u8], to: &[u8]) -> Vec<u8>;
}

impl Replace for [u8] {
    fn replace(&self, from: &[u8], to: &[u8]) -> Vec<u8> {
        let text = String::from_utf8(self.to_vec()).unwrap();
        text.replacen(std::str::from_utf8(from).unwrap(), std::str::from_utf8(to).unwrap(), 1).into_bytes()
    }
}

#[test]
fn a_crash_at_any_step_of_a_repair_loses_no_line() {
    let state = tempfile::tempdir().unwrap();
    let folder = sessions(state.path()).folder("s-1");
    let mut damaged = std::fs::read(folder.join(SEGMENT)).unwrap();
    damaged[300] ^= 1;
    let mut steps = 0;
    loop {
        for seed in 0..8 {
            let disk = Disk::new();
            for name in ["0000000001.jsonl.zst", "0000000004.jsonl.zst"] {
                disk.put(name, &std::fs::read(folder.join(name)).unwrap());
            }
            disk.put(SEGMENT, &damaged);
            disk.set(|faults| faults.steps = Some(steps));
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let done = repair_in(&storage, NOW_MS);
            let after = if seed == 0 { disk.kill() } else { disk.crash(&mut Random(seed)) };
            let storage: Arc<dyn Storage> = Arc::new(after.clone());
            let (lines, damage) = read_all(&mut Reader::with_storage(Arc::clone(&storage)));
            assert!(lines.len() == 6 && damage.is_empty() || lines.len() == 5, "step {steps}, seed {seed}");
            assert_eq!(repair_in(&storage, NOW_MS).unwrap().left, []);
            assert_eq!(seqs(&read_all(&mut Reader::with_storage(storage)).0), [1, 2, 3, 4, 5, 6]);
            let kept = after.names().into_iter().find(|name| name.starts_with("0000000001.damaged-"));
            let kept = kept.filter(|name| !name.ends_with(".tmp")).and_then(|name| after.content(&name));
            assert!(kept == Some(damaged.clone()), "step {steps}, seed {seed}");
            if seed == 0 && done.is_ok() {
                assert!(steps > 8, "{steps} steps are too few");
                return;
            }
        }
        steps += 1;
    }
}

#[test]
fn a_session_goes_on_under_a_new_key_with_what_can_be_read() {
    let state = tempfile::tempdir().unwrap();
    let sessions = sessions(state.path());
    let folder = sessions.folder("s-1");
    let refused = continue_as(&sessions, "s-1", "s-2", NOW_MS);
    assert!(matches!(refused, Err(RepairError::NotDamaged { key }) if key == "s-1"));
    std::fs::remove_file(folder.join("0000000004.jsonl.zst")).unwrap();
    let packed = std::fs::read(folder.join("0000000001.jsonl.zst")).unwrap();
    std::fs::remove_file(folder.join("0000000001.jsonl.zst")).unwrap();
    let damaged = zstd::bulk::decompress(&packed, 1 << 20).unwrap().replace(b"\"n\":3", b"\"n\":7");
    std::fs::write(folder.join(SEGMENT), &damaged).unwrap();
    let before = std::fs::read_dir(&folder).unwrap().count();

    assert_eq!(continue_as(&sessions, "s-1", "s-2", NOW_MS).unwrap().to_seq, 2);
    let (old, new) = (sessions.folder("s-1"), sessions.folder("s-2"));
    let (lines, damage) = read_all(&mut Reader::open(&new));
    assert_eq!(damage, []);
    for (new, old) in lines.iter().zip(read_all(&mut Reader::open(&old)).0) {
        assert_eq!((new.seq, &new.id, new.ts_ms, &new.payload), (old.seq, &old.id, old.ts_ms, &old.payload));
        assert!(new.raw.contains(r#""sessionId":"s-2","seq":"#));
    }
    assert_eq!(seqs(&lines), [1, 2]);
    let link = std::fs::read_to_string(new.join("link.json")).unwrap();
    assert_eq!(
        link,
        "{\"continues\":\"s-1\",\"toSeq\":2,\"damage\":\"0000000001.jsonl line 3 (seq 3): the checksum does not fit\"}\n"
    );
    assert!(std::fs::read(folder.join(SEGMENT)).unwrap() == damaged);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), before);
    // Again, as after a crash: it is done. Another session is not written into.
    assert_eq!(continue_as(&sessions, "s-1", "s-2", NOW_MS).unwrap().to_seq, 2);
    let (mut log, _) = sessions.open("s-3", Options::of_session(NOW_MS)).unwrap();
    append(&mut log, record(1));
    log.close();
    let refused = continue_as(&sessions, "s-1", "s-3", NOW_MS);
    assert!(matches!(refused, Err(RepairError::Taken { key }) if key == "s-3"));
}

#[test]
fn a_lost_end_is_named_wherever_the_log_is_looked_at_and_another_session_goes_on_before_it() {
    for (what, change) in [
        (
            "the last line feed was flipped",
            (|text: &mut Vec<u8>| *text.last_mut().unwrap() ^= 1) as fn(&mut Vec<u8>),
        ),
        ("the last two bytes were cut off", |text| text.truncate(text.len() - 2)),
        ("the last line was cut off", |text| {
            let length = text.len() - lines_of(text).last().unwrap().len();
            text.truncate(length);
        }),
    ] {
        let state = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(state.path());
        let (mut log, _) = sessions.open("s-1", Options::of_session(NOW_MS)).unwrap();
        for number in 1..=3 {
            append(&mut log, record(number));
        }
        log.close();
        drop(log);
        let folder = sessions.folder("s-1");
        assert!(look(&folder).unwrap().damage.is_empty() && !glance(&folder).unwrap().is_damaged);
        let whole = std::fs::read(folder.join(SEGMENT)).unwrap();
        // Only the line feed is missing: the line is there, and comes back when the log is opened.
        std::fs::write(folder.join(SEGMENT), &whole[..whole.len() - 1]).unwrap();
        assert!(look(&folder).unwrap().damage.is_empty() && !glance(&folder).unwrap().is_damaged);
        let mut text = whole;
        change(&mut text);
        std::fs::write(folder.join(SEGMENT), &text).unwrap();
        assert!(sessions.open("s-1", Options::of_session(NOW_MS)).is_err(), "{what}");
        let found = look(&folder).unwrap();
        let words: Vec<String> = found.damage.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["0000000001.jsonl line 3 (seq 3): this record was kept and is lost"], "{what}");
        assert_eq!(found.readable_to, 2, "{what}");
        let seen = glance(&folder).unwrap();
        assert_eq!((seen.last_seq, seen.is_damaged), (2, true), "{what}");
        assert_eq!(repair(&folder, NOW_MS).unwrap().left, found.damage, "{what}");
        assert_eq!(continue_as(&sessions, "s-1", "s-2", NOW_MS).unwrap().to_seq, 2, "{what}");
        assert!(std::fs::read(folder.join(SEGMENT)).unwrap() == text, "{what}");
    }
}
