//! Helpers: records with made-up ids, appends that wait for their answer, logs read back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use herdbook_log::{
    Ack, AppendError, Damage, Durability, Line, NewRecord, Options, Reader, SessionLog, Store,
};

/// Wall clock of the tests: 2026-01-01T00:00:03Z.
pub const NOW_MS: u64 = 1_767_225_603_000;

/// Longer than anything here takes on a busy machine; only a failing test waits that long.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn record(number: u64) -> NewRecord {
    padded_record(number, 0)
}

pub fn padded_record(number: u64, bytes: usize) -> NewRecord {
    NewRecord {
        id: format!("01KDWS62XR{number:016}"),
        ts_ms: NOW_MS + number,
        kind: "hook".to_owned(),
        payload: format!(r#"{{"n":{number},"pad":"{}"}}"#, "x".repeat(bytes)),
    }
}

/// Options for a log in `dir`, whose LOCK lies beside it.
pub fn options(dir: &Path) -> Options {
    Options::new("journal", &dir.with_extension("LOCK"), NOW_MS)
}

pub fn send(
    store: &Store,
    records: Vec<NewRecord>,
    durability: Durability,
) -> Receiver<Result<Ack, AppendError>> {
    let (sender, receiver) = channel();
    store.append(records, durability, move |answer| drop(sender.send(answer)));
    receiver
}

pub fn send_to(
    log: &mut SessionLog,
    records: Vec<NewRecord>,
    durability: Durability,
) -> Receiver<Result<Ack, AppendError>> {
    let (sender, receiver) = channel();
    log.append(records, durability, move |answer| drop(sender.send(answer)));
    receiver
}

pub fn answer(receiver: &Receiver<Result<Ack, AppendError>>) -> Result<Ack, AppendError> {
    receiver.recv_timeout(PATIENCE).expect("an answer")
}

pub fn append(store: &Store, numbers: impl IntoIterator<Item = u64>, durability: Durability) -> Ack {
    let records = numbers.into_iter().map(record).collect();
    answer(&send(store, records, durability)).expect("appended")
}

/// What has been promised: id by seq.
#[derive(Default)]
pub struct Promised {
    synced: BTreeMap<u64, String>,
    /// Since the last power cut.
    pub written: BTreeMap<u64, String>,
}

impl Promised {
    pub fn note(&mut self, ack: Ack, records: &[NewRecord]) {
        let to = if ack.durability == Durability::Synced { &mut self.synced } else { &mut self.written };
        let ids = records.iter().map(|record| record.id.clone());
        to.extend((ack.first_seq..=ack.last_seq).zip(ids));
    }

    pub fn all(&self) -> impl Iterator<Item = (&u64, &String)> {
        self.synced.iter().chain(&self.written)
    }
}

/// Everything that can be read now.
pub fn read_all(reader: &mut Reader) -> (Vec<Line>, Vec<Damage>) {
    let (mut lines, mut damage) = (Vec::new(), Vec::new());
    for item in reader {
        match item {
            Ok(line) => lines.push(line),
            Err(place) => damage.push(place),
        }
    }
    (lines, damage)
}

/// True in the slow tier (`just test-slow`, `just soak-store`).
#[expect(clippy::disallowed_methods, reason = "how the slow tier is asked for")]
pub fn slow() -> bool {
    std::env::var_os("HERDBOOK_TEST_SLOW").is_some()
}

/// The seeds of a test: `usual` of them, in the slow tier 20,000. `HERDBOOK_TEST_SEED` is the first one, and the only one
/// outside of the slow tier.
pub fn seeds(usual: u64) -> Range<u64> {
    #[expect(clippy::disallowed_methods, reason = "the seed of a failure is run again by its number")]
    let first = std::env::var("HERDBOOK_TEST_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    match first {
        first if slow() => first.unwrap_or(0)..first.unwrap_or(0) + 20_000,
        Some(seed) => seed..seed + 1,
        None => 0..usual,
    }
}

pub fn seqs(lines: &[Line]) -> Vec<u64> {
    lines.iter().map(|line| line.seq).collect()
}

/// The lines of a log, line feeds included.
pub fn lines_of(log: &[u8]) -> Vec<Vec<u8>> {
    log.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// The crc at the end of a line, line feed included.
pub fn crc_of(line: &[u8]) -> u32 {
    let hex = std::str::from_utf8(&line[line.len() - 11..line.len() - 3]).unwrap();
    u32::from_str_radix(hex, 16).unwrap()
}

/// The line with this text, as one that continues a crc.
pub fn sealed(body: &[u8], previous_crc: u32) -> Vec<u8> {
    let crc = crc32c::crc32c_append(previous_crc, body);
    [body, format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes()].concat()
}

/// Waits until something holds that another thread brings about.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::yield_now();
    }
}
