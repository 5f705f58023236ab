//! Measures how fast the lines of a log are held against all rules.
//!
//!     cargo run --release -p herdbook-story --example check_speed -- FILE
//!
//! Before a log that is not open is appended to, the daemon checks it whole: this is most of what opening costs.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement, run by hand")]

use std::time::Instant;

use herdbook_story::{Checker, Options};

fn main() {
    let file = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let (mut lines, mut found) = (0, 0);
    let mut checker = Checker::new(Options::native());
    let begun = Instant::now();
    for line in text.lines() {
        lines += 1;
        found += checker.push(line).len();
    }
    let time = begun.elapsed();
    let speed = text.len() as f64 / 1e6 / time.as_secs_f64();
    println!("{lines} lines, {} MB, {found} findings, {time:.2?}, {speed:.0} MB/s", text.len() / 1_000_000);
    let begun = Instant::now();
    let copy = checker.clone();
    println!("a copy of the checker: {:.2?}", begun.elapsed());
    drop(copy);
    let begun = Instant::now();
    let state = checker.state().unwrap();
    println!("its state: {} bytes, written in {:.2?}", state.len(), begun.elapsed());
    let begun = Instant::now();
    assert!(Checker::restore(Options::native(), &state).is_some());
    println!("read again in {:.2?}", begun.elapsed());
}
