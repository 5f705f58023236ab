//! The contract of Amp (plugin bridge of 0.0.0-20260907), as data. No client was seen live.
//!
//! Amp has no hook commands: a plugin inside it would forward its events, flattened into the keys below. We ship none,
//! see `setup`.

use herdbook_events::{Family, Field::*};

use crate::detail::text;
use crate::table::{Form, Home, HostTable, Identity, Layout, Mapping, Setup, is, on};

/// There is no directory, transcript, mode, model, turn or subagent.
const CONTEXT: &[Mapping] = &[is(SessionId, "session_id")];
const TOOL: &[Mapping] =
    &[is(ToolName, "tool_name"), is(ToolInput, "tool_input"), is(ToolUseId, "tool_use_id")];

/// Amp's plugin events.
pub static TABLE: HostTable = HostTable {
    host: "amp",
    title: "Amp",
    documented: "the bridge of 0.0.0-20260907001852-gf348fed",
    on_failure: "not known",
    on_timeout: "not known",
    common: &[text("hook_event_name"), text("session_id")],
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
    more: &[],
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
    details: super::details::DETAILS,
    events: &[
        on("session.start", Family::SessionStart, &[CONTEXT]),
        on("agent.start", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]),
        on("agent.end", Family::Stop, &[CONTEXT]).blocks(),
        on("tool.call", Family::ToolBefore, &[CONTEXT, TOOL]).blocks(),
        on("tool.result", Family::ToolAfter, &[CONTEXT, TOOL, &[is(ToolResponse, "tool_response")]]),
    ],
};
