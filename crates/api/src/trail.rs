//! Answers of the Trail Boss paths, member names and order as its clients expect them (overview section 5).

use serde::{Deserialize, Serialize};

/// An event was taken: `{"ok":true}` and no more, since curl prints it into the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Always true.
    pub ok: bool,
}

/// Answer of `GET /queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The entries that are not in cooldown, in queue order.
    pub items: Vec<Item>,
    /// How many there are.
    pub count: usize,
}

/// One entry of `GET /queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Entry id; stays with the wait.
    pub id: String,
    /// Session key.
    pub session_id: String,
    /// Pane id, empty if unknown.
    pub pane_id: String,
    /// Working directory, empty if unknown.
    pub cwd: String,
    /// `stopped` or `permission`.
    pub reason: String,
    /// Text for the human, as it was received: clean it before it reaches a terminal.
    pub last_message: String,
    /// Unix milliseconds.
    pub stuck_at: u64,
    /// Unix milliseconds until which the entry is in cooldown, or null.
    pub skip_cooldown_until: Option<u64>,
}

/// Answer of `GET /next` and `POST /skip`: `{"paneId","sessionId","reason":null}` for the head of the queue, or
/// `{"paneId":null,"reason":"queue empty"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// Pane of the head.
    #[serde(rename = "paneId")]
    pub pane_id: Option<String>,
    /// Session key of the head; not there when nobody waits.
    #[serde(rename = "sessionId", default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Why there is no head.
    pub reason: Option<String>,
}

impl Next {
    /// Answer for the head of the queue.
    pub fn head(pane_id: String, session_id: String) -> Next {
        Next { pane_id: Some(pane_id), session_id: Some(session_id), reason: None }
    }

    /// Answer when nobody waits, or all who do are in cooldown.
    pub fn empty() -> Next {
        Next { pane_id: None, session_id: None, reason: Some("queue empty".to_owned()) }
    }
}

/// Answer of `GET /status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// `ok`.
    pub status: String,
    /// Entries that are not in cooldown.
    #[serde(rename = "stuckCount")]
    pub stuck_count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_prints_as_trail_bosss_clients_read_it() {
        let head = serde_json::to_string(&Next::head("%4".into(), "claude-1".into())).unwrap();
        assert_eq!(head, r#"{"paneId":"%4","sessionId":"claude-1","reason":null}"#);
        assert_eq!(
            serde_json::to_string(&Next::empty()).unwrap(),
            r#"{"paneId":null,"reason":"queue empty"}"#
        );
    }

    #[test]
    fn queue_prints_its_members_in_the_references_order() {
        let queue = Queue { items: vec![Item::default()], count: 1 };
        assert_eq!(
            serde_json::to_string(&queue).unwrap(),
            r#"{"items":[{"id":"","session_id":"","pane_id":"","cwd":"","reason":"","last_message":"","stuck_at":0,"skip_cooldown_until":null}],"count":1}"#
        );
    }
}
