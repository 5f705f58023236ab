//! A daemon of its own, in a scratch folder.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::client::Client;
use rustix::process::Signal;

/// How long a daemon may take to answer or to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Makes a command that sees nothing of our own environment but what it is given.
pub fn command(program: impl AsRef<std::ffi::OsStr>, env: &[(String, String)]) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the tier's one wrapper; clients need terminals and their own limits"
    )]
    let mut command = Command::new(program);
    command.env_clear().envs(env.iter().cloned()).stdin(Stdio::null());
    command
}

/// A running daemon and where it keeps everything. It ends with this value.
#[derive(Debug)]
pub struct Herd {
    folder: PathBuf,
    programs: PathBuf,
    env: Vec<(String, String)>,
    port: u16,
    daemon: Child,
    /// Asks it.
    pub client: Client,
}

impl Herd {
    /// Starts one below `folder`. `programs` holds `herdbook` and `herdbook-hook`, `path` is the search path.
    ///
    /// # Errors
    /// It cannot be started, or does not answer in time.
    pub fn start(folder: &Path, programs: &Path, path: &str) -> Result<Herd, String> {
        let say = |error: std::io::Error| format!("{}: {error}", folder.display());
        let listener = TcpListener::bind("127.0.0.1:0").map_err(say)?;
        let port = listener.local_addr().map_err(say)?.port();
        // Free for the daemon. Another process may be quicker; then the daemon says so, and the run is made again.
        drop(listener);
        let mut env = vec![
            ("PATH".to_owned(), path.to_owned()),
            ("HERDBOOK_ADDR".to_owned(), format!("127.0.0.1:{port}")),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
        ];
        for (name, place) in [("HOME", "home"), ("XDG_RUNTIME_DIR", "run"), ("XDG_STATE_HOME", "state")] {
            let place = folder.join(place);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&place).map_err(say)?;
            env.push((name.to_owned(), place.display().to_string()));
        }
        let daemon = spawn(folder, programs, &env)?;
        let client = Client::new(vec![folder.join("run/herdbook/sock"), folder.join("state/herdbook/sock")]);
        let mut herd =
            Herd { folder: folder.to_owned(), programs: programs.to_owned(), env, port, daemon, client };
        herd.wait_until_it_answers()?;
        Ok(herd)
    }

    fn wait_until_it_answers(&mut self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while self.client.status().is_err() {
            if self.is_gone() || Instant::now() > end {
                return Err(format!(
                    "the daemon does not answer: see {}",
                    self.folder.join("daemon.log").display()
                ));
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// The daemon's process id.
    pub fn pid(&self) -> u32 {
        self.daemon.id()
    }

    /// The daemon has ended.
    pub fn is_gone(&mut self) -> bool {
        !matches!(self.daemon.try_wait(), Ok(None))
    }

    /// The daemon is stopped by a signal and has not ended.
    pub fn is_frozen(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        // The name is in brackets and may hold anything; the state follows it.
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    }

    /// Lets a frozen daemon run on.
    ///
    /// # Errors
    /// It does not answer in time.
    pub fn thaw(&mut self) -> Result<(), String> {
        self.signal(Signal::CONT);
        self.wait_until_it_answers()
    }

    /// Starts the daemon once more, after it has ended.
    ///
    /// # Errors
    /// It cannot be started, or does not answer in time.
    pub fn start_again(&mut self) -> Result<(), String> {
        self.daemon = spawn(&self.folder, &self.programs, &self.env)?;
        self.wait_until_it_answers()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.daemon.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // It may be gone already.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// The address of its queue.
    pub fn queue_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/queue", self.port)
    }

    /// A variable of its environment.
    pub fn var(&self, name: &str) -> &str {
        self.env.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    /// A program of ours, or another, with the daemon's environment and more variables.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, more: &[(&str, &str)]) -> Command {
        let mut command = command(program, &self.env);
        command.envs(more.iter().copied());
        command
    }

    /// Runs `herdbook` with these words.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn herdbook(&self, words: &[&str], more: &[(&str, &str)]) -> Result<Output, String> {
        let program = self.programs.join("herdbook");
        self.command(&program, more)
            .args(words)
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        if !self.is_gone() {
            self.signal(Signal::TERM);
            // A frozen one takes the other signal only now.
            self.signal(Signal::CONT);
        }
        let end = Instant::now() + PATIENCE;
        while !self.is_gone() && Instant::now() < end {
            thread::sleep(LOOK_AGAIN);
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn spawn(folder: &Path, programs: &Path, env: &[(String, String)]) -> Result<Child, String> {
    let log = folder.join("daemon.log");
    let open = || {
        File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(|error| format!("{}: {error}", log.display()))
    };
    let program = programs.join("herdbook");
    command(&program, env)
        .arg("daemon")
        .stdout(open()?)
        .stderr(open()?)
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))
}
