//! What Gemini CLI's events carry, and what it can be told in answer (documents of 0.56, recordings of 0.61.0).

use crate::detail::Intent::{BlockStop, Deny, Extra, ReplaceOutput, RewriteInput, StopAll};
use crate::detail::Wording::{self, ExitTwo, Json};
use crate::detail::forms::{ADDS, STOPS};
use crate::detail::{Can, Detail, Key, boolean, can, cannot, detail, object, text};

const LIVE: &[&str] = &["0.61.0"];

const TOOL: &[Key] = &[text("tool_name"), object("tool_input")];
const SERVER: &[Key] = &[object("mcp_context").may(), text("original_request_name").may()];
const REQUEST: &[Key] = &[object("llm_request")];

const DENIED: Wording = Json(r#"{"decision":"deny","reason":"$reason"}"#);
const DENIES: Can = can(Deny, &[DENIED, ExitTwo("$reason")]);
const REPLACES_ANSWER: Can =
    can(ReplaceOutput, &[Json(r#"{"hookSpecificOutput":{"llm_response":"$object"}}"#)]);

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("SessionStart", &[&[text("source")]]).values(&[("source", &["startup", "resume", "clear"])])
        .seen(LIVE)
        .can(&[ADDS])
        .cannot(&[cannot("deny", "the session starts all the same")]),
    detail("SessionEnd", &[&[text("reason")]]).values(&[("reason", &["exit", "clear", "logout", "prompt_input_exit", "other"])])
        .seen(LIVE)
        .cannot(&[cannot("deny", "nobody waits for the hook")]),
    detail("BeforeAgent", &[&[text("prompt")]])
        .seen(LIVE)
        .blocks("the turn does not begin, and the prompt is forgotten")
        .can(&[
            DENIES,
            ADDS,
            can(StopAll, &[Json(r#"{"continue":false,"reason":"$reason"}"#)])
                .note("the prompt stays in the history"),
        ]),
    detail("AfterAgent", &[&[text("prompt"), text("prompt_response"), boolean("stop_hook_active")]])
        .seen(LIVE)
        .blocks("the answer is rejected, and the turn begins again with the reason as prompt")
        .can(&[
            can(BlockStop, DENIES.wordings),
            STOPS,
            can(
                Extra,
                &[Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","clearContext":true}}"#)],
            ),
        ]),
    detail("BeforeTool", &[TOOL, SERVER])
        .seen(LIVE)
        .blocks("the tool is not called; the turn goes on")
        .can(&[
            DENIES,
            can(RewriteInput, &[Json(r#"{"hookSpecificOutput":{"tool_input":"$input"}}"#)])
                .note("laid over the model's arguments; its own rules still decide"),
            STOPS,
        ])
        .cannot(&[
            cannot("allow", "its own rules decide all the same, and the dialog is shown"),
            cannot("ask", "it is documented nowhere, and hangs a run in print mode"),
        ]),
    detail("AfterTool", &[TOOL, &[object("tool_response")], SERVER]).seen(LIVE).can(&[
        can(ReplaceOutput, &[DENIED]).note("the reason takes the place of the result"),
        ADDS,
        can(
            Extra,
            &[Json(r#"{"hookSpecificOutput":{"tailToolCallRequest":{"name":"$tool","args":"$object"}}}"#)],
        ),
        STOPS,
    ]),
    detail("PreCompress", &[&[text("trigger")]]).values(&[("trigger", &["auto", "manual"])])
        .seen(LIVE)
        .cannot(&[cannot("deny", "nobody waits for the hook")]),
    detail("Notification", &[&[text("notification_type"), text("message"), object("details")]]).values(&[("notification_type", &["ToolPermission"])])
        .seen(LIVE)
        .cannot(&[cannot("deny", "it only tells"), cannot("allow", "it only tells")]),
    detail("BeforeModel", &[REQUEST]).seen(LIVE).blocks("the turn ends").can(&[
        DENIES,
        can(RewriteInput, &[Json(r#"{"hookSpecificOutput":{"llm_request":"$object"}}"#)]),
        REPLACES_ANSWER,
    ]),
    detail("AfterModel", &[REQUEST, &[object("llm_response")]])
        .seen(LIVE)
        .blocks("the piece is dropped, and the turn ends")
        .can(&[DENIES, REPLACES_ANSWER, STOPS]),
    detail("BeforeToolSelection", &[REQUEST])
        .seen(LIVE)
        .can(&[can(
            Extra,
            &[Json(
                r#"{"hookSpecificOutput":{"toolConfig":{"mode":"AUTO|ANY|NONE","allowedFunctionNames":["$tool"]}}}"#,
            )],
        )])
        .cannot(&[cannot("deny", "decisions mean nothing here")]),
];
