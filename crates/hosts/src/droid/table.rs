//! The contract of Droid (documentation of 2026-07), as data. No client was seen live.

use herdbook_events::{Family, Field::*};

use crate::detail::text;
use crate::table::{Form, Home, HostTable, Identity, Layout, Mapping, Setup, Unit, is, on, outside};

/// What every event carries. There is no model, turn, subagent or tool use id.
const CONTEXT: &[Mapping] = &[
    is(SessionId, "session_id"),
    is(Cwd, "cwd"),
    is(TranscriptPath, "transcript_path"),
    is(PermissionMode, "permission_mode"),
];
const TOOL: &[Mapping] = &[is(ToolName, "tool_name"), is(ToolInput, "tool_input")];
const STOPPED: &[Mapping] = &[is(Reentry, "stop_hook_active")];

/// Droid's hooks.
pub static TABLE: HostTable = HostTable {
    host: "droid",
    title: "Droid",
    documented: "documents of 2026-07-24",
    on_failure: "goes on",
    on_timeout: "goes on",
    common: &[
        text("session_id"),
        text("transcript_path"),
        text("cwd"),
        text("permission_mode"),
        text("hook_event_name"),
    ],
    mark: None,
    identity: Identity {
        event: &["hook_event_name"],
        session: &["session_id"],
        turn: &[],
        agent: &[],
        parent: &[],
        tool_use: &[],
        roots: None,
    },
    layout: Layout::FLAT,
    aliases: &[],
    folds_case: false,
    limit_ms: None,
    entry_ms: 5_000,
    more: &[],
    beside: &[],
    signals: super::signals::read,
    pid_var: None,
    transcripts: None,
    setup: Setup {
        programs: &["droid"],
        home: Home { var: None, xdg: false, folder: ".factory" },
        user_file: "hooks.json",
        project_file: ".factory/hooks.json",
        form: Form::Groups { matcher: Some("*"), unit: Unit::Seconds, named: false, placed: false },
        caution: None,
        switch: None,
    },
    details: super::details::DETAILS,
    events: &[
        on("SessionStart", Family::SessionStart, &[CONTEXT, &[is(Source, "source")]]),
        on("SessionEnd", Family::SessionEnd, &[CONTEXT, &[is(Reason, "reason")]]),
        on("UserPromptSubmit", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]).blocks(),
        on("PreToolUse", Family::ToolBefore, &[CONTEXT, TOOL]).blocks(),
        on("PostToolUse", Family::ToolAfter, &[CONTEXT, TOOL, &[is(ToolResponse, "tool_response")]]),
        outside("Notification", "a notice whose text alone says about what; only the waiting rules read it"),
        on("Stop", Family::Stop, &[CONTEXT, STOPPED]).blocks(),
        on("SubagentStop", Family::AgentStop, &[CONTEXT, STOPPED]).blocks(),
        on("PreCompact", Family::CompactBefore, &[CONTEXT, &[is(Trigger, "trigger")]]),
    ],
};
