//! Running a program with limits (overview D15): an argument list and never a shell line, a cleared environment plus
//! an allow-list, the payload on standard input, bounds on time and output, and the whole process group killed when a
//! bound is passed.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};

use crate::env;

/// How long we still read after the program has ended, if a child of it holds the pipes open.
const DRAIN: Duration = Duration::from_millis(100);

/// A program to run, and its bounds.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    stdin: Arc<[u8]>,
    is_enough: Option<fn(&[u8]) -> bool>,
    timeout: Duration,
    output_limit: usize,
    halt: Option<Halt>,
}

/// Ends programs that run, from elsewhere. Clones end the same ones.
#[derive(Clone, Debug)]
pub struct Halt(Arc<OwnedFd>);

impl Halt {
    /// Makes one for programs that are to be started with [`Command::halted_by`].
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn new() -> io::Result<Halt> {
        Ok(Halt(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Ends all that runs under it, and all that will.
    pub fn halt(&self) {
        // It is full only where it was told so before.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// What a program that ended in time has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its exit code, or `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Whether it exited with 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Why a program gave no answer. Whoever asked something with it does not know the answer: neither yes nor no.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started: most often it is not there.
    #[error("could not start {}", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// It did not end in time and was killed with all that it started.
    #[error("{} did not answer within {after_ms} ms", .program.display())]
    TimedOut {
        /// The program.
        program: OsString,
        /// The limit in milliseconds.
        after_ms: u128,
    },
    /// It wrote more than it may and was killed.
    #[error("{} wrote more than {limit} bytes", .program.display())]
    TooMuch {
        /// The program.
        program: OsString,
        /// The limit in bytes, for each of its two outputs.
        limit: usize,
    },
    /// Who asked does not want to know any more; it was killed with all that it started.
    #[error("{} was ended before it answered", .program.display())]
    Halted {
        /// The program.
        program: OsString,
    },
    /// Talking to it failed.
    #[error("could not talk to {}", .program.display())]
    Io {
        /// The program.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
}

impl Command {
    /// A program with [`env::PASSED_ON`] as its environment, no input, 2 s, and 1 MiB for each output.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let env = env::PASSED_ON.iter().filter_map(|name| Some(((*name).into(), env::read(name)?))).collect();
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env,
            folder: None,
            stdin: Arc::default(),
            is_enough: None,
            timeout: Duration::from_secs(2),
            output_limit: 1 << 20,
            halt: None,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable for the program.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(known, _)| known != name.as_ref());
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Gives the program these bytes to read.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into().into();
        self
    }

    /// Gives the program these bytes to read, which others read too.
    pub fn shared_stdin(mut self, bytes: Arc<[u8]>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Runs the program in this folder.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Ends the program when that is said.
    pub fn halted_by(mut self, halt: Halt) -> Self {
        self.halt = Some(halt);
        self
    }

    /// Keeps its standard input open, all read or not, until what it has written to standard output is enough: a
    /// server that is asked over its standard input ends with it and drops what it has not answered yet.
    pub fn stdin_open_until(mut self, is_enough: fn(&[u8]) -> bool) -> Self {
        self.is_enough = Some(is_enough);
        self
    }

    /// Sets the limit on time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the limit in bytes on each output.
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// Runs the program to its end, at most as long as its limit. A program that ends without reading its input is no
    /// error.
    ///
    /// # Errors
    /// See [`RunError`]; in every case nothing that it started in its group is left running.
    pub fn run(&self) -> Result<Output, RunError> {
        let deadline = Instant::now() + self.timeout;
        let mut child = self
            .std_command()
            .spawn()
            .map_err(|source| RunError::Start { program: self.program.clone(), source })?;
        let result = self.talk(&mut child, deadline);
        if result.is_err() {
            kill_group(&child);
            // It is dead or dying by SIGKILL, which nothing outlives for long; this only collects it.
            let _ = child.wait();
        }
        result
    }

    /// Starts the program for a conversation: it is written to and read from. Whoever starts it ends it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(&self) -> Result<Child, RunError> {
        self.std_command()
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| RunError::Start { program: self.program.clone(), source })
    }

    #[expect(clippy::disallowed_methods, reason = "the one wrapper around starting programs")]
    fn std_command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(if self.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn talk(&self, child: &mut Child, deadline: Instant) -> Result<Output, RunError> {
        let io = |source: io::Error| RunError::Io { program: self.program.clone(), source };
        let timed_out =
            || RunError::TimedOut { program: self.program.clone(), after_ms: self.timeout.as_millis() };
        let ended = pid_of(child).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let mut stdin = child.stdin.take();
        let mut stdout = Pipe::new(child.stdout.take()).map_err(io)?;
        let mut stderr = Pipe::new(child.stderr.take()).map_err(io)?;
        if let Some(stdin) = &stdin {
            rustix::io::ioctl_fionbio(stdin, true).map_err(|error| io(error.into()))?;
        }
        let mut written = 0;
        let mut deadline = deadline;
        let mut has_ended = false;
        while stdout.source.is_some() || stderr.source.is_some() || !has_ended {
            let now = Instant::now();
            if now >= deadline {
                if has_ended {
                    // A process that it left behind holds the pipes. The program itself is not collected yet, so the
                    // number of its group cannot be another's.
                    kill_group(child);
                    break;
                }
                return Err(timed_out());
            }
            let wait = deadline - now;
            let wait = if ended.is_none() { wait.min(Duration::from_millis(5)) } else { wait };
            let ended = ended.as_ref().filter(|_| !has_ended);
            let unwritten = stdin.as_ref().filter(|_| written < self.stdin.len());
            let halt = self.halt.as_ref().map(|halt| &*halt.0);
            let is_halted =
                wait_for(unwritten, stdout.source.as_ref(), stderr.source.as_ref(), ended, halt, wait)
                    .map_err(io)?;
            if is_halted {
                return Err(RunError::Halted { program: self.program.clone() });
            }
            if let Some(pipe) = stdin.as_mut().filter(|_| written < self.stdin.len()) {
                match pipe.write(&self.stdin[written..]) {
                    Ok(count) => written += count,
                    Err(error) if is_later(&error) => {}
                    // It does not want to read the rest.
                    Err(_) => written = self.stdin.len(),
                }
            }
            stdout.read().map_err(io)?;
            if written == self.stdin.len() && self.is_enough.is_none_or(|is_enough| is_enough(&stdout.bytes))
            {
                stdin = None;
            }
            stderr.read().map_err(io)?;
            if stdout.bytes.len().max(stderr.bytes.len()) > self.output_limit {
                return Err(RunError::TooMuch { program: self.program.clone(), limit: self.output_limit });
            }
            if !has_ended && is_over(child).map_err(io)? {
                has_ended = true;
                stdin = None;
                deadline = deadline.min(Instant::now() + DRAIN);
            }
        }
        let status = child.wait().map_err(io)?;
        Ok(Output {
            code: status.code(),
            signal: status.signal(),
            stdout: stdout.bytes,
            stderr: stderr.bytes,
        })
    }
}

/// One output of the program, read without blocking.
struct Pipe<T> {
    source: Option<T>,
    bytes: Vec<u8>,
}

impl<T: Read + AsFd> Pipe<T> {
    fn new(source: Option<T>) -> io::Result<Self> {
        if let Some(source) = &source {
            rustix::io::ioctl_fionbio(source, true)?;
        }
        Ok(Self { source, bytes: Vec::new() })
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let mut chunk = [0; 16 << 10];
        match source.read(&mut chunk) {
            Ok(0) => self.source = None,
            Ok(count) => self.bytes.extend_from_slice(&chunk[..count]),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits until one of them has something for us, or the time is over. Returns true when it is to be halted.
pub(crate) fn wait_for(
    stdin: Option<&impl AsFd>,
    stdout: Option<&impl AsFd>,
    stderr: Option<&impl AsFd>,
    ended: Option<&OwnedFd>,
    halt: Option<&OwnedFd>,
    wait: Duration,
) -> io::Result<bool> {
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(5);
    fds.extend(halt.map(|fd| PollFd::new(fd, PollFlags::IN)));
    fds.extend(stdin.map(|fd| PollFd::new(fd, PollFlags::OUT)));
    fds.extend(stdout.map(|fd| PollFd::new(fd, PollFlags::IN)));
    fds.extend(stderr.map(|fd| PollFd::new(fd, PollFlags::IN)));
    fds.extend(ended.map(|fd| PollFd::new(fd, PollFlags::IN)));
    let limit = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut fds, Some(&limit)) {
        Ok(_) => Ok(halt.is_some() && fds.first().is_some_and(|fd| !fd.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the program has ended, without collecting it.
fn is_over(child: &Child) -> io::Result<bool> {
    let Some(pid) = pid_of(child) else { return Ok(true) };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), options) {
        Ok(found) => Ok(found.is_some()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Kills the program and what it started. The group has the child's pid, which cannot be another's before it is
/// waited for.
pub(crate) fn kill_group(child: &Child) {
    if let Some(pid) = pid_of(child) {
        // Nothing to do if it is gone.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
