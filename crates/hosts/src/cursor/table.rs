//! The contract of Cursor (3.x), as data.

use herdbook_events::{Family, Field::*};

use crate::detail::{objects, text, texts};
use crate::table::{Form, Home, HostTable, Identity, Layout, Mapping, Setup, counted, is, json, on, outside};

/// What every event of a conversation carries.
const CONTEXT: &[Mapping] =
    &[is(SessionId, "conversation_id"), is(TranscriptPath, "transcript_path"), is(Model, "model")];
/// Tool events alone have a working directory.
const CWD: &[Mapping] = &[is(Cwd, "cwd")];
const TOOL: &[Mapping] =
    &[is(ToolName, "tool_name"), is(ToolInput, "tool_input"), is(ToolUseId, "tool_use_id")];
const AGENT: &[Mapping] = &[is(AgentId, "subagent_id"), is(AgentType, "subagent_type")];
const REENTRY: &[Mapping] = &[counted(Reentry, "loop_count")];

/// Cursor's hooks.
pub static TABLE: HostTable = HostTable {
    host: "cursor",
    title: "Cursor",
    documented: "documents of 2026-08-28",
    on_failure: "goes on, unless its entry says failClosed",
    on_timeout: "goes on, unless its entry says failClosed",
    common: &[
        text("conversation_id").may(),
        text("generation_id").may(),
        text("model").may(),
        text("model_id").may(),
        objects("model_params").may(),
        text("session_id").may(),
        text("hook_event_name"),
        text("cursor_version"),
        texts("workspace_roots"),
        text("user_email").or_null(),
        text("transcript_path").may().or_null(),
    ],
    mark: Some("cursor_version"),
    identity: Identity {
        event: &["hook_event_name"],
        session: &["conversation_id", "session_id"],
        turn: &["generation_id"],
        agent: &["subagent_id"],
        parent: &["parent_conversation_id"],
        tool_use: &["tool_use_id"],
        roots: Some("workspace_roots"),
    },
    layout: Layout::FLAT,
    // Cursor runs the hooks in Claude Code's settings too, under Claude's names (case F-035).
    aliases: &[
        ("PreToolUse", "preToolUse"),
        ("PostToolUse", "postToolUse"),
        ("UserPromptSubmit", "beforeSubmitPrompt"),
        ("Stop", "stop"),
        ("SubagentStop", "subagentStop"),
        ("SessionStart", "sessionStart"),
        ("SessionEnd", "sessionEnd"),
        ("PreCompact", "preCompact"),
    ],
    folds_case: true,
    limit_ms: None,
    entry_ms: 5_000,
    more: &[],
    beside: &[],
    signals: super::signals::read,
    pid_var: None,
    transcripts: None,
    setup: Setup {
        programs: &["cursor-agent", "cursor"],
        home: Home { var: None, xdg: false, folder: ".cursor" },
        user_file: "hooks.json",
        project_file: ".cursor/hooks.json",
        form: Form::Entries,
        caution: None,
        switch: None,
    },
    details: super::details::DETAILS,
    events: &[
        on("sessionStart", Family::SessionStart, &[CONTEXT]),
        on("sessionEnd", Family::SessionEnd, &[CONTEXT, &[is(Reason, "reason")]]),
        on("beforeSubmitPrompt", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]).blocks(),
        on("preToolUse", Family::ToolBefore, &[CONTEXT, CWD, TOOL]).blocks(),
        on("postToolUse", Family::ToolAfter, &[CONTEXT, CWD, TOOL, &[json(ToolResponse, "tool_output")]]),
        on(
            "postToolUseFailure",
            Family::ToolFailure,
            &[
                // The family has no model, so the shared group would say too much.
                &[is(SessionId, "conversation_id"), is(TranscriptPath, "transcript_path")],
                CWD,
                TOOL,
                &[is(Error, "error_message"), is(IsInterrupt, "is_interrupt")],
            ],
        ),
        on("subagentStart", Family::AgentStart, &[CONTEXT, AGENT]).blocks(),
        on(
            "subagentStop",
            Family::AgentStop,
            &[CONTEXT, AGENT, &[is(AgentTranscriptPath, "agent_transcript_path")], REENTRY],
        )
        .blocks(),
        on("stop", Family::Stop, &[CONTEXT, REENTRY]).blocks(),
        on("preCompact", Family::CompactBefore, &[CONTEXT, &[is(Trigger, "trigger")]]),
        on("workspaceOpen", Family::WorkspaceOpen, &[&[is(WorkspaceRoots, "workspace_roots")]]),
        outside("beforeShellExecution", "preToolUse tells it; this one can also ask").blocks().on_route(),
        outside("afterShellExecution", "postToolUse tells it").never("postToolUse tells it"),
        outside("beforeMCPExecution", "preToolUse tells it; this one can also ask").blocks().on_route(),
        outside("afterMCPExecution", "postToolUse tells it").never("postToolUse tells it"),
        outside("beforeReadFile", "preToolUse of the read tool tells it").blocks().on_route(),
        outside("afterFileEdit", "postToolUse of the write tool tells it"),
        outside("beforeTabFileRead", "completion while typing; no agent at work")
            .blocks()
            .never("fires while the human types"),
        outside("afterTabFileEdit", "completion while typing; no agent at work")
            .never("fires while the human types"),
        outside("afterAgentResponse", "text of the agent; no family carries it"),
        outside("afterAgentThought", "thoughts of the agent; no family carries them"),
    ],
};
