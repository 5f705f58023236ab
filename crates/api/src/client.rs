//! A blocking client over the daemon's unix socket: one connection a request, one deadline for all of it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::{Body, read_head};
use crate::routes::Routes;
use crate::sse::{SseEvent, read_event};
use crate::stats::Stats;
use crate::waits::{AnswerWait, Answered, Wait, Waits};
use crate::{ErrorBody, encode_segment, session_path, trail, v1};

/// An answer may be so long.
const ANSWER_BYTES: u64 = 64 << 20;
/// How long a request may take when nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
/// The attention stream says something at least every 15 s; so long without a byte means that the daemon is gone.
const STREAM_SILENCE: Duration = Duration::from_secs(45);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens on any of the sockets.
    #[error("daemon is not running")]
    NotRunning {
        /// The sockets that were tried.
        tried: Vec<PathBuf>,
    },
    /// Somebody listens but did not answer in time.
    #[error("daemon did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The daemon refused.
    #[error("{error}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Its words.
        error: String,
    },
    /// The connection broke.
    #[error("the connection to the daemon broke")]
    Io(#[source] io::Error),
    /// The answer is not what this build expects.
    #[error(
        "the daemon's answer to {path} could not be understood; client and daemon may be of different versions"
    )]
    Answer {
        /// The route.
        path: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

impl ClientError {
    /// True when nobody listens: hooks go to the spool meanwhile.
    pub fn is_not_running(&self) -> bool {
        matches!(self, ClientError::NotRunning { .. })
    }

    /// True when the daemon does not know the session (404).
    pub fn is_not_found(&self) -> bool {
        matches!(self, ClientError::Refused { status: 404, .. })
    }
}

/// Talks to the daemon of one state folder.
#[derive(Clone, Debug)]
pub struct Client {
    sockets: Vec<PathBuf>,
    timeout: Duration,
}

impl Client {
    /// Makes a client that tries these sockets in order.
    pub fn new(sockets: Vec<PathBuf>) -> Client {
        Client { sockets, timeout: DEFAULT_TIMEOUT }
    }

    /// Sets how long one request may take in all.
    pub fn with_timeout(mut self, timeout: Duration) -> Client {
        self.timeout = timeout;
        self
    }

    /// `GET /v1/status`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn status(&self) -> Result<v1::Status, ClientError> {
        self.get("/v1/status")
    }

    /// Every entry of the queue: all pages of `GET /v1/queue`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn queue(&self) -> Result<Vec<v1::Item>, ClientError> {
        self.pages("/v1/queue", |page: v1::Queue| (page.items, page.next), |item| item.id.clone())
    }

    /// All sessions, ended ones last: all pages of `GET /v1/sessions`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn sessions(&self) -> Result<Vec<v1::Session>, ClientError> {
        self.pages(
            "/v1/sessions",
            |page: v1::Sessions| (page.items, page.next),
            |item| item.session_id.clone(),
        )
    }

    /// Agents that run without hooks: `GET /v1/agents`. A daemon that does not know the route knows of none.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn agents(&self) -> Result<Vec<v1::Agent>, ClientError> {
        match self.get("/v1/agents") {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            answer => answer.map(|agents: v1::Agents| agents.items),
        }
    }

    /// `GET /v1/sessions/{key}`.
    ///
    /// # Errors
    /// See [`ClientError`]; an unknown session is [`ClientError::is_not_found`].
    pub fn session(&self, key: &str) -> Result<v1::Session, ClientError> {
        self.get(&session_path(key, ""))
    }

    /// `GET /v1/sessions/{key}/why`.
    ///
    /// # Errors
    /// See [`ClientError`]; an unknown session is [`ClientError::is_not_found`].
    pub fn why(&self, key: &str) -> Result<v1::Why, ClientError> {
        self.get(&session_path(key, "/why"))
    }

    /// `GET /v1/hooks`.
    ///
    /// # Errors
    /// See [`ClientError`]; a daemon that is older than the route is [`ClientError::is_not_found`].
    pub fn hooks(&self) -> Result<v1::Hooks, ClientError> {
        self.get("/v1/hooks")
    }

    /// `GET /v1/routes`; the daemon looks at the files for it. A daemon that does not know it has no routes.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn routes(&self) -> Result<Routes, ClientError> {
        match self.get("/v1/routes") {
            Err(error) if error.is_not_found() => Ok(Routes::default()),
            answer => answer,
        }
    }

    /// `GET /v1/stats`: what ended at or after a time (Unix milliseconds), in rows by `project`, `host`, `kind` or `day`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn stats(&self, since_ms: u64, by: &str) -> Result<Stats, ClientError> {
        self.get(&format!("/v1/stats?since={since_ms}&by={}", encode_segment(by)))
    }

    /// `POST /v1/queue/skip`; no session means the head.
    ///
    /// # Errors
    /// See [`ClientError`]; a session that is not in the queue is [`ClientError::is_not_found`].
    pub fn skip(&self, session: Option<&str>) -> Result<v1::Acted, ClientError> {
        self.post("/v1/queue/skip", &v1::Skip { session: session.map(str::to_owned) })
    }

    /// `POST /v1/queue/snooze`.
    ///
    /// # Errors
    /// As [`Client::skip`].
    pub fn snooze(&self, session: &str, for_ms: u64) -> Result<v1::Acted, ClientError> {
        self.post("/v1/queue/snooze", &v1::Snooze { session: session.to_owned(), for_ms })
    }

    /// `POST /v1/queue/pin`.
    ///
    /// # Errors
    /// As [`Client::skip`].
    pub fn pin(&self, session: &str, pinned: bool) -> Result<v1::Acted, ClientError> {
        self.post("/v1/queue/pin", &v1::Pin { session: session.to_owned(), pinned })
    }

    /// `POST /v1/queue/settle`.
    ///
    /// # Errors
    /// As [`Client::skip`].
    pub fn settle(&self, session: &str) -> Result<v1::Acted, ClientError> {
        self.post("/v1/queue/settle", &v1::Settle { session: session.to_owned() })
    }

    /// `GET /v1/waits`: every open wait, and what can be answered from here.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn waits(&self) -> Result<Vec<Wait>, ClientError> {
        self.get("/v1/waits").map(|waits: Waits| waits.items)
    }

    /// `POST /v1/waits/{id}/answer`.
    ///
    /// # Errors
    /// See [`ClientError`]; where the wait is over, was answered, or asks for something else now, the status is 409.
    pub fn answer(&self, wait: &str, answer: &AnswerWait) -> Result<Answered, ClientError> {
        self.post(&format!("/v1/waits/{}/answer", encode_segment(wait)), answer)
    }

    /// `POST /event/normalized` with a body as it is; answers once the event is synced.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn post_normalized(&self, body: &str) -> Result<trail::Accepted, ClientError> {
        self.request("POST", "/event/normalized", Some(body.as_bytes()))
    }

    /// `GET` of any route.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.request("GET", path, None)
    }

    /// `POST` of any route with a JSON body.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body)
            .map_err(|source| ClientError::Answer { path: path.to_owned(), source })?;
        self.request("POST", path, Some(&body))
    }

    /// Follows `GET /v1/attention`. `last_event_id` resumes after the event of that id; nothing starts with what comes.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn attention(&self, last_event_id: Option<&str>) -> Result<Attention, ClientError> {
        self.sse("/v1/attention", last_event_id)
    }

    /// Follows any route that answers with server-sent events.
    pub(crate) fn sse(&self, path: &str, last_event_id: Option<&str>) -> Result<Attention, ClientError> {
        let mut more = "Accept: text/event-stream\r\n".to_owned();
        // A line end inside the id would begin another header.
        if let Some(id) = last_event_id.filter(|id| !id.contains(['\r', '\n'])) {
            more.push_str(&format!("Last-Event-ID: {id}\r\n"));
        }
        Ok(Attention { stream: Box::new(self.stream(path, &more)?) })
    }

    /// Asks for an answer that is read bit by bit: the deadline is for its head alone. `more` holds further headers.
    pub(crate) fn stream(
        &self,
        path: &str,
        more: &str,
    ) -> Result<BufReader<impl Read + Send + use<>>, ClientError> {
        let mut connection = self.connect()?;
        connection.send("GET", path, more, None)?;
        let (head, mut stream) = connection.head()?;
        if head.status != 200 {
            let mut body = Vec::new();
            Body::new(&mut stream, &head)
                .take(ANSWER_BYTES)
                .read_to_end(&mut body)
                .map_err(ClientError::Io)?;
            return Err(refusal(head.status, &body));
        }
        stream.get_mut().until = None;
        Ok(BufReader::new(Body::new(stream, &head)))
    }

    fn pages<P: DeserializeOwned, T>(
        &self,
        path: &str,
        split: impl Fn(P) -> (Vec<T>, Option<String>),
        id: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, ClientError> {
        let (mut items, mut next) = split(self.get(path)?);
        // An entry that moved between two pages is kept where it was seen first.
        let mut seen: HashSet<String> = items.iter().map(&id).collect();
        while let Some(cursor) = next {
            let (page, following) = split(self.get(&format!("{path}?after={}", encode_segment(&cursor)))?);
            items.extend(page.into_iter().filter(|item| seen.insert(id(item))));
            next = following;
        }
        Ok(items)
    }

    fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<T, ClientError> {
        let answered = self.exchange(method, path, body)?;
        if !(200..300).contains(&answered.status) {
            return Err(answered.refusal());
        }
        answered.read()
    }

    /// Sends one request and reads the whole answer, whatever it is.
    pub(crate) fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Whole, ClientError> {
        let mut connection = self.connect()?;
        connection.send(method, path, "Connection: close\r\n", body)?;
        let timeout = connection.timeout;
        let (head, stream) = connection.head()?;
        let mut answer = Vec::new();
        Body::new(stream, &head)
            .take(ANSWER_BYTES)
            .read_to_end(&mut answer)
            .map_err(|error| broken(error, timeout))?;
        Ok(Whole { path: path.to_owned(), status: head.status, body: answer })
    }

    fn connect(&self) -> Result<Connection, ClientError> {
        let until = Instant::now() + self.timeout;
        for socket in &self.sockets {
            match connect_to(socket) {
                Ok(stream) => {
                    let stream = Timed { stream, until: Some(until) };
                    return Ok(Connection { stream, timeout: self.timeout });
                }
                Err(error) if nobody_there(&error) => {}
                Err(error) => return Err(ClientError::Io(error)),
            }
        }
        Err(ClientError::NotRunning { tried: self.sockets.clone() })
    }
}

