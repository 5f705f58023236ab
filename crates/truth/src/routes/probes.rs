//! What is told to which client, and what must be seen then.

use herdbook_hosts::Intent::{
    AddContext, Allow, Ask, BlockStop, Deny, Extra, Feedback, ReplaceOutput, RewriteInput, StopAll,
};
use herdbook_hosts::Wording::{self, ExitTwo, Json, Throw};

use super::forms::Sees::{Asked, Blocked, NotAsked, Ran, Read, Requests, Rested, Rewritten, Unread, WentOn};
use super::forms::Told::{Exit, Form, Other};
use super::forms::{Probe, Sees, Told};
use super::scene::Mode::{self, Compact, Pane, Print, PrintAsked};

const STOP: Wording = Json(r#"{"continue":false,"stopReason":"$reason"}"#);

const fn probe(
    host: &'static str,
    event: &'static str,
    told: Told,
    mode: Mode,
    sees: &'static [Sees],
) -> Probe {
    Probe { host, event, told, mode, sees }
}

/// All of them.
pub const PROBES: &[Probe] = &[
    // Claude Code
    probe("claude", "PreToolUse", Form(Deny, 0), Print, &[Blocked, Read]),
    probe("claude", "PreToolUse", Form(Deny, 1), Print, &[Blocked, Read]),
    probe("claude", "PreToolUse", Form(Allow, 0), PrintAsked, &[Ran]),
    probe("claude", "PreToolUse", Exit(0), PrintAsked, &[Blocked]),
    probe("claude", "PreToolUse", Form(Ask, 0), Pane, &[Asked]),
    probe("claude", "PreToolUse", Form(RewriteInput, 0), PrintAsked, &[Rewritten]),
    probe("claude", "PreToolUse", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("claude", "PreToolUse", Exit(0), Pane, &[NotAsked, Ran]),
    probe("claude", "PreToolUse", Form(StopAll, 0), Print, &[Ran, Requests(1)]),
    probe("claude", "PreToolUse", Exit(1), Print, &[Ran, Unread]),
    probe("claude", "PermissionRequest", Exit(0), Mode::Asked, &[Asked, Ran]),
    probe("claude", "PermissionRequest", Form(Allow, 0), Mode::Asked, &[Ran]),
    probe("claude", "PermissionRequest", Form(Deny, 0), Mode::Asked, &[Blocked, Read]),
    probe("claude", "PermissionRequest", Form(RewriteInput, 0), Mode::Asked, &[Rewritten]),
    probe("claude", "PermissionRequest", Other(ExitTwo("$reason")), Mode::Asked, &[Asked, Ran]),
    probe("claude", "PostToolUse", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("claude", "PostToolUse", Form(Feedback, 0), Print, &[Ran, Read]),
    probe("claude", "PostToolUse", Form(Feedback, 1), Print, &[Ran, Read]),
    probe("claude", "PostToolUse", Form(ReplaceOutput, 0), Print, &[Ran, Unread]),
    probe(
        "claude",
        "PostToolUse",
        Other(Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","updatedToolOutput":{"stdout":"$output","stderr":"","interrupted":false,"isImage":false}}}"#,
        )),
        Print,
        &[Ran, Read],
    ),
    probe("claude", "UserPromptSubmit", Form(Deny, 0), Print, &[Blocked, Requests(0)]),
    probe("claude", "UserPromptSubmit", Form(Deny, 1), Print, &[Blocked, Requests(0)]),
    probe("claude", "UserPromptSubmit", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("claude", "UserPromptSubmit", Form(AddContext, 1), Print, &[Ran, Read]),
    probe("claude", "SessionStart", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("claude", "SessionStart", Form(AddContext, 1), Print, &[Ran, Read]),
    probe("claude", "Stop", Form(BlockStop, 0), Print, &[WentOn, Read]),
    probe("claude", "Stop", Form(BlockStop, 1), Print, &[WentOn, Read]),
    probe("claude", "Stop", Form(AddContext, 0), Print, &[WentOn, Read]),
    // Codex
    probe("codex", "PreToolUse", Form(Deny, 0), Print, &[Blocked, Read]),
    probe("codex", "PreToolUse", Form(Deny, 1), Print, &[Blocked, Read]),
    probe("codex", "PreToolUse", Form(Deny, 2), Print, &[Blocked, Read]),
    probe("codex", "PreToolUse", Form(RewriteInput, 0), Print, &[Rewritten]),
    probe("codex", "PreToolUse", Form(AddContext, 0), Print, &[Ran, Read]),
    probe(
        "codex",
        "PreToolUse",
        Other(Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"allow"}}"#)),
        Print,
        &[Ran],
    ),
    probe(
        "codex",
        "PreToolUse",
        Other(Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"ask"}}"#)),
        Pane,
        &[Ran, NotAsked],
    ),
    probe("codex", "PreToolUse", Other(Json(r#"{"continue":false,"stopReason":"$reason"}"#)), Print, &[Ran]),
    probe("codex", "PreToolUse", Exit(1), Print, &[Ran, Unread]),
    probe("codex", "PermissionRequest", Exit(0), Mode::Asked, &[Asked]),
    probe("codex", "PermissionRequest", Form(Allow, 0), Mode::Asked, &[NotAsked, Ran]),
    probe("codex", "PermissionRequest", Form(Deny, 0), Mode::Asked, &[NotAsked, Blocked, Read]),
    probe("codex", "PermissionRequest", Form(Deny, 1), Mode::Asked, &[NotAsked, Blocked, Read]),
    probe(
        "codex",
        "PermissionRequest",
        Other(Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"allow","updatedInput":"$input"}}}"#,
        )),
        Mode::Asked,
        &[Asked, Ran],
    ),
    probe(
        "codex",
        "PermissionRequest",
        Other(Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"allow","updatedPermissions":[]}}}"#,
        )),
        Mode::Asked,
        &[Asked, Ran],
    ),
    probe(
        "codex",
        "PermissionRequest",
        Other(Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"deny","message":"$reason","interrupt":true}}}"#,
        )),
        Mode::Asked,
        &[Asked, Ran],
    ),
    probe("codex", "PostToolUse", Form(Feedback, 0), Print, &[Ran, Read]),
    probe("codex", "PostToolUse", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("codex", "PostToolUse", Other(STOP), Print, &[Ran, Read, Requests(2)]),
    probe("codex", "UserPromptSubmit", Form(Deny, 0), Print, &[Blocked, Requests(0)]),
    probe("codex", "UserPromptSubmit", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("codex", "UserPromptSubmit", Form(AddContext, 1), Print, &[Ran, Read]),
    probe("codex", "SessionStart", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("codex", "SessionStart", Form(AddContext, 1), Print, &[Ran, Read]),
    probe("codex", "Stop", Form(BlockStop, 0), Print, &[WentOn, Read]),
    probe("codex", "Stop", Form(BlockStop, 1), Print, &[WentOn, Read]),
    // Gemini CLI
    probe("gemini", "BeforeTool", Form(Deny, 0), Print, &[Blocked, Read]),
    probe("gemini", "BeforeTool", Form(Deny, 1), Print, &[Blocked, Read]),
    probe("gemini", "BeforeTool", Form(RewriteInput, 0), Print, &[Rewritten]),
    probe("gemini", "BeforeTool", Exit(0), Mode::Asked, &[Asked, Ran]),
    probe("gemini", "BeforeTool", Exit(0), Pane, &[NotAsked, Ran]),
    probe("gemini", "BeforeTool", Form(Deny, 0), Mode::Asked, &[NotAsked, Blocked, Read]),
    probe("gemini", "BeforeTool", Form(RewriteInput, 0), Mode::Asked, &[Asked, Rewritten]),
    probe("gemini", "BeforeTool", Other(Json(r#"{"decision":"allow"}"#)), Mode::Asked, &[Asked, Ran]),
    // In print mode this one hangs.
    probe("gemini", "BeforeTool", Other(Json(r#"{"decision":"ask"}"#)), Pane, &[Asked]),
    probe(
        "gemini",
        "BeforeTool",
        Other(Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","additionalContext":"$context"}}"#)),
        Print,
        &[Ran, Unread],
    ),
    probe("gemini", "BeforeTool", Form(StopAll, 0), Print, &[Blocked]),
    probe("gemini", "BeforeTool", Exit(1), Print, &[Ran, Unread]),
    probe("gemini", "AfterTool", Form(ReplaceOutput, 0), Print, &[Ran, Read]),
    probe("gemini", "AfterTool", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("gemini", "BeforeAgent", Form(Deny, 0), Print, &[Blocked, Requests(0)]),
    probe("gemini", "BeforeAgent", Form(Deny, 1), Print, &[Blocked, Requests(0)]),
    probe("gemini", "BeforeAgent", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("gemini", "SessionStart", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("gemini", "AfterAgent", Form(BlockStop, 0), Print, &[WentOn, Read]),
    probe("gemini", "AfterAgent", Form(BlockStop, 1), Print, &[WentOn, Read]),
    // Copilot
    probe("copilot", "PreToolUse", Form(Deny, 0), Print, &[Blocked, Read]),
    probe("copilot", "PreToolUse", Form(Deny, 1), Print, &[Blocked, Unread]),
    probe("copilot", "PreToolUse", Exit(0), PrintAsked, &[Blocked]),
    probe("copilot", "PreToolUse", Form(Allow, 0), PrintAsked, &[Ran]),
    probe("copilot", "PreToolUse", Exit(0), Pane, &[NotAsked, Ran]),
    probe("copilot", "PreToolUse", Form(Allow, 0), Mode::Asked, &[NotAsked, Ran]),
    probe("copilot", "PreToolUse", Form(Deny, 0), Mode::Asked, &[NotAsked, Blocked, Read]),
    probe("copilot", "PreToolUse", Form(Ask, 0), Pane, &[Asked]),
    probe("copilot", "PreToolUse", Form(RewriteInput, 0), Print, &[Rewritten]),
    probe("copilot", "PreToolUse", Other(Json(r#"{"modifiedArgs":"$input"}"#)), Print, &[Rewritten]),
    probe("copilot", "PreToolUse", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("copilot", "PreToolUse", Exit(1), Print, &[Blocked]),
    probe("copilot", "PreToolUse", Other(Json("{broken")), Print, &[Ran]),
    probe("copilot", "PostToolUse", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("copilot", "UserPromptSubmit", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("copilot", "UserPromptSubmit", Form(RewriteInput, 0), Print, &[Ran, Read]),
    probe("copilot", "UserPromptSubmit", Form(Deny, 0), Print, &[Blocked, Requests(0)]),
    probe("copilot", "UserPromptSubmit", Other(ExitTwo("$reason")), Print, &[Ran]),
    probe("copilot", "UserPromptSubmit", Form(Extra, 0), Print, &[Requests(0)]),
    probe("copilot", "SessionStart", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("copilot", "Stop", Form(BlockStop, 0), Print, &[WentOn, Read]),
    probe("copilot", "Stop", Other(ExitTwo("$reason")), Print, &[Rested]),
    probe("copilot", "PermissionRequest", Exit(0), Mode::Asked, &[Asked, Ran]),
    probe("copilot", "PermissionRequest", Form(Allow, 0), Mode::Asked, &[NotAsked, Ran]),
    probe("copilot", "PermissionRequest", Form(Deny, 0), Mode::Asked, &[Blocked, Read]),
    probe("copilot", "PermissionRequest", Form(Deny, 1), Mode::Asked, &[Blocked, Unread]),
    // OpenCode
    probe("opencode", "tool.execute.before", Form(Deny, 0), Print, &[Blocked, Read]),
    probe("opencode", "tool.execute.before", Form(RewriteInput, 0), Print, &[Rewritten]),
    probe("opencode", "tool.execute.before", Form(RewriteInput, 0), Mode::Asked, &[Asked, Rewritten]),
    probe("opencode", "tool.execute.after", Form(ReplaceOutput, 0), Print, &[Ran, Read]),
    probe("opencode", "chat.message", Form(AddContext, 0), Print, &[Ran, Read]),
    probe("opencode", "chat.message", Form(Deny, 0), Print, &[Blocked, Requests(0)]),
    probe("opencode", "chat.message", Form(Deny, 0), Pane, &[Blocked, Requests(0)]),
    probe("opencode", "permission.ask", Other(Throw("$reason")), Mode::Asked, &[Asked, Ran]),
    // Compaction
    probe("claude", "PreCompact", Form(Deny, 0), Compact, &[Requests(1)]),
    probe("codex", "PreCompact", Form(Deny, 0), Compact, &[Requests(1)]),
];
