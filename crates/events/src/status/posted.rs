//! A report posted as JSON: the keys of the protocol as members, texts plain, and where the program runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::report::{Needs, ProgramState, Report, is_id, is_line, is_name};
use crate::ids::SessionKey;
use crate::observation::PaneRef;
use crate::origin::Process;

/// Pane ids, sockets and terminals may be so long.
const PLACE_BYTES: usize = 1_024;

/// Where a program runs that reports: one of them at least.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusPlace {
    /// Its tmux pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneRef>,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Its terminal, for example `/dev/pts/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<String>,
    /// The session that it is, where whoever tells knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
}

impl StatusPlace {
    /// Makes a place of a pane (on a tmux server, if named), a process and a terminal.
    ///
    /// # Errors
    /// Nothing is named, or a name is empty or too long.
    pub fn new(
        pane: Option<String>,
        socket: Option<String>,
        pid: Option<u32>,
        tty: Option<String>,
    ) -> Result<StatusPlace, InvalidStatus> {
        for (field, text) in [("pane", &pane), ("socket", &socket), ("tty", &tty)] {
            if text.as_ref().is_some_and(|text| text.is_empty() || text.len() > PLACE_BYTES) {
                return Err(InvalidStatus { field, expected: "1 to 1024 bytes" });
            }
        }
        if pane.is_none() && pid.is_none() && tty.is_none() {
            return Err(InvalidStatus { field: "pane", expected: "there, or 'pid', or 'tty'" });
        }
        let socket = socket.unwrap_or_default();
        Ok(StatusPlace {
            pane: pane.map(|pane| PaneRef { socket, server_pid: None, pane }),
            process: pid.map(|pid| Process { pid, start: None }),
            tty,
            session: None,
        })
    }
}

/// Why a posted report was refused: a field is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid status: field '{field}' must be {expected}")]
pub struct InvalidStatus {
    /// The field.
    pub field: &'static str,
    /// What it must be.
    pub expected: &'static str,
}

/// A report that was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedStatus {
    /// The report.
    pub report: Report,
    /// Where the program runs.
    pub place: StatusPlace,
    /// When it said so, Unix milliseconds; none is now.
    pub written_ms: Option<u64>,
}

impl PostedStatus {
    /// Reads a posted object. Members that are not known are passed over.
    ///
    /// # Errors
    /// The first field that is not what it must be. An unknown `state` or `kind` is refused here: whoever posts is told.
    pub fn read(members: &Map<String, Value>) -> Result<PostedStatus, InvalidStatus> {
        let text = |field: &'static str| match members.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(InvalidStatus { field, expected: "a string" }),
        };
        let fitting = |field, expected, fits: fn(&str) -> bool| match text(field)? {
            Some(text) if !fits(&text) => Err(InvalidStatus { field, expected }),
            text => Ok(text),
        };
        const STATES: &str = "one of idle, working, done, blocked, error, clear";
        const KINDS: &str = "one of permission, question, auth";
        let state = text("state")?.and_then(|word| ProgramState::parse(&word));
        let state = state.ok_or(InvalidStatus { field: "state", expected: STATES })?;
        let kind = fitting("kind", KINDS, |word| Needs::parse(word).is_some())?;
        let kind = kind.and_then(|word| Needs::parse(&word)).filter(|_| state == ProgramState::Blocked);
        let report = Report {
            state,
            kind,
            id: fitting("id", "segments of 1 to 32 letters, digits and _.+- with / between", is_id)?,
            app: fitting("app", "1 to 32 letters, digits and _.+-", is_name)?,
            title: fitting("title", "one line of at most 192 bytes", |text| is_line(text, true))?,
            msg: fitting("msg", "one line of at most 2048 bytes", |text| is_line(text, false))?,
        };
        let pid = match members.get("pid") {
            None | Some(Value::Null) => None,
            Some(pid) => {
                let known = pid.as_u64().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
                Some(known.ok_or(InvalidStatus { field: "pid", expected: "a process id" })?)
            }
        };
        let written_ms = match members.get("timestamp") {
            None | Some(Value::Null) => None,
            Some(time) => {
                let expected = "a whole number greater than 0 (Unix milliseconds)";
                let known = time.as_u64().filter(|time| *time > 0);
                Some(known.ok_or(InvalidStatus { field: "timestamp", expected })?)
            }
        };
        let place = StatusPlace::new(text("pane")?, text("socket")?, pid, text("tty")?)?;
        Ok(PostedStatus { report, place, written_ms })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<PostedStatus, String> {
        PostedStatus::read(value.as_object().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_posted_report_has_the_protocols_keys_and_a_place() {
        let posted = read(json!({
            "state": "blocked", "kind": "question", "app": "deploy", "msg": "Which region?", "id": "eu/1",
            "pane": "%3", "socket": "/tmp/tmux-1000/default", "pid": 77, "timestamp": 1_735_689_605_000_u64,
            "progress": 40, "more": [1],
        }))
        .unwrap();
        assert_eq!(posted.report.words(), "deploy says blocked (question) of eu/1");
        assert_eq!(posted.report.msg.as_deref(), Some("Which region?"));
        let pane = posted.place.pane.unwrap();
        assert_eq!((pane.pane.as_str(), pane.socket.as_str()), ("%3", "/tmp/tmux-1000/default"));
        assert_eq!(posted.place.process, Some(Process { pid: 77, start: None }));
        assert_eq!(posted.written_ms, Some(1_735_689_605_000));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let states = "field 'state' must be one of idle, working, done, blocked, error, clear";
        for (body, words) in [
            (json!({ "pane": "%3" }), states),
            (json!({ "pane": "%3", "state": "paused" }), states),
            (json!({ "pane": "%3", "state": 5 }), "field 'state' must be a string"),
            (
                json!({ "pane": "%3", "state": "blocked", "kind": "coffee" }),
                "field 'kind' must be one of permission, question, auth",
            ),
            (json!({ "state": "idle" }), "field 'pane' must be there, or 'pid', or 'tty'"),
            (json!({ "state": "idle", "pane": "" }), "field 'pane' must be 1 to 1024 bytes"),
            (json!({ "state": "idle", "tty": "x".repeat(1_025) }), "field 'tty' must be 1 to 1024 bytes"),
            (json!({ "state": "idle", "pid": 0 }), "field 'pid' must be a process id"),
            (json!({ "state": "idle", "pid": "77" }), "field 'pid' must be a process id"),
            (
                json!({ "state": "idle", "pid": 1, "timestamp": -1 }),
                "field 'timestamp' must be a whole number greater than 0 (Unix milliseconds)",
            ),
            (
                json!({ "state": "idle", "pid": 1, "app": "two words" }),
                "field 'app' must be 1 to 32 letters, digits and _.+-",
            ),
            (
                json!({ "state": "idle", "pid": 1, "msg": "two\nlines" }),
                "field 'msg' must be one line of at most 2048 bytes",
            ),
            (
                json!({ "state": "idle", "pid": 1, "id": "a//b" }),
                "field 'id' must be segments of 1 to 32 letters, digits and _.+- with / between",
            ),
        ] {
            assert_eq!(read(body.clone()).unwrap_err(), format!("invalid status: {words}"), "{body}");
        }
    }
}
