//! A session's log of 50 lines, cut at every byte, with every bit flipped, lines swapped, dropped, repeated and pasted
//! from another log; each with its index, without it, and with a wrong one. Either the right lines before the change are
//! recovered, and what was cut off the end is told and kept, or the damage is named at its seq and nothing is touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use herdbook_log::{Durability, NewRecord, OnDamage, OpenError, Options, Reader, Store};

use crate::disk::{Disk, Random};
use crate::support::{NOW_MS, answer, crc_of, lines_of, read_all, sealed, send, seqs, slow};

const LINES: u64 = 50;
const SEGMENT: &str = "0000000001.jsonl";
const INDEX: &str = "0000000001.idx";

pub fn on(disk: &Disk, session: &str) -> Options {
    Options {
        session_id: session.to_owned(),
        storage: Some(Arc::new(disk.clone())),
        ..Options::of_session(NOW_MS)
    }
}

fn short_record(number: u64) -> NewRecord {
    NewRecord {
        id: format!("r{number:02}"),
        ts_ms: NOW_MS,
        kind: "note".to_owned(),
        payload: format!(r#"{{"n":{number}}}"#),
    }
}

/// A log and its index.
#[derive(Clone)]
struct Log {
    lines: Vec<Vec<u8>>,
    index: Vec<u8>,
}

impl Log {
    /// Writes the records in two appends, the second of which is only as durable as is said.
    fn of(session: &str, records: Vec<NewRecord>, first: usize, rest: Durability) -> Log {
        let disk = Disk::new();
        let options = Options { sync_within: None, ..on(&disk, session) };
        let (store, _) = Store::open("unused".as_ref(), options).unwrap();
        let (synced, written) = records.split_at(first);
        answer(&send(&store, synced.to_vec(), Durability::Synced)).unwrap();
        answer(&send(&store, written.to_vec(), rest)).unwrap();
        if rest == Durability::Synced {
            store.close();
        } else {
            // The process is killed: what it had not synced stays above the watermark.
            disk.kill();
        }
        Log { lines: lines_of(&disk.content(SEGMENT).unwrap()), index: disk.content(INDEX).unwrap() }
    }

    fn short(session: &str) -> Log {
        Log::of(session, (1..=LINES).map(short_record).collect(), 10, Durability::Synced)
    }
}

/// The indexes that a log is opened with: its own, none, and wrong ones.
fn indexes(own: &Log) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let mut flipped = own.index.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    let other = |number: u64| NewRecord { id: format!("f{number:02}"), ..short_record(number) };
    let foreign = Log::of("s-1", (1..=LINES).map(other).collect(), 10, Durability::Synced);
    let mut random = Random(1);
    vec![
        ("own", Some(own.index.clone())),
        ("no", None),
        ("a flipped", Some(flipped)),
        ("half an", Some(own.index[..own.index.len() - 7].to_vec())),
        ("another session's", Some(Log::short("s-2").index)),
        ("another log's", Some(foreign.index)),
        ("an empty", Some(Vec::new())),
        ("a random", Some((0..96).map(|_| random.below(256) as u8).collect())),
    ]
}

fn files(disk: &Disk) -> BTreeMap<String, Vec<u8>> {
    disk.names().into_iter().map(|name| (name.clone(), disk.content(&name).unwrap())).collect()
}

/// What became of a changed log.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It is damaged, and untouched.
    Damaged,
    /// This many lines were recovered.
    Recovered(u64),
}

