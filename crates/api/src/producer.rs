//! A blocking client for producers of session events, over the daemon's unix socket.
//!
//! An append whose events all have ids is sent again by itself while the daemon restarts, is slow or cannot write: what is
//! there already is answered with its place, so nothing stands twice. Without ids an append is sent once, and after a
//! broken connection the producer cannot know what became of it. So make ids: ULIDs that rise within a session
//! (`herdbook_events::UlidGenerator`, above the last id of the log where it is resumed).

use std::io::{BufRead, Read};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Attention, Client, ClientError, Whole};
use crate::events::{
    Append, Appended, Breach, Damaged, NewEvent, Refused, Shown, ShownEvent, ShownTo, SyncedTo,
};
use crate::{SseEvent, session_path};

/// One request may take so long: a log that was not open is read first.
const TIMEOUT: Duration = Duration::from_secs(30);
/// An append is tried again for so long, unless another time is set.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two tries, at first and at last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// A line of a log may be so long here.
const LINE_BYTES: u64 = 64 << 20;

/// Why nothing was appended, or what became of it is not known.
#[derive(Debug, thiserror::Error)]
pub enum ProducerError {
    /// The log ends elsewhere (409): read on from the seq that was expected.
    #[error("the log ends at seq {last_seq}")]
    WrongSeq {
        /// The last seq of the log.
        last_seq: u64,
    },
    /// An id belongs to another event already (409).
    #[error("id {id} already belongs to another event, at seq {seq}")]
    OtherContent {
        /// The id.
        id: String,
        /// Where that event stands.
        seq: u64,
    },
    /// An event breaks rules of the catalog (422).
    #[error("{error}")]
    Breaks {
        /// The daemon's words.
        error: String,
        /// The rules.
        breaks: Vec<Breach>,
    },
    /// The log is damaged at this place.
    #[error("{}", .0.error)]
    Damaged(Damaged),
    /// The daemon could not be asked, or refused for another reason.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Appends to the log of one session.
#[derive(Clone, Debug)]
pub struct Producer {
    client: Client,
    key: String,
    patience: Duration,
}

impl Producer {
    /// Makes a producer of the session with this key. Nothing is sent yet; the first append begins the log.
    pub fn new(client: Client, key: &str) -> Producer {
        Producer { client: client.with_timeout(TIMEOUT), key: key.to_owned(), patience: PATIENCE }
    }

    /// Sets for how long an append with ids is tried again; zero sends it once.
    pub fn with_patience(mut self, patience: Duration) -> Producer {
        self.patience = patience;
        self
    }

    /// The session's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Appends events, all or none. `expected` is the last seq of the log as far as the producer knows, nothing where it
    /// does not matter; `synced` asks for the answer only when the events survive a power cut.
    ///
    /// # Errors
    /// See [`ProducerError`]. After [`ClientError::Timeout`], [`ClientError::Io`] and status 503 it is not known whether
    /// the events are there: send the same ones again, with the same ids.
    pub fn append(
        &self,
        expected: Option<u64>,
        synced: bool,
        events: &[NewEvent],
    ) -> Result<Appended, ProducerError> {
        let can_repeat = events.iter().all(|event| event.id.is_some());
        let body = Append { expected, synced: synced.then_some(true), events: events.to_vec() };
        let until = Instant::now() + self.patience;
        let mut pause = PAUSES.0;
        loop {
            let answered = self.post("/events", &body).and_then(|answer| read(&answer));
            match answered {
                Err(ProducerError::Client(error)) if can_repeat && is_passing(&error) => {
                    if Instant::now() + pause > until {
                        return Err(error.into());
                    }
                    thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES.1);
                }
                answered => return answered,
            }
        }
    }

    /// Shows events to who reads live. They are never written; the log must be there.
    ///
    /// # Errors
    /// See [`ProducerError`].
    pub fn ephemeral(&self, events: &[ShownEvent]) -> Result<ShownTo, ProducerError> {
        read(&self.post("/ephemeral", &Shown { events: events.to_vec() })?)
    }

    /// Reads the lines after a seq, up to the end of the log as it is now; 0 for all.
    ///
    /// # Errors
    /// See [`ProducerError`]; a session without a log is [`ClientError::is_not_found`].
    pub fn events(&self, after: u64) -> Result<Lines, ProducerError> {
        let path = self.path(&format!("/events?after={after}"));
        let stream = self.client.stream(&path, "Accept: application/x-ndjson\r\n")?;
        Ok(Lines { stream: Box::new(stream), is_over: false })
    }

