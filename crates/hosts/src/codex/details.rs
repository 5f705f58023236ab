//! What Codex's events carry, and what it can be told in answer (0.147 to 0.171).
//!
//! A word that an event does not have marks the hook as failed, and what it was asked about goes on.

use crate::detail::Intent::{Deny, Notice};
use crate::detail::Wording::{ExitTwo, Json};
use crate::detail::forms::{
    ADDS, ADDS_TEXT, BLOCKS, COMMENTS, DENIES_OR_BLOCKS, GOES_ON, GRANTS, REFUSED, REWRITES, STOP, STOPS,
};
use crate::detail::{Can, Detail, Key, any, boolean, can, cannot, detail, text};

const ALL: &[&str] = &["0.147.0", "0.171.0"];
const NEW: &[&str] = &["0.171.0"];

const TURN: &[Key] = &[text("turn_id")];
const MODEL: &[Key] = &[text("model"), text("permission_mode")];
const MODE: &[Key] = &[text("permission_mode").may()];
const AGENT: &[Key] = &[text("agent_id").may(), text("agent_type").may()];
const IN_AGENT: &[Key] = &[text("agent_id"), text("agent_type")];
const TOOL: &[Key] = &[text("tool_name"), any("tool_input")];
const TOOL_USE: &[Key] = &[text("tool_use_id")];
const STOPPED: &[Key] = &[boolean("stop_hook_active"), text("last_assistant_message").or_null()];

const REASON: &str = "the reason must not be empty";
const CONTINUES: Can = GOES_ON.note(REASON);

const MODES: &[&str] = &["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("SessionStart", &[MODEL, &[text("source")], AGENT])
        .values(&[("permission_mode", MODES), ("source", &["startup", "resume", "clear", "compact"])])
        .seen(ALL)
        .can(&[ADDS_TEXT, STOPS.note("ends the turn that a compaction interrupted")])
        .cannot(&[cannot("deny", "the session starts all the same")]),
    detail("UserPromptSubmit", &[TURN, MODEL, &[text("prompt")], AGENT])
        .values(&[("permission_mode", MODES)])
        .seen(ALL)
        .blocks("the prompt is not sent")
        .can(&[BLOCKS.note(REASON), ADDS_TEXT, STOPS])
        .cannot(&[cannot("rewriteInput", "a prompt cannot be replaced")]),
    detail("PreToolUse", &[TURN, MODEL, TOOL, TOOL_USE, AGENT])
        .values(&[("permission_mode", MODES)])
        .seen(ALL)
        .blocks("the tool is not called; the model reads the reason")
        .can(&[
            DENIES_OR_BLOCKS.note(REASON),
            REWRITES.note("allows the call; the input of Bash and apply_patch needs a command"),
            ADDS,
        ])
        .cannot(&[
            cannot(
                "allow",
                "without updatedInput it is an error: the hook counts as failed, and the call runs",
            ),
            cannot("ask", "it is an error: the hook counts as failed, and the call runs"),
            cannot("approve", "the older word is an error: the hook counts as failed, and the call runs"),
            cannot("stopAll", "continue: false is an error: the hook counts as failed, and the call runs"),
        ]),
    detail("PermissionRequest", &[TURN, MODEL, TOOL, AGENT])
        .values(&[("permission_mode", MODES)])
        .seen(NEW)
        .blocks("the request is denied, and the human is not asked")
        .can(&[
            GRANTS,
            can(Deny, &[REFUSED, ExitTwo("$reason")])
                .note("the exit code is not documented, works in 0.171.0, and needs a text"),
        ])
        .cannot(&[
            cannot(
                "rewriteInput",
                "updatedInput is an error: the hook counts as failed, and the human is asked",
            ),
            cannot("permissions", "updatedPermissions and interrupt are errors: the hook counts as failed, and the human is asked"),
            cannot("stopAll", "continue: false means nothing here"),
        ]),
    detail("PostToolUse", &[TURN, MODEL, TOOL, &[any("tool_response")], TOOL_USE, AGENT])
        .values(&[("permission_mode", MODES)])
        .seen(ALL)
        .can(&[COMMENTS.note("the tool has run; the reason takes the place of its result"), ADDS])
        .cannot(&[
            cannot("stopAll", "the reason takes the place of the result, and the turn goes on"),
            cannot("deny", "the tool has run"),
            cannot("replaceOutput", "updatedMCPToolOutput is an error"),
        ]),
    detail("SubagentStart", &[TURN, MODEL, IN_AGENT])
        .values(&[("permission_mode", MODES)])
        .seen(ALL)
        .can(&[ADDS_TEXT])
        .cannot(&[cannot("deny", "continue: false is read and means nothing")]),
    detail("SubagentStop", &[TURN, MODEL, IN_AGENT, &[text("agent_transcript_path").or_null()], STOPPED])
        .values(&[("permission_mode", MODES)])
        .seen(ALL)
        .blocks("the subagent goes on with the reason")
        .can(&[CONTINUES, STOPS])
        .cannot(&[
            cannot("text", "plain text on stdout is an error"),
            cannot("addContext", "it has no context; the reason of a deny is what the model reads"),
        ]),
    detail("Stop", &[TURN, MODEL, STOPPED, AGENT])
        .values(&[("permission_mode", MODES)])
        .seen(ALL)
        .blocks("the agent goes on with the reason")
        .can(&[CONTINUES, STOPS])
        .cannot(&[
            cannot("text", "plain text on stdout is an error"),
            cannot("addContext", "it has no context; the reason of a deny is what the model reads"),
        ]),
    detail("PreCompact", &[TURN, &[text("model"), text("trigger")], MODE, AGENT])
        .values(&[("trigger", &["manual", "auto"])])
        .seen(NEW)
        .blocks("nothing is compacted")
        .can(&[can(Deny, &[STOP])])
        .cannot(&[cannot("decision", "a block means nothing here; continue: false does")]),
    detail("PostCompact", &[TURN, &[text("model"), text("trigger")], MODE, AGENT])
        .values(&[("trigger", &["manual", "auto"])])
        .seen(NEW)
        .can(&[STOPS])
        .cannot(&[cannot("deny", "it is compacted already")]),
    detail("SessionEnd", &[&[text("reason"), text("model").may()], MODE, AGENT])
        .values(&[("reason", &["other"])])
        .seen(ALL)
        .cannot(&[cannot("deny", "the session ends all the same")]),
    detail("Interrupt", &[TURN, MODEL])
        .values(&[("permission_mode", MODES)])
        .seen(NEW)
        .can(&[can(Notice, &[Json(r#"{"systemMessage":"$text"}"#)])
            .note("anything else marks the hook as failed")])
        .cannot(&[cannot("deny", "the turn is over")]),
];
