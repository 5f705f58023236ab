//! The hook: what `herdbook-hook HOST [event:NAME] [JSON]` and `herdbook hook HOST …` do.
//!
//! It never breaks its host: bounded time and memory, prints nothing and exits 0 unless a route decided (overview,
//! invariant 3). Whatever fails, fails in silence; what went wrong is seen in what was kept.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::panic;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::client::{deliver, poll_until};
use crate::clock::Start;
use crate::delivery::{Answer, Delivery};
use crate::env::Env;
use crate::input::{Input, read_input};
use crate::limits::{ANSWER_MS, DELIVER_MS};
use crate::paths::{HOLDS, SPOOL, SocketPlace, TRUSTED_ROUTES, sockets, state_dir};
use crate::{origin, spool};

/// Time kept back from [`DELIVER_MS`] or [`ANSWER_MS`] for writing to the spool after a server that did not answer.
const SPOOL_RESERVE_MS: u64 = 8;
/// The same for each mebibyte of the body.
const SPOOL_RESERVE_MS_PER_MIB: u64 = 2;
/// A write of this size to a pipe that is ready does not block.
const PRINT_BYTES: usize = 4 << 10;
/// How long a host may leave its end of the output unread.
const PRINT: Duration = Duration::from_secs(1);

/// What the host is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing: exit 0 in silence.
    Nothing,
    /// This on standard output, and exit 0.
    Output(Vec<u8>),
    /// This on standard error, and exit 2: hosts without another form for it take that as a refusal.
    Refusal(Vec<u8>),
}

/// The exit code that is a refusal.
const REFUSED: u8 = 2;

/// Runs the hook with the arguments after the program's name (or after `hook`), on this process's input, output,
/// environment and clocks. Returns the exit code when the host may go on: 2 where a route refused and the host is told
/// so in that way, else 0.
pub fn run_process(args: impl Iterator<Item = OsString>) -> ExitCode {
    let start = Start::now();
    // A panic would be printed into the host's terminal, and its exit code read as a refusal.
    panic::set_hook(Box::new(|_| {}));
    let told = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        let Some(call) = Call::parse(args) else { return Told::Nothing };
        let stdin = std::io::stdin();
        // A terminal holds the keystrokes of a human, never a payload: taking them would steal them from the agent.
        let readable = !stdin.is_terminal();
        run(call, start, &Env::read(), readable.then_some(&stdin))
    }));
    match told {
        Ok(Told::Output(bytes)) => print(&bytes, std::io::stdout()),
        Ok(Told::Refusal(bytes)) => {
            print(&bytes, std::io::stderr());
            return ExitCode::from(REFUSED);
        }
        Ok(Told::Nothing) | Err(_) => {}
    }
    ExitCode::SUCCESS
}

/// The arguments of one hook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The adapter.
    pub host: String,
    /// Of `event:NAME`.
    pub native_event: Option<String>,
    /// The payload, where it came as the last argument (Codex's legacy `notify`, case F-033).
    pub payload: Option<Vec<u8>>,
}

impl Call {
    /// Reads the arguments; nothing when they name no host. Arguments of later versions are passed over.
    pub fn parse(args: impl Iterator<Item = OsString>) -> Option<Call> {
        let mut args = args.peekable();
        let host = args.next()?.to_string_lossy().into_owned();
        if host.is_empty() || host.starts_with('-') {
            return None;
        }
        let mut call = Call { host, native_event: None, payload: None };
        while let Some(arg) = args.next() {
            if let Some(name) = arg.as_bytes().strip_prefix(b"event:") {
                call.native_event = Some(OsStr::from_bytes(name).to_string_lossy().into_owned());
            } else if args.peek().is_none() && looks_like_object(arg.as_bytes()) {
                call.payload = Some(arg.as_bytes().to_vec());
            }
        }
        Some(call)
    }
}

fn looks_like_object(bytes: &[u8]) -> bool {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0xef | 0xbb | 0xbf);
    bytes.iter().find(|byte| !blank(byte)) == Some(&b'{')
}

