//! The `http` kind: requests to a fresh daemon.

use std::path::Path;

use serde_json::Value;

use crate::case::{expectations, read_input_bytes};
use crate::expect::Expectation;
use crate::node::{Node, Problem};

/// An http check.
#[derive(Clone, Debug)]
pub struct HttpCheck {
    /// Hooks that run before: the host, and payloads.
    pub setup: Vec<(String, Vec<Vec<u8>>)>,
    /// The requests in order.
    pub requests: Vec<Request>,
    /// The uid the client runs as.
    pub as_uid: Option<u32>,
    /// What holds afterwards.
    pub expect: Vec<Expectation>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its name in the check.
    pub name: String,
    /// Its bytes; `@@PORT@@` and the like are not replaced yet.
    pub bytes: Vec<u8>,
    /// Read this long, then close.
    pub read_ms: Option<u64>,
    /// What is expected of the answer.
    pub expect: Vec<Expectation>,
}

impl HttpCheck {
    /// Reads an http check.
    ///
    /// # Errors
    /// A field is missing or has another shape, or a file is not there.
    pub fn read(node: &Node<'_>, dir: &Path) -> Result<HttpCheck, Problem> {
        let mut requests = Vec::new();
        for (index, request) in node.member("requests")?.list()?.iter().enumerate() {
            requests.push(read_request(request, index, dir)?);
        }
        if requests.is_empty() {
            return Err(node.problem("has no requests"));
        }
        let mut setup = Vec::new();
        for hooks in node.maybe("setup")?.map_or(Ok(Vec::new()), |node| node.list())? {
            let host = hooks.maybe_text("host")?.unwrap_or_else(|| "claude".into());
            let bytes = read_input_bytes(&hooks, dir, hooks.member("lines")?.text()?)?;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            setup.push((host, lines.map(<[u8]>::to_vec).collect()));
        }
        let as_uid = match node.maybe("as_uid")? {
            Some(uid) => Some(u32::try_from(uid.number()?).map_err(|_| uid.problem("is no uid"))?),
            None => None,
        };
        let expect = if node.maybe("expect")?.is_some() { expectations(node)?.collect() } else { Vec::new() };
        Ok(HttpCheck { setup, requests, as_uid, expect })
    }
}

fn read_request(request: &Node<'_>, index: usize, dir: &Path) -> Result<Request, Problem> {
    let name = request.maybe_text("name")?.unwrap_or_else(|| format!("request {}", index + 1));
    let request = request.clone().named(&name);
    if request.flag_or_false("assets")? {
        return Err(request.problem("assets are not read yet"));
    }
    let bytes = match request.maybe_text("raw_file")? {
        Some(file) => read_input_bytes(&request, dir, &file)?,
        None => assemble(&request)?,
    };
    let read_ms = request.maybe_number("read_ms")?;
    let expect = expectations(&request)?.collect();
    Ok(Request { name, bytes, read_ms, expect })
}

/// Writes a request the way a plain client does: our Host, a length, one request a connection.
fn assemble(request: &Node<'_>) -> Result<Vec<u8>, Problem> {
    let method = request.member("method")?.text()?;
    let path = request.member("path")?.text()?;
    let mut headers: Vec<(String, String)> = Vec::new();
    if let Some(given) = request.maybe("headers")? {
        for (name, value) in given.members()? {
            let value =
                value.as_str().ok_or_else(|| given.problem(format_args!("'{name}' must be a text")))?;
            headers.push((name.clone(), value.to_owned()));
        }
    }
    let body = request.maybe("json")?.map(|node| node.value().to_string());
    let mut add = |name: &str, value: String| {
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), value));
        }
    };
    add("Host", "127.0.0.1:@@PORT@@".into());
    add("Connection", "close".into());
    if body.is_some() {
        add("Content-Type", "application/json".into());
    }
    if let Some(length) = body.as_ref().map(String::len).or_else(|| (method == "POST").then_some(0)) {
        add("Content-Length", length.to_string());
    }
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in &headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body.as_deref().unwrap_or(""));
    Ok(text.into_bytes())
}

/// Puts the daemon's port and the paths of a run in the place of their marks.
pub fn fill_in(bytes: &[u8], marks: &[(&str, String)]) -> Vec<u8> {
    let mut filled = bytes.to_vec();
    for (mark, value) in marks {
        let mut rest = filled.as_slice();
        let mut next = Vec::with_capacity(filled.len());
        while let Some(at) = rest.windows(mark.len()).position(|window| window == mark.as_bytes()) {
            next.extend_from_slice(&rest[..at]);
            next.extend_from_slice(value.as_bytes());
            rest = &rest[at + mark.len()..];
        }
        next.extend_from_slice(rest);
        filled = next;
    }
    filled
}

/// What was observed of an answer, for expectations.
pub fn observed(answer: Option<&Answer>) -> Value {
    let Some(answer) = answer else { return serde_json::json!({"status": null, "text": "", "headers": {}}) };
    let mut all =
        serde_json::json!({"status": answer.status, "text": answer.text, "headers": answer.headers});
    if let (Ok(json), Value::Object(members)) = (serde_json::from_str::<Value>(&answer.text), &mut all) {
        members.insert("json".into(), json);
    }
    all
}

/// An answer as it was read.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: std::collections::BTreeMap<String, String>,
    /// The body.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_are_written_as_a_plain_client_does() {
        let value = json!({"method": "POST", "path": "/skip", "headers": {"host": "evil:@@PORT@@"}});
        let bytes = assemble(&Node::root(&value, "r")).unwrap();
        assert_eq!(
            String::from_utf8(fill_in(&bytes, &[("@@PORT@@", "4001".into())])).unwrap(),
            "POST /skip HTTP/1.1\r\nhost: evil:4001\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let value = json!({"method": "POST", "path": "/event/normalized", "json": {"a": "é"}});
        let text = String::from_utf8(assemble(&Node::root(&value, "r")).unwrap()).unwrap();
        assert!(text.contains("Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"a\":\"é\"}"));
    }

    #[test]
    fn no_answer_is_a_null_status_with_an_empty_text() {
        assert_eq!(observed(None), json!({"status": null, "text": "", "headers": {}}));
        let answer = Answer { status: 200, text: "{\"ok\":true}".into(), ..Answer::default() };
        assert_eq!(observed(Some(&answer))["json"]["ok"], json!(true));
        let answer = Answer { status: 200, text: "plain".into(), ..Answer::default() };
        assert_eq!(observed(Some(&answer)).get("json"), None);
    }
}
