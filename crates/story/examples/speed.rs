//! Measures the checker and the fold over a log.
//!
//!     cargo run --release -p herdbook-story --example speed -- FILE

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement, run by hand")]

use std::time::Instant;

use herdbook_story::{Checker, History, Line, Options, Templates};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let told = |what: &str, start: Instant, found: usize| {
        let seconds = start.elapsed().as_secs_f64();
        println!("{what}: {:.0} MB/s ({found})", text.len() as f64 / seconds / 1e6);
    };
    let start = Instant::now();
    let mut checker = Checker::new(Options::native());
    let findings = text.lines().map(|line| checker.push(line).len()).sum();
    told("checker, findings", start, findings);
    let start = Instant::now();
    let mut history = History::new(Templates::default());
    let folded = text.lines().map_while(|line| history.apply(&Line::read(line).ok()?).ok()).count();
    told("fold, lines", start, folded);
}
