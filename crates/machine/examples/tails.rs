//! Figures for followed files, each beside its floor: a look at 100 unchanged files (a `stat` each), and at a large
//! file that grew by a line (a `pread` of it). `cargo run --release -p herdbook-machine --example tails`

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench: it fails by panicking, and prints")]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use herdbook_machine::{Piece, Tail};

const FILES: usize = 100;
const LARGE_BYTES: usize = 200 << 20;
const ROUNDS: usize = 200;

fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let roots = [scratch.path().to_owned()];
    let line = format!("{}\n", "x".repeat(999));
    let paths: Vec<PathBuf> = (0..FILES).map(|n| scratch.path().join(format!("{n}.jsonl"))).collect();
    let mut tails: Vec<Tail> = Vec::new();
    for path in &paths {
        File::create(path).unwrap().write_all(line.repeat(50).as_bytes()).unwrap();
        tails.push(Tail::attach(path, &roots, None).unwrap());
    }
    let look = |tail: &mut Tail| {
        let mut lines = 0;
        tail.look(|piece| lines += usize::from(matches!(piece, Piece::Line(_)))).unwrap();
        lines
    };
    tails.iter_mut().for_each(|tail| assert_eq!(look(tail), 50));
    let ours = median(|| {
        assert_eq!(tails.iter_mut().map(look).sum::<usize>(), 0);
    });
    let floor = median(|| {
        paths.iter().for_each(|path| assert!(black_box(fs::symlink_metadata(path).unwrap()).is_file()))
    });
    tell("100 unchanged files / stat", ours, floor);

    let large = scratch.path().join("large.jsonl");
    let mut file = OpenOptions::new().create(true).append(true).open(&large).unwrap();
    let block = line.repeat(1_000);
    while file.metadata().unwrap().len() < LARGE_BYTES as u64 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let mut tail = Tail::attach(&large, &roots, None).unwrap();
    look(&mut tail);
    let mut took = Vec::new();
    let mut floors = Vec::new();
    for _ in 0..ROUNDS {
        file.write_all(line.as_bytes()).unwrap();
        let begun = Instant::now();
        assert_eq!(look(&mut tail), 1);
        took.push(begun.elapsed());
        let begun = Instant::now();
        let opened = File::open(&large).unwrap();
        let size = opened.metadata().unwrap().len();
        let mut bytes = vec![0; line.len()];
        opened.read_exact_at(&mut bytes, size - line.len() as u64).unwrap();
        floors.push(begun.elapsed());
        black_box(bytes);
    }
    tell("200 MiB file that grew by a line / open and pread", middle(took), middle(floors));
    let begun = Instant::now();
    let mut met = Tail::attach(&large, &roots, None).unwrap();
    let lines = look(&mut met);
    println!("meeting it: {:?}, {lines} lines of its end", begun.elapsed());
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("memory: {}", peak.split_whitespace().collect::<Vec<_>>().join(" "));
}

fn median(mut round: impl FnMut()) -> Duration {
    let one = |_| {
        let begun = Instant::now();
        round();
        begun.elapsed()
    };
    middle((0..ROUNDS).map(one).collect())
}

fn middle(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn tell(what: &str, ours: Duration, floor: Duration) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    let verdict = if ours <= Duration::from_millis(2) { "met" } else { "MISSED" };
    println!("{what}: {ours:?} / {floor:?} = {ratio:.2} (goal 2 ms: {verdict})");
}
