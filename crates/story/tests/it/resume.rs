//! A session dies behind every line, is resumed, and goes on; also where it dies again while it is resumed.

use herdbook_story::resume::{DID_NOT_RUN, MAY_HAVE_RUN};
use herdbook_story::{CannotResume, Checker, History, Level, Offer, Options, Standing, Templates, resume};
use serde_json::{Value, json};

use crate::shared::{self, OWN_EXAMPLE, OWN_WORKFLOW};
use crate::writer::{Writer, value};

const TOOLS: [&str; 11] =
    ["read", "write", "edit", "grep", "glob", "bash", "process", "design", "remember", "symbols", "refs"];

fn standing(log: &Writer) -> Standing {
    let mut checker = Checker::new(Options::native());
    for line in &log.lines {
        checker.push(line);
    }
    checker.standing()
}

fn offer(standing: &Standing) -> Offer {
    Offer {
        version: "2.0.1".to_owned(),
        model: standing.model.clone().unwrap(),
        tool_names: TOOLS.map(str::to_owned).to_vec(),
        gone: standing.processes.iter().map(|process| (process.process_id.clone(), 60_000)).collect(),
    }
}

/// Appends the events of a resumption, at most `most`; returns how many there would be.
fn resume_with(log: &mut Writer, most: usize) -> usize {
    let standing = standing(log);
    let events = resume(&standing, &offer(&standing)).unwrap();
    for event in events.iter().take(most) {
        let payload = value(event.payload().unwrap().get());
        log.write(event.event_type().as_str(), payload);
    }
    events.len()
}

/// What the lines behind the first ones break, and the level of what counts.
fn breaks(log: &Writer, from: usize, least: Level) -> Vec<String> {
    let mut checker = Checker::new(Options::native());
    let mut found = Vec::new();
    for (at, line) in log.lines.iter().enumerate() {
        let here = checker.push(line);
        if at >= from {
            found.extend(here);
        }
    }
    found.iter().filter(|finding| finding.level >= least).map(ToString::to_string).collect()
}

/// Each tool use is followed by its result, as providers demand.
fn is_legal(messages: &Value) -> bool {
    let messages = messages.as_array().unwrap();
    messages.iter().enumerate().all(|(at, message)| {
        let ids = |message: &Value, kind: &str, id: &str| -> Vec<String> {
            let blocks = message["content"].as_array().unwrap().iter();
            let blocks = blocks.filter(|block| block["type"] == kind);
            blocks.map(|block| block[id].as_str().unwrap().to_owned()).collect()
        };
        let uses = ids(message, "tool_use", "id");
        let results = messages.get(at + 1).map(|next| ids(next, "tool_result", "tool_use_id"));
        uses.is_empty() || results == Some(uses)
    })
}

fn messages(log: &Writer) -> Value {
    let mut history = History::new(Templates::default());
    for line in log.read() {
        history.apply(&line).unwrap();
    }
    value(&history.messages().unwrap())
}

#[test]
fn a_session_that_dies_anywhere_goes_on() {
    let theirs = shared::catalog("a_session_that_dies_anywhere_goes_on", "example.jsonl");
    for example in [OWN_EXAMPLE, OWN_WORKFLOW].into_iter().chain(theirs.as_deref()) {
        for dead in 1..=example.lines().count() {
            let mut log = Writer::behind(example, dead);
            resume_with(&mut log, usize::MAX);
            assert_eq!(breaks(&log, dead, Level::Warn), [""; 0], "resumed behind seq {dead}");
            let open = standing(&log);
            assert!(
                open.requests.is_empty()
                    && open.tools.is_empty()
                    && open.permissions.is_empty()
                    && open.processes.is_empty(),
                "{open:?}"
            );
            assert!(is_legal(&messages(&log)), "resumed behind seq {dead}");

            let stats = json!({"estimatedInputTokens": 1, "sections": []});
            let model = open.model.unwrap();
            let request =
                json!({"requestId": "next", "model": model, "purpose": "main", "contextStats": stats});
            log.write("model.request-started", request);
            assert_eq!(breaks(&log, dead, Level::Error), [""; 0], "went on behind seq {dead}");
        }
    }
}

#[test]
fn a_resumption_that_dies_is_resumed() {
    // Behind seq 25 of the workflow, one tool use asks and a permission is granted; behind 40 a tool use and a process run.
    for dead in [24, 25, 40] {
        let whole = resume_with(&mut Writer::behind(OWN_WORKFLOW, dead), usize::MAX);
        for torn in 1..whole {
            let mut log = Writer::behind(OWN_WORKFLOW, dead);
            resume_with(&mut log, torn);
            assert_eq!(resume_with(&mut log, usize::MAX), whole - torn + 1, "what is closed stays closed");
            assert_eq!(breaks(&log, dead, Level::Warn), [""; 0], "dead at {dead}, torn at {torn}");
            assert!(is_legal(&messages(&log)));
        }
    }
}

#[test]
fn the_events_come_in_their_order_and_say_what_is_known() {
    let mut log = Writer::behind(OWN_WORKFLOW, 24);
    resume_with(&mut log, usize::MAX);
    let told: Vec<String> = log.lines[24..]
        .iter()
        .map(|line| {
            let line = value(line);
            format!(
                "{} {}",
                line["type"].as_str().unwrap(),
                line["payload"]["modelText"].as_str().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "session.resumed -".to_owned(),
            "permission.denied -".to_owned(),
            format!("tool.cancelled {DID_NOT_RUN}")
        ]
    );
    let mut log = Writer::behind(OWN_EXAMPLE, 12);
    resume_with(&mut log, usize::MAX);
    let cancelled: Vec<Value> = log.lines[13..].iter().map(|line| value(line)["payload"].clone()).collect();
    let text = |id: &str| json!({"toolUseId": id, "reason": "resume-recovery", "modelText": MAY_HAVE_RUN});
    assert_eq!(cancelled, [text("t1"), text("t2")], "in the order of their blocks");
    // In the middle of a response: the request is closed, and its settled blocks stay.
    let mut log = Writer::behind(OWN_EXAMPLE, 6);
    resume_with(&mut log, usize::MAX);
    let kinds: Vec<Value> = log.lines[6..].iter().map(|line| value(line)["type"].clone()).collect();
    assert_eq!(kinds, ["session.resumed", "model.request-failed", "tool.cancelled"]);
    assert_eq!(messages(&log)[1]["content"].as_array().unwrap().len(), 3);
}

#[test]
fn a_session_is_not_resumed_without_its_tools_or_its_log() {
    let log = Writer::behind(OWN_WORKFLOW, 58);
    let standing = standing(&log);
    let mut offer = offer(&standing);
    offer.tool_names = vec!["bash".to_owned(), "read".to_owned(), "shell".to_owned()];
    let refused = resume(&standing, &offer).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "these tools were offered or used and must be offered again: design, edit, glob, grep, process, remember, write"
    );
    assert_eq!(resume(&Standing::default(), &offer), Err(CannotResume::Empty));
}