/// Opens a log that was changed at the line with the seq `at`.
fn open(original: &Log, changed: &[u8], index: Option<&[u8]>, at: u64, what: &str) -> Outcome {
    let disk = Disk::with_segment(changed);
    if let Some(index) = index {
        disk.put(INDEX, index);
    }
    let before = files(&disk);
    match Store::open("unused".as_ref(), on(&disk, "s-1")) {
        Err(OpenError::Damaged { damage, .. }) => {
            assert_eq!(damage.first().map(|place| place.seq), Some(at), "{what}: {damage:?}");
            assert!(files(&disk) == before, "{what}: a damaged log was touched");
            Outcome::Damaged
        }
        other => {
            let (store, opened) = other.map_err(|error| format!("{what}: {error}")).unwrap();
            let count = opened.last_seq;
            let whole = original.lines[..count as usize].concat();
            let segment = disk.content(SEGMENT).unwrap_or_default();
            assert!(segment == whole, "{what}: what was opened are not the first {count} lines");
            // Without its line feed a last line is whole all the same.
            let lost = changed.len().saturating_sub(whole.len());
            let kept = disk.content(&format!("0000000001.torn-{NOW_MS}")).unwrap_or_default();
            assert!(kept == changed[changed.len() - lost..], "{what}: {lost} bytes were not kept");
            let told = opened.torn.first().map(|torn| (torn.seq, torn.bytes as usize));
            assert_eq!(told, (lost > 0).then_some((count + 1, lost)), "{what}");
            assert!(lost == 0 || count + 1 == at, "{what}: {count} lines recovered, changed at {at}");
            let ack = answer(&send(&store, vec![short_record(99)], Durability::Synced)).unwrap();
            assert_eq!(ack.first_seq, count + 1, "{what}");
            store.close();
            let (store, again) = Store::open("unused".as_ref(), on(&disk, "s-1")).unwrap();
            assert_eq!((again.last_seq, again.torn.len()), (count + 1, 0), "{what}");
            store.close();
            Outcome::Recovered(count)
        }
    }
}

