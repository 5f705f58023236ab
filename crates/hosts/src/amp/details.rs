//! What Amp's events carry, and what it can be told in answer (documents only).

use crate::decision::Outcome;
use crate::detail::Intent::{AddContext, Allow, BlockStop, Deny, ReplaceOutput, RewriteInput};
use crate::detail::Wording::Return;
use crate::detail::{Detail, Key, any, can, cannot, detail, text};

const CALL: &[Key] = &[text("tool_name"), any("tool_input"), text("tool_use_id")];
const STATUS: &[Key] = &[text("status")];

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("session.start", &[]).cannot(&[cannot("deny", "nothing of the answer is read")]),
    detail("agent.start", &[&[text("prompt")]])
        .can(&[can(AddContext, &[Return(r#"{"message":{"content":"$context"}}"#)])])
        .cannot(&[cannot("deny", "no way to block a prompt is documented")]),
    detail("agent.end", &[STATUS])
        .values(&[("status", &["done", "error", "cancelled"])])
        .blocks("the agent goes on with the message")
        .can(&[can(BlockStop, &[Return(r#"{"action":"continue","userMessage":"$reason"}"#)])]),
    detail("tool.call", &[CALL])
        .blocks("the tool is not called; the model reads the reason")
        .can(&[
            can(Allow, &[Return(r#"{"action":"allow"}"#)]),
            can(Deny, &[Return(r#"{"action":"reject-and-continue","message":"$reason"}"#)]),
            can(RewriteInput, &[Return(r#"{"action":"modify","input":"$input"}"#)]).beside(&[Outcome::Allow]),
            can(
                ReplaceOutput,
                &[Return(r#"{"action":"synthesize","result":{"output":"$output","exitCode":0}}"#)],
            ),
        ])
        .cannot(&[cannot("ask", "it never asks the human about a call")]),
    detail("tool.result", &[CALL, STATUS, &[any("tool_response"), any("error").may()]])
        .values(&[("status", &["done", "error", "cancelled"])])
        .can(&[can(ReplaceOutput, &[Return(r#"{"status":"done","output":"$output"}"#)])]),
];
