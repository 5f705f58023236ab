//! What a model history consists of while it is folded.

use std::collections::BTreeMap;

/// Where something stands (G1): a seq; before or after others there; its own seq.
pub(crate) type Place = (u64, Tie, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tie {
    Checkpoint,
    Own,
    Injection,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub place: Place,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// A text of the user's side.
    Text(String),
    /// What the model said in the request of that id.
    Assistant(String),
    /// The results of that request's tool uses.
    Results(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub start: u64,
    /// It asks for a summary: it gives nothing to the history.
    pub is_compaction: bool,
    pub state: State,
    pub blocks: BTreeMap<u64, Block>,
    /// The seq of the last result so far.
    pub results: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Completed,
    Cancelled,
    Failed,
}

#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text(String),
    Thinking { thinking: String, signature: String },
    ToolUse { id: String, name: String, input: String },
}

#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// The id of its request.
    pub request: String,
    pub result: Option<ToolResult>,
}

#[derive(Clone, Debug)]
pub(crate) struct ToolResult {
    pub text: String,
    pub is_error: bool,
}
