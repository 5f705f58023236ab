//! Compressed and rewritten segments: what is read, what a crash at each step leaves, what a hostile file can do.

#![expect(clippy::disallowed_methods, reason = "a test's own files, and zstdgrep")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use herdbook_log::{
    ClosedLogError, DamageKind, Durability, OldLine, OpenError, Options, Reader, Sessions, Storage, Store,
    compress, compress_in, rewrite, rewrite_closed, rewrite_in,
};

use crate::disk::{Disk, Random};
use crate::support::{NOW_MS, answer, append, padded_record, read_all, record, send, send_to, seqs};

fn session_options() -> Options {
    Options { session_id: "journal".to_owned(), ..Options::of_session(NOW_MS) }
}

/// A log of `lines` lines in segments of about 450 bytes, three lines; each line's text is its number.
fn log_in(dir: &Path, lines: u64) {
    let options = Options { segment_bytes: 450, ..session_options() };
    let (store, _) = Store::open(dir, options).unwrap();
    for number in 1..=lines {
        append(&store, [number], Durability::Written);
    }
    store.close();
}

/// The same on a simulated disk.
fn disk_with(lines: u64) -> Disk {
    let disk = Disk::new();
    let options = Options { segment_bytes: 450, storage: Some(Arc::new(disk.clone())), ..session_options() };
    let (store, _) = Store::open(Path::new(""), options).unwrap();
    for number in 1..=lines {
        append(&store, [number], Durability::Synced);
    }
    store.close();
    disk
}

/// A log of six lines can be opened and takes the next ones.
fn goes_on(disk: &Disk, next: u64) {
    let options = || Options { storage: Some(Arc::new(disk.clone())), ..session_options() };
    for number in [next, next + 1] {
        let (store, opened) = Store::open(Path::new(""), options()).unwrap();
        assert_eq!((opened.last_seq, opened.torn), (number - 1, vec![]));
        append(&store, [number], Durability::Synced);
        store.close();
    }
    assert_eq!(payloads(Arc::new(disk.clone())).len() as u64, next + 1);
}

fn payloads(storage: Arc<dyn Storage>) -> Vec<String> {
    let (lines, damage) = read_all(&mut Reader::with_storage(storage));
    assert_eq!(damage, []);
    lines.into_iter().map(|line| line.payload).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".jsonl") || name.contains(".carry"))
        .collect();
    names.sort();
    names
}

fn marked(old: &OldLine<'_>) -> Option<String> {
    old.payload.contains("\"n\":2,").then(|| r#"{"n":"mark"}"#.to_owned())
}

#[test]
fn a_compressed_log_reads_the_same_and_goes_on_in_a_plain_segment() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    log_in(&dir, 6);
    let before = read_all(&mut Reader::open(&dir)).0;
    assert_eq!(names(&dir), ["0000000001.jsonl", "0000000004.jsonl"]);
    let done = compress(&dir, NOW_MS).unwrap();
    assert_eq!(
        (done.segments, done.text_bytes),
        (2, before.iter().map(|line| line.raw.len() as u64 + 1).sum())
    );
    assert_eq!(names(&dir), ["0000000001.jsonl.zst", "0000000004.jsonl.zst"]);
    assert_eq!(compress(&dir, NOW_MS).unwrap().segments, 0);
    assert_eq!(read_all(&mut Reader::open(&dir)), (before.clone(), vec![]));
    assert_eq!(seqs(&read_all(&mut Reader::open_from(&dir, 5)).0), [5, 6]);
    // One who follows is told what comes after.
    let mut reader = Reader::open_from(&dir, 6);
    assert_eq!(seqs(&read_all(&mut reader).0), [6]);
    let (store, opened) = Store::open(&dir, session_options()).unwrap();
    assert_eq!((opened.last_seq, opened.damage, opened.torn), (6, vec![], vec![]));
    append(&store, [7], Durability::Synced);
    store.close();
    assert_eq!(names(&dir)[2], "0000000007.jsonl");
    assert_eq!(seqs(&read_all(&mut reader).0), [7]);
    assert_eq!(seqs(&read_all(&mut Reader::open(&dir)).0), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn zstdgrep_finds_a_line_and_each_frame_ends_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let (store, _) = Store::open(&dir, session_options()).unwrap();
    // Lines of 300 kB, and one that no frame holds.
    let mut records: Vec<_> = (1..=8).map(|number| padded_record(number, 300_000)).collect();
    records.push(padded_record(9, 2_500_000));
    answer(&send(&store, records, Durability::Synced)).unwrap();
    store.close();
    let plain = std::fs::read(dir.join("0000000001.jsonl")).unwrap();
    compress(&dir, NOW_MS).unwrap();
    let packed = std::fs::read(dir.join("0000000001.jsonl.zst")).unwrap();
    let (mut at, mut text) = (0, Vec::new());
    let mut lengths = Vec::new();
    while at < packed.len() {
        let size = zstd::zstd_safe::find_frame_compressed_size(&packed[at..]).unwrap();
        let frame = zstd::bulk::decompress(&packed[at..at + size], 1 << 20).unwrap();
        lengths.push(frame.iter().filter(|byte| **byte == b'\n').count());
        text.extend(frame);
        at += size;
    }
    assert!(text == plain);
    // Three lines of 300 kB fit; the last two go with nothing of the long one, which takes three frames and ends the last.
    assert_eq!(lengths, [3, 3, 2, 0, 0, 1]);
    assert_eq!(seqs(&read_all(&mut Reader::open(&dir)).0), (1..=9).collect::<Vec<u64>>());
    let mut grep = std::process::Command::new("zstdgrep");
    match grep.args(["-c", "\"seq\":7,"]).arg(dir.join("0000000001.jsonl.zst")).output() {
        Ok(found) => assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), "1"),
        Err(_) => {
            println!("skipped: the search in zstdgrep_finds_a_line_and_each_frame_ends_a_line: no zstdgrep")
        }
    }
}

