//! Payloads of the events that are only live.

use crate::catalog::shape::objects;
use crate::catalog::words::{OutputStream, ToolName};

objects! {
    /// A piece of a text block arrived on the stream.
    ModelTextDelta {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "text" text: String,
    }

    /// A piece of a thinking block arrived.
    ModelThinkingDelta {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "text" text: String,
    }

    /// A tool-use block opened on the stream; its input is not complete.
    ModelToolCallStarted {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "toolUseId" tool_use_id: String,
        "toolName" tool_name: ToolName,
    }

    /// A piece of the tool input's JSON text arrived.
    ModelToolInputDelta {
        "requestId" request_id: String,
        "blockIndex" block_index: u64,
        "toolUseId" tool_use_id: String,
        "partialJson" partial_json: String,
    }

    /// A running tool printed something; terminal control codes are removed.
    ToolOutput {
        "toolUseId" tool_use_id: String,
        "chunk" chunk: String,
    }

    /// A long-lived process printed something.
    ProcessOutput {
        "processId" process_id: String,
        "stream" stream: OutputStream,
        "chunk" chunk: String,
    }
}
