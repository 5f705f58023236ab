//! The contract of Claude Code (2.1.x), as data.

use herdbook_events::{Family, Field::*};

use crate::table::{
    Form, Home, HostTable, Identity, Layout, Mapping, Setup, Switch, Transcripts, Unit, is, on, outside,
};

/// What nearly every event carries.
const CONTEXT: &[Mapping] = &[
    is(SessionId, "session_id"),
    is(Cwd, "cwd"),
    is(TranscriptPath, "transcript_path"),
    is(PermissionMode, "permission_mode"),
    is(AgentId, "agent_id"),
    is(AgentType, "agent_type"),
];
const TOOL: &[Mapping] = &[is(ToolName, "tool_name"), is(ToolInput, "tool_input")];
const TOOL_USE: &[Mapping] = &[is(ToolUseId, "tool_use_id")];
const STOPPED: &[Mapping] =
    &[is(Reentry, "stop_hook_active"), is(LastAssistantMessage, "last_assistant_message")];
const TEAM: &[Mapping] = &[is(TeammateName, "teammate_name"), is(TeamName, "team_name")];
const TASK: &[Mapping] =
    &[is(TaskId, "task_id"), is(TaskSubject, "task_subject"), is(TaskDescription, "task_description")];
const MODELS: &[Mapping] = &[
    is(FromModel, "from_model"),
    is(ToModel, "to_model"),
    is(RequestedModel, "requested_model"),
    is(Source, "source"),
];