#[test]
fn a_crash_at_any_step_of_compressing_leaves_all_lines() {
    let wanted = payloads(Arc::new(disk_with(6)));
    let mut steps = 0;
    loop {
        for (seed, is_kill) in (0..8).map(|seed| (seed, seed == 0)) {
            let disk = disk_with(6);
            disk.set(|faults| faults.steps = Some(steps));
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let done = compress_in(&storage);
            let after = if is_kill { disk.kill() } else { disk.crash(&mut Random(seed)) };
            assert_eq!(
                payloads(Arc::new(after.clone())),
                wanted,
                "step {steps}, seed {seed}: {:?}",
                after.names()
            );
            // And it is finished the next time.
            let storage: Arc<dyn Storage> = Arc::new(after.clone());
            compress_in(&storage).unwrap();
            assert_eq!(payloads(storage), wanted);
            let segments: Vec<String> =
                after.names().into_iter().filter(|name| name.contains(".jsonl")).collect();
            assert_eq!(segments, ["0000000001.jsonl.zst", "0000000004.jsonl.zst"]);
            goes_on(&after, 7);
            if is_kill && done.is_ok() {
                assert!(steps > 12, "{steps} steps are too few");
                return;
            }
        }
        steps += 1;
    }
}

#[test]
fn a_full_disk_is_not_made_fuller() {
    for room in [0, 1, 100, 200] {
        let disk = disk_with(6);
        disk.set(|faults| faults.room = Some(room));
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        assert!(matches!(compress_in(&storage), Err(ClosedLogError::Io { .. })), "{room}");
        assert!(matches!(rewrite_in(&storage, &mut marked), Err(ClosedLogError::Io { .. })), "{room}");
        let half: Vec<String> = disk.names().into_iter().filter(|name| name.ends_with(".tmp")).collect();
        assert_eq!(half, Vec::<String>::new(), "{room}");
        disk.set(|faults| faults.room = None);
        assert_eq!(payloads(storage).len(), 6);
    }
}

#[test]
fn a_stale_compressed_copy_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    log_in(&dir, 2);
    let plain = std::fs::read(dir.join("0000000001.jsonl")).unwrap();
    compress(&dir, NOW_MS).unwrap();
    // As after a crash before the plain file was removed, and an append since.
    std::fs::write(dir.join("0000000001.jsonl"), plain).unwrap();
    log_in(&dir, 1);
    assert_eq!(names(&dir), ["0000000001.jsonl", "0000000001.jsonl.zst"]);
    compress(&dir, NOW_MS).unwrap();
    assert_eq!(seqs(&read_all(&mut Reader::open(&dir)).0), [1, 2, 3]);
}

