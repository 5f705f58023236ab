//! Random work on a session's log over the simulated disk, with faults, kills and power cuts, as a producer does it: what
//! was not answered is sent again after a restart. Such a log is never damaged: it opens each time, without holes; what
//! was acknowledged as synced is there after a power cut, what was acknowledged as written after a kill, and no id twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use herdbook_log::{
    Ack, AppendError, Durability, Expected, Line, NewRecord, Options, Reader, SessionLog, Sessions,
};

use crate::disk::{Disk, Faults, Random};
use crate::session_damage::on;
use crate::support::{answer, padded_record, read_all, slow};

type Answer = Receiver<Result<Ack, AppendError>>;

/// What the producer knows.
#[derive(Default)]
struct Producer {
    number: u64,
    synced: BTreeMap<u64, String>,
    /// Since the last power cut.
    written: BTreeMap<u64, String>,
    /// Appends without an answer, in the order in which they were sent.
    open: Vec<(Vec<NewRecord>, Durability)>,
}

impl Producer {
    fn note(&mut self, ack: Ack, records: &[NewRecord]) {
        let to = if ack.durability == Durability::Synced { &mut self.synced } else { &mut self.written };
        let ids = records.iter().map(|record| record.id.clone());
        to.extend((ack.first_seq..=ack.last_seq).zip(ids));
    }

    fn make(&mut self, random: &mut Random) -> Vec<NewRecord> {
        let count = 1 + random.below(5);
        let make = |_| {
            self.number += 1;
            padded_record(self.number, random.below(300) as usize)
        };
        (0..count).map(make).collect()
    }

    /// Checks a log that was just opened.
    fn check(&self, disk: &Disk) -> Vec<Line> {
        let (lines, damage) = read_all(&mut Reader::with_storage(Arc::new(disk.clone())));
        assert_eq!(damage, vec![]);
        assert!(lines.iter().zip(1..).all(|(line, seq)| line.seq == seq), "a hole");
        for (seq, id) in self.synced.iter().chain(&self.written) {
            let found = lines.get(*seq as usize - 1).map(|line| line.id.as_str());
            if found != Some(id.as_str()) {
                show(disk);
                panic!("seq {seq} with {id} was promised, found {found:?}");
            }
        }
        let ids: BTreeSet<&str> = lines.iter().map(|line| line.id.as_str()).collect();
        assert_eq!(ids.len(), lines.len(), "one id twice");
        lines
    }
}

fn faults(random: &mut Random) -> Faults {
    let mut faults = Faults::default();
    match random.below(9) {
        0 => faults.short_writes = 1,
        1 => faults.failing_writes = 1 + random.below(2) as u32,
        2 => {
            faults.failing_syncs = 1;
            faults.half_synced = random.one_in(2).then(|| random.below(1000));
            faults.failing_cuts = random.below(2) as u32;
        }
        3 => faults.room = Some(random.below(2000) as usize),
        4 => {
            faults.room = Some(random.below(200) as usize);
            faults.failing_cuts = random.below(4) as u32;
        }
        5 => faults.panicking_writes = 1,
        6 => faults.failing_folder_syncs = 1,
        7 => faults.panicking_syncs = 1,
        _ => faults.failing_syncs = 2,
    }
    faults
}

fn options(disk: &Disk, random: &mut Random) -> Options {
    Options {
        segment_bytes: if random.one_in(2) { 1500 } else { 100_000 },
        pending_bytes: 2000,
        retry_every: Duration::from_millis(2),
        sync_within: (!random.one_in(3)).then(|| Duration::from_millis(2)),
        ..on(disk, "s-1")
    }
}

fn append(log: &mut SessionLog, records: Vec<NewRecord>, durability: Durability) -> Answer {
    let (sender, receiver) = channel();
    log.append(records, durability, move |answer| drop(sender.send(answer)));
    receiver
}

/// Prints all files, for a test that fails.
fn show(disk: &Disk) {
    for name in disk.names() {
        let content = disk.content(&name).unwrap_or_default();
        if name.ends_with(".idx") {
            println!("{name}: {content:?}");
        } else {
            println!("{name}: {}", String::from_utf8_lossy(&content).escape_debug());
        }
    }
}

fn open(disk: &Disk, random: &mut Random) -> SessionLog {
    let sessions = Sessions::new("unused".as_ref());
    let opened = sessions.open("s-1", options(disk, random));
    if opened.is_err() {
        show(disk);
    }
    opened.unwrap().0
}

