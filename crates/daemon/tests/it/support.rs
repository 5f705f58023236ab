//! A daemon on a thread of this process, with everything it owns in a scratch folder.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use herdbook_api::Client;
use herdbook_daemon::{DaemonConfig, DaemonError, Notice, Service, Stop, run};
use herdbook_log::{Line, Reader};
use herdbook_wire::paths::SocketPlace;
use herdbook_wire::{Answer, Delivery, Origin, Tty, frame};
use serde_json::{Value, json};

/// How long anything may take that should take no time; only a fault waits so long.
pub const LONG: Duration = Duration::from_secs(20);

/// A state folder, and how a daemon is run on it.
pub struct Scratch {
    pub dir: Arc<tempfile::TempDir>,
    pub http: Vec<SocketAddr>,
}

impl Scratch {
    pub fn new() -> Scratch {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        Scratch { dir, http: vec!["127.0.0.1:0".parse().unwrap()] }
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub fn socket(&self) -> PathBuf {
        self.state().join("sock")
    }

    pub fn config(&self, notices: mpsc::Sender<Notice>) -> DaemonConfig {
        DaemonConfig {
            state_dir: self.state(),
            sockets: vec![SocketPlace { path: self.socket(), guarded: true }],
            http: self.http.clone(),
            version: "0.0.0-test".into(),
            grace_ms: Some(50),
            service: Service::default(),
            // The machine may run agents that the test knows nothing of.
            discover: false,
            home: None,
            panes: false,
            config_dir: None,
            boot: herdbook_wire::clock::boot_prefix(),
            clock: herdbook_daemon::now,
            tmux: Vec::new(),
            stop: Stop::new(),
            signals: false,
            notice: Arc::new(move |notice| {
                // A test that is over does not listen any more.
                let _ = notices.send(notice.clone());
            }),
        }
    }

    /// Starts a daemon and waits until it listens.
    pub fn start(&self) -> Daemon {
        self.try_start().unwrap()
    }

    /// Starts a daemon that keeps calls back for so long.
    pub fn start_with_grace(&self, grace_ms: u64) -> Daemon {
        self.try_start_with(|config| config.grace_ms = Some(grace_ms)).unwrap()
    }

    /// Starts a daemon that looks for running agents.
    pub fn start_with_discovery(&self) -> Daemon {
        self.try_start_with(|config| config.discover = true).unwrap()
    }

    pub fn try_start(&self) -> Result<Daemon, DaemonError> {
        self.try_start_with(|_| {})
    }

    pub fn try_start_with(&self, change: impl FnOnce(&mut DaemonConfig)) -> Result<Daemon, DaemonError> {
        let (sender, notices) = mpsc::channel();
        let mut config = self.config(sender);
        change(&mut config);
        let stop = config.stop.clone();
        let thread = std::thread::spawn(move || run(config));
        let mut before = Vec::new();
        loop {
            match notices.recv_timeout(LONG) {
                Ok(Notice::Ready { http, .. }) => {
                    let http = http.first().copied();
                    let (state, socket) = (self.state(), self.socket());
                    let thread = Some(thread);
                    let _dir = Arc::clone(&self.dir);
                    return Ok(Daemon { thread, stop, http, state, socket, notices, before, _dir });
                }
                Ok(other) => before.push(other),
                Err(_) => return Err(thread.join().unwrap().expect_err("it ended without being ready")),
            }
        }
    }

    /// Every record of the journal.
    pub fn journal(&self) -> Vec<Line> {
        journal(&self.state())
    }
}

pub fn journal(state: &Path) -> Vec<Line> {
    Reader::open(&state.join("journal")).map(Result::unwrap).collect()
}

/// A running daemon; it is stopped when it is dropped.
pub struct Daemon {
    thread: Option<JoinHandle<Result<(), DaemonError>>>,
    pub stop: Stop,
    pub http: Option<SocketAddr>,
    pub state: PathBuf,
    pub socket: PathBuf,
    /// Held, so that notices have somewhere to go.
    notices: mpsc::Receiver<Notice>,
    /// What it said before it was ready.
    pub before: Vec<Notice>,
    _dir: Arc<tempfile::TempDir>,
}

impl Daemon {
    pub fn client(&self) -> Client {
        Client::new(vec![self.socket.clone()])
    }

    /// What it said since it was ready and nobody asked for yet.
    pub fn notices(&self) -> Vec<Notice> {
        self.notices.try_iter().collect()
    }

