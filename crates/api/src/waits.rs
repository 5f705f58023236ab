//! Waits one by one, and answers to them: `/v1/waits`, over the unix socket alone.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Answer of `GET /v1/waits`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Every open wait.
    pub items: Vec<Wait>,
    /// How many they are.
    pub count: usize,
}

/// One open wait. A session may have several at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wait {
    /// Id of the wait: the journal id of what opened it.
    pub id: String,
    /// Session key.
    pub session_id: String,
    /// Host; `posted` or `detected` where none is known.
    pub host: String,
    /// As in the queue: `permission`, `question`, `turn_end`, ….
    pub kind: String,
    /// The subagent that waits, where it is not the main agent.
    pub agent_id: Option<String>,
    /// The tool that it is about, where there is one.
    pub tool: Option<String>,
    /// Text for the human, as it was received: clean it before it reaches a terminal.
    pub message: String,
    /// Since when, Unix milliseconds.
    pub since_at: u64,
    /// Until when its hook waits for an answer from elsewhere, Unix milliseconds; null where none does.
    pub held_until: Option<u64>,
    /// The tool's whole input while it is held: JSON as text, without white space between its parts.
    pub input: Option<String>,
    /// [`input_hash`] of it.
    pub input_hash: Option<String>,
}

/// Body of `POST /v1/waits/{id}/answer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerWait {
    /// `allow` or `deny`.
    pub outcome: String,
    /// Why: for the model where it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// [`input_hash`] of what the human was shown.
    pub input_hash: String,
}

/// The answer was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Session key.
    pub session_id: String,
    /// `allow` or `deny`.
    pub outcome: String,
    /// What its host was told, to the letter.
    pub told: String,
}

/// Names what exactly is asked: SHA-256, in hex, over session key, tool and input, each behind its length in bytes and a
/// colon and followed by a comma: `8:claude-1,4:Bash,2:{},`.
pub fn input_hash(session: &str, tool: &str, input: &str) -> String {
    let mut hash = Sha256::new();
    for part in [session, tool, input] {
        hash.update(format!("{}:{part},", part.len()));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_over_the_three_parts_with_their_lengths() {
        // printf '8:claude-1,4:Bash,2:{},' | sha256sum
        let known = "039c8dddb9b6bec5a5f9257ba7fc6701282fa5aabc49a8dce63d9d38425d419a";
        assert_eq!(input_hash("claude-1", "Bash", "{}"), known);
        let all = [("a", "bc", "d"), ("ab", "c", "d"), ("a", "b", "cd"), ("a", "bc", "e")];
        let mut hashes: Vec<String> = all.iter().map(|(s, t, i)| input_hash(s, t, i)).collect();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), all.len());
    }
}
