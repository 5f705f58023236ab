//! What Droid's events carry, and what it can be told in answer (documentation of 2026-07).

use crate::detail::forms::{
    ADDS, ADDS_TEXT, ALLOWS, ASKS, BLOCKS, COMMENTS, DENIES, GOES_ON, REWRITES, STOPS,
};
use crate::detail::{Can, Detail, Key, any, boolean, cannot, detail, text};

const TOOL: &[Key] = &[text("tool_name"), any("tool_input")];
const ENDS: Can = STOPS.note("ends the whole turn, whatever else is decided");

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("SessionStart", &[&[text("source")]])
        .values(&[("source", &["startup", "resume", "clear", "compact"])])
        .can(&[ADDS_TEXT])
        .cannot(&[cannot(
            "deny",
            "the session starts all the same; exit code 2 only shows stderr to the human",
        )]),
    detail("SessionEnd", &[&[text("reason")]])
        .values(&[("reason", &["clear", "logout", "prompt_input_exit", "other"])])
        .cannot(&[cannot("deny", "the session ends all the same")]),
    detail("UserPromptSubmit", &[&[text("prompt")]])
        .blocks("the prompt is dropped and never reaches the model")
        .can(&[BLOCKS, ADDS_TEXT, ENDS]),
    detail("PreToolUse", &[TOOL]).blocks("the tool is not called").can(&[
        ALLOWS,
        DENIES,
        ASKS,
        REWRITES.note("holds what changes, and allows the call"),
        ENDS,
    ]),
    detail("PostToolUse", &[TOOL, &[any("tool_response")]]).can(&[COMMENTS, ADDS, ENDS]),
    detail("Notification", &[&[text("message")]])
        .cannot(&[cannot("deny", "exit code 2 only shows stderr to the human")]),
    detail("Stop", &[&[boolean("stop_hook_active")]])
        .blocks("the agent goes on with the reason")
        .can(&[GOES_ON, ENDS]),
    detail("SubagentStop", &[&[boolean("stop_hook_active")]])
        .blocks("the subagent goes on with the reason")
        .can(&[GOES_ON, ENDS]),
    detail("PreCompact", &[&[text("trigger"), text("custom_instructions")]])
        .values(&[("trigger", &["manual", "auto"])])
        .cannot(&[cannot("deny", "exit code 2 only shows stderr to the human")]),
];
