//! A scratch home for one test: nothing of the tester's own environment reaches the command.

use std::io::Write;
use std::path::{Path, PathBuf};
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

    /// Returns the state folder of the daemon.
    pub fn state(&self) -> PathBuf {
        self.path().join("state/herdbook")
    }

    /// Prepares any program with the scratch environment.
    #[expect(clippy::disallowed_methods, reason = "tests start the real binary, and tmux, themselves")]
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
