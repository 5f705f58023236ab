//! A disk that is full or broken, a batch that panics: nothing acknowledged is lost, and the log says what is wrong.

use std::sync::Arc;
use std::time::Duration;

use herdbook_log::{AppendError, Damage, Durability, Line, Lost, NewRecord, Options, Reader, Store};

use crate::disk::{Disk, Faults, Random};
use crate::support::{NOW_MS, answer, append, padded_record, read_all, record, send, seqs, until};

/// Options for a simulated disk, with a retry that no test waits for.
pub fn on(disk: &Disk) -> Options {
    Options {
        lock: None,
        storage: Some(Arc::new(disk.clone())),
        retry_every: Duration::from_millis(2),
        sync_within: Some(Duration::from_millis(2)),
        gap: Some(Box::new(gap_record)),
        ..crate::support::options("unused".as_ref())
    }
}

fn gap_record(lost: &Lost) -> NewRecord {
    NewRecord {
        id: format!("gap-{}", lost.first_ts_ms),
        ts_ms: lost.last_ts_ms,
        kind: "gap".to_owned(),
        payload: format!(r#"{{"lost":{}}}"#, lost.records),
    }
}

fn open(options: Options) -> Store {
    Store::open("unused".as_ref(), options).unwrap().0
}

fn read(disk: &Disk) -> (Vec<Line>, Vec<Damage>) {
    read_all(&mut Reader::with_storage(Arc::new(disk.clone())))
}

fn assert_whole(disk: &Disk, records: u64) {
    let (lines, damage) = read(disk);
    assert_eq!((seqs(&lines), damage), ((1..=records).collect(), vec![]));
}

#[test]
fn a_full_disk_is_cut_back_said_waited_out_and_owned_up_to() {
    let disk = Disk::new();
    let store = open(Options { pending_bytes: 3000, ..on(&disk) });
    append(&store, [1], Durability::Synced);
    let whole = disk.content("0000000001.jsonl").unwrap();
    disk.set(|faults| faults.room = Some(300));

    // The first that does not fit waits in memory, and half a line of it is not left behind.
    let waiting = send(&store, vec![padded_record(2, 1000)], Durability::Synced);
    until("the failure is said", || store.health().error.is_some());
    assert_eq!(disk.content("0000000001.jsonl").unwrap(), whole);
    let health = store.health();
    let error = health.error.unwrap();
    assert!(error.starts_with("could not write 0000000001.jsonl: "), "{error}");
    assert!(error.contains("1 record (1149 bytes) waits in memory, trying again every 2 ms"), "{error}");
    assert_eq!((health.written_seq, health.pending_records, health.pending_bytes), (1, 1, 1149));

    // More fits into memory, until it does not; the newest are refused and counted.
    let waiting_too = send(&store, vec![padded_record(3, 1000)], Durability::Written);
    let refused = answer(&send(&store, vec![padded_record(4, 1000), record(5)], Durability::Written));
    assert_eq!(refused, Err(AppendError::Full { pending_bytes: 2298 }));
    let refused = answer(&send(&store, vec![padded_record(6, 1000)], Durability::Written));
    assert_eq!(refused, Err(AppendError::Full { pending_bytes: 2298 }));
    assert!(waiting.try_recv().is_err() && waiting_too.try_recv().is_err());
    assert_eq!(store.health().lost, 3);

    // Once there is room, what waited is written, and a record owns up to the rest.
    disk.set(|faults| faults.room = None);
    assert_eq!(answer(&waiting).unwrap().first_seq, 2);
    assert_eq!(answer(&waiting_too).unwrap().first_seq, 3);
    assert_eq!(append(&store, [7], Durability::Synced).first_seq, 5);
    assert_eq!(store.close().error, None);
    assert_whole(&disk, 5);
    let (lines, _) = read(&disk);
    let gap = &lines[3];
    assert_eq!((gap.kind.as_str(), gap.payload.as_str()), ("gap", r#"{"lost":3}"#));
    assert_eq!((gap.id.clone(), gap.ts_ms), (format!("gap-{}", NOW_MS + 4), NOW_MS + 6));
}

#[test]
fn small_appends_still_pass_while_there_is_room_for_them() {
    let disk = Disk::new();
    let store = open(on(&disk));
    append(&store, [1], Durability::Written);
    disk.set(|faults| faults.room = Some(300));
    // Two appends in one write: the first is written, the second waits.
    let batch: Vec<_> =
        (2..=4).map(|number| send(&store, vec![padded_record(number, 60)], Durability::Written)).collect();
    assert_eq!(answer(&batch[0]).unwrap().first_seq, 2);
    until("the failure is said", || store.health().error.is_some());
    let content = disk.content("0000000001.jsonl").unwrap();
    assert!(content.ends_with(b"}\n"));
    disk.set(|faults| faults.room = None);
    assert_eq!(answer(&batch[2]).unwrap().first_seq, 4);
    drop(store);
    assert_whole(&disk, 4);
}

#[test]
fn a_short_write_is_gone_on_with() {
    let disk = Disk::new();
    let store = open(on(&disk));
    disk.set(|faults| faults.short_writes = 3);
    append(&store, [1, 2, 3], Durability::Synced);
    assert_eq!(store.close().error, None);
    assert_whole(&disk, 3);
}

#[test]
fn half_a_line_that_cannot_be_cut_back_is_left_behind_with_its_segment() {
    let disk = Disk::new();
    let store = open(on(&disk));
    append(&store, [1], Durability::Synced);
    disk.set(|faults| *faults = Faults { room: Some(50), failing_cuts: u32::MAX, ..Faults::default() });
    let waiting = send(&store, vec![record(2)], Durability::Synced);
    until("the failure is said", || store.health().error.is_some());
    disk.set(|faults| faults.room = None);
    assert_eq!(answer(&waiting).unwrap().first_seq, 2);
    assert_eq!(store.close().segment.as_deref(), Some("0000000002.jsonl"));
    let (lines, damage) = read(&disk);
    assert_eq!((seqs(&lines), damage.len(), damage[0].line), (vec![1, 2], 1, 2));
}

#[test]
fn a_new_segment_on_a_full_disk_waits_like_a_write() {
    let disk = Disk::new();
    disk.set(|faults| faults.room = Some(0));
    let store = open(on(&disk));
    let waiting = send(&store, vec![record(1)], Durability::Synced);
    until("the failure is said", || store.health().error.is_some());
    disk.set(|faults| *faults = Faults { failing_folder_syncs: 2, ..Faults::default() });
    assert_eq!(answer(&waiting).unwrap().first_seq, 1);
    drop(store);
    assert_eq!(disk.names(), ["0000000001.jsonl"]);
    assert_whole(&disk, 1);
}

#[test]
fn after_a_failed_sync_the_lines_are_synced_in_a_new_segment() {
    let disk = Disk::new();
    let store = open(Options { sync_within: Some(Duration::from_secs(3600)), ..on(&disk) });
    append(&store, [1, 2], Durability::Synced);
    append(&store, [3], Durability::Written);
    disk.set(|faults| faults.failing_syncs = 1);
    assert_eq!(append(&store, [4], Durability::Synced).first_seq, 4);
    let health = store.health();
    assert_eq!((health.failed_syncs, health.read_only, health.synced_seq), (1, false, 4));
    assert_eq!(health.segment.as_deref(), Some("0000000003.jsonl"));
    // The power goes at once: all four are there, though the first file's pages were dropped.
    let disk = disk.crash(&mut Random(1));
    drop(store);
    assert_whole(&disk, 4);
}

#[test]
fn a_failed_sync_of_a_segments_first_lines_makes_a_second_file_for_the_same_seq() {
    let disk = Disk::new();
    let store = open(on(&disk));
    disk.set(|faults| faults.failing_syncs = 1);
    append(&store, [1], Durability::Synced);
    drop(store);
    assert_eq!(disk.names(), ["0000000001-2.jsonl", "0000000001.jsonl"]);
    assert_whole(&disk, 1);
}

#[test]
fn lines_that_stand_in_two_segments_are_read_once() {
    let disk = Disk::new();
    let store = open(Options { sync_within: Some(Duration::from_secs(3600)), ..on(&disk) });
    append(&store, [1], Durability::Synced);
    append(&store, [2, 3], Durability::Written);
    let mut follower = Reader::with_storage(Arc::new(disk.clone()));
    assert_eq!(seqs(&read_all(&mut follower).0), [1, 2, 3]);
    // The old segment cannot be cut back after the failed sync, so it keeps lines 2 and 3.
    disk.set(|faults| *faults = Faults { failing_syncs: 1, failing_cuts: 1, ..Faults::default() });
    append(&store, [4], Durability::Synced);
    append(&store, [5], Durability::Synced);
    let (lines, damage) = read_all(&mut follower);
    assert_eq!((seqs(&lines), damage), (vec![4, 5], vec![]));
    drop(store);
    assert_whole(&disk, 5);
    let (store, opened) = Store::open("unused".as_ref(), on(&disk)).unwrap();
    assert_eq!((opened.last_seq, opened.damage, opened.torn), (5, vec![], vec![]));
    drop(store);
}

#[test]
fn a_second_failed_sync_makes_the_store_read_only() {
    let disk = Disk::new();
    let store = open(on(&disk));
    append(&store, [1], Durability::Synced);
    disk.set(|faults| faults.failing_syncs = 2);
    let refused = answer(&send(&store, vec![record(2)], Durability::Synced));
    let Err(AppendError::ReadOnly { reason }) = refused else { panic!("{refused:?}") };
    assert!(
        reason.starts_with("a sync failed: ") && reason.contains("; then a new segment failed: "),
        "{reason}"
    );
    let health = store.health();
    assert!(health.read_only && health.error.unwrap().starts_with("read-only until opened again: "));
    let refused = answer(&send(&store, vec![record(3)], Durability::Written));
    assert!(matches!(refused, Err(AppendError::ReadOnly { .. })));
    drop(store);
    let store = open(on(&disk));
    append(&store, [4], Durability::Synced);
}

#[test]
fn a_panic_refuses_its_batch_and_nothing_else() {
    let disk = Disk::new();
    let store = open(on(&disk));
    append(&store, [1], Durability::Written);
    disk.set(|faults| faults.panicking_writes = 1);
    let refused = answer(&send(&store, vec![record(2), record(3)], Durability::Written));
    assert_eq!(refused, Err(AppendError::Panicked));
    assert_eq!(append(&store, [4], Durability::Synced).first_seq, 2);
    assert_eq!(store.health().panics, 1);
    drop(store);
    let (lines, _) = read(&disk);
    assert_eq!(lines[1].id, record(4).id);
    assert_whole(&disk, 2);
}

/// Found by the simulated disk: the sync that should have made the cut durable failed after it had written what was cut off,
/// and a power cut brought that back in the place of records that were promised.
#[test]
fn what_a_panic_refused_takes_no_place_of_what_is_promised_later() {
    for seed in 0..32 {
        let disk = Disk::new();
        let store = open(on(&disk));
        append(&store, [1], Durability::Synced);
        disk.set(|faults| faults.panicking_writes = 1);
        let refused = answer(&send(&store, vec![record(2), record(3)], Durability::Written));
        assert_eq!(refused, Err(AppendError::Panicked));
        disk.set(|faults| (faults.failing_syncs, faults.half_synced) = (1, Some(seed)));
        let answered = answer(&send(&store, vec![record(4)], Durability::Synced));
        let disk = disk.crash(&mut Random(seed));
        drop(store);
        let ids: Vec<String> = read(&disk).0.into_iter().map(|line| line.id).collect();
        assert!(answered.is_err() || ids.contains(&record(4).id), "seed {seed}: {ids:?}");
        assert!(matches!(answered, Err(AppendError::ReadOnly { .. })), "seed {seed}: {answered:?}");
        // Opened again it goes on, behind whatever came back.
        append(&open(on(&disk)), [5], Durability::Synced);
        let ids: Vec<String> = read(&disk).0.into_iter().map(|line| line.id).collect();
        assert_eq!((ids.first(), ids.last()), (Some(&record(1).id), Some(&record(5).id)), "seed {seed}");
    }
}

#[test]
fn a_panic_in_a_sync_is_a_failed_sync() {
    let disk = Disk::new();
    let store = open(on(&disk));
    disk.set(|faults| faults.panicking_syncs = 1);
    append(&store, [1], Durability::Synced);
    assert_eq!(store.health().failed_syncs, 1);
    drop(store);
    assert_whole(&disk, 1);
}

#[test]
fn a_caller_that_panics_in_its_answer_harms_nobody() {
    let disk = Disk::new();
    let store = open(on(&disk));
    store.append(vec![record(1)], Durability::Written, |_| panic!("the test makes this answer panic"));
    assert_eq!(append(&store, [2], Durability::Written).first_seq, 2);
}

#[test]
fn a_gap_record_that_panics_leaves_the_count_in_the_health() {
    let disk = Disk::new();
    let gap = Box::new(|_: &Lost| -> NewRecord { panic!("the test makes this gap record panic") });
    let store = open(Options { pending_bytes: 10, gap: Some(gap), ..on(&disk) });
    disk.set(|faults| faults.room = Some(0));
    let waiting = send(&store, vec![record(1)], Durability::Written);
    until("the failure is said", || store.health().error.is_some());
    let refused = answer(&send(&store, vec![record(2)], Durability::Written));
    assert!(matches!(refused, Err(AppendError::Full { .. })));
    disk.set(|faults| faults.room = None);
    answer(&waiting).unwrap();
    assert_eq!(append(&store, [3], Durability::Written).first_seq, 2);
    assert_eq!(store.health().lost, 1);
}

#[test]
fn closing_on_a_full_disk_answers_everyone() {
    let disk = Disk::new();
    let store = open(on(&disk));
    append(&store, [1], Durability::Written);
    disk.set(|faults| faults.room = Some(0));
    let waiting = send(&store, vec![record(2)], Durability::Synced);
    let health = store.close();
    assert_eq!(answer(&waiting), Err(AppendError::Closed));
    assert_eq!((health.written_seq, health.synced_seq), (1, 1));
    assert_eq!(answer(&send(&store, vec![record(3)], Durability::Synced)), Err(AppendError::Closed));
}

#[test]
fn a_full_queue_refuses_at_once() {
    let disk = Disk::new();
    let store = open(Options { queue_records: 2, queue_bytes: 400, ..on(&disk) });
    // The writer is held inside an answer, so that nothing leaves the queue.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (inside, entered) = std::sync::mpsc::channel();
    store.append(vec![record(1)], Durability::Written, move |_| {
        let _ = inside.send(());
        let _ = held.recv();
    });
    entered.recv().unwrap();
    let big = send(&store, vec![padded_record(2, 5000)], Durability::Written);
    let refused = answer(&send(&store, vec![record(3)], Durability::Written));
    assert!(matches!(refused, Err(AppendError::Busy { records: 1, .. })), "{refused:?}");
    drop(release);
    assert_eq!(answer(&big).unwrap().first_seq, 2);
}

#[test]
fn one_sync_answers_all_who_wait() {
    let disk = Disk::new();
    let store = open(Options { sync_within: Some(Duration::from_secs(3600)), ..on(&disk) });
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (inside, entered) = std::sync::mpsc::channel();
    store.append(vec![record(1)], Durability::Written, move |_| {
        let _ = inside.send(());
        let _ = held.recv();
    });
    entered.recv().unwrap();
    let before = disk.syncs();
    let waiting: Vec<_> =
        (2..=100).map(|number| send(&store, vec![record(number)], Durability::Synced)).collect();
    drop(release);
    for waits in &waiting {
        assert_eq!(answer(waits).unwrap().durability, Durability::Synced);
    }
    assert_eq!(disk.syncs() - before, 1);
}

#[test]
fn a_reader_that_follows_while_writes_are_cut_back_sees_no_damage() {
    let disk = Disk::new();
    let store = open(Options { segment_bytes: 20_000, ..on(&disk) });
    let mut reader = Reader::with_storage(Arc::new(disk.clone()));
    let writer = {
        let disk = disk.clone();
        std::thread::spawn(move || {
            for number in 1..=300 {
                // Half of this line and no more fits; then there is room again.
                disk.set(|faults| faults.room = Some(400));
                let waiting = send(&store, vec![padded_record(number, 700)], Durability::Written);
                until("the failure is said", || store.health().error.is_some());
                disk.set(|faults| faults.room = None);
                assert_eq!(answer(&waiting).unwrap().first_seq, number);
            }
        })
    };
    let mut expected = 1;
    until("all is read", || {
        for line in reader.by_ref() {
            assert_eq!(line.unwrap().seq, expected);
            expected += 1;
        }
        expected > 300
    });
    writer.join().unwrap();
}
