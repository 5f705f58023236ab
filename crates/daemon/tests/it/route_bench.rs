//! A daemon with routes: real scripts, trusted as the human does it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use herdbook_daemon::routes::{load, routes_dir, trust};
use herdbook_wire::clock::Start;
use herdbook_wire::frame::{ANSWER_HEADER_BYTES, decode_answer, encode};
use herdbook_wire::{Answer, Delivery, Origin, Tty};
use serde_json::{Value, json};

use crate::support::{Daemon, LONG, Scratch};

/// A scratch folder with settings.
pub struct Home {
    pub scratch: Scratch,
}

impl Home {
    pub fn new() -> Home {
        Home { scratch: Scratch::new() }
    }

    pub fn config(&self) -> PathBuf {
        self.scratch.dir.path().join("config")
    }

    /// Where scripts leave what the test looks at.
    pub fn at(&self, name: &str) -> PathBuf {
        self.scratch.dir.path().join(name)
    }

    /// Writes a shell script as a route, with these settings beside it; `@` in it is the scratch folder.
    pub fn write(&self, id: &str, script: &str, toml: &str) -> PathBuf {
        let path = routes_dir(&self.config()).join(id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let script = script.replace('@', self.scratch.dir.path().to_str().unwrap());
        write_program(&path, format!("#!/bin/sh\n{script}\n").as_bytes());
        let settings = path.with_file_name(format!("{}.toml", path.file_name().unwrap().to_str().unwrap()));
        write_program(&settings, toml.as_bytes());
        path
    }

    /// Trusts all that is there.
    pub fn trust(&self) {
        let loaded = load(&self.config(), &self.scratch.state());
        assert_eq!(loaded.refused, []);
        for route in &loaded.routes {
            trust(&self.scratch.state(), route).unwrap();
        }
    }

    /// Writes a route and trusts it.
    pub fn route(&self, id: &str, script: &str, toml: &str) -> PathBuf {
        let path = self.write(id, script, toml);
        self.trust();
        path
    }

    pub fn start(&self) -> Daemon {
        self.scratch.try_start_with(|config| config.config_dir = Some(self.config())).unwrap()
    }

    /// The payloads of the journal's decisions.
    pub fn decisions(&self) -> Vec<Value> {
        let lines = self.scratch.journal().into_iter().filter(|line| line.kind == "decision");
        lines.map(|line| serde_json::from_str(&line.payload).unwrap()).collect()
    }
}

/// Writes a program in another process: one that this process had open for writing could not be started while another
/// thread has just started something else.
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
fn write_program(path: &Path, text: &[u8]) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 700 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(text).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// A hook call of now.
pub fn call(host: &str, native_event: Option<&str>, body: &Value) -> Delivery {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let start = Start::now();
    Delivery {
        host: host.into(),
        native_event: native_event.map(Into::into),
        delivery: NEXT.fetch_add(1, Ordering::Relaxed).into(),
        stamp_ms: start.stamp_ms(),
        started_at_ms: start.unix_ms,
        origin: Origin { tty: Tty::Some, ..Origin::default() },
        body: body.to_string().into_bytes(),
        cut: false,
    }
}

/// A tool use that a host asks about: the tool is called `Bash` everywhere.
pub fn tool_call(host: &str, command: &str) -> Delivery {
    let event = if host == "gemini" { "BeforeTool" } else { "PreToolUse" };
    let body = json!({
        "session_id": "s1", "cwd": "/home/dev/app", "hook_event_name": event, "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_use_id": "t1",
    });
    call(host, None, &body)
}

/// Begins a conversation: the frame is sent.
pub fn begin(daemon: &Daemon, delivery: &Delivery) -> UnixStream {
    let mut stream = UnixStream::connect(&daemon.socket).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(&encode(delivery)).unwrap();
    stream
}

/// Reads one answer.
pub fn next(stream: &mut UnixStream) -> Answer {
    let mut bytes = vec![0; ANSWER_HEADER_BYTES];
    stream.read_exact(&mut bytes).unwrap();
    loop {
        if let Some((answer, _)) = decode_answer(&bytes).unwrap() {
            return answer;
        }
        let mut more = [0];
        stream.read_exact(&mut more).unwrap();
        bytes.extend_from_slice(&more);
    }
}

/// Sends a call and returns every answer to it. On a busy machine the daemon may miss the hook's time and say "spool":
/// then another call is made.
pub fn ask(daemon: &Daemon, make: impl Fn() -> Delivery) -> Vec<Answer> {
    let begun = Instant::now();
    loop {
        let mut stream = begin(daemon, &make());
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let mut answers = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some((answer, length)) = decode_answer(rest).unwrap() {
            answers.push(answer);
            rest = &rest[length..];
        }
        assert_eq!(rest, b"");
        if answers != [Answer::Spool] || begun.elapsed() > LONG {
            return answers;
        }
    }
}

/// Sends a call for which routes run, and returns what the host is told in the end.
pub fn told(daemon: &Daemon, make: impl Fn() -> Delivery) -> Answer {
    let answers = ask(daemon, make);
    let [Answer::Wait(wait_ms), last] = &answers[..] else { panic!("{answers:?}") };
    // The entry's 5 s less one, and a little.
    assert!((1..=4_200).contains(wait_ms), "{wait_ms}");
    last.clone()
}

/// What the host reads on its hook's standard output.
pub fn printed(answer: &Answer) -> Value {
    let Answer::Decision(bytes) = answer else { panic!("{answer:?}") };
    serde_json::from_slice(bytes).unwrap()
}