/// Opens a changed log with each of the indexes, or with its own, without one, and with one of the others in turn.
fn open_with(
    original: &Log,
    indexes: &[(&'static str, Option<Vec<u8>>)],
    changed: &[u8],
    at: u64,
    turn: Option<usize>,
    what: &str,
) {
    for (number, (name, index)) in indexes.iter().enumerate() {
        let wrong = indexes.len() - 2;
        if turn.is_some_and(|turn| number >= 2 && turn % wrong != number - 2) {
            continue;
        }
        let what = format!("{what}, with {name} index");
        let outcome = open(original, changed, index.as_deref(), at, &what);
        let only_a_line_feed = changed.len() + 1 == original.lines.concat().len();
        if *name == "own" && !(only_a_line_feed && outcome == Outcome::Recovered(LINES)) {
            assert_eq!(outcome, Outcome::Damaged, "{what}: all was synced");
        }
    }
}

#[test]
fn cut_at_every_byte_it_is_recovered_or_named() {
    let log = Log::short("s-1");
    let (all, indexes) = (log.lines.concat(), indexes(&log));
    let mut turn = 0;
    for length in 0..all.len() {
        let mut end = 0;
        let whole = log.lines.iter().take_while(|line| {
            end += line.len();
            end - 1 <= length
        });
        let at = whole.count() as u64 + 1;
        turn += 1;
        let each = (!slow() && length > 300).then_some(turn);
        open_with(&log, &indexes, &all[..length], at, each, &format!("cut to {length} bytes"));
    }
}

/// Every bit of the lines at both ends and of two between; one bit of each byte of the others (all of them in the slow
/// tier), which have the same members at the same places.
#[test]
fn with_a_flipped_bit_it_is_recovered_or_named() {
    let log = Log::short("s-1");
    let (all, indexes) = (log.lines.concat(), indexes(&log));
    let mut offset = 0;
    for (number, line) in log.lines.iter().enumerate() {
        let at = number as u64 + 1;
        for place in 0..line.len() {
            let every = slow() || [1, 10, 49, 50].contains(&at);
            for bit in (0..8).filter(|bit| every || *bit == (place + number) % 8) {
                let mut changed = all.clone();
                changed[offset + place] ^= 1 << bit;
                let turn = (!slow()).then_some(offset + place + bit);
                open_with(&log, &indexes, &changed, at, turn, &format!("bit {bit} of byte {place} of {at}"));
            }
        }
        offset += line.len();
    }
}

#[test]
fn with_lines_dropped_swapped_repeated_or_pasted_it_is_recovered_or_named() {
    let log = Log::short("s-1");
    let indexes = indexes(&log);
    let other = |number: u64| NewRecord { id: format!("f{number:02}"), ..short_record(number) };
    let foreign = Log::of("s-1", (1..=LINES).map(other).collect(), 10, Durability::Synced);
    let check = |lines: Vec<Vec<u8>>, at: u64, what: String| {
        open_with(&log, &indexes, &lines.concat(), at, None, &what);
    };
    for at in 1..=LINES {
        let place = at as usize - 1;
        let mut lines = log.lines.clone();
        lines.remove(place);
        check(lines, at, format!("dropped {at}"));
        for distance in [1, 2, 7] {
            let mut lines = log.lines.clone();
            if at + distance <= LINES {
                lines.swap(place, place + distance as usize);
                check(lines, at, format!("swapped {at} and {}", at + distance));
            }
        }
        for after in [at, at + 1, at + 5].into_iter().filter(|after| *after <= LINES) {
            let mut lines = log.lines.clone();
            lines.insert(after as usize, log.lines[place].clone());
            // Behind its end the log is whole, and the line that was put there was never synced.
            let what = format!("{at} again after {after}");
            if after == LINES {
                let changed = lines.concat();
                let outcome = open(&log, &changed, Some(&log.index), LINES + 1, &what);
                assert_eq!(outcome, Outcome::Recovered(LINES), "{what}");
            } else {
                check(lines, after + 1, what);
            }
        }
        for (from, replace) in [(at, true), (LINES, false), (at % LINES + 1, false)] {
            // A first line has nothing before it that could betray it.
            if (from, at) == (1, 1) || (replace && at == 1) {
                continue;
            }
            let mut lines = log.lines.clone();
            if replace {
                lines[place] = foreign.lines[from as usize - 1].clone();
            } else {
                lines.insert(place, foreign.lines[from as usize - 1].clone());
            }
            check(lines, at, format!("{from} of another log at {at}, replacing: {replace}"));
        }
    }
}

#[test]
fn what_was_never_synced_is_torn_and_what_was_is_damage() {
    let records: Vec<NewRecord> = (1..=LINES).map(short_record).collect();
    let log = Log::of("s-1", records, 20, Durability::Written);
    let all = log.lines.concat();
    for at in 1..=LINES {
        let start: usize = log.lines[..at as usize - 1].iter().map(Vec::len).sum();
        let half = &all[..start + 30];
        let wanted = if at > 20 { Outcome::Recovered(at - 1) } else { Outcome::Damaged };
        assert_eq!(open(&log, half, Some(&log.index), at, &format!("half of {at}")), wanted, "{at}");
        // A power cut may leave zeros where the system did not come to write, and later lines that it did write.
        let mut hole = all.clone();
        hole[start + 20..start + 60].fill(0);
        assert_eq!(open(&log, &hole, Some(&log.index), at, &format!("a hole in {at}")), wanted, "{at}");
        // Any other bad line with right ones behind it is damage.
        let mut flipped = all.clone();
        flipped[start + 20] ^= 1;
        let wanted = if at == LINES { Outcome::Recovered(at - 1) } else { Outcome::Damaged };
        assert_eq!(open(&log, &flipped, Some(&log.index), at, &format!("a bit of {at}")), wanted, "{at}");
        if at < LINES {
            assert_eq!(open(&log, &hole, None, at, &format!("no index, a hole in {at}")), Outcome::Damaged);
        }
    }
}

/// Lines of 3 KiB in segments of 300 KB, so that each index has several entries; changed at some hundred places.
#[test]
fn a_long_log_is_read_from_its_index_and_damage_in_its_end_is_found() {
    let disk = Disk::new();
    let options = || Options { segment_bytes: 300_000, ..on(&disk, "s-1") };
    let (store, _) = Store::open("unused".as_ref(), options()).unwrap();
    let record = |number| crate::support::padded_record(number, 3000);
    for number in 1..=250 {
        answer(&send(&store, vec![record(number)], Durability::Written)).unwrap();
    }
    store.close();
    let whole = files(&disk);
    assert_eq!(whole.keys().filter(|name| name.ends_with(".jsonl")).count(), 3);
    let last = whole.keys().rfind(|name| name.ends_with(".jsonl")).unwrap().clone();
    assert!(whole[&last.replace(".jsonl", ".idx")].len() >= 3 * 24);
    let before = disk.bytes_read();
    let (store, opened) = Store::open("unused".as_ref(), options()).unwrap();
    assert_eq!((opened.last_seq, opened.last_id), (250, Some(record(250).id)));
    // Less than 64 KiB of lines and the reader's own buffer, of 800 KB.
    assert!(disk.bytes_read() - before < 100_000, "{}", disk.bytes_read() - before);
    store.close();
    assert!(files(&disk) == whole, "opening and closing changed a file");

    for seq in [1, 90, 97, 98, 200, 249, 250] {
        let reader = Reader::with_storage(Arc::new(disk.clone())).from_seq(seq);
        let (lines, damage) = read_all(&mut { reader });
        assert_eq!((seqs(&lines), damage), ((seq..=250).collect(), vec![]), "from {seq}");
    }
    let before = disk.bytes_read();
    assert_eq!(Reader::with_storage(Arc::new(disk.clone())).from_seq(250).next().unwrap().unwrap().seq, 250);
    assert!(disk.bytes_read() - before < 100_000, "{}", disk.bytes_read() - before);

    let mut random = Random(7);
    for _ in 0..if slow() { 3000 } else { 200 } {
        for (name, content) in &whole {
            disk.put(name, content);
        }
        let mut content = whole[&last].clone();
        let place = random.below(content.len() as u64) as usize;
        let at = last[..10].parse::<u64>().unwrap()
            + content[..place].iter().filter(|byte| **byte == b'\n').count() as u64;
        content[place] ^= 1 << random.below(8);
        disk.put(&last, &content);
        match Store::open("unused".as_ref(), options()) {
            Err(OpenError::Damaged { damage, .. }) => assert_eq!(damage[0].seq, at, "byte {place}"),
            // It lies before the last entry: whoever reads there finds it.
            Ok((store, opened)) => {
                assert!(opened.last_seq == 250 && opened.torn.is_empty(), "byte {place}: {opened:?}");
                let (_, damage) = read_all(&mut Reader::with_storage(Arc::new(disk.clone())));
                assert_eq!(damage[0].seq, at, "byte {place}");
                store.close();
            }
            Err(error) => panic!("byte {place}: {error}"),
        }
    }
}

#[test]
fn a_log_of_a_newer_format_is_read_and_not_appended_to() {
    let log = Log::short("s-1");
    let last = String::from_utf8(log.lines[49].clone()).unwrap();
    let body = last[..last.len() - 19].replacen("{\"v\":1", "{\"v\":2", 1);
    let newer = sealed(body.as_bytes(), crc_of(&log.lines[48]));
    let changed = [log.lines[..49].concat(), newer].concat();
    for index in [Some(&log.index), None] {
        let disk = Disk::with_segment(&changed);
        if let Some(index) = index {
            disk.put(INDEX, index);
        }
        let before = files(&disk);
        let Err(error) = Store::open("unused".as_ref(), on(&disk, "s-1")) else { panic!("opened") };
        assert_eq!(
            error.to_string(),
            "unused has format 2; this build writes up to 1: use a newer build to append"
        );
        assert!(files(&disk) == before && matches!(error, OpenError::NewerFormat { found: 2, .. }));
        assert_eq!(read_all(&mut Reader::with_storage(Arc::new(disk.clone()))).0.len(), 49);
    }
}

#[test]
fn only_a_log_that_goes_on_after_damage_does_without_indexes() {
    let disk = Disk::new();
    let journal = Options { on_damage: OnDamage::GoOn, ..on(&disk, "journal") };
    let (store, _) = Store::open("unused".as_ref(), journal).unwrap();
    answer(&send(&store, vec![short_record(1)], Durability::Synced)).unwrap();
    store.close();
    assert_eq!(disk.names(), [SEGMENT]);
}

/// The lines of short records 1 to `count`, all synced.
fn lines(count: u64) -> Vec<Vec<u8>> {
    let records = (1..=count).map(short_record).collect();
    Log::of("s-1", records, count as usize, Durability::Synced).lines
}

/// Found by fuzzing: the bad lines were cut off as torn, and the next opening refused what was left.
#[test]
fn a_segment_that_was_made_for_later_lines_proves_that_these_are_lost() {
    let lines = lines(3);
    for last in [&b""[..], b"garbage\n", b"\0\0\0\0", &lines[1], &lines[2][..40]] {
        for first in [lines[..2].concat(), Vec::new()] {
            let count = if first.is_empty() { 0 } else { 2 };
            let disk = Disk::with_segment(&first);
            disk.put("0000000009.jsonl", last);
            let before = files(&disk);
            let open = || match Store::open("unused".as_ref(), on(&disk, "s-1")) {
                Err(OpenError::Damaged { damage, .. }) => damage,
                other => panic!("{:?}", other.map(|_| "opened")),
            };
            let damage = open();
            assert_eq!(damage.first().map(|place| place.seq), Some(count + 1), "{damage:?}");
            assert!(files(&disk) == before, "a damaged log was touched");
            assert_eq!(open(), damage, "it says the same again");
        }
    }
}

/// Found by fuzzing: the last segment has no line and no bytes, and what it was made after is half gone.
#[test]
fn what_is_missing_before_an_empty_segment_is_named() {
    let disk = Disk::with_segment(&lines(2).concat());
    disk.put("0000000004.jsonl", b"");
    let Err(error) = Store::open("unused".as_ref(), on(&disk, "s-1")) else { panic!("opened") };
    let OpenError::Damaged { damage, .. } = error else { panic!("{error}") };
    let [place] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(place.to_string(), "0000000001.jsonl line 3 (seq 3): this record is missing");
    disk.put("0000000003.jsonl", b"");
    disk.put("0000000004.jsonl", b"");
    disk.put(SEGMENT, &lines(3).concat());
    let (store, opened) = Store::open("unused".as_ref(), on(&disk, "s-1")).unwrap();
    assert_eq!((opened.last_seq, opened.torn.len()), (3, 0));
    store.close();
}

/// Lines of the old segment that another line stands for in the new one: readers were shown the old ones.
#[test]
fn two_lines_with_one_seq_in_two_segments_are_damage() {
    let lines = lines(5);
    let other = |number: u64| NewRecord { id: format!("f{number:02}"), ..short_record(number) };
    let records = [short_record(1), short_record(2), other(3), other(4), other(5), other(6)];
    let foreign = Log::of("s-1", records.to_vec(), 6, Durability::Synced).lines;
    for (old, new) in [(3, 4), (4, 4), (5, 3), (5, 6)] {
        let disk = Disk::with_segment(&lines[..old].concat());
        disk.put("0000000003.jsonl", &foreign[2..new].concat());
        let before = files(&disk);
        let Err(error) = Store::open("unused".as_ref(), on(&disk, "s-1")) else { panic!("opened") };
        let OpenError::Damaged { damage, .. } = error else { panic!("{error}") };
        let told: Vec<String> = damage.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["0000000003.jsonl line 1 (seq 3): a second line with seq 3"], "{old} {new}");
        assert!(files(&disk) == before, "a damaged log was touched");
    }
}

/// Found by fuzzing: a line that follows a hole was moved to the next segment, and the log refused only then.
#[test]
fn a_line_behind_a_hole_is_not_moved() {
    let mut lines = lines(5);
    // Line 5 as one that continues line 2.
    lines[4] = sealed(&lines[4][..lines[4].len() - 19], crc_of(&lines[1]));
    let disk = Disk::with_segment(&[&lines[0][..], &lines[1], &lines[4]].concat());
    disk.put("0000000003.jsonl", &lines[2][..20]);
    let before = files(&disk);
    let Err(error) = Store::open("unused".as_ref(), on(&disk, "s-1")) else { panic!("opened") };
    let OpenError::Damaged { damage, .. } = error else { panic!("{error}") };
    let told: Vec<String> = damage.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["0000000001.jsonl line 3 (seq 3): the records up to seq 4 are missing"]);
    assert!(files(&disk) == before, "a damaged log was touched");
}
