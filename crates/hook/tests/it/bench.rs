//! A scratch home, the hook run in it, and a stand-in for the daemon.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;
use std::time::Instant;

use herdbook_wire::frame::{encode_answer, read_delivery};
use herdbook_wire::{Answer, Delivery, spool};

pub const HOOK: &str = env!("CARGO_BIN_EXE_herdbook-hook");

/// A scratch home; its environment is all that the hook inherits.
pub struct Home {
    root: tempfile::TempDir,
}

/// What one run of the hook did.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub ms: u128,
}

impl Run {
    /// Asserts the manners of a hook that no route answered to.
    #[track_caller]
    pub fn assert_silent_within(&self, ms: u128) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert!(self.stdout.is_empty() && self.stderr.is_empty(), "{self:?}");
        assert!(self.ms <= ms, "took {} ms, at most {ms} are allowed", self.ms);
    }
}

impl Home {
    pub fn new() -> Home {
        let home = Home { root: tempfile::tempdir().unwrap() };
        for dir in ["home", "state", "run"] {
            fs::DirBuilder::new().mode(0o700).create(home.path(dir)).unwrap();
        }
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn spool(&self) -> PathBuf {
        self.path("state/herdbook/spool")
    }

    /// The socket that the hook tries first; its folder is made.
    pub fn socket(&self) -> PathBuf {
        let dir = self.path("run/herdbook");
        let _ = fs::DirBuilder::new().mode(0o700).create(&dir);
        dir.join("sock")
    }

    /// A command with this home's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .current_dir(self.root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the hook; `feed` writes its input on another thread, and closes it by dropping it.
    pub fn run(&self, args: &[&str], feed: impl FnOnce(ChildStdin) + Send + 'static) -> Run {
        let mut command = self.command(HOOK);
        command.args(args);
        run(command, feed)
    }

    /// Runs the hook on an input that is closed after its last byte.
    pub fn run_on(&self, args: &[&str], input: &[u8]) -> Run {
        let input = input.to_vec();
        self.run(args, move |mut stdin| {
            let _ = stdin.write_all(&input);
        })
    }

    /// Takes everything out of the spool, in order.
    pub fn drain(&self) -> Vec<Delivery> {
        let dir = self.spool();
        let mut drained = Vec::new();
        for entry in spool::entries(&dir).unwrap() {
            drained.push(spool::read(&dir, &entry).unwrap());
            spool::remove(&dir, &entry).unwrap();
        }
        assert_eq!(spool::lost(&dir).unwrap(), None);
        drained
    }

    /// Takes the one event out of the spool.
    #[track_caller]
    pub fn drain_one(&self) -> Delivery {
        let mut drained = self.drain();
        assert_eq!(drained.len(), 1);
        drained.remove(0)
    }
}

pub fn run(mut command: Command, feed: impl FnOnce(ChildStdin) + Send + 'static) -> Run {
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take();
    let feeder = stdin.map(|stdin| thread::spawn(move || feed(stdin)));
    let output = child.wait_with_output().unwrap();
    let ms = started.elapsed().as_millis();
    if let Some(feeder) = feeder {
        feeder.join().unwrap();
    }
    Run { code: output.status.code(), stdout: output.stdout, stderr: output.stderr, ms }
}

/// Waits until the other side closes.
pub fn wait_for_close(mut stream: &UnixStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Blocks until the reader of a pipe is gone: how a test holds the hook's input open.
pub fn hold_open(stdin: ChildStdin) {
    let mut fds = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::empty())];
    let _ = rustix::event::poll(&mut fds, None);
}

/// Listens at `socket` and serves one connection with `serve`; returns what that returned.
pub fn serve_one<T: Send + 'static>(
    socket: &Path,
    serve: impl FnOnce(UnixStream) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || serve(listener.accept().unwrap().0))
}

/// Reads the frame, then sends these answers.
pub fn answer_with(answers: Vec<Answer>) -> impl FnOnce(UnixStream) -> Delivery + Send + 'static {
    move |mut stream| {
        let delivery = read_delivery(&stream).unwrap();
        for answer in answers {
            let _ = stream.write_all(&encode_answer(&answer).unwrap());
        }
        wait_for_close(&stream);
        delivery
    }
}
