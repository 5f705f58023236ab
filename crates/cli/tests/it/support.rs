//! A scratch home for one test: nothing of the tester's own environment reaches the command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A scratch home.
pub struct TestEnv {
    folder: TempDir,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// stdout.
    pub stdout: String,
    /// stderr.
    pub stderr: String,
    /// Exit code.
    pub code: i32,
}

impl TestEnv {
    /// Makes the folders.
    pub fn new() -> TestEnv {
        let folder = tempfile::Builder::new().prefix("hb").tempdir().unwrap();
        for name in ["home", "state", "run", "tmux", "tmp"] {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        }
        TestEnv { folder }
    }

    /// Returns the scratch folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Prepares any program with the scratch environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "tests start the real binary, and tmux, themselves; PATH finds tmux"
    )]
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path().join("home"))
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_RUNTIME_DIR", self.path().join("run"))
            .env("TMUX_TMPDIR", self.path().join("tmux"))
            .env("TMPDIR", self.path().join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            // The machine may run agents that the test knows nothing of.
            .env("HERDBOOK_DISCOVER", "off")
            .env("HERDBOOK_PANES", "off")
            .env("COLUMNS", "100")
            .current_dir(self.path());
        command
    }

    /// Prepares `herdbook` with these words.
    pub fn herdbook(&self, words: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_herdbook"));
        command.args(words);
        command
    }

    /// Runs `herdbook` with these words and nothing on stdin.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.run_with(words, b"")
    }

    /// Runs `herdbook` with these words and this stdin.
    pub fn run_with(&self, words: &[&str], stdin: &[u8]) -> Ran {
        finish(self.herdbook(words), stdin)
    }
}

/// Writes a program that can be run at once. A file that is open for writing cannot be run, and a process that another
/// test starts at this moment has our open files until it is its own program: so a process that starts none writes it.
#[expect(clippy::disallowed_methods, reason = "a test's own tool")]
pub fn write_program(path: &Path, text: &[u8]) {
    let mut writer = Command::new("/bin/sh");
    writer.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path);
    let ran = finish(writer, text);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

/// A daemon of a [`TestEnv`]; ends when it is dropped.
pub struct TestDaemon {
    child: Child,
    /// Where it serves HTTP.
    pub address: String,
}

impl TestDaemon {
    /// Starts it and waits until it listens.
    pub fn start(env: &TestEnv) -> TestDaemon {
        TestDaemon::start_with(env.herdbook(&["daemon"]))
    }

    /// Starts this command for it and waits until it listens.
    pub fn start_with(mut command: Command) -> TestDaemon {
        let mut child = command
            .env("HERDBOOK_ADDR", "127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("READY "), "{ready}");
        let address = ready.split("http://").nth(1).unwrap().split([',', '\n']).next().unwrap().to_owned();
        TestDaemon { child, address }
    }

    /// Posts a normalized event and expects it to be taken.
    pub fn post(&self, event: &serde_json::Value) {
        let body = event.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST /event/normalized HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }

    /// Posts that a session waits.
    pub fn post_stuck(&self, session: &str, message: &str, timestamp: u64) {
        self.post_stuck_in(session, "%0", message, timestamp);
    }

    /// Posts that a session waits in that pane.
    pub fn post_stuck_in(&self, session: &str, pane: &str, message: &str, timestamp: u64) {
        self.post(&serde_json::json!({
            "type": "stuck", "sessionId": session, "paneId": pane, "cwd": "/srv/demo", "transcriptPath": "",
            "reason": "stopped", "message": message, "timestamp": timestamp,
        }));
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

/// True where tmux can be run; says by name which test is skipped where it cannot.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "looks along PATH; a skipped test says so"
)]
pub fn has_tmux(test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("tmux").is_file());
    if !found {
        println!("skipped: {test}: no tmux");
    }
    found
}

/// Returns the command lines of all processes that name this folder.
pub fn processes_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|words| String::from_utf8_lossy(&words).replace('\0', " "))
        .filter(|words| words.contains(folder))
        .collect()
}

/// Runs a prepared command to its end.
pub fn finish(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child: Child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    // A command that ends without reading everything closes the pipe: that is its right.
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&bytes);
    });
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
        code: status.code().unwrap_or(-1),
    }
}