    /// Follows the log from after a seq. It ends when the daemon stops; go on from the last `id` with
    /// [`Producer::follow_from`].
    ///
    /// # Errors
    /// See [`ProducerError`].
    pub fn follow(&self, after: u64) -> Result<Follow, ProducerError> {
        Ok(Follow(self.client.sse(&self.path(&format!("/events?after={after}")), None)?))
    }

    /// Follows the log from the event whose `id` a stream told last.
    ///
    /// # Errors
    /// See [`ProducerError`].
    pub fn follow_from(&self, last_event_id: &str) -> Result<Follow, ProducerError> {
        Ok(Follow(self.client.sse(&self.path("/events"), Some(last_event_id))?))
    }

    /// Waits until a seq survives a power cut.
    ///
    /// # Errors
    /// See [`ProducerError`].
    pub fn synced(&self, seq: u64) -> Result<SyncedTo, ProducerError> {
        let path = self.path(&format!("/synced?seq={seq}"));
        read(&self.client.exchange("GET", &path, None)?)
    }

    fn path(&self, rest: &str) -> String {
        session_path(&self.key, rest)
    }

    fn post(&self, rest: &str, body: &impl serde::Serialize) -> Result<Whole, ProducerError> {
        let path = self.path(rest);
        let body =
            serde_json::to_vec(body).map_err(|source| ClientError::Answer { path: path.clone(), source })?;
        Ok(self.client.exchange("POST", &path, Some(&body))?)
    }
}

/// True where the same request may be answered in another way soon.
fn is_passing(error: &ClientError) -> bool {
    match error {
        ClientError::NotRunning { .. } | ClientError::Timeout(_) | ClientError::Io(_) => true,
        ClientError::Refused { status, .. } => matches!(status, 500 | 503),
        ClientError::Answer { .. } => false,
    }
}

fn read<T: serde::de::DeserializeOwned>(answer: &Whole) -> Result<T, ProducerError> {
    if (200..300).contains(&answer.status) {
        return Ok(answer.read()?);
    }
    let Ok(refused) = serde_json::from_slice::<Refused>(&answer.body) else {
        return Err(answer.refusal().into());
    };
    Err(match refused {
        Refused { id: Some(id), seq: Some(seq), .. } => ProducerError::OtherContent { id, seq },
        Refused { last_seq: Some(last_seq), .. } => ProducerError::WrongSeq { last_seq },
        Refused { error, breaks, .. } if !breaks.is_empty() => ProducerError::Breaks { error, breaks },
        Refused { error, .. } => ClientError::Refused { status: answer.status, error }.into(),
    })
}

/// Lines of a log, one after another.
pub struct Lines {
    stream: Box<dyn BufRead + Send>,
    is_over: bool,
}

impl Iterator for Lines {
    type Item = Result<String, ProducerError>;

    /// The next line, without its line feed. After an error there is nothing more.
    fn next(&mut self) -> Option<Result<String, ProducerError>> {
        if self.is_over {
            return None;
        }
        let mut line = String::new();
        let read = (&mut self.stream).take(LINE_BYTES).read_line(&mut line);
        let next = match read {
            Ok(0) => None,
            Ok(_) if line.ends_with('\n') => {
                line.pop();
                match damage(&line) {
                    Some(damaged) => Some(Err(ProducerError::Damaged(damaged))),
                    None => Some(Ok(line)),
                }
            }
            Ok(_) => Some(Err(ClientError::Io(std::io::ErrorKind::UnexpectedEof.into()).into())),
            Err(error) => Some(Err(ClientError::Io(error).into())),
        };
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// A line of a log begins with its version.
fn damage(line: &str) -> Option<Damaged> {
    line.starts_with("{\"corrupt\"").then(|| serde_json::from_str(line).ok()).flatten()
}

/// Events of a log as they come. `event` is the type and `data` the line as it stands in the file; an event without an `id`
/// is ephemeral. `reset`: the id to go on from is not in the log, and all of it follows. `damaged`: lines are missing here.
pub struct Follow(Attention);

impl Iterator for Follow {
    type Item = Result<SseEvent, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
