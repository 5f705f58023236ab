//! The one signal that can kill a process for writing to a file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Keeps SIGXFSZ from killing this process: a write beyond the allowed file size (`ulimit -f`) then fails with EFBIG,
/// which the store treats like a full disk. Call it once, at the start of the process that opens a [`Store`](crate::Store).
///
/// A handler that does nothing is installed rather than the signal ignored, so that programs this process starts have
/// the default again.
///
/// # Errors
/// When the system refuses the handler.
pub fn ignore_sigxfsz() -> io::Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
