//! What a look at transcripts costs: 100 that did not change, and one of 200 MB that did, beside the calls that nobody
//! can do without (`stat`, `pread`); and what it costs in memory. Prints figures with a verdict.
//!
//!     cargo run --release -p herdbook-daemon --example transcripts

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench: it prints, and what is missing ends it"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herdbook_hosts::transcript::{Known, Reader};
use herdbook_machine::{Piece, Tail};

const FILES: usize = 100;
const BIG_BYTES: u64 = 200 << 20;
const ROUNDS: usize = 400;
/// What a look may take.
const GOAL: Duration = Duration::from_millis(2);
/// What all looks together may add to the memory of the process: one window and one line, and their slack.
const GOAL_BYTES: u64 = 8 << 20;

/// A line as Claude writes them, of about 2 KiB.
fn line(n: usize) -> String {
    let text = "word ".repeat(380);
    format!(
        r#"{{"type":"assistant","uuid":"u{n}","sessionId":"s","timestamp":"2026-01-15T09:00:00.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

fn write(path: &Path, bytes: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut written = 0;
    for n in 0.. {
        if written >= bytes {
            break;
        }
        let line = line(n);
        writeln!(file, "{line}").unwrap();
        written += line.len() as u64 + 1;
    }
    file.flush().unwrap();
}

/// A file as the daemon follows it: its lines become facts.
struct Followed {
    tail: Tail,
    reader: Reader,
    known: Known,
}

impl Followed {
    fn meet(path: &Path, root: &Path) -> Followed {
        let tail = Tail::attach(path, &[root.to_owned()], None).unwrap();
        let mut followed = Followed { tail, reader: Reader::new("claude"), known: Known::default() };
        followed.look();
        followed
    }

    fn look(&mut self) -> usize {
        let mut lines = 0;
        let take = |piece: Piece<'_>| {
            if let Piece::Line(line) = piece {
                lines += 1;
                self.reader.line(line, &mut self.known);
            }
        };
        self.tail.look(take).unwrap();
        lines
    }
}

/// The median of so many rounds; `before` is not measured.
fn median(mut before: impl FnMut(), mut measured: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            before();
            let begun = Instant::now();
            measured();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn tell(what: &str, ours: Duration, floor_name: &str, floor: Duration) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    let verdict = if ours <= GOAL { "met" } else { "MISSED" };
    let (ours, floor) = (ours.as_secs_f64() * 1e3, floor.as_secs_f64() * 1e3);
    println!("{what:<34} {ours:7.3} ms (goal 2 ms: {verdict}), {ratio:5.1} x {floor_name} ({floor:.3} ms)");
}

/// The most memory that the process ever had, and what it has now.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let paths: Vec<PathBuf> = (0..FILES).map(|n| root.join(format!("{n}.jsonl"))).collect();
    paths.iter().for_each(|path| write(path, 256 << 10));
    let big = root.join("big.jsonl");
    write(&big, BIG_BYTES);
    let before = memory("VmRSS:");

    let mut followed: Vec<Followed> = paths.iter().map(|path| Followed::meet(path, root)).collect();
    let floor = median(
        || {},
        || {
            paths.iter().for_each(|path| {
                fs::symlink_metadata(path).unwrap();
            })
        },
    );
    let ours = median(|| {}, || assert_eq!(followed.iter_mut().map(Followed::look).sum::<usize>(), 0));
    tell("100 unchanged transcripts", ours, "100 stat", floor);

    let opened = File::open(&big).unwrap();
    let mut buffer = vec![0; 64 << 10];
    let window = || opened.read_exact_at(&mut buffer, BIG_BYTES - (64 << 10)).unwrap();
    let floor = median(|| {}, window);
    let ours = median(|| {}, || drop(Followed::meet(&big, root)));
    tell("200 MB, met for the first time", ours, "pread of 64 KiB", floor);

    let mut one = Followed::meet(&big, root);
    let mut end = OpenOptions::new().append(true).open(&big).unwrap();
    let new = line(0) + "\n";
    let mut grow = || end.write_all(new.as_bytes()).unwrap();
    let mut buffer = vec![0; new.len()];
    let floor = median(&mut grow, || {
        fs::symlink_metadata(&big).unwrap();
        let size = opened.metadata().unwrap().len();
        opened.read_exact_at(&mut buffer, size - new.len() as u64).unwrap();
    });
    one.look();
    let ours = median(&mut grow, || assert_eq!(one.look(), 1));
    tell("200 MB, one line more", ours, "stat and pread of it", floor);

    let more = memory("VmHWM:").saturating_sub(before);
    let verdict = if more <= GOAL_BYTES { "met" } else { "MISSED" };
    println!(
        "memory added at most: {:.1} MiB (goal at most 8 MiB: {verdict})",
        more as f64 / f64::from(1 << 20)
    );
}
