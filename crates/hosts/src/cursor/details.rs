//! What Cursor's events carry, and what it can be told in answer (documents of 2026-08-28, recordings of 3.18.25).

use crate::decision::Outcome;
use crate::detail::Intent::{
    AddContext, Allow, Ask, BlockStop, Deny, Extra, Notice, ReplaceOutput, RewriteInput,
};
use crate::detail::Wording::{ExitTwo, Json};
use crate::detail::{Can, Detail, Key, any, boolean, can, cannot, detail, number, objects, text, texts};

const LIVE: &[&str] = &["3.18.25"];

const TOOL: &[Key] = &[text("tool_name"), any("tool_input")];
const TOOL_USE: &[Key] = &[text("tool_use_id")];
const CWD: &[Key] = &[text("cwd").may()];
const COMMAND: &[Key] = &[text("command")];
const SANDBOX: &[Key] = &[boolean("sandbox")];
const DURATION: &[Key] = &[number("duration")];
const MODE: &[Key] = &[text("composer_mode").may()];
const SERVER_CALL: &[Key] = &[text("tool_name"), text("tool_input")];
const FILE: &[Key] = &[text("file_path")];

const ALLOWS: Can = can(Allow, &[Json(r#"{"permission":"allow"}"#)]);
const DENIES: Can = can(
    Deny,
    &[
        Json(r#"{"permission":"deny","user_message":"$reason","agent_message":"$reason"}"#),
        ExitTwo("$reason"),
    ],
);
const DENIES_TO_HUMAN: Can =
    can(Deny, &[Json(r#"{"permission":"deny","user_message":"$reason"}"#), ExitTwo("$reason")]);
const ASKS: Can =
    can(Ask, &[Json(r#"{"permission":"ask","user_message":"$reason","agent_message":"$reason"}"#)]);
const ADDS: Can = can(AddContext, &[Json(r#"{"additional_context":"$context"}"#)]);
const FOLLOWS_UP: Can = can(BlockStop, &[Json(r#"{"followup_message":"$reason"}"#)]);

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("sessionStart", &[&[boolean("is_background_agent")], MODE])
        .values(&[("composer_mode", &["agent", "ask", "edit"])])
        .can(&[
            ADDS,
            can(Extra, &[Json(r#"{"env":{"$NAME":"$value"}}"#)]).note("for later hooks of the session"),
        ])
        .cannot(&[cannot("deny", "continue: false is read and means nothing")]),
    detail(
        "sessionEnd",
        &[&[
            text("reason"),
            number("duration_ms"),
            boolean("is_background_agent"),
            text("final_status"),
            text("error_message").may(),
        ]],
    )
    .values(&[("reason", &["completed", "aborted", "error", "window_close", "user_close"])])
    .cannot(&[cannot("deny", "nobody waits for the hook")]),
    detail("beforeSubmitPrompt", &[&[text("prompt"), objects("attachments")], MODE])
        .seen(LIVE)
        .blocks("the prompt is not sent")
        .can(&[
            can(Deny, &[Json(r#"{"continue":false,"user_message":"$reason"}"#), ExitTwo("$reason")]),
            can(Allow, &[Json(r#"{"continue":true}"#)]),
        ])
        .cannot(&[cannot("addContext", "it has no context")]),
    detail("preToolUse", &[TOOL, TOOL_USE, CWD, &[text("agent_message").may()]])
        .seen(LIVE)
        .blocks("the tool is not called")
        .can(&[
            ALLOWS,
            DENIES,
            can(RewriteInput, &[Json(r#"{"permission":"allow","updated_input":"$input"}"#)])
                .beside(&[Outcome::Allow])
                .note("allows the call"),
        ])
        .cannot(&[
            cannot(
                "ask",
                "it is read, and nobody is asked: only the events of shells and MCP servers do that",
            ),
            cannot("addContext", "it has no context"),
        ]),
    detail("postToolUse", &[TOOL, &[text("tool_output")], DURATION, TOOL_USE, CWD])
        .seen(LIVE)
        .can(&[
            ADDS,
            can(ReplaceOutput, &[Json(r#"{"updated_mcp_tool_output":"$object"}"#)])
                .note("only for tools of MCP servers"),
        ])
        .cannot(&[cannot("deny", "the tool has run")]),
    detail(
        "postToolUseFailure",
        &[
            TOOL,
            TOOL_USE,
            CWD,
            &[text("error_message"), text("failure_type")],
            DURATION,
            &[boolean("is_interrupt")],
        ],
    )
    .values(&[("failure_type", &["error", "timeout", "permission_denied"])])
    .cannot(&[cannot("addContext", "nothing of the answer is read")]),
    detail(
        "subagentStart",
        &[&[
            text("subagent_id"),
            text("subagent_type"),
            text("task"),
            text("parent_conversation_id"),
            text("tool_call_id"),
            text("subagent_model"),
            boolean("is_parallel_worker"),
            text("git_branch").may(),
        ]],
    )
    .seen(LIVE)
    .blocks("the subagent is not started")
    .can(&[ALLOWS, DENIES_TO_HUMAN])
    .cannot(&[cannot("ask", "it denies"), cannot("addContext", "it has no context")]),
    detail(
        "subagentStop",
        &[&[
            text("subagent_id").may(),
            text("subagent_type"),
            text("status"),
            text("task"),
            text("description"),
            text("summary").may(),
            number("duration_ms"),
            number("message_count"),
            number("tool_call_count"),
            number("loop_count"),
            texts("modified_files").may(),
            text("parent_conversation_id").may(),
            text("agent_transcript_path").or_null(),
        ]],
    )
    .values(&[("status", &["completed", "error", "aborted"])])
    .seen(LIVE)
    .blocks("the subagent gets one more message")
    .can(&[FOLLOWS_UP.note("only after status completed, five times in a row at most")]),
    detail(
        "stop",
        &[&[
            text("status"),
            number("loop_count"),
            number("input_tokens").may(),
            number("output_tokens").may(),
            number("cache_read_tokens").may(),
            number("cache_write_tokens").may(),
        ]],
    )
    .values(&[("status", &["completed", "aborted", "error"])])
    .seen(LIVE)
    .blocks("the agent gets one more message")
    .can(&[FOLLOWS_UP.note("five times in a row at most")]),
    detail(
        "preCompact",
        &[&[
            text("trigger"),
            number("context_usage_percent"),
            number("context_tokens"),
            number("context_window_size"),
            number("message_count"),
            number("messages_to_compact"),
            boolean("is_first_compaction"),
        ]],
    )
    .values(&[("trigger", &["auto", "manual"])])
    .can(&[can(Notice, &[Json(r#"{"user_message":"$text"}"#)])])
    .cannot(&[cannot("deny", "it compacts all the same")]),
    detail("workspaceOpen", &[])
        .can(&[can(Extra, &[Json(r#"{"pluginPaths":["$path"]}"#)])])
        .cannot(&[cannot("deny", "it opens all the same")]),
    detail("beforeShellExecution", &[COMMAND, &[text("cwd")], SANDBOX])
        .blocks("the command is not run")
        .can(&[ALLOWS, DENIES, ASKS]),
    detail("afterShellExecution", &[COMMAND, &[text("output")], DURATION, SANDBOX]),
    detail("beforeMCPExecution", &[SERVER_CALL, &[text("url").may(), text("command").may()]])
        .blocks("the server is not called")
        .can(&[ALLOWS, DENIES, ASKS]),
    detail("afterMCPExecution", &[SERVER_CALL, &[text("result_json")], DURATION]),
    detail("beforeReadFile", &[FILE, &[text("content"), objects("attachments")]])
        .blocks("the file is not read")
        .can(&[ALLOWS, DENIES_TO_HUMAN]),
    detail("afterFileEdit", &[FILE, &[objects("edits")]]),
    detail("beforeTabFileRead", &[FILE, &[text("content")]])
        .blocks("the file is not read")
        .can(&[ALLOWS, can(Deny, &[Json(r#"{"permission":"deny"}"#), ExitTwo("$reason")])]),
    detail("afterTabFileEdit", &[FILE, &[objects("edits")]]),
    detail("afterAgentResponse", &[&[text("text")]]),
    detail("afterAgentThought", &[&[text("text"), number("duration_ms").may()]]),
];
