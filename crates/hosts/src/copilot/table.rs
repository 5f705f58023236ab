//! The contract of GitHub Copilot CLI (1.0.78 documented, 1.0.102 seen), as data.
//!
//! The spelling of an event's name in the settings decides how the payload is spelled. We register the PascalCase
//! names: their payloads have snake_case keys, name themselves, and call tools by Claude's names (`Bash` for `bash`).
//! Seen in 1.0.102: the payloads of `Notification` and `PermissionRequest` stay in camelCase all the same; the former
//! names itself, the latter does not. Both spellings are read; in camelCase the time is a number, else a text.

use herdbook_events::{Family, Field::*};

use crate::detail::{any, text};
use crate::table::{
    Form, Home, HostTable, Identity, Layout, Mapping, Setup, Switch, Transcripts, is, on, outside,
};

const CONTEXT: &[Mapping] = &[is(SessionId, "session_id"), is(Cwd, "cwd")];
const TOOL: &[Mapping] = &[is(ToolName, "tool_name"), is(ToolInput, "tool_input")];
const TRANSCRIPT: &[Mapping] = &[is(TranscriptPath, "transcript_path")];

/// Copilot's hooks.
pub static TABLE: HostTable = HostTable {
    host: "copilot",
    title: "GitHub Copilot CLI",
    documented: "1.0.78",
    on_failure: "a tool call is denied where the exit code is not 0; everything else goes on",
    on_timeout: "goes on",
    common: &[text("hook_event_name").may(), text("session_id").may(), any("timestamp"), text("cwd")],
    mark: None,
    identity: Identity {
        event: &["hook_event_name"],
        session: &["session_id"],
        turn: &[],
        // Older versions name only the kind of subagent.
        agent: &["agent_id", "agent_name"],
        parent: &["parent_agent_id"],
        tool_use: &[],
        roots: None,
    },
    layout: Layout {
        wrappers: &[],
        spellings: &[
            ("session_id", "sessionId"),
            ("tool_name", "toolName"),
            ("tool_input", "toolArgs"),
            ("tool_result", "toolResult"),
            ("transcript_path", "transcriptPath"),
            ("agent_name", "agentName"),
            ("agent_id", "agentId"),
            ("parent_agent_id", "parentAgentId"),
            ("initial_prompt", "initialPrompt"),
            ("stop_reason", "stopReason"),
            ("agent_display_name", "agentDisplayName"),
            ("custom_instructions", "customInstructions"),
            ("error_context", "errorContext"),
        ],
    },
    aliases: &[
        ("sessionStart", "SessionStart"),
        ("sessionEnd", "SessionEnd"),
        ("userPromptSubmitted", "UserPromptSubmit"),
        ("preToolUse", "PreToolUse"),
        ("postToolUse", "PostToolUse"),
        ("postToolUseFailure", "PostToolUseFailure"),
        ("agentStop", "Stop"),
        ("SubagentStart", "subagentStart"),
        ("subagentStop", "SubagentStop"),
        ("preCompact", "PreCompact"),
        ("permissionRequest", "PermissionRequest"),
        ("notification", "Notification"),
        ("errorOccurred", "ErrorOccurred"),
    ],
    folds_case: false,
    limit_ms: Some(30_000),
    entry_ms: 5_000,
    more: &[
        "agent_id",
        "agent_type",
        "agentType",
        "parent_agent_id",
        "last_assistant_message",
        "lastAssistantMessage",
    ],
    beside: &[],
    signals: super::signals::read,
    pid_var: Some("COPILOT_LOADER_PID"),
    transcripts: Some(Transcripts { folder: "session-state", session: Some("@/events.jsonl"), child: None }),
    setup: Setup {
        programs: &["copilot"],
        home: Home { var: Some("COPILOT_HOME"), xdg: false, folder: ".copilot" },
        user_file: "hooks/herdbook.json",
        project_file: ".github/hooks/herdbook.json",
        form: Form::OwnFile,
        caution: None,
        switch: Some(Switch { path: &["disableAllHooks"], off: true, shown: "disableAllHooks" }),
    },
    details: super::details::DETAILS,
    events: &[
        on("SessionStart", Family::SessionStart, &[CONTEXT, &[is(Source, "source")]]),
        on("SessionEnd", Family::SessionEnd, &[CONTEXT, &[is(Reason, "reason")]]),
        on("UserPromptSubmit", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]).blocks(),
        on("PreToolUse", Family::ToolBefore, &[CONTEXT, TOOL]).blocks(),
        on("PostToolUse", Family::ToolAfter, &[CONTEXT, TOOL, &[is(ToolResponse, "tool_result")]]),
        on("PostToolUseFailure", Family::ToolFailure, &[CONTEXT, TOOL, &[is(Error, "error")]]),
        on("Stop", Family::Stop, &[CONTEXT, TRANSCRIPT, &[is(Reentry, "stop_hook_active")]]).blocks(),
        // Documented in camelCase only, so that is what we register; its payload does not name itself.
        on(
            "subagentStart",
            Family::AgentStart,
            &[&[
                is(SessionId, "sessionId"),
                is(Cwd, "cwd"),
                is(TranscriptPath, "transcriptPath"),
                is(AgentType, "agentName"),
            ]],
        )
        .told(),
        on("SubagentStop", Family::AgentStop, &[CONTEXT, TRANSCRIPT, &[is(AgentType, "agent_name")]])
            .blocks(),
        on("PreCompact", Family::CompactBefore, &[CONTEXT, TRANSCRIPT, &[is(Trigger, "trigger")]]),
        outside("PermissionRequest", "fires before the rules, for calls nobody is asked about")
            .blocks()
            .told()
            .on_route(),
        outside(
            "Notification",
            "a permission prompt or a dialog is shown; no family says that, the waiting rules need it",
        ),
        outside("ErrorOccurred", "an error that the host may yet get over; no family says that"),
    ],
};