    pub fn port(&self) -> u16 {
        self.http.unwrap().port()
    }

    /// Stops it and returns how long that took.
    pub fn stop(mut self) -> Duration {
        let begun = Instant::now();
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap().unwrap();
        begun.elapsed()
    }

    /// Sends raw bytes over TCP (`@PORT@` is replaced) and reads to the end.
    pub fn raw(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(self.http.unwrap()).unwrap();
        let request = request.replace("@PORT@", &self.port().to_string());
        exchange(&mut stream, request.as_bytes())
    }

    /// A request as curl would send it.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Reply {
        self.raw(&request_text(method, path, headers, body))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], None)
    }

    /// `POST` of JSON.
    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.request("POST", path, &[("Content-Type", "application/json")], Some(body))
    }

    pub fn post_event(&self, event: &Value) -> Reply {
        self.post("/event/normalized", &event.to_string())
    }

    /// Session ids of `/queue`, in order.
    pub fn queue(&self) -> Vec<String> {
        let queue = self.get("/queue").json();
        let items = queue["items"].as_array().unwrap().iter();
        items.map(|item| item["session_id"].as_str().unwrap().to_owned()).collect()
    }

    /// Delivers a call. On a busy machine the daemon may miss the hook's time and say "spool": then the call is sent
    /// again, as the spool would, and its delivery id keeps it from counting twice.
    pub fn frame(&self, delivery: &Delivery) -> Answer {
        self.frame_at(&self.socket, delivery)
    }

    /// Delivers a call over another of its sockets.
    pub fn frame_at(&self, socket: &Path, delivery: &Delivery) -> Answer {
        let bytes = frame::encode(delivery);
        let started = Instant::now();
        loop {
            let answer = send_frame(socket, &bytes).unwrap();
            if answer != Answer::Spool || started.elapsed() > LONG {
                return answer;
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn request_text(method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:@PORT@\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body.unwrap_or_default());
    text
}

/// An answer as it came.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Status and body, for one assertion.
    pub fn both(&self) -> (u16, &str) {
        (self.status, &self.body)
    }
}

pub fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Reply {
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    // A server that refuses before the body is read may close with a reset once the answer is out.
    let _ = stream.read_to_end(&mut answer);
    parse_reply(&answer)
}

pub fn parse_reply(answer: &[u8]) -> Reply {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut parsed = httparse::Response::new(&mut headers);
    let head = parsed.parse(answer).unwrap();
    assert!(head.is_complete(), "no whole answer: {:?}", String::from_utf8_lossy(answer));
    Reply {
        status: parsed.code.unwrap(),
        headers: parsed
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).into_owned();
                (header.name.to_lowercase(), value)
            })
            .collect(),
        body: String::from_utf8_lossy(&answer[head.unwrap()..]).into_owned(),
    }
}

/// Sends bytes as a frame; nothing when the server closed without an answer.
pub fn send_frame(socket: &Path, bytes: &[u8]) -> Option<Answer> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(bytes).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    frame::decode_answer(&answer).unwrap().map(|(answer, _)| answer)
}

/// A Claude hook call out of a terminal.
pub fn claude(delivery: u128, session: &str, event: &str, more: Value) -> Delivery {
    let mut body = json!({
        "session_id": session,
        "transcript_path": format!("/home/dev/.claude/projects/-home-dev-app/{session}.jsonl"),
        "cwd": "/home/dev/app",
        "hook_event_name": event,
    });
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Delivery {
        host: "claude".into(),
        native_event: None,
        delivery,
        stamp_ms: 1_000 + (delivery as u64),
        started_at_ms: 1_767_225_600_000 + (delivery as u64),
        origin: Origin { tty: Tty::Some, ..Origin::default() },
        body: body.to_string().into_bytes(),
        cut: false,
    }
}

pub fn stop_call(delivery: u128, session: &str) -> Delivery {
    claude(delivery, session, "Stop", json!({ "stop_hook_active": false, "last_assistant_message": "Done." }))
}

pub fn stuck(session: &str, timestamp: u64) -> Value {
    json!({
        "type": "stuck", "sessionId": session, "paneId": "%3", "cwd": "/home/dev/app", "transcriptPath": "",
        "reason": "stopped", "message": format!("words of {session}"), "timestamp": timestamp,
    })
}

/// Waits for something that another thread brings about; looks often, and long enough for a busy machine.
pub fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < LONG, "{what} did not come");
        std::thread::yield_now();
    }
}
