//! What `claude agents --json` says of its sessions; recorded from Claude Code 2.1.332.

use herdbook_events::status::{Needs, ProgramState, Report};
use serde::Deserialize;

/// The name under which Claude Code reports its status.
pub const APP: &str = "claude-code";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAgent {
    session_id: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    waiting_for: Option<String>,
}

/// Reads an answer: native session ids, and what their programs do. Sessions in the background, and words that are not
/// known, say nothing; what is no answer is empty.
pub fn listed(answer: &[u8]) -> Vec<(String, Report)> {
    // Entry by entry: one of another form costs only itself.
    let entries: Vec<serde_json::Value> = serde_json::from_slice(answer).unwrap_or_default();
    let agents = entries.into_iter().filter_map(|entry| serde_json::from_value::<WireAgent>(entry).ok());
    agents
        .filter(|agent| agent.kind.as_deref() == Some("interactive"))
        .filter_map(|agent| {
            let (state, kind) = match (agent.status.as_deref()?, agent.waiting_for.as_deref()) {
                ("busy", _) => (ProgramState::Working, None),
                ("idle", _) => (ProgramState::Idle, None),
                ("waiting", Some("permission prompt")) => (ProgramState::Blocked, Some(Needs::Permission)),
                ("waiting", Some("input needed")) => (ProgramState::Blocked, Some(Needs::Question)),
                ("waiting", _) => (ProgramState::Blocked, None),
                _ => return None,
            };
            let msg = agent.waiting_for.filter(|_| state == ProgramState::Blocked);
            Some((
                agent.session_id?,
                Report { state, kind, id: None, app: Some(APP.into()), title: None, msg },
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(answer: &str) -> Vec<String> {
        listed(answer.as_bytes())
            .into_iter()
            .map(|(session, report)| {
                let msg = report.msg.as_deref().unwrap_or("-");
                format!("{session}: {} / {msg}", report.words())
            })
            .collect()
    }

    #[test]
    fn the_recorded_answers_are_read() {
        let entry = |more: &str| {
            format!(
                r#"[ {{ "pid": 6684, "cwd": "/home/dev/app", "kind": "interactive", "startedAt": 1796045018791,
                "sessionId": "7684ffed", "name": "app-fb"{more} }}]"#
            )
        };
        for (more, said) in [
            (r#", "status": "busy""#, "claude-code says working / -"),
            (r#", "status": "idle""#, "claude-code says idle / -"),
            (
                r#", "status": "waiting", "waitingFor": "permission prompt""#,
                "claude-code says blocked (permission) / permission prompt",
            ),
            (
                r#", "status": "waiting", "waitingFor": "input needed""#,
                "claude-code says blocked (question) / input needed",
            ),
            (
                r#", "status": "waiting", "waitingFor": "dialog open""#,
                "claude-code says blocked / dialog open",
            ),
        ] {
            assert_eq!(words(&entry(more)), [format!("7684ffed: {said}")]);
        }
        assert_eq!(words(&entry("")), [] as [&str; 0], "it has just started");
        assert_eq!(words(&entry(r#", "status": "dreaming""#)), [] as [&str; 0]);
    }

    #[test]
    fn what_is_not_known_says_nothing() {
        for answer in
            ["", "[]", "{}", "error: unknown option '--json'", r#"[{"kind":"background","status":"busy"}]"#]
        {
            assert_eq!(words(answer), [] as [&str; 0], "{answer}");
        }
        let mixed = r#"[5,{"sessionId":7},{"sessionId":"a","kind":"interactive","status":"idle"}]"#;
        assert_eq!(words(mixed), ["a: claude-code says idle / -"]);
    }
}
