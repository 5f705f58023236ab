//! The book of a real daemon, over its socket, and the ways to die in the middle of an append.

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::client::{Client, ClientError};
use herdbook_api::events::{Append, AppendedEvent, ShownEvent};
use herdbook_api::{NewEvent, Producer, ProducerError, session_path};
use herdbook_events::catalog::EventType;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::value::RawValue;

use crate::agent::book::{Book, Entry, Page, Trouble};

/// A log is asked for again for so long while the daemon restarts.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// What happens at a step, once.
#[derive(Clone, Debug)]
pub struct Fate {
    /// The session's key, a blank, and the step's label.
    pub at: String,
    /// What.
    pub kind: FateKind,
}

/// What happens at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FateKind {
    /// The agent is killed as soon as it knows that the step is written.
    Die,
    /// The agent is killed when the answer is there, before it has read it.
    DieUnread,
    /// When the step is written, the agent prints a line and waits for one: the daemon is killed meanwhile.
    Wait,
    /// The same with the append sent and nothing read of its answer. The agent sends it again.
    WaitUnread,
}

impl FateKind {
    /// Reads the word of the command line.
    pub fn parse(word: &str) -> Option<FateKind> {
        Some(match word {
            "die" => FateKind::Die,
            "die-unread" => FateKind::DieUnread,
            "wait" => FateKind::Wait,
            "wait-unread" => FateKind::WaitUnread,
            _ => return None,
        })
    }

    /// Returns the word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            FateKind::Die => "die",
            FateKind::DieUnread => "die-unread",
            FateKind::Wait => "wait",
            FateKind::WaitUnread => "wait-unread",
        }
    }
}

/// The logs that a daemon keeps.
pub struct HttpBook<'a> {
    socket: PathBuf,
    producers: HashMap<String, Producer>,
    now_ms: &'a dyn Fn() -> u64,
    fates: Vec<Fate>,
}

