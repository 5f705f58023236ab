//! Native bytes to a canonical line of bytes, its idempotency key included: `projection ENVELOPES`, one `{"host", "native"}`
//! a line. Prints the median of its rounds in nanoseconds of processor time an event, which a busy machine hardly changes.
//! `benches/projection.sh` runs it beside its peers.

use std::hint::black_box;
use std::io;

use herdbook_hosts::read;
use serde::Deserialize;
use serde_json::value::RawValue;

const ROUNDS: usize = 21;
const EVENTS: usize = 20_000;

#[derive(Deserialize)]
struct Envelope<'a> {
    host: &'a str,
    #[serde(borrow)]
    native: &'a RawValue,
}

/// Processor time of this thread so far, in nanoseconds.
fn spent() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().map_err(io::Error::other)
}

#[expect(clippy::print_stdout, reason = "the figure is what it is run for")]
fn main() -> io::Result<()> {
    // `cargo bench` and `cargo test` add words of their own.
    let Some(path) = std::env::args().skip(1).find(|word| !word.starts_with("--")) else { return Ok(()) };
    let text = std::fs::read_to_string(&path)?;
    let envelopes: Vec<Envelope> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut out = String::new();
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = spent()?;
        for envelope in envelopes.iter().cycle().take(EVENTS) {
            let body = black_box(envelope.native.get().as_bytes());
            let Ok(native) = read(envelope.host, None, body) else { continue };
            out.clear();
            native.write_line(&mut out);
            black_box(&out);
        }
        rounds.push((spent()? - start) / EVENTS as u64);
    }
    rounds.sort_unstable();
    println!("{}", rounds[ROUNDS / 2]);
    Ok(())
}
