//! Reading the hook's input: until one complete JSON value, the end, silence, or the time is up (overview D2).

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::PollFlags;
use rustix::io::{Errno, read};

use crate::client::poll_until;
use crate::limits::{READ_MS, SILENCE_MS, SOCKET_BODY_BYTES};
use crate::scan::Scanner;
use crate::spool::Writer;

const PIECE_BYTES: usize = 64 << 10;

/// What became of the input.
#[derive(Debug)]
pub(crate) enum Input {
    /// It is here, at most [`SOCKET_BODY_BYTES`] and a piece.
    Memory(Vec<u8>),
    /// It was too long for memory and lies in the spool, whole or cut, or is counted as lost.
    Spooled,
}

/// Reads an input. What is over [`SOCKET_BODY_BYTES`] goes to the writer that `spill` makes of the first bytes, and is
/// read on and thrown away where there is none: a host must not block on a full pipe or see it break before its time.
pub(crate) fn read_input(
    input: impl AsFd,
    started: Instant,
    spill: impl FnOnce(Vec<u8>) -> io::Result<Writer>,
) -> Input {
    let last = started + Duration::from_millis(READ_MS);
    let (mut scanner, mut silence_ends) = (Scanner::default(), last);
    let (mut store, mut spill) = (Store::Memory(Vec::with_capacity(PIECE_BYTES)), Some(spill));
    let mut piece = Vec::new();
    loop {
        if !matches!(poll_until(&input, PollFlags::IN, silence_ends.min(last)), Ok(true)) {
            break;
        }
        let target = if let Store::Memory(bytes) = &mut store { bytes } else { &mut piece };
        target.reserve(PIECE_BYTES);
        let before = target.len();
        match read(&input, spare_capacity(target)) {
            Ok(0) => break,
            Ok(_) => {}
            Err(Errno::INTR | Errno::AGAIN) if Instant::now() < last => continue,
            // Nothing more can be read; what has come is kept.
            Err(_) => break,
        }
        scanner.feed(&target[before..]);
        store = match store {
            Store::Memory(bytes) if bytes.len() as u64 > SOCKET_BODY_BYTES => {
                match spill.take().map(|spill| spill(bytes)) {
                    Some(Ok(writer)) => Store::Spool(writer),
                    _ => Store::Gone,
                }
            }
            Store::Spool(mut writer) => match writer.append(&piece) {
                Ok(()) => Store::Spool(writer),
                Err(_) => {
                    let _ = writer.finish_cut();
                    Store::Gone
                }
            },
            other => other,
        };
        piece.clear();
        let now = Instant::now();
        if scanner.is_whole() || now >= last {
            break;
        }
        silence_ends = now + Duration::from_millis(SILENCE_MS);
    }
    match store {
        Store::Memory(bytes) => return Input::Memory(bytes),
        Store::Spool(writer) => {
            let _ = writer.finish();
        }
        Store::Gone => {}
    }
    Input::Spooled
}

enum Store {
    Memory(Vec<u8>),
    Spool(Writer),
    Gone,
}
