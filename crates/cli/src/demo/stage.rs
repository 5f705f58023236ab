//! The stage: a scratch folder, a daemon of its own, a tmux server of its own, and the stand-ins. Whatever happens,
//! dropping the stage ends and removes all of it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use herdbook_api::v1::Listen;
use herdbook_machine::Tmux;
use herdbook_wire::env::Env as Places;
use herdbook_wire::paths::socket_address;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::stand_in::{Act, Done, Hello, Order, send};
use super::stop::Stop;
use crate::daemon::Daemon;
use crate::env::Env;
use crate::error::Problem;

/// How long anything on the stage may take before the demonstration gives up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a condition is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The stage.
pub struct Stage {
    stop: Stop,
    program: PathBuf,
    path: OsString,
    address: String,
    listener: UnixListener,
    agents: Vec<Agent>,
    daemon: Option<Child>,
    tmux: Option<PathBuf>,
    folder: PathBuf,
}

/// A stand-in on the stage.
struct Agent {
    name: String,
    stream: UnixStream,
    answers: BufReader<UnixStream>,
    /// Its process and its terminal, where it has no pane.
    seat: Option<(Child, OwnedFd)>,
}

impl Stage {
    /// Makes the scratch folder; starts nothing yet.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(env: &Env, stop: Stop) -> Result<Stage, Problem> {
        // The path of a socket holds little more than 100 bytes, and tmux knows no way around that.
        let parent = env.tmpdir.clone().filter(|path| path.len() <= 60).unwrap_or_else(|| "/tmp".into());
        let cannot = |error| failed("could not make a scratch folder", error);
        let folder = tempfile::Builder::new().prefix("herdbook-demo-").tempdir_in(parent).map_err(cannot)?;
        for name in ["home", "bin", "work"] {
            fs::create_dir(folder.path().join(name)).map_err(cannot)?;
        }
        let listener = socket_address(&folder.path().join("stage"))
            .and_then(|place| UnixListener::bind(&place.path))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| failed("could not listen in the scratch folder", error))?;
        let program =
            std::env::current_exe().map_err(|error| failed("could not find this program", error))?;
        let path = env.path.clone().unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        Ok(Stage {
            stop,
            program,
            path,
            address: String::new(),
            listener,
            agents: Vec::new(),
            daemon: None,
            tmux: None,
            folder: folder.keep(),
        })
    }

    /// Returns the scratch folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the private daemon as a command sees it.
    ///
    /// # Errors
    /// None here; the signature is that of [`Daemon::of`].
    pub fn daemon(&self) -> Result<Daemon, Problem> {
        let places = Places { herdbook_state: Some(self.state().into()), ..Places::default() };
        Daemon::of(&Env { places, ..Env::default() })
    }

    /// Returns the state folder of the private daemon.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Returns the daemon's HTTP address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the words of the hook command: `herdbook-hook` where it lies beside this program, else this program.
    pub fn hook_words(&self, host: &str) -> Vec<String> {
        let beside = self.program.with_file_name("herdbook-hook");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        if beside.is_file() {
            vec![text(&beside), host.to_owned()]
        } else {
            vec![text(&self.program), "hook".to_owned(), host.to_owned()]
        }
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// A signal came.
    pub fn pause(&self, time: Duration) -> Result<(), Problem> {
        self.stop.pause(time)
    }

    /// Waits until the test gives a value.
    ///
    /// # Errors
    /// It did not within [`PATIENCE`], the test failed for good, or a signal came.
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        mut test: impl FnMut(&mut Stage) -> Result<Option<T>, Problem>,
    ) -> Result<T, Problem> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = test(self)? {
                return Ok(value);
            }
            if Instant::now() > end {
                let words = format!("{what} did not happen within {} s", PATIENCE.as_secs());
                return Err(Problem::Demo { what: words, source: None });
            }
            self.pause(LOOK_AGAIN)?;
        }
    }

    /// Starts the private daemon and waits until it answers.
    ///
    /// # Errors
    /// It ended, or did not answer in time; its own words are in the error.
    pub fn start_daemon(&mut self) -> Result<(), Problem> {
        let log = self.folder.join("daemon.log");
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|error| failed("could not make the daemon's log", error))?;
        let child = self
            .command(&self.program)
            .arg("daemon")
            // Ctrl-C is for us: we end the daemon ourselves, in order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.0)
            .stderr(output.1)
            .spawn()
            .map_err(|error| failed("could not start a daemon", error))?;
        self.daemon = Some(child);
        self.wait_for("the daemon's first answer", |stage| {
            if stage.daemon.as_mut().and_then(|child| child.try_wait().ok().flatten()).is_some() {
                let words = fs::read_to_string(&log).unwrap_or_default();
                let last = words.lines().last().unwrap_or("it said nothing").to_owned();
                return Err(Problem::Demo {
                    what: format!("the daemon ended at once: {last}"),
                    source: None,
                });
            }
            let Ok(status) = stage.daemon()?.ask(|client| client.status()) else { return Ok(None) };
            let http = status.http.into_iter().find(|listen| listen.state == Listen::LISTENING);
            stage.address = http.map(|listen| listen.addr).unwrap_or_default();
            Ok(Some(()))
        })
    }

    /// Ends the private daemon, if it runs.
    pub fn stop_daemon(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
                let _ = kill_process(pid, Signal::TERM);
            }
            reap(&mut child);
        }
    }

    /// Starts the private tmux server with one pane, in which the first stand-in plays, or says that there is none.
    pub fn has_tmux(&self) -> bool {
        std::env::split_paths(&self.path).any(|folder| folder.join("tmux").is_file())
    }

    /// Brings a stand-in on stage: in a pane of its own where tmux exists, else on a terminal of its own.
    ///
    /// # Errors
    /// It cannot be started, or does not report.
    pub fn enter(&mut self, name: &str) -> Result<Hello, Problem> {
        // The process is named like the host, as the real one is.
        let program = self.folder.join("bin").join(name);
        symlink(&self.program, &program).map_err(|error| failed("could not prepare a stand-in", error))?;
        let seat = if self.has_tmux() {
            self.open_pane(name, &program)?;
            None
        } else {
            Some(self.open_terminal(name, &program)?)
        };
        let stream = self.wait_for("the stand-in's report", |stage| match stage.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(failed("could not hear the stand-in", error)),
        })?;
        let cannot = |error| failed("could not hear the stand-in", error);
        stream.set_nonblocking(false).map_err(cannot)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
        let mut answers = BufReader::new(stream.try_clone().map_err(cannot)?);
        let hello: Hello = receive(&mut answers).map_err(cannot)?;
        self.agents.push(Agent { name: name.to_owned(), stream, answers, seat });
        Ok(hello)
    }

    /// Has a stand-in say something on its screen and send something, and waits until it is sent.
    ///
    /// # Errors
    /// It could not, or a signal came.
    pub fn tell(&mut self, name: &str, say: &str, act: Act) -> Result<(), Problem> {
        self.pause(Duration::ZERO)?;
        let Some(agent) = self.agents.iter_mut().find(|agent| agent.name == name) else {
            return Err(Problem::Demo { what: format!("there is no stand-in {name}"), source: None });
        };
        let cannot = |error| failed("a stand-in left", error);
        send(&mut agent.stream, &Order { say: say.to_owned(), act }).map_err(cannot)?;
        let done: Done = receive(&mut agent.answers).map_err(cannot)?;
        match done.error {
            None => Ok(()),
            Some(error) => {
                Err(Problem::Demo { what: format!("the stand-in {name} could not: {error}"), source: None })
            }
        }
    }

    fn open_pane(&mut self, name: &str, program: &Path) -> Result<(), Problem> {
        let socket = self.folder.join("tmux");
        let mut tmux = self.command(Path::new("tmux"));
        tmux.arg("-S").arg(&socket).args(["-f", "/dev/null"]);
        if self.tmux.is_none() {
            tmux.args(["new-session", "-d", "-s", "demo", "-x", "160", "-y", "40", "-n", name]);
        } else {
            tmux.args(["new-window", "-d", "-t", "demo:", "-n", name]);
        }
        tmux.arg(program).args(["stand-in", name]).arg(self.folder.join("stage"));
        // Set before it is tried: a server that was started in vain is ended all the same.
        self.tmux = Some(socket);
        let ended =
            tmux.stdin(Stdio::null()).output().map_err(|error| failed("could not start tmux", error))?;
        if ended.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        Err(Problem::Demo { what: format!("tmux did not open a pane: {words}"), source: None })
    }

    /// A run without a terminal counts as headless, so each stand-in gets one.
    fn open_terminal(&self, name: &str, program: &Path) -> Result<(Child, OwnedFd), Problem> {
        let cannot = |error: io::Error| failed("could not open a terminal for a stand-in", error);
        let open = || -> io::Result<(OwnedFd, OwnedFd)> {
            let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            grantpt(&ours)?;
            unlockpt(&ours)?;
            let path = ptsname(&ours, Vec::new())?;
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            Ok((ours, rustix::fs::open(OsStr::from_bytes(path.as_bytes()), flags, Mode::empty())?))
        };
        let (ours, terminal) = open().map_err(cannot)?;
        let child = self
            .command(program)
            .args(["stand-in", "--own-terminal", name])
            .arg(self.folder.join("stage"))
            .stdin(terminal.try_clone().map_err(cannot)?)
            .stdout(terminal.try_clone().map_err(cannot)?)
            .stderr(terminal)
            .spawn()
            .map_err(cannot)?;
        Ok((child, ours))
    }

    /// Prepares a program with the stage's environment: nothing of the human's own but `PATH`.
    #[expect(
        clippy::disallowed_methods,
        reason = "starts our own program and tmux with a cleared environment"
    )]
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.folder.join("home"))
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("HERDBOOK_STATE", self.state())
            // The system chooses a free port; `status` tells which.
            .env("HERDBOOK_ADDR", "127.0.0.1:0")
            // Agents outside of the stage play no part.
            .env("HERDBOOK_DISCOVER", "off")
            .env("HERDBOOK_PANES", "off")
            .current_dir(self.folder.join("work"));
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for agent in std::mem::take(&mut self.agents) {
            // Its socket ends, and so does the stand-in.
            drop((agent.stream, agent.answers));
            if let Some((mut child, terminal)) = agent.seat {
                drop(terminal);
                reap(&mut child);
            }
        }
        if let Some(socket) = self.tmux.take() {
            let server = Tmux::at(&socket).server().ok();
            let mut tmux = self.command(Path::new("tmux"));
            tmux.arg("-S").arg(socket).args(["kill-server"]);
            let _ = tmux.stdin(Stdio::null()).output();
            // tmux answers before its server has ended.
            if let Some(server) = server {
                await_end(server.pid);
            }
        }
        self.stop_daemon();
        // A hook that was cut off may still write a spool file while we remove: look again a few times.
        for _ in 0..20 {
            match fs::remove_dir_all(&self.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(LOOK_AGAIN),
                _ => break,
            }
        }
    }
}

/// Waits, not for ever, until a process that is no child of ours has ended. One that nobody reaps has no words any more.
fn await_end(pid: u32) {
    let words = format!("/proc/{pid}/cmdline");
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end && fs::read(&words).is_ok_and(|words| !words.is_empty()) {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Waits for a child that has been asked to end; kills one that does not.
fn reap(child: &mut Child) {
    let end = Instant::now() + PATIENCE;
    while let Ok(None) = child.try_wait() {
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn receive<T: serde::de::DeserializeOwned>(answers: &mut BufReader<UnixStream>) -> io::Result<T> {
    let mut line = String::new();
    if answers.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}

fn failed(what: &str, error: io::Error) -> Problem {
    Problem::Demo { what: what.to_owned(), source: Some(error) }
}