impl<'a> HttpBook<'a> {
    /// Asks the daemon that listens there. `now_ms` tells Unix milliseconds.
    pub fn new(socket: &Path, now_ms: &'a dyn Fn() -> u64, fates: Vec<Fate>) -> HttpBook<'a> {
        HttpBook { socket: socket.to_owned(), producers: HashMap::new(), now_ms, fates }
    }

    fn producer(&mut self, session: &str) -> &Producer {
        let client = || Client::new(vec![self.socket.clone()]);
        self.producers.entry(session.to_owned()).or_insert_with(|| Producer::new(client(), session))
    }

    /// Sends an append by hand. What is left is a connection with an answer that nobody has read.
    fn send(&self, page: &Page<'_>, events: &[NewEvent]) -> io::Result<UnixStream> {
        let body = Append { expected: Some(page.expected), synced: None, events: events.to_vec() };
        let body = serde_json::to_vec(&body)?;
        let mut stream = UnixStream::connect(&self.socket)?;
        write!(
            stream,
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            session_path(page.session, "/events"),
            body.len()
        )?;
        stream.write_all(&body)?;
        Ok(stream)
    }
}

impl HttpBook<'_> {
    /// Sends an append until it is answered, and reads one byte of the answer: the daemon has written, and what it says
    /// is not known here.
    fn until_answered(&self, page: &Page<'_>, events: &[NewEvent]) -> Result<(), Trouble> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.send(page, events).and_then(|mut connection| connection.read_exact(&mut [0])) {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > until => return Err(broken(error)),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

impl Book for HttpBook<'_> {
    fn read(&mut self, session: &str) -> Result<Vec<String>, Trouble> {
        let until = Instant::now() + PATIENCE;
        let producer = self.producer(session);
        loop {
            let lines = producer.events(0).and_then(Iterator::collect::<Result<Vec<String>, _>>);
            match lines {
                Ok(lines) => return Ok(lines),
                Err(ProducerError::Client(error)) if error.is_not_found() => return Ok(Vec::new()),
                Err(ProducerError::Client(error)) if is_passing(&error) && Instant::now() < until => {
                    thread::sleep(PAUSE);
                }
                Err(error) => return Err(trouble(&error)),
            }
        }
    }

    fn append(&mut self, page: &Page<'_>) -> Result<Vec<String>, Trouble> {
        let mut events = Vec::new();
        for Entry { id, event_type, payload } in page.entries {
            let payload = RawValue::from_string(payload.clone())
                .map_err(|error| Trouble::Refused(format!("the payload of {}: {error}", page.label)))?;
            events.push(NewEvent {
                id: Some(id.clone()),
                event_type: event_type.as_str().to_owned(),
                payload,
            });
        }
        let at = format!("{} {}", page.session, page.label);
        let due = self.fates.iter().position(|fate| fate.at == at);
        let kind = due.map(|due| self.fates.remove(due).kind);
        match kind {
            Some(FateKind::DieUnread) => {
                self.until_answered(page, &events)?;
                die()?;
            }
            Some(FateKind::WaitUnread) => {
                let connection = self.send(page, &events).map_err(broken)?;
                wait_for_a_line().map_err(broken)?;
                // Whatever became of it, it is sent again below.
                drop(connection);
            }
            _ => {}
        }
        let appended = self.producer(page.session).append(Some(page.expected), false, &events);
        let appended = appended.map_err(|error| trouble(&error))?;
        match kind {
            Some(FateKind::Die) => die()?,
            Some(FateKind::Wait) => wait_for_a_line().map_err(broken)?,
            _ => {}
        }
        let session = serde_json::Value::from(page.session);
        let now_ms = (self.now_ms)();
        let line = |(sent, kept): (&NewEvent, &AppendedEvent)| {
            let payload = kept.payload.as_ref().unwrap_or(&sent.payload);
            format!(
                r#"{{"v":1,"id":"{}","sessionId":{session},"seq":{},"ts":{now_ms},"type":"{}","payload":{payload}}}"#,
                kept.id, kept.seq, sent.event_type
            )
        };
        Ok(events.iter().zip(&appended.events).map(line).collect())
    }

    fn tell(&mut self, session: &str, events: &[(EventType, String)]) -> Result<(), Trouble> {
        let mut shown = Vec::new();
        for (event_type, payload) in events {
            let payload = RawValue::from_string(payload.clone())
                .map_err(|error| Trouble::Refused(format!("the payload of {event_type:?}: {error}")))?;
            shown.push(ShownEvent { event_type: event_type.as_str().to_owned(), payload });
        }
        match self.producer(session).ephemeral(&shown) {
            // They may be lost.
            Err(ProducerError::Client(error)) if is_passing(&error) => Ok(()),
            told => told.map(|_| ()).map_err(|error| trouble(&error)),
        }
    }
}

/// True where the same request may be answered in another way soon.
fn is_passing(error: &ClientError) -> bool {
    match error {
        ClientError::NotRunning { .. } | ClientError::Timeout(_) | ClientError::Io(_) => true,
        ClientError::Refused { status, .. } => *status == 503,
        ClientError::Answer { .. } => false,
    }
}

fn trouble(error: &ProducerError) -> Trouble {
    match error {
        ProducerError::Client(error) if is_passing(error) => Trouble::Unreachable(format!("{error:?}")),
        other => Trouble::Refused(format!("{other:?}")),
    }
}

fn broken(error: io::Error) -> Trouble {
    Trouble::Unreachable(error.to_string())
}

/// Ends this process as the kernel or a person would: at once, with nothing put in order.
fn die() -> Result<(), Trouble> {
    kill_process(getpid(), Signal::KILL).map_err(|error| Trouble::Killed(error.to_string()))
}

/// Says that it is time, and waits until the other side has done what it wants.
fn wait_for_a_line() -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(b"now\n")?;
    out.flush()?;
    io::stdin().lock().read_line(&mut String::new()).map(|_| ())
}
