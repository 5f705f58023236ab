//! A daemon in a process of its own, to be killed, stopped and starved: this test binary, run once more.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use herdbook_api::Client;
use herdbook_daemon::run;
use herdbook_engine::Now;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit, setrlimit};

use crate::support::{Scratch, wait_until};

const STATE: &str = "HERDBOOK_TEST_CHILD_STATE";
const FILE_BYTES: &str = "HERDBOOK_TEST_CHILD_FILE_BYTES";
const WALL_SHIFT_MS: &str = "HERDBOOK_TEST_CHILD_WALL_SHIFT_MS";
const BOOT: &str = "HERDBOOK_TEST_CHILD_BOOT";
const WATCHES: &str = "HERDBOOK_TEST_CHILD_WATCHES";

/// How its world differs from ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// It may not write files beyond this size.
    pub file_bytes: Option<u64>,
    /// Its wall clock is ahead of ours by so much.
    pub wall_shift_ms: i64,
    /// It runs in another boot.
    pub boot: Option<u32>,
    /// It looks at panes, and the human's settings lie beside its state folder.
    pub watches: bool,
}

static SHIFT_MS: AtomicI64 = AtomicI64::new(0);

fn shifted() -> Now {
    let now = herdbook_daemon::now();
    Now { wall_ms: now.wall_ms.saturating_add_signed(SHIFT_MS.load(Ordering::Relaxed)), ..now }
}

/// Not a test of its own: what a [`DaemonChild`] runs.
#[test]
fn body_of_the_child_process() {
    let Some(state) = variable(STATE) else { return };
    if let Some(bytes) = number(FILE_BYTES) {
        setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), maximum: None }).unwrap();
    }
    let mut config = Scratch::new().config(std::sync::mpsc::channel().0);
    config.notice = Arc::new(|notice| eprintln!("{notice}"));
    config.state_dir = PathBuf::from(&state);
    config.sockets[0].path = config.state_dir.join("sock");
    config.signals = true;
    SHIFT_MS.store(number(WALL_SHIFT_MS).unwrap_or_default(), Ordering::Relaxed);
    config.clock = shifted;
    config.panes = variable(WATCHES).is_some();
    config.config_dir = config.state_dir.parent().filter(|_| config.panes).map(Path::to_owned);
    config.boot = number(BOOT).unwrap_or(config.boot);
    run(config).unwrap();
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    variable(name).and_then(|value| value.to_str()?.parse().ok())
}

#[expect(clippy::disallowed_methods, reason = "how the child is told what to be")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A daemon process; killed when it is dropped.
pub struct DaemonChild {
    child: Child,
    pub socket: PathBuf,
}

impl DaemonChild {
    /// Starts one and waits until it answers.
    pub fn start(state: &Path) -> DaemonChild {
        DaemonChild::start_with(state, Settings::default())
    }

    /// Starts one in a world of its own.
    pub fn start_with(state: &Path, settings: Settings) -> DaemonChild {
        #[expect(clippy::disallowed_methods, reason = "the child is this very program")]
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child::body_of_the_child_process", "--nocapture"]).env(STATE, state);
        command.env(WALL_SHIFT_MS, settings.wall_shift_ms.to_string());
        if let Some(bytes) = settings.file_bytes {
            command.env(FILE_BYTES, bytes.to_string());
        }
        if settings.watches {
            command.env(WATCHES, "1");
        }
        if let Some(boot) = settings.boot {
            command.env(BOOT, boot.to_string());
        }
        let path = state.with_file_name("child.log");
        let log = File::options().create(true).append(true).open(&path).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let daemon = DaemonChild { child, socket: state.join("sock") };
        wait_until(&format!("the daemon (see {})", path.display()), || {
            daemon.client().status().is_ok_and(|status| status.pid == daemon.child.id())
        });
        daemon
    }

    pub fn client(&self) -> Client {
        Client::new(vec![self.socket.clone()])
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Takes back the limit on file sizes.
    pub fn lift_limit(&self) {
        prlimit(Some(self.pid()), Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    }

    /// Sends a signal that ends it, and waits for the end.
    pub fn end(mut self, signal: Signal) -> std::process::ExitStatus {
        self.signal(signal);
        self.child.wait().unwrap()
    }

    /// Kills it in whatever it does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).unwrap()
    }
}

impl Drop for DaemonChild {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
