//! The contract of Claude Code (2.1.x), as data.

use herdbook_events::{Family, Field::*};

use crate::detail::{object, text};
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
    documented: "2.1.260, with documents of 2.1.240",
    on_failure: "goes on",
    on_timeout: "the hook is ended and the agent goes on; a model switch is refused",
    common: &[
        text("session_id"),
        text("transcript_path"),
        text("cwd"),
        text("hook_event_name"),
        text("prompt_id").may(),
        text("permission_mode").may(),
        text("agent_id").may(),
        text("agent_type").may(),
        object("effort").may(),
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
    more: &[],
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
    details: super::details::DETAILS,
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