#[test]
fn what_is_not_whole_is_not_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    log_in(&dir, 2);
    let mut plain = std::fs::read(dir.join("0000000001.jsonl")).unwrap();
    plain.pop();
    std::fs::write(dir.join("0000000001.jsonl"), &plain).unwrap();
    assert!(matches!(compress(&dir, NOW_MS), Err(ClosedLogError::Torn { last_seq: 1 })));
    plain.push(b'\n');
    plain[40] ^= 1;
    std::fs::write(dir.join("0000000001.jsonl"), &plain).unwrap();
    assert!(matches!(compress(&dir, NOW_MS), Err(ClosedLogError::Damaged(damage)) if damage.seq == 1));
    assert_eq!(names(&dir), ["0000000001.jsonl"]);
}

#[test]
fn a_broken_frame_is_named_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    log_in(&dir, 6);
    compress(&dir, NOW_MS).unwrap();
    let path = dir.join("0000000001.jsonl.zst");
    let whole = std::fs::read(&path).unwrap();
    // One frame a line, so that there are some.
    let text = zstd::bulk::decompress(&whole, 1 << 20).unwrap();
    let frames: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(frame).collect();
    assert_eq!(frames.len(), 3);
    let second = frames[0].len();
    for at in 0..frames[1].len() {
        let mut packed = frames.concat();
        packed[second + at] ^= 0xff;
        std::fs::write(&path, &packed).unwrap();
        let (lines, damage) = read_all(&mut Reader::open(&dir));
        assert_eq!(seqs(&lines), [1, 3, 4, 5, 6], "byte {at}: {damage:?}");
        let place = format!("the compressed frame at byte {second} of 0000000001.jsonl.zst");
        assert!(
            matches!(&damage[0].kind, DamageKind::Unreadable(why) if why.starts_with(&place)),
            "byte {at}: {damage:?}"
        );
        assert_eq!((damage[0].seq, damage[0].line), (2, 2));
        // Opening to append sees the same where no index vouches for the segment.
        drop(std::fs::remove_file(dir.join("0000000001.idx")));
        match Store::open(&dir, session_options()) {
            Err(OpenError::Damaged { damage, .. }) => assert_eq!((damage[0].seq, damage[0].line), (2, 2)),
            other => panic!("byte {at}: {:?}", other.map(|(_, opened)| opened)),
        }
    }
}

fn frame(text: &[u8]) -> Vec<u8> {
    let mut packer = zstd::bulk::Compressor::new(3).unwrap();
    packer.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
    packer.compress(text).unwrap()
}

#[test]
fn what_claims_too_much_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_owned();
    let path = dir.join("0000000001.jsonl.zst");
    let too_large = frame(&vec![0; (1 << 20) + 1]);
    let mut packer = zstd::bulk::Compressor::new(3).unwrap();
    packer.set_parameter(zstd::zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
    let no_size = packer.compress(b"x\n").unwrap();
    // A window of 2 GiB in the header: 2^(10 + 21), and no text length.
    let window = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3][..], &[1, 0, 0]].concat();
    let cut = frame(b"some text of a line\n");
    for (what, bytes, words) in [
        ("text", too_large, "says that it has 1048577 bytes of text; 1 to 1048576 are read"),
        ("no size", no_size, "does not say how long its text is"),
        ("window", window, "does not say how long its text is"),
        ("cut", cut[..cut.len() - 1].to_vec(), "has no right end"),
        ("garbage", b"garbage".to_vec(), "does not begin as one"),
        ("nothing", Vec::new(), "is missing: the file is empty"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let (lines, damage) = read_all(&mut Reader::open(&dir));
        assert_eq!((lines.len(), damage.len()), (0, 1), "{what}");
        assert!(
            matches!(&damage[0].kind, DamageKind::Unreadable(why) if why.ends_with(words)),
            "{what}: {damage:?}"
        );
    }
    // Millions of frames of nothing: named a thousand times and no more.
    std::fs::write(&path, [0x28, 0xb5, 0x2f, 0xfd].repeat(1 << 20)).unwrap();
    assert_eq!(read_all(&mut Reader::open(&dir)).1.len(), 1001);
}

