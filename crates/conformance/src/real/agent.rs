//! A stand-in agent: a process named like the host, with a terminal of its own, that runs the hook command.
//!
//! The runner starts this program again under the host's name ([`start`]); that process ([`play`]) runs the hooks of a
//! job one after the other and then lives until its stdin ends. Each hook leaves the terminal first ([`launch`]), as
//! hosts run their hooks.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::real::process;
use crate::real::scratch::Scratch;
use crate::real::stdin::HookInput;
use crate::real::tools::{Tools, parts};

/// A hook that is still there after this time and its own pieces is ended.
const HOOK_LIMIT: Duration = Duration::from_secs(20);

/// What a stand-in shall do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its terminal.
    pub terminal: PathBuf,
    /// The hook's command words with the host.
    pub hook: Vec<String>,
    /// The runs.
    pub inputs: Vec<HookInput>,
}

/// A stand-in agent that has run its hooks and lives on until it is dropped.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    _terminal: OwnedFd,
    /// What was observed of each run: `exit`, `stdout`, `stderr`, `ms`, `ms_after_last_byte`.
    pub runs: Vec<Value>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.stdin.take());
        process::wait_within(&mut self.child, Duration::from_secs(5), false);
    }
}

/// Starts a stand-in for a host, and returns when all its hooks have run.
///
/// # Errors
/// No terminal could be made, or it could not be started, or it ended early.
pub fn start(
    tools: &Tools,
    scratch: &Scratch,
    env: &[(String, String)],
    host: &str,
    inputs: &[HookInput],
) -> Result<Agent, String> {
    let at = |what: &'static str| move |error: io::Error| format!("stand-in agent: {what}: {error}");
    let (terminal, name) = make_terminal().map_err(at("no terminal"))?;
    let mut hook = tools.hook.clone();
    hook.push(host.to_owned());
    let job = Job { terminal: name, hook, inputs: inputs.to_vec() };
    let job_file = scratch.own_file("job.json");
    let file = File::create(&job_file).map_err(at("no job file"))?;
    serde_json::to_writer(file, &job).map_err(|error| format!("stand-in agent: no job file: {error}"))?;
    let bin = scratch.own_file("bin");
    fs::create_dir_all(&bin).map_err(at("no folder"))?;
    let named = bin.join(host);
    if !named.exists() {
        symlink(&tools.this, &named).map_err(at("no link"))?;
    }
    let mut command = process::command(&named, env);
    command.arg(parts::STAND_IN).arg(&job_file).current_dir(scratch.dir());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(at("not started"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut agent = Agent { child, stdin, _terminal: terminal, runs: Vec::new() };
    for line in stdout.map(BufReader::new).into_iter().flat_map(BufReader::lines).take(inputs.len()) {
        let line = line.map_err(at("no result"))?;
        agent
            .runs
            .push(serde_json::from_str(&line).map_err(|error| format!("stand-in agent: {error}: {line}"))?);
    }
    if agent.runs.len() == inputs.len() {
        Ok(agent)
    } else {
        Err(format!("stand-in agent: ended after {} of {} runs", agent.runs.len(), inputs.len()))
    }
}

/// Plays the stand-in: takes the terminal, runs the job, prints one JSON line a run, and lives until stdin ends.
///
/// # Errors
/// The job cannot be read, or the terminal cannot be taken.
pub fn play(job_file: &Path, this: &Path) -> io::Result<()> {
    let job: Job = serde_json::from_reader(BufReader::new(File::open(job_file)?))?;
    // The leader of a new session takes the first terminal it opens as its own.
    rustix::process::setsid()?;
    let _terminal = rustix::fs::open(&job.terminal, OFlags::RDWR, Mode::empty())?;
    let mut out = io::stdout().lock();
    for input in &job.inputs {
        let run = run_hook(&job.hook, input, this)?;
        serde_json::to_writer(&mut out, &run)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Leaves the terminal and becomes the command.
///
/// # Errors
/// Only returns when it could not.
pub fn launch(words: &[OsString]) -> io::Error {
    if let Err(error) = rustix::process::setsid() {
        return error.into();
    }
    let Some((program, arguments)) = words.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "no command");
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "this process becomes the hook, with its whole environment"
    )]
    let mut command = std::process::Command::new(program);
    command.args(arguments).exec()
}

/// What was observed of a run.
#[derive(Debug, Serialize)]
struct Run {
    exit: Option<i64>,
    stdout: String,
    stderr: String,
    ms: f64,
    ms_after_last_byte: f64,
}

fn run_hook(hook: &[String], input: &HookInput, this: &Path) -> io::Result<Run> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the hook inherits the agent's environment, as it does from a host"
    )]
    let mut command = std::process::Command::new(this);
    command.arg(parts::LAUNCH).args(hook).args(&input.argument);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn()?;
    let (gone, is_gone) = mpsc::channel();
    let feeder = child.stdin.take().map(|stdin| {
        let input = input.clone();
        thread::spawn(move || feed(stdin, &input, &is_gone))
    });
    let (stdout, stderr) = (process::collect(child.stdout.take()), process::collect(child.stderr.take()));
    let pieces = input.piece.map_or(1, |piece| input.bytes.len() / piece.max(1) + 1) as u64;
    let feeding = Duration::from_millis(input.first_after_ms + pieces.saturating_mul(input.every_ms));
    let status = process::wait_within(&mut child, HOOK_LIMIT + feeding, false);
    let ended = Instant::now();
    drop(gone);
    let last_byte = feeder.and_then(|feeder| feeder.join().ok()).flatten().unwrap_or(started);
    let text = |bytes: mpsc::Receiver<Vec<u8>>| {
        let bytes = bytes.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let ms = |from: Instant| (ended.saturating_duration_since(from).as_secs_f64() * 10_000.0).round() / 10.0;
    Ok(Run {
        exit: status.map(process::exit_number),
        stdout: text(stdout),
        stderr: text(stderr),
        ms: ms(started),
        ms_after_last_byte: ms(last_byte),
    })
}

/// Writes an input as it is said to arrive. Returns when the last byte was taken; nothing if there was none.
fn feed(mut stdin: ChildStdin, input: &HookInput, is_gone: &mpsc::Receiver<()>) -> Option<Instant> {
    // Waiting on the channel is a pause that ends early when the hook is gone.
    let pause = |ms: u64| {
        ms == 0 || is_gone.recv_timeout(Duration::from_millis(ms)) == Err(mpsc::RecvTimeoutError::Timeout)
    };
    let mut last = None;
    if pause(input.first_after_ms) {
        for (index, piece) in input.bytes.chunks(input.piece.unwrap_or(usize::MAX).max(1)).enumerate() {
            if (index > 0 && !pause(input.every_ms)) || stdin.write_all(piece).is_err() {
                break;
            }
            last = Some(Instant::now());
        }
    }
    if input.held_open {
        // The sender is dropped when the hook has exited.
        let _ = is_gone.recv();
    }
    last
}

/// Makes a terminal and returns its controlling side and the name of the other one.
fn make_terminal() -> io::Result<(OwnedFd, PathBuf)> {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    let name = ptsname(&controller, Vec::new())?;
    Ok((controller, PathBuf::from(name.to_string_lossy().into_owned())))
}

/// Reads a request from stdin, sends it to a port of this machine, and prints what came back. For clients of another
/// uid.
///
/// # Errors
/// Stdin cannot be read or stdout not written.
pub fn request(port: u16, read_ms: Option<u64>) -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    io::stdout().write_all(&crate::real::answer::exchange(port, &bytes, read_ms))
}
