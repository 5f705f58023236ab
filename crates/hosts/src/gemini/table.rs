//! The contract of Gemini CLI (0.56 to 0.61), as data.

use herdbook_events::{Family, Field::*};

use crate::detail::text;
use crate::table::{
    Form, Home, HostTable, Identity, Layout, Mapping, Setup, Switch, Transcripts, Unit, is, on, outside,
};

/// What every event carries. There is no mode, model, turn, subagent or tool use id.
const CONTEXT: &[Mapping] =
    &[is(SessionId, "session_id"), is(Cwd, "cwd"), is(TranscriptPath, "transcript_path")];
const TOOL: &[Mapping] = &[is(ToolName, "tool_name"), is(ToolInput, "tool_input")];
const STOPPED: &[Mapping] = &[is(Reentry, "stop_hook_active"), is(LastAssistantMessage, "prompt_response")];

/// Gemini CLI's hooks.
pub static TABLE: HostTable = HostTable {
    host: "gemini",
    title: "Gemini CLI",
    documented: "0.56.0-nightly",
    on_failure: "goes on",
    on_timeout: "the hook is ended and the agent goes on",
    common: &[
        text("session_id"),
        text("transcript_path"),
        text("cwd"),
        text("hook_event_name"),
        text("timestamp"),
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
    limit_ms: Some(60_000),
    entry_ms: 5_000,
    more: &[],
    beside: &[],
    signals: super::signals::read,
    pid_var: None,
    transcripts: Some(Transcripts { folder: "tmp", session: None, child: None }),
    setup: Setup {
        programs: &["gemini"],
        home: Home { var: None, xdg: false, folder: ".gemini" },
        user_file: "settings.json",
        project_file: ".gemini/settings.json",
        form: Form::Groups { matcher: Some("*"), unit: Unit::Millis, named: true, placed: false },
        caution: Some("it runs hooks only in folders that you trust"),
        switch: Some(Switch {
            path: &["hooksConfig", "enabled"],
            off: false,
            shown: "hooksConfig.enabled = false",
        }),
    },
    details: super::details::DETAILS,
    events: &[
        on("SessionStart", Family::SessionStart, &[CONTEXT, &[is(Source, "source")]]),
        on("SessionEnd", Family::SessionEnd, &[CONTEXT, &[is(Reason, "reason")]]).never(
            "on its way out the client prints the whole command into the terminal; its process tells the end",
        ),
        on("BeforeAgent", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]).blocks(),
        on("AfterAgent", Family::Stop, &[CONTEXT, STOPPED]).blocks(),
        on("BeforeTool", Family::ToolBefore, &[CONTEXT, TOOL]).blocks(),
        on("AfterTool", Family::ToolAfter, &[CONTEXT, TOOL, &[is(ToolResponse, "tool_response")]]),
        outside("PreCompress", "fires before every model request, compressing or not")
            .never("fires before every model request, compressing or not"),
        outside("Notification", "a notice that cannot decide; only the waiting rules read it"),
        outside("BeforeModel", "a request to the model; no family carries it")
            .blocks()
            .never("fires for every model request"),
        outside("AfterModel", "a piece of the model's answer; no family carries it")
            .blocks()
            .never("fires for every piece of an answer"),
        outside("BeforeToolSelection", "filters the tools a model may use; no family carries it")
            .never("fires for every model request"),
    ],
};