#[test]
fn a_rewritten_segment_keeps_its_places_and_its_neighbours() {
    for is_cold in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        log_in(&dir, 9);
        let before = read_all(&mut Reader::open(&dir)).0;
        if is_cold {
            compress(&dir, NOW_MS).unwrap();
        }
        let done = rewrite(&dir, NOW_MS, &mut marked).unwrap();
        assert_eq!((done.segments, done.lines), (vec!["0000000001.jsonl".to_owned()], 1));
        let (after, damage) = read_all(&mut Reader::open(&dir));
        assert_eq!(damage, []);
        assert_eq!(after[1].payload, r#"{"n":"mark"}"#);
        for (old, new) in before.iter().zip(&after) {
            let same = |line: &herdbook_log::Line| (line.seq, line.id.clone(), line.ts_ms, line.kind.clone());
            assert_eq!(same(old), same(new));
            assert_eq!(old.raw == new.raw, ![2, 3].contains(&old.seq), "line {}", old.seq);
        }
        // What the next segment continues is what line 3 ended with before.
        let carried = std::fs::read_to_string(dir.join("0000000001.carry")).unwrap();
        assert!(before[2].raw.ends_with(&format!("\"crc\":\"{}\"}}", carried.trim())));
        // Again, another line of the same segment: still the same.
        let mut again = |old: &OldLine<'_>| (old.seq == 3).then(|| "{}".to_owned());
        assert_eq!(rewrite(&dir, NOW_MS, &mut again).unwrap().lines, 1);
        assert_eq!(std::fs::read_to_string(dir.join("0000000001.carry")).unwrap(), carried);
        assert_eq!(read_all(&mut Reader::open(&dir)).1, []);
        // And the last segment, where what is appended goes on from the new chain.
        let mut last = |old: &OldLine<'_>| (old.seq == 8).then(|| "{}".to_owned());
        assert_eq!(rewrite(&dir, NOW_MS, &mut last).unwrap().segments, ["0000000007.jsonl"]);
        log_in(&dir, 1);
        let (lines, damage) = read_all(&mut Reader::open(&dir));
        assert_eq!((lines.len(), damage), (10, vec![]));
    }
}

#[test]
fn a_crash_at_any_step_of_rewriting_leaves_a_whole_log() {
    let old = payloads(Arc::new(disk_with(6)));
    let mut new = old.clone();
    new[1] = r#"{"n":"mark"}"#.to_owned();
    let mut steps = 0;
    loop {
        for seed in 0..8 {
            let disk = disk_with(6);
            disk.set(|faults| faults.steps = Some(steps));
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let done = rewrite_in(&storage, &mut marked);
            let after = if seed == 0 { disk.kill() } else { disk.crash(&mut Random(seed)) };
            let read = payloads(Arc::new(after.clone()));
            assert!(read == old || read == new, "step {steps}, seed {seed}: {read:?}");
            assert!(done.is_err() || read == new);
            let storage: Arc<dyn Storage> = Arc::new(after.clone());
            rewrite_in(&storage, &mut marked).unwrap();
            assert_eq!(payloads(storage), new);
            goes_on(&after, 7);
            if seed == 0 && done.is_ok() {
                assert!(steps > 6, "{steps} steps are too few");
                return;
            }
        }
        steps += 1;
    }
}

#[test]
fn the_segment_that_is_written_to_is_never_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    log_in(&dir, 9);
    // A new segment was made, and the writer that was to go on in it was killed: the next one goes on behind line 9.
    std::fs::File::create_new(dir.join("0000000010.jsonl")).unwrap();
    let mut asked = Vec::new();
    let mut wanted = |segment: &herdbook_log::ClosedSegment| {
        asked.push((segment.last_seq, segment.newest_ts_ms));
        true
    };
    let mut all = |_: &OldLine<'_>| Some("{}".to_owned());
    let done = rewrite_closed(&dir, &mut wanted, &mut all).unwrap();
    assert_eq!(done.segments, ["0000000001.jsonl", "0000000004.jsonl"]);
    assert_eq!(asked, [(3, NOW_MS + 3), (6, NOW_MS + 6)]);
    let (lines, damage) = read_all(&mut Reader::open(&dir));
    assert_eq!(damage, []);
    assert_eq!(lines.iter().filter(|line| line.payload == "{}").count(), 6);
    // The journal, which is opened in another way, goes on behind it too.
    let options = Options { lock: None, ..Options::new("journal", &dir, NOW_MS) };
    let (store, opened) = Store::open(&dir, options).unwrap();
    assert_eq!((opened.last_seq, opened.damage, opened.torn), (9, vec![], vec![]));
    append(&store, [10], Durability::Synced);
    store.close();
    let (lines, damage) = read_all(&mut Reader::open(&dir));
    assert_eq!((lines.len(), damage), (10, vec![]));
}