/// No socket, a stale one, or a path on which there cannot be one.
fn nobody_there(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory
    )
}

fn broken(error: io::Error, timeout: Duration) -> ClientError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::Timeout(timeout),
        _ => ClientError::Io(error),
    }
}

fn refusal(status: u16, body: &[u8]) -> ClientError {
    let error = match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) => body.error,
        Err(_) => format!("the daemon answered with status {status}"),
    };
    ClientError::Refused { status, error }
}

/// An answer, whatever it is.
pub(crate) struct Whole {
    path: String,
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Whole {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body)
            .map_err(|source| ClientError::Answer { path: self.path.clone(), source })
    }

    pub(crate) fn refusal(&self) -> ClientError {
        refusal(self.status, &self.body)
    }
}

struct Connection {
    stream: Timed,
    timeout: Duration,
}

impl Connection {
    fn send(&mut self, method: &str, path: &str, more: &str, body: Option<&[u8]>) -> Result<(), ClientError> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}").into_bytes();
        if let Some(body) = body {
            let length = body.len();
            request.extend_from_slice(
                format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n").as_bytes(),
            );
            request.extend_from_slice(body);
        } else {
            request.extend_from_slice(b"\r\n");
        }
        match self.stream.write_all(&request) {
            // A server that refuses a long body answers before it has read it, so look for the answer first.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            sent => sent.map_err(|error| broken(error, self.timeout)),
        }
    }

    fn head(self) -> Result<(crate::http::Head, BufReader<Timed>), ClientError> {
        let mut stream = BufReader::new(self.stream);
        let head = read_head(&mut stream).map_err(|error| broken(error, self.timeout))?;
        Ok((head, stream))
    }
}

