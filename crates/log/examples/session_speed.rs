//! Measures a session's log beside a floor on the same disk: appends by 32 writers, opening 200 MB, memory of ids.
//!
//!     cargo run --release -p herdbook-log --example session_speed -- DIR [SECONDS]
//!
//! The floor is the group commit that a program would write by hand: 32 threads hand bytes to one that writes and calls
//! fdatasync. Figures are ratios in one run, since a busy machine slows both.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement, run by hand")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use herdbook_log::{Durability, Expected, NewRecord, OnDamage, Options, Reader, SessionLog, Sessions};

const WRITERS: u64 = 32;
const LINE_BYTES: usize = 512;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| ".".to_owned());
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let dir = Path::new(&dir).join("session-speed");
    fs::create_dir_all(&dir).unwrap();
    let time = Duration::from_secs(seconds);
    appends(&dir, time);
    opening(&dir);
    ids(&dir);
    fs::remove_dir_all(&dir).unwrap();
}

fn record(number: u64, line_bytes: usize) -> NewRecord {
    let pad = line_bytes.saturating_sub(166);
    NewRecord {
        id: format!("01KDWS62XR{number:016}"),
        ts_ms: 1_767_225_603_000 + number,
        kind: "tool.started".to_owned(),
        payload: format!(r#"{{"n":{number},"pad":"{}"}}"#, "x".repeat(pad)),
    }
}

fn options() -> Options {
    Options::of_session(1)
}

/// Appends of one event each, answered when they are synced, by threads that wait for their answers.
fn appends(dir: &Path, time: Duration) {
    let mut floors = Vec::new();
    let mut ours = Vec::new();
    // In turns, so that both meet the same disk.
    for round in 0..3 {
        floors.push(floor(&dir.join(format!("floor-{round}")), time));
        let indexed = Sessions::new(&dir.join(format!("session-{round}")));
        ours.push(session(&indexed, options(), time));
        let plain = Sessions::new(&dir.join(format!("plain-{round}")));
        let without = session(&plain, Options { on_damage: OnDamage::GoOn, ..options() }, time);
        println!(
            "{WRITERS} writers, {LINE_BYTES} bytes, synced: floor {:.0}/s, session {:.0}/s, without index {without:.0}/s",
            floors[round], ours[round]
        );
    }
    let ratio = ours.iter().sum::<f64>() / floors.iter().sum::<f64>();
    println!("append / floor: {ratio:.2} (goal at least 0.5)");
}

struct Shared {
    pending: Vec<u8>,
    next: u64,
    done: u64,
    stop: bool,
}

fn floor(path: &Path, time: Duration) -> f64 {
    let mut file = File::create(path).unwrap();
    let shared = Arc::new((
        Mutex::new(Shared { pending: Vec::new(), next: 0, done: 0, stop: false }),
        Condvar::new(),
        Condvar::new(),
    ));
    let committer = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            loop {
                let mut state = shared.0.lock().unwrap();
                while state.pending.is_empty() && !state.stop {
                    state = shared.1.wait(state).unwrap();
                }
                if state.pending.is_empty() {
                    return;
                }
                bytes.clear();
                std::mem::swap(&mut bytes, &mut state.pending);
                let upto = state.next;
                drop(state);
                file.write_all(&bytes).unwrap();
                file.sync_data().unwrap();
                shared.0.lock().unwrap().done = upto;
                shared.2.notify_all();
            }
        })
    };
    let start = Instant::now();
    let count = by_writers(|_| {
        let line = [b'x'; LINE_BYTES];
        let mut count = 0;
        while start.elapsed() < time {
            let mut state = shared.0.lock().unwrap();
            state.pending.extend_from_slice(&line);
            state.next += 1;
            let own = state.next;
            shared.1.notify_one();
            while state.done < own {
                state = shared.2.wait(state).unwrap();
            }
            count += 1;
        }
        count
    });
    let rate = count as f64 / start.elapsed().as_secs_f64();
    shared.0.lock().unwrap().stop = true;
    shared.1.notify_one();
    committer.join().unwrap();
    rate
}

fn session(sessions: &Sessions, options: Options, time: Duration) -> f64 {
    let log = Mutex::new(sessions.open("s", options).unwrap().0);
    let start = Instant::now();
    let count = by_writers(|writer| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut count = 0;
        while start.elapsed() < time {
            let sender = sender.clone();
            let record = record(writer * 1_000_000_000 + count, LINE_BYTES);
            log.lock().unwrap().append(vec![record], Durability::Synced, move |answer| {
                drop(sender.send(answer));
            });
            receiver.recv().unwrap().unwrap();
            count += 1;
        }
        count
    });
    count as f64 / start.elapsed().as_secs_f64()
}

fn by_writers(work: impl Fn(u64) -> u64 + Sync) -> u64 {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let work = &work;
                    move || work(writer)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

fn write(sessions: &Sessions, key: &str, lines: u64, line_bytes: usize) -> SessionLog {
    let (mut log, _) = sessions.open(key, options()).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut number = 0;
    while number < lines {
        let records = (number..(number + 500).min(lines)).map(|at| record(at, line_bytes)).collect();
        number += 500;
        let sender = sender.clone();
        log.append(records, Durability::Written, move |answer| drop(sender.send(answer)));
        receiver.recv().unwrap().unwrap();
    }
    log.close();
    log
}

fn opening(dir: &Path) {
    let sessions = Sessions::new(&dir.join("long"));
    let folder = write(&sessions, "s", 200_000, 1050).folder().to_owned();
    let bytes: u64 =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    let open = || {
        let start = Instant::now();
        let (log, opened) = sessions.open("s", options()).unwrap();
        let took = start.elapsed();
        assert_eq!(opened.last_seq, 200_000);
        drop(log);
        took
    };
    let mut times: Vec<Duration> = (0..20).map(|_| open()).collect();
    times.sort();
    println!(
        "opening {} MB to append, warm: median {:.2} ms, worst {:.2} ms of 20 (goal at most 20 ms)",
        bytes / 1_000_000,
        times[10].as_secs_f64() * 1e3,
        times[19].as_secs_f64() * 1e3
    );
    let start = Instant::now();
    let line = Reader::open_from(&folder, 199_990).next().unwrap().unwrap();
    println!("reading from seq {}: {:.2} ms", line.seq, start.elapsed().as_secs_f64() * 1e3);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            fs::remove_file(path).unwrap();
        }
    }
    println!(
        "opening it without its indexes: {:.1} ms; again: {:.2} ms",
        open().as_secs_f64() * 1e3,
        open().as_secs_f64() * 1e3
    );
    println!("memory so far at most {} MiB", high_water_mib());
}

fn ids(dir: &Path) {
    let sessions = Sessions::new(&dir.join("ids"));
    drop(write(&sessions, "s", 500_000, 200));
    let before = resident_mib();
    let (mut log, _) = sessions.open("s", options()).unwrap();
    let start = Instant::now();
    let placed = log.place(&[record(499_999, 200)], Expected::Any).unwrap();
    assert_eq!(placed.seqs, [500_000]);
    println!(
        "500,000 ids: read in {:.0} ms, {} MiB more, at most {} MiB in all (goal at most 64 MiB)",
        start.elapsed().as_secs_f64() * 1e3,
        resident_mib().saturating_sub(before),
        high_water_mib()
    );
}

fn high_water_mib() -> u64 {
    memory_mib("VmHWM:")
}

fn resident_mib() -> u64 {
    memory_mib("VmRSS:")
}

fn memory_mib(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() / 1024
}
