//! Puts the chained checksums of one session into a log without them: reads stdin, writes stdout. For measurements.
//!
//!     cargo run --release -p herdbook-log --example seal < LOG > SEALED

#![expect(clippy::unwrap_used, reason = "for measurements: what is missing ends it")]

use std::io::{BufRead as _, BufWriter, Write as _};

use herdbook_log::Head;

fn main() {
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let mut crc = None;
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line.unwrap();
        let body = line.strip_suffix(b"}").unwrap();
        // The session ids of the generator have nothing to escape.
        let session = Head::read(&line).unwrap().session;
        let before = crc.unwrap_or_else(|| crc32c::crc32c(&line[session.start + 1..session.end - 1]));
        let next = crc32c::crc32c_append(before, body);
        out.write_all(body).unwrap();
        writeln!(out, ",\"crc\":\"{next:08x}\"}}").unwrap();
        crc = Some(next);
    }
    out.flush().unwrap();
}
