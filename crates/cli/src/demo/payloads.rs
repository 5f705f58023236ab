//! What the stand-in agents send: our own words, in the shape in which Claude Code and Codex write their hook payloads,
//! and a harness its normalized events.

use serde_json::{Value, json};

/// One session of a stand-in.
#[derive(Clone, Debug)]
pub struct Cast {
    /// `claude`, `codex`, or `nightly` for the harness.
    pub name: &'static str,
    /// The session id it sends.
    pub session: &'static str,
    /// Its working directory.
    pub cwd: String,
}

/// The session id of the stand-in for Claude Code.
pub const CLAUDE_SESSION: &str = "4f1d7c52-8a36-4be0-9c11-6b0f2ad3e901";
/// The session id of the stand-in for Codex.
pub const CODEX_SESSION: &str = "019b7a10-55aa-7c3e-8d21-c4f0e7b6a802";
/// The session id that the harness posts.
pub const HARNESS_SESSION: &str = "nightly-checks";

impl Cast {
    /// Returns a payload of Claude Code: the members all its events have, then those of this one.
    pub fn claude(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": format!("{}/.claude/projects/shop/{}.jsonl", self.cwd, self.session),
            "cwd": self.cwd,
            "hook_event_name": event,
        });
        // Claude Code leaves the mode out where no turn runs.
        if !matches!(event, "SessionStart" | "SessionEnd") {
            payload["permission_mode"] = "default".into();
        }
        extend(payload, more)
    }

    /// Returns a payload of Codex.
    pub fn codex(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": format!("{}/.codex/sessions/rollout-{}.jsonl", self.cwd, self.session),
            "cwd": self.cwd,
            "hook_event_name": event,
        });
        if event != "SessionEnd" {
            payload["model"] = "stand-in".into();
            payload["permission_mode"] = "default".into();
        }
        if !matches!(event, "SessionStart" | "SessionEnd") {
            payload["turn_id"] = "019b7a10-55ab-7000-8000-0000000000b1".into();
        }
        extend(payload, more)
    }

    /// Returns a normalized event. The stand-in puts its own pane into `paneId` where the event has one.
    pub fn posted(&self, kind: &str, timestamp_ms: u64, more: Value) -> Value {
        let mut event = json!({ "type": kind, "sessionId": self.session, "timestamp": timestamp_ms });
        if matches!(kind, "registered" | "stuck") {
            event = extend(event, json!({ "paneId": "", "cwd": self.cwd, "transcriptPath": "" }));
        }
        extend(event, more)
    }
}

fn extend(mut payload: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (payload.as_object_mut(), more) {
        members.extend(more);
    }
    payload
}

#[cfg(test)]
mod tests {
    use herdbook_events::NormalizedEvent;

    use super::*;

    #[test]
    fn the_harness_posts_valid_events() {
        let cast = Cast { name: "nightly", session: HARNESS_SESSION, cwd: "/srv/demo".into() };
        for (kind, more) in [
            ("registered", json!({ "paneId": "%2" })),
            ("stuck", json!({ "paneId": "%2", "reason": "stopped", "message": "red" })),
            ("unstuck", json!({})),
            ("ended", json!({})),
        ] {
            let body = cast.posted(kind, 1_767_225_603_000, more).to_string();
            let event = NormalizedEvent::parse(body.as_bytes()).unwrap();
            assert_eq!((event.kind(), event.session_id()), (kind, HARNESS_SESSION));
        }
    }

    #[test]
    fn a_stand_in_leaves_out_what_its_host_leaves_out() {
        let cast = Cast { name: "codex", session: CODEX_SESSION, cwd: "/srv/demo".into() };
        let end = cast.codex("SessionEnd", json!({ "reason": "other" }));
        assert_eq!((end.get("model"), end.get("turn_id")), (None, None));
        let start = cast.claude("SessionStart", json!({ "source": "startup" }));
        assert_eq!(start.get("permission_mode"), None);
    }
}
