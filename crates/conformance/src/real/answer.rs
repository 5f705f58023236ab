//! A plain HTTP client: bytes out, one answer in.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(5);
/// An answer beyond this is not read further.
const MAX_ANSWER_BYTES: usize = 16 << 20;
const MAX_HEADERS: usize = 64;

/// An answer as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub text: String,
}

impl Answer {
    /// Returns what expectations are about: `status` (null without an answer), `text`, `headers`, and `json` where the
    /// body is JSON.
    pub fn observed(answer: Option<&Answer>) -> Value {
        let Some(answer) = answer else { return json!({"status": null, "text": "", "headers": {}}) };
        let mut all = json!({"status": answer.status, "text": answer.text, "headers": answer.headers});
        if let (Ok(body), Value::Object(members)) = (serde_json::from_str(&answer.text), &mut all) {
            members.insert("json".into(), body);
        }
        all
    }
}

/// Gets a route of the daemon on our own machine.
pub fn fetch(port: u16, path: &str) -> Option<Answer> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    parse(&exchange(port, request.as_bytes(), None))
}

/// Gets a route and reads its JSON; nothing when there is no answer or it is not 200.
pub fn fetch_json(port: u16, path: &str) -> Option<Value> {
    let answer = fetch(port, path).filter(|answer| answer.status == 200)?;
    serde_json::from_str(&answer.text).ok()
}

/// Sends bytes and returns what came back: a whole answer, or what was read in `read_ms`. Empty without an answer.
pub fn exchange(port: u16, request: &[u8], read_ms: Option<u64>) -> Vec<u8> {
    let mut received = Vec::new();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, PATIENCE) else { return received };
    let deadline = Instant::now() + read_ms.map_or(PATIENCE, Duration::from_millis);
    let _ = stream.set_write_timeout(Some(PATIENCE));
    // A server may refuse before it has read everything; its answer can still be there.
    let _ = stream.write_all(request);
    let mut chunk = [0; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || received.len() > MAX_ANSWER_BYTES || (read_ms.is_none() && is_whole(&received)) {
            return received;
        }
        if stream.set_read_timeout(Some(left)).is_err() {
            return received;
        }
        match stream.read(&mut chunk) {
            Ok(0) => return received,
            Ok(count) => received.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return received,
        }
    }
}

/// Reads an answer; nothing when its head is not whole.
pub fn parse(received: &[u8]) -> Option<Answer> {
    let head = Head::parse(received)?;
    let body = if head.chunked { dechunk(head.body).0 } else { head.body.to_vec() };
    Some(Answer {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8_lossy(&body).into_owned(),
    })
}

struct Head<'a> {
    status: u16,
    headers: BTreeMap<String, String>,
    chunked: bool,
    length: Option<usize>,
    body: &'a [u8],
}

impl Head<'_> {
    fn parse(received: &[u8]) -> Option<Head<'_>> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut fields);
        let httparse::Status::Complete(head_bytes) = response.parse(received).ok()? else { return None };
        let mut headers = BTreeMap::new();
        for field in response.headers.iter() {
            let value = String::from_utf8_lossy(field.value).into_owned();
            headers.insert(field.name.to_ascii_lowercase(), value);
        }
        let chunked = headers.get("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
        let length = headers.get("content-length").and_then(|length| length.parse().ok());
        Some(Head { status: response.code?, headers, chunked, length, body: &received[head_bytes..] })
    }
}

fn is_whole(received: &[u8]) -> bool {
    let Some(head) = Head::parse(received) else { return false };
    if head.chunked {
        return dechunk(head.body).1;
    }
    // Without a length the answer ends with the connection, except where there is no body by definition.
    head.length.map_or(matches!(head.status, 204 | 304), |length| head.body.len() >= length)
}

/// Joins chunks; the flag says whether the last one was there.
fn dechunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Ok(httparse::Status::Complete((start, length))) = httparse::parse_chunk_size(rest) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 {
            return (body, true);
        }
        let end = start.saturating_add(length).min(rest.len());
        body.extend_from_slice(&rest[start..end]);
        rest = rest[end..].strip_prefix(b"\r\n").unwrap_or(&[]);
    }
    (body, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_by_length_by_chunks_or_by_its_end() {
        let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Y: z\r\n\r\nok";
        assert!(is_whole(plain) && !is_whole(&plain[..plain.len() - 1]));
        let answer = parse(plain).unwrap();
        assert_eq!((answer.status, answer.text.as_str()), (200, "ok"));
        assert_eq!(answer.headers["x-y"], "z");
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert!(is_whole(chunked) && !is_whole(&chunked[..chunked.len() - 6]));
        assert_eq!(parse(chunked).unwrap().text, "abcde");
        let open = b"HTTP/1.1 200 OK\r\n\r\nhalf";
        assert!(!is_whole(open));
        assert_eq!(parse(open).unwrap().text, "half");
        assert_eq!(parse(b"HTTP/1.1 200"), None);
    }

    #[test]
    fn no_answer_is_a_null_status_with_an_empty_text() {
        assert_eq!(Answer::observed(None), json!({"status": null, "text": "", "headers": {}}));
        let answer = Answer { status: 200, text: r#"{"ok":true}"#.into(), ..Answer::default() };
        assert_eq!(Answer::observed(Some(&answer))["json"]["ok"], json!(true));
        let answer = Answer { status: 200, text: "plain".into(), ..Answer::default() };
        assert_eq!(Answer::observed(Some(&answer)).get("json"), None);
    }

    #[test]
    fn a_port_on_which_nobody_listens_gives_no_answer() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert_eq!(exchange(port, b"GET / HTTP/1.1\r\n\r\n", None), b"");
    }
}