/// Runs one hook call and returns what the host is told. An empty input is delivered too: that the host
/// called is a fact. `input` is not read when the payload came as an argument.
pub fn run(call: Call, start: Start, env: &Env, input: Option<impl AsFd>) -> Told {
    let mut delivery = Delivery {
        host: call.host,
        native_event: call.native_event,
        delivery: start.delivery_id(random()),
        stamp_ms: start.stamp_ms(),
        started_at_ms: start.unix_ms,
        // Before reading: the agent may be gone once it has written.
        origin: origin::collect(),
        ..Delivery::default()
    };
    let spool_dir = state_dir(env).ok().map(|dir| dir.join(SPOOL));
    delivery.body = match (call.payload, input) {
        (Some(payload), _) => payload,
        (None, None) => Vec::new(),
        (None, Some(input)) => {
            let spill = |body| {
                let dir = spool_dir.as_deref().ok_or(std::io::ErrorKind::NotFound)?;
                raise_size_limit();
                spool::Writer::begin(dir, &Delivery { body, ..delivery.clone() })
            };
            match read_input(input, start.at, spill) {
                Input::Memory(body) => body,
                Input::Spooled => return Told::Nothing,
            }
        }
    };
    hand_over(&delivery, &sockets(env).unwrap_or_default(), spool_dir.as_deref())
}

fn hand_over(delivery: &Delivery, places: &[SocketPlace], spool_dir: Option<&Path>) -> Told {
    let mebibytes = delivery.body.len() as u64 >> 20;
    let budget =
        deliver_ms(spool_dir).saturating_sub(SPOOL_RESERVE_MS + SPOOL_RESERVE_MS_PER_MIB * mebibytes);
    let deadline = Instant::now() + Duration::from_millis(budget);
    match deliver(delivery, places, deadline) {
        Ok(Answer::Done) => Told::Nothing,
        Ok(Answer::Decision(output)) => Told::Output(output),
        Ok(Answer::Refusal(words)) => Told::Refusal(words),
        // The server may have it all the same; the id tells it that this is the same call.
        Ok(Answer::Spool | Answer::Wait(_)) | Err(_) => {
            if let Some(dir) = spool_dir {
                raise_size_limit();
                let _ = spool::write(dir, delivery);
            }
            Told::Nothing
        }
    }
}

/// How long the server may take until its first answer.
fn deliver_ms(spool_dir: Option<&Path>) -> u64 {
    let state = spool_dir.and_then(Path::parent);
    let lies_there = |name| state.is_some_and(|state| state.join(name).exists());
    if [TRUSTED_ROUTES, HOLDS].into_iter().any(lies_there) { ANSWER_MS } else { DELIVER_MS }
}

/// Returns 128 random bits; without the kernel's help the clock and the process must do.
fn random() -> u128 {
    let mut bytes = [0; 16];
    match getrandom(&mut bytes, GetRandomFlags::NONBLOCK) {
        Ok(16) => u128::from_le_bytes(bytes),
        _ => {
            let start = Start::now();
            u128::from(start.boot_us) << 64 | u128::from(start.unix_ms) << 32 | u128::from(std::process::id())
        }
    }
}

/// Lifts the limit on file sizes as far as the host's environment lets us; writing beyond it would end the hook by a
/// signal, so the spool refuses what does not fit.
fn raise_size_limit() {
    let limit = getrlimit(Resource::Fsize);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, ..limit });
    }
}

/// Prints what the host is told. One that does not read cannot hold the hook.
fn print(mut bytes: &[u8], output: impl AsFd) {
    let deadline = Instant::now() + PRINT;
    while !bytes.is_empty() && poll_until(&output, PollFlags::OUT, deadline) == Ok(true) {
        match rustix::io::write(&output, &bytes[..bytes.len().min(PRINT_BYTES)]) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Option<Call> {
        Call::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn arguments_name_host_event_and_payload() {
        let call = |native_event: Option<&str>, payload: Option<&str>| {
            Some(Call {
                host: "codex".into(),
                native_event: native_event.map(Into::into),
                payload: payload.map(Into::into),
            })
        };
        assert_eq!(parse(&["codex"]), call(None, None));
        assert_eq!(parse(&["codex", "event:Stop"]), call(Some("Stop"), None));
        assert_eq!(parse(&["codex", "{\"type\":1}"]), call(None, Some("{\"type\":1}")));
        assert_eq!(parse(&["codex", "event:x", "\u{feff} {}"]), call(Some("x"), Some("\u{feff} {}")));
        assert_eq!(parse(&["codex", "--later", "x"]), call(None, None));
        assert_eq!(parse(&["codex", "{}", "event:x"]), call(Some("x"), None));
    }

    #[test]
    fn no_host_is_no_call() {
        assert_eq!(parse(&[]), None);
        assert_eq!(parse(&[""]), None);
        assert_eq!(parse(&["--help"]), None);
    }
}
