//! The `http` kind: requests to a fresh daemon.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::case::{expectations, read_input_bytes};
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::real::Tools;
use crate::real::agent;
use crate::real::answer::{Answer, exchange, parse};
use crate::real::bench::Bench;
use crate::real::process;
use crate::real::stdin::HookInput;
use crate::real::tools::parts;
use crate::report::Line;

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

    /// Sends the requests and tests each answer, then what the product says afterwards.
    ///
    /// # Errors
    /// The scratch folder, the daemon, the hooks or the client could not be started.
    pub fn run(&self, case: &str, check: &str, case_dir: &Path, tools: &Tools) -> Result<Vec<Line>, String> {
        let mut bench = Bench::new(tools, case_dir, true)?;
        let mut agents = Vec::new();
        for (host, payloads) in &self.setup {
            let input = |bytes: &Vec<u8>| HookInput { bytes: bytes.clone(), ..HookInput::default() };
            let inputs: Vec<HookInput> = payloads.iter().map(input).collect();
            agents.push(agent::start(tools, &bench.scratch, &bench.env, host, &inputs)?);
        }
        let port = bench.scratch.port();
        let client = match self.as_uid {
            None => None,
            Some(uid) => Some(
                Client::of_uid(tools, uid).map_err(|error| format!("no client for uid {uid}: {error}"))?,
            ),
        };
        let mut lines = Vec::new();
        for request in &self.requests {
            let bytes = fill_in(&request.bytes, &bench.scratch.marks(case_dir));
            let received = match &client {
                None => exchange(port, &bytes, request.read_ms),
                Some(client) => client
                    .exchange(port, &bytes, request.read_ms)
                    .map_err(|error| format!("the client of another uid: {error}"))?,
            };
            let observed = Answer::observed(parse(&received).as_ref());
            for one in &request.expect {
                let (found, ok) = one.test(&observed);
                let label = format!("{check} {} {}", request.name, one.path);
                lines.push(Line::tested(case, label, one.written.clone(), found, ok));
            }
        }
        lines.extend(bench.test(case, check, &self.expect, serde_json::Value::Null));
        Ok(lines)
    }
}

/// This program as the client of another uid, in a place where that uid may run it.
struct Client {
    dir: tempfile::TempDir,
    uid: u32,
}

impl Client {
    fn of_uid(tools: &Tools, uid: u32) -> io::Result<Client> {
        let client = Client { dir: tempfile::Builder::new().prefix("hb-client-").tempdir()?, uid };
        fs::set_permissions(client.dir.path(), fs::Permissions::from_mode(0o755))?;
        fs::copy(&tools.this, client.program())?;
        fs::set_permissions(client.program(), fs::Permissions::from_mode(0o755))?;
        Ok(client)
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("client")
    }

    fn exchange(&self, port: u16, request: &[u8], read_ms: Option<u64>) -> io::Result<Vec<u8>> {
        let mut command = process::command(self.program(), &[]);
        command.arg(parts::REQUEST).arg(port.to_string());
        command.args(read_ms.map(|ms| ms.to_string()));
        command.uid(self.uid).gid(self.uid).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(request)?;
        }
        let received = process::collect(child.stdout.take());
        let limit = Duration::from_secs(20) + Duration::from_millis(read_ms.unwrap_or(0));
        match process::wait_within(&mut child, limit, false).map(process::exit_number) {
            Some(0) => Ok(received.recv_timeout(limit).unwrap_or_default()),
            other => Err(io::Error::other(format!("ended with {other:?}"))),
        }
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
}
