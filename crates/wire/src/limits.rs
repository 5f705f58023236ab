//! The bounds of one hook call (overview D2, D4). Times are milliseconds, sizes bytes.

/// The hook stops reading so long after the last byte, once a first byte has come.
pub const SILENCE_MS: u64 = 500;
/// The hook stops reading so long after it began, whatever comes.
pub const READ_MS: u64 = 2_000;
/// From the end of reading to the exit of the hook.
pub const DELIVER_MS: u64 = 50;
/// The same where a route or the human may answer. A busy machine needs it, and a call without an answer goes on, whatever a
/// route would have said. Less than the second and a half that Claude Code grants all hooks of a session's end together.
pub const ANSWER_MS: u64 = 1_000;
/// A longer body never travels over the socket: it goes straight to the spool.
pub const SOCKET_BODY_BYTES: u64 = 8 << 20;
/// A longer body is not kept whole: its first [`CUT_BYTES`] are.
pub const BODY_BYTES: u64 = 256 << 20;
/// What is kept of a body over [`BODY_BYTES`].
pub const CUT_BYTES: u64 = 1 << 20;
/// An event is taken into the spool while the spool holds less than this. So one event of any permitted size fits into
/// an empty spool, and the spool holds at most this and what was admitted last.
pub const SPOOL_BYTES: u64 = 64 << 20;
/// Longest decision a server may send.
pub const DECISION_BYTES: u64 = 8 << 20;
/// Longest wait a server may ask for; the host's own time-out is the server's concern.
pub const WAIT_MS: u32 = 600_000;