/// Sends again what was not answered: what is there already is told its place.
fn send_again(log: &mut SessionLog, producer: &mut Producer) -> Result<(), AppendError> {
    for (records, durability) in std::mem::take(&mut producer.open) {
        let placed = log.place(&records, Expected::Any).unwrap();
        let is_new = |index: &usize| !placed.duplicates.contains(index);
        let new: Vec<NewRecord> = (0..records.len()).filter(is_new).map(|at| records[at].clone()).collect();
        // All or a beginning is there, never a part behind a hole.
        assert!(placed.duplicates.iter().copied().eq(0..placed.duplicates.len()));
        let ack = answer(&append(log, new.clone(), durability))?;
        if !new.is_empty() {
            producer.note(ack, &new);
        }
    }
    Ok(())
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let mut disk = Disk::new();
    let mut producer = Producer::default();
    for _ in 0..4 {
        let mut log = open(&disk, &mut random);
        let lines = producer.check(&disk);
        assert_eq!(log.last_seq(), lines.len() as u64);
        send_again(&mut log, &mut producer).unwrap();
        let mut waiting: Vec<(Answer, Vec<NewRecord>, Durability)> = Vec::new();
        for _ in 0..random.below(12) {
            if random.one_in(4) {
                disk.set(|now| *now = faults(&mut random));
            }
            let records = producer.make(&mut random);
            let durability = if random.one_in(2) { Durability::Synced } else { Durability::Written };
            assert_eq!(log.place(&[], Expected::Any).unwrap().last_seq, log.last_seq());
            let receiver = append(&mut log, records.clone(), durability);
            if random.one_in(2) {
                waiting.push((receiver, records, durability));
                continue;
            }
            // It may be waiting for room.
            disk.set(|now| *now = Faults::default());
            match answer(&receiver) {
                Ok(ack) => producer.note(ack, &records),
                // Seqs that were given may be free again: the log is opened anew.
                Err(_) => {
                    waiting.push((receiver, records, durability));
                    break;
                }
            }
        }
        let mut next = match random.below(3) {
            0 => {
                disk.set(|now| *now = Faults::default());
                log.close();
                disk.kill()
            }
            1 => disk.kill(),
            _ => disk.crash(&mut random),
        };
        let read_only = log.close().error.filter(|error| error.starts_with("read-only"));
        if read_only.is_some_and(|error| !error.contains(": a sync failed: the machine is off;")) {
            // After two failed syncs a file may be readable and yet not be on the disk, and nobody can tell: only
            // starting the machine again shows what is there.
            next = next.crash(&mut random);
        }
        drop(log);
        for (receiver, records, durability) in waiting {
            // An answer that came before the end was a promise.
            match receiver.recv() {
                Ok(Ok(ack)) => producer.note(ack, &records),
                _ => producer.open.push((records, durability)),
            }
        }
        if next.was_cut() {
            producer.written.clear();
        }
        disk = next;
    }
    let mut log = open(&disk, &mut random);
    send_again(&mut log, &mut producer).unwrap();
    let records = producer.make(&mut random);
    let ack = answer(&append(&mut log, records.clone(), Durability::Synced)).unwrap();
    producer.note(ack, &records);
    drop(log);
    producer.check(&disk);
    // What the index says is believed: the log opens by it, and to the same end.
    let log = open(&disk, &mut random);
    assert_eq!(log.last_seq(), ack.last_seq);
}

/// Some seconds of work; in the slow tier some minutes. `HERDBOOK_TEST_SEED` is the first seed, and the only one outside
/// of the slow tier.
fn seeds() -> std::ops::Range<u64> {
    #[expect(clippy::disallowed_methods, reason = "the seed of a failure is run again by its number")]
    let first = std::env::var("HERDBOOK_TEST_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    match first {
        first if slow() => first.unwrap_or(0)..first.unwrap_or(0) + 20_000,
        Some(seed) => seed..seed + 1,
        None => 0..500,
    }
}

#[test]
fn a_session_keeps_its_word_over_faults_kills_and_power_cuts() {
    for seed in seeds() {
        // Shown when the test fails: this seed and the one number decide everything but the threads' timing.
        println!("seed {seed}");
        run(seed);
    }
}
