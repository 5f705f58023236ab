//! The contract of Cursor (3.x), as data.

use herdbook_events::{Family, Field::*};

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
    common: &[
        "conversation_id",
        "generation_id",
        "model",
        "model_id",
        "model_params",
        "session_id",
        "hook_event_name",
        "cursor_version",
        "workspace_roots",
        "user_email",
        "transcript_path",
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
    keys: &[
        "is_background_agent",
        "composer_mode",
        "reason",
        "duration_ms",
        "final_status",
        "error_message",
        "prompt",
        "attachments",
        "tool_name",
        "tool_input",
        "tool_use_id",
        "cwd",
        "agent_message",
        "tool_output",
        "duration",
        "failure_type",
        "is_interrupt",
        "subagent_id",
        "subagent_type",
        "task",
        "parent_conversation_id",
        "tool_call_id",
        "subagent_model",
        "is_parallel_worker",
        "git_branch",
        "status",
        "description",
        "summary",
        "message_count",
        "tool_call_count",
        "loop_count",
        "modified_files",
        "agent_transcript_path",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "trigger",
        "context_usage_percent",
        "context_tokens",
        "context_window_size",
        "messages_to_compact",
        "is_first_compaction",
        "command",
        "sandbox",
        "output",
        "url",
        "result_json",
        "file_path",
        "content",
        "edits",
        "text",
    ],
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
