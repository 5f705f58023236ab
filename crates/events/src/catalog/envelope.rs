//! What stands around a payload.

use crate::catalog::shape::{Json, Position, objects};

objects! {
    /// One line of a log. A producer says only `type` and `payload`; the rest is given at append.
    Durable {
        "v" v: u64,
        "id" id: String,
        "sessionId" session_id: String,
        "seq" seq: Position,
        "ts" ts: u64,
        "parentId" parent_id: Option<String>,
        "type" event_type: String,
        "payload" payload: Json,
        "src" src: Option<Json> [ours],
        "crc" crc: Option<String> [ours],
    }

    /// An event that is only live: it has no place in a log, so neither `v` nor `seq`.
    Ephemeral {
        "id" id: String,
        "sessionId" session_id: String,
        "ts" ts: u64,
        "type" event_type: String,
        "payload" payload: Json,
    }
}
