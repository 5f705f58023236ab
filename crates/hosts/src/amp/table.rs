//! The contract of Amp (plugin bridge of 0.0.0-20260907), as data. No client was seen live.
//!
//! Amp has no hook commands: a plugin inside it would forward its events, flattened into the keys below. We ship none,
//! see `setup`.

use herdbook_events::{Family, Field::*};

use crate::table::{Form, Home, HostTable, Identity, Layout, Mapping, Setup, is, on};

/// There is no directory, transcript, mode, model, turn or subagent.
const CONTEXT: &[Mapping] = &[is(SessionId, "session_id")];
const TOOL: &[Mapping] =
    &[is(ToolName, "tool_name"), is(ToolInput, "tool_input"), is(ToolUseId, "tool_use_id")];

/// Amp's plugin events.
pub static TABLE: HostTable = HostTable {
    host: "amp",
    title: "Amp",
    common: &["hook_event_name", "session_id"],
    mark: None,
    identity: Identity {
        event: &["hook_event_name"],
        session: &["session_id"],
        turn: &[],
        agent: &[],
        parent: &[],
        tool_use: &["tool_use_id"],
        roots: None,
    },
    layout: Layout::FLAT,
    aliases: &[],
    folds_case: false,
    limit_ms: None,
    entry_ms: 5_000,
    keys: &["prompt", "status", "tool_name", "tool_input", "tool_use_id", "tool_response", "error"],
    beside: &[],
    signals: super::signals::read,
    pid_var: None,
    transcripts: None,
    setup: Setup {
        programs: &["amp"],
        home: Home { var: None, xdg: true, folder: "amp" },
        user_file: "plugins/herdbook.ts",
        project_file: ".amp/plugins/herdbook/index.ts",
        form: Form::Never(
            "a plugin runs inside Amp, can hang it, and nobody here could read its interface or run one",
        ),
        caution: None,
        switch: None,
    },
    events: &[
        on("session.start", Family::SessionStart, &[CONTEXT]),
        on("agent.start", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]),
        on("agent.end", Family::Stop, &[CONTEXT]).blocks(),
        on("tool.call", Family::ToolBefore, &[CONTEXT, TOOL]).blocks(),
        on("tool.result", Family::ToolAfter, &[CONTEXT, TOOL, &[is(ToolResponse, "tool_response")]]),
    ],
};