/// Claude Code's hooks.
pub static TABLE: HostTable = HostTable {
    host: "claude",
    title: "Claude Code",
    common: &[
        "session_id",
        "transcript_path",
        "cwd",
        "hook_event_name",
        "prompt_id",
        "permission_mode",
        "agent_id",
        "agent_type",
        "effort",
    ],
    mark: None,
    identity: Identity {
        event: &["hook_event_name"],
        session: &["session_id"],
        turn: &["prompt_id"],
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
    keys: &[
        "source",
        "model",
        "session_title",
        "seconds_since_last_response",
        "context_tokens",
        "prompt_cache_likely_expired",
        "estimated_cache_write_usd",
        "trigger",
        "prompt",
        "expansion_type",
        "command_name",
        "command_args",
        "command_source",
        "tool_name",
        "tool_input",
        "tool_use_id",
        "mcp_server",
        "permission_suggestions",
        "reason",
        "tool_response",
        "duration_ms",
        "error",
        "is_interrupt",
        "tool_calls",
        "message",
        "title",
        "notification_type",
        "stop_hook_active",
        "agent_transcript_path",
        "last_assistant_message",
        "background_tasks",
        "session_crons",
        "task_id",
        "task_subject",
        "task_description",
        "teammate_name",
        "team_name",
        "error_details",
        "file_path",
        "memory_type",
        "load_reason",
        "globs",
        "trigger_file_path",
        "parent_file_path",
        "old_cwd",
        "new_cwd",
        "directory",
        "event",
        "name",
        "worktree_path",
        "custom_instructions",
        "compact_summary",
        "from_model",
        "to_model",
        "requested_model",
        "prompt_cache_warm",
        "cache_ttl",
        "pricing",
        "mcp_server_name",
        "mode",
        "url",
        "elicitation_id",
        "requested_schema",
        "action",
        "content",
        "turn_id",
        "message_id",
        "index",
        "final",
        "delta",
    ],
    beside: &[],
    signals: super::signals::read,
    pid_var: Some("CLAUDE_PID"),
    transcripts: Some(Transcripts {
        folder: "projects",
        session: None,
        child: Some("subagents/agent-@.jsonl"),
    }),
    setup: Setup {
        programs: &["claude"],
        home: Home { var: Some("CLAUDE_CONFIG_DIR"), xdg: false, folder: ".claude" },
        user_file: "settings.json",
        project_file: ".claude/settings.json",
        form: Form::Groups { matcher: None, unit: Unit::Seconds, named: false, placed: false },
        caution: None,
        switch: Some(Switch { path: &["disableAllHooks"], off: true, shown: "disableAllHooks" }),
    },
    events: &[
        on("SessionStart", Family::SessionStart, &[CONTEXT, &[is(Model, "model"), is(Source, "source")]]),
        outside("Setup", "prepares the machine; no session is concerned").never("there is no session yet"),
        on("UserPromptSubmit", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]])
            .blocks()
            .limit_ms(30_000),
        outside("UserPromptExpansion", "a slash command spelled out, after the prompt event that brought it")
            .blocks()
            .on_route(),
        on("PreToolUse", Family::ToolBefore, &[CONTEXT, TOOL, TOOL_USE]).blocks(),
        on("PermissionRequest", Family::PermissionRequest, &[CONTEXT, TOOL]).blocks(),
        on("PermissionDenied", Family::PermissionDenied, &[CONTEXT, TOOL]),
        on(
            "PostToolUse",
            Family::ToolAfter,
            &[CONTEXT, TOOL, TOOL_USE, &[is(ToolResponse, "tool_response")]],
        ),
        on(
            "PostToolUseFailure",
            Family::ToolFailure,
            &[
                // The family has no mode and no agent, so the shared group would say too much.
                &[is(SessionId, "session_id"), is(Cwd, "cwd"), is(TranscriptPath, "transcript_path")],
                TOOL,
                TOOL_USE,
                &[is(Error, "error"), is(IsInterrupt, "is_interrupt")],
            ],
        ),
        outside("PostToolBatch", "sums up parallel tool uses that have events of their own").blocks(),
        outside("Notification", "a notice about anything; only the waiting rules read it"),
        on("SubagentStart", Family::AgentStart, &[CONTEXT]),
        on(
            "SubagentStop",
            Family::AgentStop,
            &[CONTEXT, &[is(AgentTranscriptPath, "agent_transcript_path")], STOPPED],
        )
        .blocks(),
        on("TaskCreated", Family::TaskCreate, &[CONTEXT, TASK, TEAM]).blocks(),
        on("TaskCompleted", Family::TaskComplete, &[CONTEXT, TASK, TEAM]).blocks(),
        on("Stop", Family::Stop, &[CONTEXT, STOPPED]).blocks(),
        on("StopFailure", Family::StopFailure, &[CONTEXT, &[is(Error, "error")], STOPPED]),
        on("TeammateIdle", Family::AgentIdle, &[CONTEXT, TEAM]).blocks(),
        outside("InstructionsLoaded", "a file of instructions was read")
            .never("frequent, and nothing uses it"),
        on(
            "ConfigChange",
            Family::ConfigChange,
            &[CONTEXT, &[is(Source, "source"), is(FilePath, "file_path")]],
        )
        .blocks(),
        outside("CwdChanged", "the working directory moved"),
        outside("DirectoryAdded", "one more directory may be worked in").never("nothing uses it"),
        on("FileChanged", Family::FileChange, &[CONTEXT, &[is(FilePath, "file_path")]]).on_route(),
        outside("WorktreeCreate", "the hook makes the worktree in the host's place")
            .blocks()
            .never("a hook that prints no path breaks it"),
        outside("WorktreeRemove", "the other half of WorktreeCreate").never("belongs to WorktreeCreate"),
        on("PreCompact", Family::CompactBefore, &[CONTEXT, &[is(Trigger, "trigger")]]).blocks(),
        on("PostCompact", Family::CompactAfter, &[CONTEXT, &[is(Trigger, "trigger")]]),
        on("PreModelSwitch", Family::ModelSwitchBefore, &[CONTEXT, MODELS]).blocks().limit_ms(30_000),
        on("PostModelSwitch", Family::ModelSwitchAfter, &[CONTEXT, MODELS]),
        on("SessionEnd", Family::SessionEnd, &[CONTEXT, &[is(Reason, "reason")]]).limit_ms(1_500),
        outside("Elicitation", "a tool's server asks the human; only the waiting rules read it").blocks(),
        outside("ElicitationResult", "the human answered a tool's server").blocks(),
        outside("MessageDisplay", "text on its way to the screen")
            .limit_ms(10_000)
            .never("fires for every piece of text shown"),
    ],
};
