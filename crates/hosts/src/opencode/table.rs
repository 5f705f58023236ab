//! The contract of OpenCode (plugin API of 1.18.33), as data.
//!
//! OpenCode has no hook commands. Our plugin forwards what the host calls it with: bus events as
//! `{hook_event_name, properties, directory}`, hooks as `{hook_event_name, input, output, directory}`. The keys below
//! are the host's own, inside those wrappers; an envelope that was flattened reads the same.

use herdbook_events::{Family, Field::*};

use crate::detail::text;
use crate::table::{Form, Home, HostTable, Identity, Layout, Mapping, Setup, is, on, outside};

const CONTEXT: &[Mapping] = &[is(SessionId, "sessionID"), is(Cwd, "directory")];
const CALL: &[Mapping] = &[is(ToolName, "tool"), is(ToolInput, "args"), is(ToolUseId, "callID")];
const METADATA: &[Mapping] = &[is(ToolInput, "metadata")];

const STREAMS: &str = "fires for every piece of an answer";
const NO_USE: &str = "says nothing about a session's state";

/// OpenCode's events and hooks.
pub static TABLE: HostTable = HostTable {
    host: "opencode",
    title: "OpenCode",
    documented: "plugin 1.18.33, SDK 1.19.3",
    on_failure: "what it was asked about fails",
    on_timeout: "there is no limit: it hangs the agent",
    common: &[text("hook_event_name"), text("directory")],
    mark: None,
    identity: Identity {
        // `type` is the bus event's own name.
        event: &["hook_event_name", "type"],
        // Older servers name a session, and a message's session, only in `info`.
        session: &["sessionID", "info.sessionID", "info.id"],
        turn: &["messageID"],
        agent: &[],
        // `info.parentID` is a session's parent or a message's: only the event says which.
        parent: &[],
        tool_use: &["callID"],
        roots: None,
    },
    layout: Layout { wrappers: &["properties", "input", "output"], spellings: &[] },
    aliases: &[],
    folds_case: false,
    limit_ms: None,
    entry_ms: 5_000,
    more: &[
        "properties",
        "input",
        "message",
        // Ours: so many events were not forwarded before this one, because the commands before them hung.
        crate::news::DROPPED_KEY,
    ],
    beside: &[],
    signals: super::signals::read,
    pid_var: Some("OPENCODE_PID"),
    transcripts: None,
    setup: Setup {
        programs: &["opencode"],
        // OPENCODE_CONFIG_DIR names one more folder: this one is read all the same (seen in 1.18.33).
        home: Home { var: None, xdg: true, folder: "opencode" },
        user_file: "plugins/herdbook.js",
        project_file: ".opencode/plugins/herdbook.js",
        form: Form::Plugin(super::PLUGIN),
        caution: Some(
            "with a plugin its first start fetches @opencode-ai/plugin from npm, and offline that takes a minute",
        ),
        switch: None,
    },
    details: super::details::DETAILS,
    events: &[
        on("session.created", Family::SessionStart, &[CONTEXT]),
        on("session.deleted", Family::SessionEnd, &[CONTEXT]),
        on("chat.message", Family::PromptSubmit, &[CONTEXT, &[is(Prompt, "prompt")]]).blocks(),
        on("tool.execute.before", Family::ToolBefore, &[CONTEXT, CALL]).blocks(),
        on("tool.execute.after", Family::ToolAfter, &[CONTEXT, CALL, &[is(ToolResponse, "output")]]),
        on("session.idle", Family::Stop, &[CONTEXT]),
        on("session.error", Family::StopFailure, &[CONTEXT]),
        on("experimental.session.compacting", Family::CompactBefore, &[CONTEXT]),
        on("session.compacted", Family::CompactAfter, &[CONTEXT]),
        on(
            "permission.asked",
            Family::PermissionRequest,
            &[CONTEXT, &[is(ToolName, "permission")], METADATA],
        ),
        on("permission.updated", Family::PermissionRequest, &[CONTEXT, &[is(ToolName, "type")], METADATA]),
        outside("permission.ask", "the request that permission.asked tells")
            .blocks()
            .never("declared, and called by no version that was seen"),
        outside("permission.replied", "the answer to a request; the waiting rules need it"),
        outside("question.asked", "a question to the human; the waiting rules need it"),
        outside("question.replied", "the answer to a question; the waiting rules need it"),
        outside("question.rejected", "a question was dismissed; the waiting rules need it"),
        outside("session.status", "busy, idle or retrying; the waiting rules need it"),
        outside("message.part.updated", "a piece of an answer").never(STREAMS),
        outside("command.execute.before", "chat.message tells it").never("chat.message tells it"),
        outside("shell.env", "environment of a shell tool").never(NO_USE),
        outside("todo.updated", "a list of the agent's own, not of tasks").never(NO_USE),
        outside("file.edited", "an edit by the agent"),
        outside("file.watcher.updated", "any change in the project")
            .never("fires for every change of a file"),
        outside("server.instance.disposed", "the program ends").never("belongs to no session"),
        outside("session.updated", "a session's title, cost or parent changed"),
        outside("message.updated", "a piece of an answer").never(STREAMS),
    ],
};