/// A stream with one deadline for all reads and writes together; without one, a read may be silent for
/// [`STREAM_SILENCE`].
struct Timed {
    stream: UnixStream,
    until: Option<Instant>,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        match self.until {
            None => Ok(STREAM_SILENCE),
            Some(until) => match until.saturating_duration_since(Instant::now()) {
                Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
                left => Ok(left),
            },
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The attention stream: an iterator over events as they come. It ends when the daemon stops.
///
/// `event` is `stuck`, `unstuck`, `registered` or `ended` with the normalized event as data, or `reset` when the id to
/// resume from is not in the journal: read the queue again.
pub struct Attention {
    stream: Box<dyn BufRead + Send>,
}

impl Iterator for Attention {
    type Item = Result<SseEvent, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        match read_event(&mut self.stream) {
            Ok(event) => event.map(Ok),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => Some(Err(broken(error, STREAM_SILENCE))),
        }
    }
}

/// A socket address holds 107 bytes; a longer path goes through the descriptor of its open folder.
fn connect_to(socket: &Path) -> io::Result<UnixStream> {
    const ADDRESS_BYTES: usize = 107;
    match (socket.parent(), socket.file_name()) {
        (Some(folder), Some(name)) if socket.as_os_str().len() > ADDRESS_BYTES => {
            let folder = File::open(folder)?;
            UnixStream::connect(PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
        }
        _ => UnixStream::connect(socket),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// Serves one answer for each element, in order, and returns the requests' first lines.
    fn serve(answers: Vec<String>) -> (tempfile::TempDir, Client, thread::JoinHandle<Vec<String>>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sock");
        let listener = UnixListener::bind(&path).unwrap();
        let served = thread::spawn(move || {
            let mut lines = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                let count = stream.read(&mut request).unwrap();
                let text = String::from_utf8_lossy(&request[..count]).into_owned();
                lines.push(text.lines().next().unwrap_or("").to_owned());
                stream.write_all(answer.as_bytes()).unwrap();
            }
            lines
        });
        (dir, Client::new(vec!["/nonexistent/sock".into(), path]), served)
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn nobody_listening_is_said_in_words() {
        let client = Client::new(vec!["/nonexistent/a".into(), "/nonexistent/b".into()]);
        let error = client.status().unwrap_err();
        assert!(error.is_not_running());
        assert_eq!(error.to_string(), "daemon is not running");
    }

    #[test]
    fn a_stale_socket_is_nobody_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(Client::new(vec![path]).status().unwrap_err().is_not_running());
    }

    #[test]
    fn a_server_that_says_nothing_runs_into_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let client = Client::new(vec![path]).with_timeout(Duration::from_millis(30));
        assert!(matches!(client.status(), Err(ClientError::Timeout(_))));
    }

    #[test]
    fn refusals_carry_the_daemons_words() {
        let body = r#"{"error":"no session 'x'"}"#;
        let answer = format!("HTTP/1.1 404 Not Found\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let (_dir, client, served) = serve(vec![answer]);
        let error = client.why("a/b").unwrap_err();
        assert!(error.is_not_found());
        assert_eq!(error.to_string(), "no session 'x'");
        assert_eq!(served.join().unwrap(), ["GET /v1/sessions/a%2Fb/why HTTP/1.1"]);
    }

    #[test]
    fn all_pages_are_read_and_a_moved_entry_stands_once() {
        let item =
            |id: &str| serde_json::to_string(&v1::Item { id: id.into(), ..Default::default() }).unwrap();
        let pages = vec![
            ok(&format!(r#"{{"items":[{},{}],"count":3,"next":"1 b"}}"#, item("a"), item("b"))),
            ok(&format!(r#"{{"items":[{},{}],"count":3,"next":null}}"#, item("b"), item("c"))),
        ];
        let (_dir, client, served) = serve(pages);
        let ids: Vec<String> = client.queue().unwrap().into_iter().map(|item| item.id).collect();
        assert_eq!(ids, ["a", "b", "c"]);
        assert_eq!(served.join().unwrap(), ["GET /v1/queue HTTP/1.1", "GET /v1/queue?after=1%20b HTTP/1.1"]);
    }

    #[test]
    fn the_attention_stream_is_an_iterator() {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            20\r\nid: 1\nevent: stuck\ndata: {\"x\":1}\r\n2\r\n\n\n\r\n0\r\n\r\n";
        let (_dir, client, served) = serve(vec![answer.to_owned()]);
        let events: Vec<SseEvent> = client.attention(Some("0")).unwrap().map(Result::unwrap).collect();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].event.as_str(), events[0].data.as_str()), ("stuck", "{\"x\":1}"));
        served.join().unwrap();
    }
}
