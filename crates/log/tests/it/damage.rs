//! A log of 50 lines, cut at every byte, with every bit flipped, lines swapped, dropped, repeated and pasted: what is
//! before the damage is read, the damage is named, later lines stay readable, and the log goes on.

use std::sync::Arc;

use herdbook_log::{Damage, DamageKind, Durability, Line, NewRecord, Options, Reader, Store};

use crate::disk::Disk;
use crate::support::{NOW_MS, answer, crc_of, lines_of, read_all, sealed, send, seqs};

const LINES: u64 = 50;

fn short_record(number: u64) -> NewRecord {
    NewRecord {
        id: format!("r{number:02}"),
        ts_ms: NOW_MS,
        kind: "hook".to_owned(),
        payload: format!(r#"{{"n":{number}}}"#),
    }
}

fn on(disk: &Disk, session_id: &str) -> Options {
    let session_id = session_id.to_owned();
    Options {
        session_id,
        lock: None,
        storage: Some(Arc::new(disk.clone())),
        ..crate::support::options("unused".as_ref())
    }
}

fn open(disk: &Disk) -> (Store, herdbook_log::Opened) {
    Store::open("unused".as_ref(), on(disk, "journal")).unwrap()
}

/// The bytes of a log with `short_record`s 1 to 50.
fn log_of(session_id: &str) -> Vec<u8> {
    let disk = Disk::new();
    let (store, _) = Store::open("unused".as_ref(), on(&disk, session_id)).unwrap();
    let records = (1..=LINES).map(short_record).collect();
    answer(&send(&store, records, Durability::Synced)).unwrap();
    store.close();
    disk.content("0000000001.jsonl").unwrap()
}

fn read(disk: &Disk) -> (Vec<Line>, Vec<Damage>) {
    read_all(&mut Reader::with_storage(Arc::new(disk.clone())))
}

/// Opens a damaged log, appends one record and reads all back. Whatever was readable before still is, and the new
/// record comes last with a seq of its own.
fn goes_on(disk: &Disk, what: &str) -> (herdbook_log::Opened, Vec<Line>, Vec<Damage>) {
    let (before, _) = read(disk);
    let (store, opened) = open(disk);
    let ack = answer(&send(&store, vec![short_record(99)], Durability::Synced)).unwrap();
    assert_eq!(ack.first_seq, opened.last_seq + 1, "{what}");
    drop(store);
    let (lines, damage) = read(disk);
    let (last, old) = lines.split_last().unwrap();
    assert_eq!((last.seq, last.id.as_str()), (ack.first_seq, "r99"), "{what}");
    assert!(old.len() >= before.len() && old[..before.len()] == before, "{what}: lost a line on opening");
    assert!(lines.windows(2).all(|pair| pair[0].seq < pair[1].seq), "{what}: {:?}", seqs(&lines));
    // A second opening finds the same damage and no torn end.
    let (store, again) = open(disk);
    assert_eq!((again.last_seq, again.torn.as_slice()), (ack.last_seq, &[][..]), "{what}");
    assert_eq!(again.damage, damage, "{what}");
    drop(store);
    (opened, lines, damage)
}

#[test]
fn cut_at_every_byte_the_whole_lines_are_recovered_and_the_rest_is_kept_aside() {
    let log = log_of("journal");
    for length in 0..log.len() {
        let disk = Disk::with_segment(&log[..length]);
        let lines = lines_of(&log);
        // The last line is whole even without its line feed.
        let mut whole = 0;
        let mut end = 0;
        while whole < lines.len() && end + lines[whole].len() - 1 <= length {
            end += lines[whole].len();
            whole += 1;
        }
        let (opened, read, damage) = goes_on(&disk, &format!("cut to {length} bytes"));
        assert_eq!(opened.last_seq, whole as u64, "{length}");
        assert_eq!(damage, vec![], "{length}");
        assert_eq!(read.len(), whole + 1, "{length}");
        let torn = length.saturating_sub(end);
        let kept = disk.content(&format!("0000000001.torn-{NOW_MS}"));
        if torn == 0 {
            assert_eq!((opened.torn.len(), kept), (0, None), "{length}");
        } else {
            assert_eq!((opened.torn[0].offset, opened.torn[0].bytes), (end as u64, torn as u64), "{length}");
            assert_eq!(opened.torn[0].seq, whole as u64 + 1, "{length}");
            assert_eq!(kept.as_deref(), Some(&log[end..length]), "{length}");
        }
    }
}

/// Reads a log in which line `at` was changed, and checks that no other line suffered: only those in `may_lose`.
fn only_loses(disk: &Disk, lines: &[Vec<u8>], at: u64, may_lose: &[u64], what: &str) {
    let (read, damage) = read(disk);
    let mut last = 0;
    for line in &read {
        assert!(line.seq > last, "{what}: seq {} after {last}", line.seq);
        last = line.seq;
        let original = &lines[line.seq as usize - 1];
        assert_eq!(
            line.raw.as_bytes(),
            &original[..original.len() - 1],
            "{what}: changed bytes were believed"
        );
    }
    let lost: Vec<u64> =
        (1..=lines.len() as u64).filter(|seq| read.iter().all(|line| line.seq != *seq)).collect();
    assert!(lost.iter().all(|seq| may_lose.contains(seq)), "{what}: lost {lost:?}, {damage:?}");
    let first = damage.first().map(|place| place.seq);
    assert_eq!(first, Some(at), "{what}: {damage:?}");
}

/// Every bit of the lines at both ends, around the tenth and in the middle; of the other lines, which have the same
/// members at the same places, one bit of each byte.
#[test]
fn every_flipped_bit_is_named_at_its_line_and_costs_no_other() {
    let log = log_of("journal");
    let lines = lines_of(&log);
    let mut offset = 0;
    for (index, line) in lines.iter().enumerate() {
        let at = index as u64 + 1;
        for (place, byte) in line.iter().enumerate() {
            let all = [1, 2, 9, 10, 25, 49, 50].contains(&at);
            for bit in (0..8).filter(|bit| all || *bit == (place + index) % 8) {
                let what = format!("bit {bit} of byte {place} of line {at}");
                let mut changed = log.clone();
                changed[offset + place] ^= 1 << bit;
                let disk = Disk::with_segment(&changed);
                let mut may_lose = vec![at];
                if *byte == b'\n' {
                    if at == LINES {
                        // A line without line feed at the end is not read yet; opening decides.
                        assert_eq!(seqs(&read(&disk).0), (1..LINES).collect::<Vec<_>>(), "{what}");
                        continue;
                    }
                    may_lose.push(at + 1);
                }
                if changed[offset + place] == b'\n' && at == LINES - 1 {
                    // Nothing after it vouches for the last line.
                    may_lose.push(LINES);
                }
                only_loses(&disk, &lines, at, &may_lose, &what);
            }
        }
        offset += line.len();
    }
}

/// One bit in every third byte: the lines' length is no multiple of three, so all places of a line have their turn.
#[test]
fn a_log_with_a_flipped_bit_goes_on() {
    let log = log_of("journal");
    for place in (0..log.len()).step_by(3) {
        let mut changed = log.clone();
        changed[place] ^= 1 << (place % 8);
        let at = log[..place].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let disk = Disk::with_segment(&changed);
        let (opened, lines, _) = goes_on(&disk, &format!("byte {place}"));
        // Damage with good lines after it is named; at the end it is a torn tail, cut and kept.
        let named = opened.damage.first().map(|damage| damage.seq);
        let torn = opened.torn.first().map(|torn| torn.seq);
        assert_eq!(named.or(torn), Some(at), "byte {place}: {opened:?}");
        let segment = disk.content("0000000001.jsonl").unwrap();
        if named.is_some() {
            assert_eq!(segment, changed, "byte {place}: a damaged segment was touched");
        }
        assert!(lines.len() as u64 >= LINES - 1, "byte {place}");
    }
}

#[test]
fn a_dropped_line_is_missing_and_later_ones_are_read() {
    let lines = lines_of(&log_of("journal"));
    for at in 1..LINES {
        let mut kept = lines.clone();
        kept.remove(at as usize - 1);
        let disk = Disk::with_segment(&kept.concat());
        // Nothing vouches for the last line when the one before it is missing; it stays in place and is named.
        let may_lose = if at == LINES - 1 { vec![at, LINES] } else { vec![at] };
        if at < LINES - 1 {
            only_loses(&disk, &lines, at, &may_lose, &format!("dropped {at}"));
        }
        let (opened, read, damage) = goes_on(&disk, &format!("dropped {at}"));
        assert_eq!(opened.last_seq, LINES, "dropped {at}");
        assert_eq!(damage[0].seq, at, "dropped {at}");
        if at < LINES - 1 {
            assert_eq!(damage[0].kind, DamageKind::Missing { to: at }, "dropped {at}");
            assert_eq!(damage.len(), 1, "dropped {at}");
        }
        assert_eq!(read.len() as u64, LINES + 1 - may_lose.len() as u64, "dropped {at}");
        assert_eq!(disk.content("0000000001.jsonl").unwrap(), kept.concat(), "dropped {at}");
    }
}

#[test]
fn swapped_lines_are_named_and_later_ones_are_read() {
    let lines = lines_of(&log_of("journal"));
    for at in 1..LINES {
        for distance in [1, 2, 7] {
            let other = at + distance;
            if other > LINES {
                continue;
            }
            let what = format!("swapped {at} and {other}");
            let mut swapped = lines.clone();
            swapped.swap(at as usize - 1, other as usize - 1);
            let disk = Disk::with_segment(&swapped.concat());
            let (_, damage) = read(&disk);
            assert_eq!(damage.first().map(|place| place.seq), Some(at), "{what}: {damage:?}");
            let (_, read, _) = goes_on(&disk, &what);
            let lost = (1..=LINES).filter(|seq| read.iter().all(|line| line.seq != *seq)).collect::<Vec<_>>();
            assert!(lost.iter().all(|seq| (at..=other + 1).contains(seq)), "{what}: lost {lost:?}");
        }
    }
}

#[test]
fn a_repeated_line_is_named_and_nothing_is_lost() {
    let lines = lines_of(&log_of("journal"));
    for at in 1..=LINES {
        for place in [at, at + 1, at + 5] {
            if place > LINES {
                continue;
            }
            let what = format!("line {at} again after line {place}");
            let mut repeated = lines.clone();
            repeated.insert(place as usize, lines[at as usize - 1].clone());
            let disk = Disk::with_segment(&repeated.concat());
            let (read, damage) = read(&disk);
            assert_eq!(seqs(&read), (1..=LINES).collect::<Vec<_>>(), "{what}: {damage:?}");
            assert_eq!(damage.len(), 1, "{what}");
            assert_eq!((damage[0].line, damage[0].found), (place + 1, Some(at)), "{what}");
            assert_eq!(damage[0].kind, DamageKind::OutOfOrder, "{what}");
            goes_on(&disk, &what);
        }
    }
}

#[test]
fn a_line_pasted_from_another_log_is_never_believed() {
    let lines = lines_of(&log_of("journal"));
    // The same session id and the same records up to the ids: only the chain tells them apart.
    let foreign = {
        let disk = Disk::new();
        let (store, _) = open(&disk);
        let records =
            (1..=LINES).map(|number| NewRecord { id: format!("f{number:02}"), ..short_record(number) });
        answer(&send(&store, records.collect(), Durability::Synced)).unwrap();
        store.close();
        lines_of(&disk.content("0000000001.jsonl").unwrap())
    };
    for at in 1..=LINES {
        for from in [1, at, (at + 1).min(LINES), LINES] {
            for replace in [false, true] {
                let what = format!("line {from} of another log at {at}, replacing: {replace}");
                let mut pasted = lines.clone();
                if replace {
                    pasted[at as usize - 1] = foreign[from as usize - 1].clone();
                } else {
                    pasted.insert(at as usize - 1, foreign[from as usize - 1].clone());
                }
                if from == 1 && at == 1 {
                    // A first line has nothing before it that could betray it: it is right.
                    continue;
                }
                let disk = Disk::with_segment(&pasted.concat());
                let (read, _) = read(&disk);
                assert!(read.iter().all(|line| line.id.starts_with('r')), "{what}: {:?}", seqs(&read));
                let (opened, read, _) = goes_on(&disk, &what);
                let first = opened.damage.first().map(|damage| damage.seq);
                assert_eq!(
                    first.or(opened.torn.first().map(|torn| torn.seq)),
                    Some(at),
                    "{what}: {opened:?}"
                );
                let lost =
                    (1..=LINES).filter(|seq| read.iter().all(|line| line.seq != *seq)).collect::<Vec<_>>();
                let may_lose = if replace { vec![at, at + 1] } else { vec![] };
                assert!(lost.iter().all(|seq| may_lose.contains(seq)), "{what}: lost {lost:?}");
            }
        }
    }
}

#[test]
fn garbage_and_an_empty_line_are_named_by_their_line_number() {
    // Case F-052: garbage after line 2, then an empty line after line 4, put in while the log is closed.
    let lines = lines_of(&log_of("journal"));
    let mut changed = lines[..5].to_vec();
    changed.insert(2, b"\0\x01garbage\n".to_vec());
    changed.insert(4, b"\n".to_vec());
    let disk = Disk::with_segment(&changed.concat());
    let (opened, read, damage) = goes_on(&disk, "garbage");
    assert_eq!(damage.iter().map(|place| place.line).collect::<Vec<_>>(), [3, 5]);
    assert_eq!(opened.damage, damage);
    assert_eq!(seqs(&read), [1, 2, 3, 4, 5, 6]);
    assert_eq!(disk.names(), ["0000000001.jsonl", "0000000006.jsonl"]);
}

#[test]
fn a_zero_filled_end_is_torn() {
    let lines = lines_of(&log_of("journal"));
    for zeros in [1, 511, 4096, 300_000] {
        let mut log = lines[..10].concat();
        log.extend_from_slice(&lines[10][..40]);
        log.resize(log.len() + zeros, 0);
        let disk = Disk::with_segment(&log);
        let (opened, read, damage) = goes_on(&disk, &format!("{zeros} zeros"));
        assert_eq!((opened.torn.len(), opened.torn[0].bytes, damage.len()), (1, 40 + zeros as u64, 0));
        assert_eq!(seqs(&read), (1..=11).collect::<Vec<_>>());
        assert_eq!(disk.names(), ["0000000001.jsonl".to_owned(), format!("0000000001.torn-{NOW_MS}")]);
    }
}

#[test]
fn two_torn_ends_in_one_millisecond_are_both_kept() {
    let lines = lines_of(&log_of("journal"));
    let disk = Disk::with_segment(&lines[0][..20]);
    drop(open(&disk));
    disk.put("0000000001.jsonl", &lines[0][..30]);
    let (store, opened) = open(&disk);
    assert_eq!(opened.torn[0].kept, Some(format!("0000000001.torn-{NOW_MS}-1")));
    drop(store);
    assert_eq!(disk.content(&format!("0000000001.torn-{NOW_MS}")).unwrap().len(), 20);
}

#[test]
fn a_torn_end_that_cannot_be_kept_is_not_cut() {
    let lines = lines_of(&log_of("journal"));
    let torn = [lines[0].clone(), lines[1][..20].to_vec()].concat();
    let disk = Disk::with_segment(&torn);
    disk.set(|faults| faults.room = Some(0));
    let (store, opened) = open(&disk);
    assert_eq!((opened.last_seq, opened.torn[0].kept.as_deref()), (1, None));
    assert_eq!(disk.content("0000000001.jsonl").unwrap(), torn);
    let waiting = send(&store, vec![short_record(2)], Durability::Synced);
    disk.set(|faults| faults.room = None);
    assert_eq!(answer(&waiting).unwrap().first_seq, 2);
    assert_eq!(store.close().segment.as_deref(), Some("0000000002.jsonl"));
    let (read, damage) = read(&disk);
    assert_eq!((seqs(&read), damage.len(), damage[0].line), (vec![1, 2], 1, 2));
}

#[test]
fn a_missing_segment_is_named_and_the_next_ones_are_read() {
    let disk = Disk::new();
    let (store, _) =
        Store::open("unused".as_ref(), Options { segment_bytes: 500, ..on(&disk, "journal") }).unwrap();
    for number in 1..=20 {
        answer(&send(&store, vec![short_record(number)], Durability::Written)).unwrap();
    }
    drop(store);
    let names = disk.names();
    assert_eq!(names[1], "0000000005.jsonl");
    let partial = Disk::new();
    for name in names.iter().filter(|name| *name != "0000000005.jsonl") {
        partial.put(name, &disk.content(name).unwrap());
    }
    let (opened, read, damage) = goes_on(&partial, "without the second segment");
    assert_eq!(opened.last_seq, 20);
    assert_eq!(damage.len(), 1);
    assert_eq!((damage[0].seq, &damage[0].kind), (5, &DamageKind::Missing { to: 8 }));
    assert_eq!(seqs(&read), (1..=4).chain(9..=21).collect::<Vec<_>>());
}

#[test]
fn empty_segments_are_passed_over() {
    let lines = lines_of(&log_of("journal"));
    let disk = Disk::with_segment(&lines[..3].concat());
    disk.put("0000000002.jsonl", b"");
    disk.put("0000000004.jsonl", b"");
    let (opened, read, damage) = goes_on(&disk, "empty segments");
    assert_eq!((opened.last_seq, seqs(&read), damage), (3, vec![1, 2, 3, 4], vec![]));
    assert_eq!(Reader::with_storage(Arc::new(Disk::with_segment(b""))).next(), None);
}

/// Found by fuzzing: the reader took the session of the damaged line for that of the log.
#[test]
fn what_is_appended_behind_a_first_line_with_another_session_is_read() {
    let damaged =
        br#"{"v":1,"id":"r05","sessionId":"s-2","seq":5,"ts":5,"type":"hook","payload":{},"crc":"00000000"}"#;
    let disk = Disk::with_segment(&[&damaged[..], b"\n"].concat());
    let (store, opened) = Store::open("/unused".as_ref(), on(&disk, "s-1")).unwrap();
    assert_eq!(opened.last_seq, 5);
    answer(&send(&store, vec![short_record(6)], Durability::Synced)).unwrap();
    store.close();
    let (lines, damage) = read_all(&mut Reader::with_storage(Arc::new(disk)));
    assert_eq!(seqs(&lines), [6]);
    let kinds: Vec<DamageKind> = damage.into_iter().map(|place| place.kind).collect();
    assert_eq!(kinds, [DamageKind::Unverified, DamageKind::Missing { to: 5 }]);
}

/// Found by fuzzing: the new segment came before the one that was there.
#[test]
fn what_is_appended_behind_a_segment_with_too_high_a_name_is_read() {
    let log = log_of("journal");
    let lines = lines_of(&log);
    let disk = Disk::with_segment(&lines[..2].concat());
    disk.put("0000000009.jsonl", &[lines[2].clone(), b"damaged\n".to_vec(), lines[3].clone()].concat());
    let (store, opened) = open(&disk);
    assert_eq!(opened.last_seq, 8);
    answer(&send(&store, vec![short_record(9)], Durability::Synced)).unwrap();
    store.close();
    let (lines, _) = read(&disk);
    assert_eq!(seqs(&lines), [1, 2, 3, 4, 9]);
}

/// Found by fuzzing: a reader, which takes the session from the lines, and the store, which is told it, differed about the
/// lines behind a damaged first one.
#[test]
fn behind_damaged_first_lines_reader_and_store_find_the_same_lines_right() {
    let lines = lines_of(&log_of("journal"));
    let text = |at: usize| String::from_utf8(lines[at].clone()).unwrap();
    let mut bad_crc = text(0);
    bad_crc.replace_range(bad_crc.len() - 11..bad_crc.len() - 10, "x");
    let bad_session = text(0).replace("journal", "juornal");
    let bad_escape = text(0).replace("journal", r"\uD800");
    let half = format!("{}\n", &text(0)[..50]);
    for (first, right) in [
        // Its text is right, and the next line continues what its crc was.
        (bad_crc.as_str(), vec![2, 3]),
        // The crc in it is right.
        (&bad_session, vec![2, 3]),
        (&bad_escape, vec![2, 3]),
        // Line 3 vouches for line 2.
        (&half, vec![2, 3]),
        ("garbage\n", vec![2, 3]),
    ] {
        for count in [2, 3] {
            let disk = Disk::with_segment(&[first.as_bytes(), &lines[1..count].concat()].concat());
            let (opened, read, damage) = goes_on(&disk, first);
            let alone = count == 2 && (first == half || first == "garbage\n");
            let mut wanted = if alone { Vec::new() } else { right[..count - 1].to_vec() };
            wanted.push(opened.last_seq + 1);
            assert_eq!(seqs(&read), wanted, "{first}: {damage:?}");
        }
    }
}

/// Found by fuzzing: a bad line at the end of a segment vouched for one in the next, which was made in its place.
#[test]
fn a_segment_that_begins_before_a_bad_line_continues_the_line_before_that() {
    let lines = lines_of(&log_of("journal"));
    // The bad line 3 with the crc that line 4 continues, and then line 4 with the seq 3.
    let bad = String::from_utf8(lines[2].clone()).unwrap().replace("r03", "r 3").into_bytes();
    let body = r#"{"v":1,"id":"r33","sessionId":"journal","seq":3,"ts":5,"type":"hook","payload":{}"#;
    let next = sealed(body.as_bytes(), crc_of(&bad));
    let disk = Disk::with_segment(&[lines[..2].concat(), bad].concat());
    disk.put("0000000003.jsonl", &next);
    assert_eq!(seqs(&read(&disk).0), [1, 2]);
    disk.put("0000000003.jsonl", &lines[2..4].concat());
    assert_eq!(seqs(&read(&disk).0), [1, 2, 3, 4]);
}

/// Found by fuzzing: the new segment took the name of a removed one, and came before what was there.
#[test]
fn what_is_appended_behind_a_copy_of_a_segment_that_is_gone_is_read() {
    let log = log_of("journal");
    let disk = Disk::with_segment(&lines_of(&log)[..2].concat());
    disk.put("0000000003-2.jsonl", b"damaged\n{}\n");
    disk.set(|faults| faults.failing_cuts = 1);
    let (store, opened) = open(&disk);
    assert_eq!(opened.last_seq, 2);
    answer(&send(&store, vec![short_record(3)], Durability::Synced)).unwrap();
    assert_eq!(store.close().segment.as_deref(), Some("0000000003-3.jsonl"));
    assert_eq!(seqs(&read(&disk).0), [1, 2, 3]);
}
