//! The text of `messages`: which blocks join, and how they are written (G2 to G10).

use std::collections::HashMap;

use crate::canonical::write_text;
use crate::items::{Block, Body, Item, Request, State, Tool, ToolResult};

/// Prints the items, which are in the order of their places.
pub(crate) fn print(
    items: &[Item],
    requests: &HashMap<String, Request>,
    tools: &HashMap<String, Tool>,
) -> String {
    let mut messages = Messages { out: "[".to_owned(), open: None };
    for item in items {
        match &item.body {
            Body::Text(text) => messages.add(Role::User, &text_block(text)),
            Body::Assistant(request) => {
                let blocks = requests.get(request).map(settled).unwrap_or_default();
                // Two of the assistant's messages never join; one without blocks is left out (G5, G8).
                if !blocks.is_empty() && messages.open == Some(Role::Assistant) {
                    messages.end();
                }
                for block in blocks {
                    messages.add(Role::Assistant, &assistant_block(block));
                }
            }
            Body::Results(request) => {
                for block in requests.get(request).map(settled).unwrap_or_default() {
                    if let Block::ToolUse { id, .. } = block
                        && let Some(result) = tools.get(id).and_then(|tool| tool.result.as_ref())
                    {
                        messages.add(Role::User, &result_block(id, result));
                    }
                }
            }
        }
    }
    messages.end();
    messages.out.push(']');
    messages.out
}

/// The blocks of a request that the model sees again, in order of their index (G2, G4, G8).
fn settled(request: &Request) -> Vec<&Block> {
    let is_blank = |block: &&Block| matches!(block, Block::Text(text) if text.trim().is_empty());
    let mut blocks: Vec<&Block> = request.blocks.values().filter(|block| !is_blank(block)).collect();
    match request.state {
        State::Open | State::Failed => blocks.clear(),
        State::Cancelled => {
            while matches!(blocks.last(), Some(Block::Thinking { .. })) {
                blocks.pop();
            }
        }
        State::Completed => {}
    }
    blocks
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

struct Messages {
    out: String,
    open: Option<Role>,
}

impl Messages {
    /// Adds a block to the open message of the role, or to a new one. An empty block is none.
    fn add(&mut self, role: Role, block: &str) {
        if block.is_empty() {
            return;
        }
        if self.open == Some(role) {
            self.out.push(',');
        } else {
            self.end();
            if self.out.len() > 1 {
                self.out.push(',');
            }
            self.out.push_str(match role {
                Role::User => r#"{"role":"user","content":["#,
                Role::Assistant => r#"{"role":"assistant","content":["#,
            });
            self.open = Some(role);
        }
        self.out.push_str(block);
    }

    fn end(&mut self) {
        if self.open.take().is_some() {
            self.out.push_str("]}");
        }
    }
}

/// A text of only white space gives nothing (G8).
fn text_block(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut out = r#"{"type":"text","text":"#.to_owned();
    write_text(text, &mut out);
    out.push('}');
    out
}

fn assistant_block(block: &Block) -> String {
    let mut out;
    match block {
        Block::Text(text) => return text_block(text),
        Block::Thinking { thinking, signature } => {
            out = r#"{"type":"thinking","thinking":"#.to_owned();
            write_text(thinking, &mut out);
            out.push_str(r#","signature":"#);
            write_text(signature, &mut out);
        }
        Block::ToolUse { id, name, input } => {
            out = r#"{"type":"tool_use","id":"#.to_owned();
            write_text(id, &mut out);
            out.push_str(r#","name":"#);
            write_text(name, &mut out);
            out.push_str(r#","input":"#);
            out.push_str(input);
        }
    }
    out.push('}');
    out
}

fn result_block(tool_use_id: &str, result: &ToolResult) -> String {
    let mut out = r#"{"type":"tool_result","tool_use_id":"#.to_owned();
    write_text(tool_use_id, &mut out);
    out.push_str(r#","content":"#);
    write_text(&result.text, &mut out);
    if result.is_error {
        out.push_str(r#","is_error":true"#);
    }
    out.push('}');
    out
}
