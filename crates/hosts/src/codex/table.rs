//! The contract of Codex (0.147 to 0.171), as data.

use herdbook_events::{Family, Field::*};

use crate::detail::text;
use crate::table::{
    Form, Home, HostTable, Identity, Layout, Mapping, Setup, Transcripts, Unit, is, on, outside,
};

/// What every event carries, or may carry.
const CONTEXT: &[Mapping] = &[
    is(SessionId, "session_id"),
    is(Cwd, "cwd"),
    is(TranscriptPath, "transcript_path"),
    is(PermissionMode, "permission_mode"),
    is(AgentId, "agent_id"),
    is(AgentType, "agent_type"),
];
const MODEL: &[Mapping] = &[is(Model, "model")];
const TOOL: &[Mapping] = &[is(ToolName, "tool_name"), is(ToolInput, "tool_input")];
const TOOL_USE: &[Mapping] = &[is(ToolUseId, "tool_use_id")];
const STOPPED: &[Mapping] =
    &[is(Reentry, "stop_hook_active"), is(LastAssistantMessage, "last_assistant_message")];

/// Codex's hooks, and the identity keys of its older `notify` program.
pub static TABLE: HostTable = HostTable {
    host: "codex",
    title: "Codex",
    documented: "0.147.0, with documents of 2026-09",
    on_failure: "goes on",
    on_timeout: "goes on",
    common: &[text("session_id"), text("transcript_path").or_null(), text("cwd"), text("hook_event_name")],
    mark: None,
    identity: Identity {
        // `type`, `thread-id` and `turn-id` are the notify program's spelling.
        event: &["hook_event_name", "type"],
        session: &["session_id", "thread-id"],
        turn: &["turn_id", "turn-id"],
        agent: &["agent_id"],
        parent: &[],
        tool_use: &["tool_use_id"],
        roots: None,
    },
    layout: Layout::FLAT,
    aliases: &[],
    folds_case: false,
    limit_ms: Some(600_000),
    entry_ms: 5_000,
    more: &[],
    // The older `notify`.
    beside: &["agent-turn-complete"],
    signals: super::signals::read,
    pid_var: None,
    transcripts: Some(Transcripts { folder: "sessions", session: None, child: None }),
    setup: Setup {
        programs: &["codex"],
        home: Home { var: Some("CODEX_HOME"), xdg: false, folder: ".codex" },
        user_file: "hooks.json",
        project_file: ".codex/hooks.json",
        form: Form::Groups { matcher: None, unit: Unit::Seconds, named: false, placed: true },
        caution: None,
        switch: None,
    },
    details: super::details::DETAILS,
    events: &[
        on("SessionStart", Family::SessionStart, &[CONTEXT, MODEL, &[is(Source, "source")]]),
        on("UserPromptSubmit", Family::PromptSubmit, &[CONTEXT, MODEL, &[is(Prompt, "prompt")]]).blocks(),
        on("PreToolUse", Family::ToolBefore, &[CONTEXT, MODEL, TOOL, TOOL_USE]).blocks(),
        on("PermissionRequest", Family::PermissionRequest, &[CONTEXT, TOOL]).blocks(),
        on(
            "PostToolUse",
            Family::ToolAfter,
            &[CONTEXT, MODEL, TOOL, TOOL_USE, &[is(ToolResponse, "tool_response")]],
        ),
        on("SubagentStart", Family::AgentStart, &[CONTEXT, MODEL]),
        on(
            "SubagentStop",
            Family::AgentStop,
            &[CONTEXT, MODEL, &[is(AgentTranscriptPath, "agent_transcript_path")], STOPPED],
        )
        .blocks(),
        on("Stop", Family::Stop, &[CONTEXT, MODEL, STOPPED]).blocks(),
        on("PreCompact", Family::CompactBefore, &[CONTEXT, MODEL, &[is(Trigger, "trigger")]]).blocks(),
        on("PostCompact", Family::CompactAfter, &[CONTEXT, &[is(Trigger, "trigger")]]),
        on("SessionEnd", Family::SessionEnd, &[CONTEXT, MODEL, &[is(Reason, "reason")]])
            .limit_ms(1_000)
            .most_ms(3_000),
        outside("Interrupt", "the human broke off the turn; no family says that, the waiting rules need it")
            .since("0.150.0")
            .limit_ms(1_000)
            .most_ms(3_000),
    ],
};