#[test]
fn whatever_is_done_to_a_compressed_file_no_wrong_line_is_read() {
    let plain = disk_with(3).content("0000000001.jsonl").unwrap();
    let frames: Vec<Vec<u8>> = plain.split_inclusive(|byte| *byte == b'\n').map(frame).collect();
    let original: Vec<&str> = std::str::from_utf8(&plain).unwrap().lines().collect();
    let mut random = Random(7);
    let mut silent = 0;
    for round in 0..4_000 {
        let mut packed = frames.concat();
        for _ in 0..=random.below(3) {
            let length = packed.len() as u64;
            if length == 0 {
                break;
            }
            let at = random.below(length) as usize;
            let end = at + random.below(length - at as u64 + 1) as usize;
            match random.below(5) {
                0 => packed.truncate(at),
                1 => drop(packed.drain(at..end)),
                2 => packed.extend_from_within(at..end),
                3 => packed[at] = random.below(256) as u8,
                _ => packed[at] ^= 1 << random.below(8),
            }
        }
        let disk = Disk::new();
        disk.put("0000000001.jsonl.zst", &packed);
        let (lines, damage) = read_all(&mut Reader::with_storage(Arc::new(disk)));
        for line in &lines {
            assert_eq!(line.raw, original[line.seq as usize - 1], "round {round}");
        }
        assert!(lines.windows(2).all(|pair| pair[0].seq < pair[1].seq), "round {round}");
        // Only whole frames at the end can go without a trace.
        if damage.is_empty() {
            let all: Vec<u64> = (1..=lines.len() as u64).collect();
            assert!(!lines.is_empty() && seqs(&lines) == all, "round {round}");
            silent += 1;
        }
    }
    assert!(silent < 400, "{silent} changes were not noticed");
}

/// How often the session is opened.
const ROUNDS: u64 = 40;

/// Says that it is over when it is dropped, also by a thread that fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Reads what there is more; each line has to be the next one.
fn read_next(reader: &mut Reader, last_seq: &mut u64) {
    for item in reader {
        let line = item.unwrap_or_else(|damage| panic!("after seq {last_seq}: {damage:?}"));
        assert_eq!(line.seq, *last_seq + 1);
        *last_seq = line.seq;
    }
}

#[test]
fn readers_reach_the_end_while_a_session_is_opened_and_compressed_again_and_again() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let folder = sessions.folder("s-1");
    let (over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let (over, written, folder) = (&over, &written, &folder);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _over = Over(over);
            let mut seq = 0;
            for _ in 0..ROUNDS {
                let mut log = loop {
                    assert!(!over.load(Ordering::SeqCst), "another thread failed");
                    match sessions.open("s-1", session_options()) {
                        Ok((log, opened)) => {
                            assert_eq!((opened.last_seq, opened.torn), (seq, vec![]));
                            break log;
                        }
                        Err(OpenError::Locked { .. }) => std::thread::yield_now(),
                        Err(error) => panic!("after seq {seq}: {error:?}"),
                    }
                };
                for _ in 0..3 {
                    answer(&send_to(&mut log, vec![record(seq + 1)], Durability::Written)).unwrap();
                    seq += 1;
                    written.store(seq, Ordering::SeqCst);
                }
                log.close();
            }
        });
        scope.spawn(move || {
            let _over = Over(over);
            while !over.load(Ordering::SeqCst) {
                match compress(folder, NOW_MS) {
                    Ok(_) | Err(ClosedLogError::Open { .. }) => {}
                    // Its folder is not made yet.
                    Err(ClosedLogError::Io { .. }) if written.load(Ordering::SeqCst) == 0 => {}
                    Err(error) => panic!("{error:?}"),
                }
                std::thread::yield_now();
            }
        });
        scope.spawn(move || {
            let _over = Over(over);
            let mut follower = Reader::open(folder);
            let mut followed = 0;
            loop {
                let is_over = over.load(Ordering::SeqCst);
                let least = written.load(Ordering::SeqCst);
                let mut all = 0;
                read_next(&mut Reader::open(folder), &mut all);
                read_next(&mut follower, &mut followed);
                assert!(all >= least && followed >= least, "{all} and {followed} of {least}");
                if is_over {
                    break;
                }
            }
        });
    });
    assert_eq!(seqs(&read_all(&mut Reader::open(folder)).0), (1..=3 * ROUNDS).collect::<Vec<u64>>());
}
