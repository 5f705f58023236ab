//! What Copilot CLI's events carry in the spelling that we register, and what it can be told in answer (documents of
//! 1.0.78, recordings of 1.0.102 in its other spelling). Its answers are flat: no `hookSpecificOutput`.

use crate::decision::Outcome;
use crate::detail::Intent::{AddContext, Allow, Ask, Deny, DenyAndInterrupt, Extra, RewriteInput};
use crate::detail::Wording::{ExitTwo, Json};
use crate::detail::forms::{BLOCKS_BY_JSON, GOES_ON_BY_JSON};
use crate::detail::{Can, Detail, Key, any, boolean, can, cannot, detail, object, objects, text};

const LIVE: &[&str] = &["1.0.102"];

const TOOL: &[Key] = &[text("tool_name"), any("tool_input")];
const TRANSCRIPT: &[Key] = &[text("transcript_path")];

const ADDS: Can = can(AddContext, &[Json(r#"{"additionalContext":"$context"}"#)]);
const LETS_STOP: Can = can(Allow, &[Json(r#"{"decision":"allow"}"#)]);

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("SessionStart", &[&[text("source"), text("initial_prompt").may()]])
        .values(&[("source", &["startup", "resume", "new"])])
        .seen(LIVE)
        .can(&[ADDS.note("by its changelog and 1.0.102; its reference says that nothing is read")]),
    detail("SessionEnd", &[&[text("reason")]])
        .values(&[("reason", &["complete", "error", "abort", "timeout", "user_exit"])])
        .seen(LIVE)
        .cannot(&[cannot("deny", "nothing of the answer is read")]),
    detail("UserPromptSubmit", &[&[text("prompt")]])
        .seen(LIVE)
        .blocks("the prompt is dropped, and the human reads the reason; documented nowhere, seen in 1.0.102")
        .can(&[
            BLOCKS_BY_JSON,
            ADDS,
            can(RewriteInput, &[Json(r#"{"modifiedPrompt":"$text"}"#)]),
            can(Extra, &[Json(r#"{"handled":true,"responseContent":"$text"}"#)])
                .note("answers in the model's place"),
        ])
        .cannot(&[cannot("denyByExit2", "exit code 2 only shows stderr to the human")]),
    detail("PreToolUse", &[TOOL]).seen(LIVE).blocks("the tool is not called").can(&[
        can(Allow, &[Json(r#"{"permissionDecision":"allow","permissionDecisionReason":"$reason"}"#)]),
        can(
            Deny,
            &[
                Json(r#"{"permissionDecision":"deny","permissionDecisionReason":"$reason"}"#),
                ExitTwo("$reason"),
            ],
        )
        .note("the exit code since 1.0.70; with it the reason is lost"),
        can(Ask, &[Json(r#"{"permissionDecision":"ask","permissionDecisionReason":"$reason"}"#)]),
        can(RewriteInput, &[Json(r#"{"permissionDecision":"allow","modifiedArgs":"$input"}"#)])
            .beside(&[Outcome::Allow])
            .note("allows the call; updatedInput is read as well"),
        ADDS,
    ]),
    detail("PostToolUse", &[TOOL, &[object("tool_result")]])
        .seen(LIVE)
        .can(&[ADDS])
        .cannot(&[cannot("replaceOutput", "only hooks of its SDK can")]),
    detail("PostToolUseFailure", &[TOOL, &[text("error")]])
        .can(&[can(AddContext, &[ExitTwo("$context")]).note("becomes advice on how to recover")]),
    detail("Stop", &[TRANSCRIPT, &[text("stop_reason"), boolean("stop_hook_active").may()]])
        .values(&[("stop_reason", &["end_turn"])])
        .seen(LIVE)
        .blocks("another turn begins with the reason as prompt")
        .can(&[GOES_ON_BY_JSON.note("eight times in a row at most"), LETS_STOP]),
    detail(
        "subagentStart",
        &[&[
            text("sessionId"),
            text("transcriptPath"),
            text("agentName"),
            text("agentDisplayName").may(),
            text("agentDescription").may(),
        ]],
    )
    .can(&[ADDS])
    .cannot(&[cannot("deny", "the subagent starts all the same")]),
    detail(
        "SubagentStop",
        &[TRANSCRIPT, &[text("agent_name"), text("agent_display_name").may(), text("stop_reason")]],
    )
    .values(&[("stop_reason", &["end_turn"])])
    .blocks("the subagent goes on")
    .can(&[GOES_ON_BY_JSON, LETS_STOP]),
    detail("PreCompact", &[TRANSCRIPT, &[text("trigger"), text("custom_instructions")]])
        .values(&[("trigger", &["manual", "auto"])])
        .cannot(&[cannot("deny", "it only tells")]),
    detail(
        "PermissionRequest",
        &[&[
            text("tool_name").may(),
            any("tool_input").may(),
            text("hookName").may(),
            text("sessionId").may(),
            text("toolName").may(),
            any("toolInput").may(),
            objects("permissionSuggestions").may(),
        ]],
    )
    .seen(LIVE)
    .blocks("the call is denied")
    .can(&[
        can(Allow, &[Json(r#"{"behavior":"allow"}"#)]),
        can(Deny, &[Json(r#"{"behavior":"deny","message":"$reason"}"#), ExitTwo("$reason")])
            .note("with the exit code the reason is lost"),
        can(DenyAndInterrupt, &[Json(r#"{"behavior":"deny","message":"$reason","interrupt":true}"#)]),
    ]),
    detail("Notification", &[&[text("message"), text("title").may(), text("notification_type")]])
        .values(&[(
            "notification_type",
            &[
                "shell_completed",
                "shell_detached_completed",
                "agent_completed",
                "agent_idle",
                "permission_prompt",
                "elicitation_dialog",
            ],
        )])
        .seen(LIVE)
        .can(&[ADDS.note("comes as a message of the user, and may wake a session that rests")]),
    detail("ErrorOccurred", &[&[object("error"), text("error_context"), boolean("recoverable")]])
        .values(&[("error_context", &["model_call", "tool_execution", "system", "user_input"])]),
];
