//! A daemon of its own, in a scratch folder.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::client::Client;

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
        let log = folder.join("daemon.log");
        let open = || File::options().create(true).append(true).open(&log).map_err(say);
        let daemon = command(programs.join("herdbook"), &env)
            .arg("daemon")
            .stdout(open()?)
            .stderr(open()?)
            .spawn()
            .map_err(|error| format!("{}: {error}", programs.join("herdbook").display()))?;
        let client = Client::new(vec![folder.join("run/herdbook/sock"), folder.join("state/herdbook/sock")]);
        let mut herd = Herd { programs: programs.to_owned(), env, port, daemon, client };
        let end = Instant::now() + PATIENCE;
        while herd.client.status().is_err() {
            let is_over = !matches!(herd.daemon.try_wait(), Ok(None));
            if is_over || Instant::now() > end {
                return Err(format!("the daemon does not answer: see {}", log.display()));
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(herd)
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
        let pid = i32::try_from(self.daemon.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // It may be gone already.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let end = Instant::now() + PATIENCE;
        while matches!(self.daemon.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(LOOK_AGAIN);
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}
