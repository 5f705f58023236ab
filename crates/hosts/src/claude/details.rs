//! What Claude Code's events carry, and what it can be told in answer (2.1.240 to 2.1.332).

use crate::answer::Nearest;
use crate::decision::Outcome;
use crate::detail::Intent::{
    Allow, Answer, Defer, Deny, DenyAndInterrupt, Extra, ReplaceOutput, Result, Retry, RewriteInput,
};
use crate::detail::Wording::{ExitTwo, Json, Text};
use crate::detail::forms::{
    ADDS, ADDS_TEXT, ALLOWS, ASKS, BLOCKS, COMMENTS, DENIES, GOES_ON, GRANTS, REFUSED, REWRITES, STOP, STOPS,
};
use crate::detail::{
    Can, Detail, Key, any, boolean, can, cannot, detail, number, object, objects, text, texts,
};

const ALL: &[&str] = &["2.1.257", "2.1.259", "2.1.332"];
const NEW: &[&str] = &["2.1.332"];

const TOOL: &[Key] = &[text("tool_name"), any("tool_input")];
const TOOL_USE: &[Key] = &[text("tool_use_id")];
const SERVER: &[Key] = &[object("mcp_server").may()];
const DURATION: &[Key] = &[number("duration_ms").may()];
const LAST: &[Key] = &[text("last_assistant_message").may()];
const BACKGROUND: &[Key] = &[objects("background_tasks").may(), objects("session_crons").may()];
const TASK: &[Key] = &[
    text("task_id"),
    text("task_subject"),
    text("task_description").may(),
    text("teammate_name").may(),
    text("team_name").may(),
];
const SWITCH: &[Key] = &[
    text("from_model"),
    text("to_model"),
    text("requested_model").or_null(),
    text("source"),
    number("context_tokens"),
    boolean("prompt_cache_warm"),
    text("cache_ttl"),
    number("estimated_cache_write_usd"),
    text("pricing"),
];

const ENDS: Can = STOPS.note("ends the whole turn, whatever else is decided");
const ANSWERS: Can = can(
    Answer,
    &[Json(
        r#"{"hookSpecificOutput":{"hookEventName":"$event","action":"accept|decline|cancel","content":"$object"}}"#,
    )],
);
const WATCHES: Can =
    can(Extra, &[Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","watchPaths":["$path"]}}"#)]);

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail(
        "SessionStart",
        &[&[
            text("source"),
            text("agent_type").may(),
            text("model").may(),
            text("session_title").may(),
            number("seconds_since_last_response").may(),
            number("context_tokens").may(),
            boolean("prompt_cache_likely_expired").may(),
            number("estimated_cache_write_usd").may(),
        ]],
    ).values(&[("source", &["startup", "resume", "clear", "compact", "fork"])])
    .seen(ALL)
    .can(&[
        ADDS_TEXT,
        can(
            Extra,
            &[Json(
                r#"{"hookSpecificOutput":{"hookEventName":"$event","initialUserMessage":"$text","sessionTitle":"$title","watchPaths":["$path"],"reloadSkills":true}}"#,
            )],
        ),
    ])
    .cannot(&[cannot("deny", "the session starts all the same; exit code 2 only shows stderr to the human")]),
    detail("Setup", &[&[text("trigger")]]).values(&[("trigger", &["init", "maintenance"])]).can(&[ADDS]),
    detail("UserPromptSubmit", &[&[text("prompt"), text("source").may(), text("session_title").may()]]).values(&[("source", &["user", "sdk", "system", "loop_wakeup", "schedule_wakeup", "poll_event"])])
        .seen(ALL)
        .blocks("the prompt is dropped and never reaches the model")
        .can(&[
            BLOCKS,
            ADDS_TEXT,
            ENDS,
            can(
                Extra,
                &[Json(
                    r#"{"hookSpecificOutput":{"hookEventName":"$event","sessionTitle":"$title","suppressOriginalPrompt":true}}"#,
                )],
            ),
        ])
        .cannot(&[
            cannot("rewriteInput", "a prompt cannot be replaced"),
            cannot("allow", "a prompt that is not denied goes through by itself"),
        ]),
    detail(
        "UserPromptExpansion",
        &[&[
            text("expansion_type"),
            text("command_name"),
            text("command_args"),
            text("command_source").may(),
            text("prompt"),
        ]],
    ).values(&[("expansion_type", &["slash_command", "mcp_prompt"])])
    .seen(NEW)
    .blocks("the slash command is not spelled out")
    .can(&[BLOCKS, ADDS_TEXT]),
    detail("PreToolUse", &[TOOL, TOOL_USE, SERVER])
        .seen(ALL)
        .blocks("the tool is not called; the model reads the reason")
        .can(&[
            ALLOWS.note("skips the dialog; AskUserQuestion and ExitPlanMode want updatedInput with it"),
            DENIES,
            ASKS,
            can(
                Defer,
                &[Json(
                    r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"defer"}}"#,
                )],
            )
            .note("only under -p and in the SDK, and only for a single call"),
            REWRITES
                .beside(&[Outcome::Allow, Outcome::Ask])
                .note("replaces the whole input, and allows the call; goes with ask, too"),
            ADDS,
            STOPS.note("the call runs all the same; then the turn ends"),
        ]),
    detail("PermissionRequest", &[TOOL, &[objects("permission_suggestions").may()], SERVER])
        .seen(NEW)
        .blocks("the request is denied, and the human is not asked")
        .can(&[
            GRANTS,
            can(Deny, &[REFUSED]),
            can(
                DenyAndInterrupt,
                &[Json(
                    r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"deny","message":"$reason","interrupt":true}}}"#,
                )],
            ),
            can(
                RewriteInput,
                &[Json(
                    r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"allow","updatedInput":"$input"}}}"#,
                )],
            )
            .beside(&[Outcome::Allow])
            .note("allows the call, with that input"),
            can(
                Extra,
                &[Json(
                    r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"allow","updatedPermissions":["$permissionUpdate"]}}}"#,
                )],
            ),
        ])
        .cannot(&[
            cannot("denyByExit2", "exit code 2 means nothing here"),
            cannot("ask", "its dialog is about to be shown").instead(Nearest::Continue),
        ])
        .hold_safe(),
    detail("PermissionDenied", &[TOOL, TOOL_USE, &[text("reason")], SERVER])
        .can(&[can(
            Retry,
            &[Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","retry":true}}"#)],
        )
        .note("has no effect where no classifier denied it")])
        .cannot(&[cannot("deny", "it is denied already")]),
    detail("PostToolUse", &[TOOL, &[any("tool_response")], TOOL_USE, DURATION, SERVER])
        .seen(ALL)
        .can(&[
            COMMENTS.note("the tool has run; the model reads the reason"),
            ADDS,
            can(
                ReplaceOutput,
                &[Json(
                    r#"{"hookSpecificOutput":{"hookEventName":"$event","updatedToolOutput":"$output"}}"#,
                )],
            )
            .note("in the shape of the tool's own response; another shape is ignored"),
            ENDS,
        ])
        .cannot(&[cannot("deny", "the tool has run")]),
    detail(
        "PostToolUseFailure",
        &[TOOL, TOOL_USE, &[text("error"), boolean("is_interrupt").may()], DURATION, SERVER],
    )
    .seen(ALL)
    .can(&[COMMENTS, ADDS])
    .cannot(&[cannot("deny", "the tool has failed")]),
    detail("PostToolBatch", &[&[objects("tool_calls")]])
        .seen(NEW)
        .blocks("the turn ends before the next request to the model")
        .can(&[BLOCKS, ADDS, ENDS]),
    detail("Notification", &[&[text("message"), text("title").may(), text("notification_type")]])
        .seen(NEW)
        .cannot(&[cannot("deny", "exit code and stderr mean nothing here")]),
    detail("SubagentStart", &[&[text("agent_id"), text("agent_type")]])
        .seen(ALL)
        .can(&[ADDS])
        .cannot(&[cannot("deny", "the subagent starts all the same")]),
    detail(
        "SubagentStop",
        &[
            &[
                boolean("stop_hook_active"),
                text("agent_id"),
                text("agent_transcript_path"),
                text("agent_type"),
            ],
            LAST,
            BACKGROUND,
        ],
    )
    .seen(ALL)
    .blocks("the subagent goes on with the reason")
    .can(&[GOES_ON, ADDS.note("makes the subagent go on as well"), ENDS]),
    detail("TaskCreated", &[TASK])
        .blocks("the task is not made")
        .can(&[BLOCKS])
        .cannot(&[cannot("stopAll", "continue: false means nothing here")]),
    detail("TaskCompleted", &[TASK])
        .blocks("the task stays open")
        .can(&[
            can(Deny, &[ExitTwo("$reason")]).note("by exit code alone"),
            STOPS.note("stops the teammate"),
        ])
        .cannot(&[cannot("decision", "a decision in JSON is not read")]),
    detail("Stop", &[&[boolean("stop_hook_active")], LAST, BACKGROUND])
        .seen(ALL)
        .blocks("the agent goes on with the reason, eight times in a row at most")
        .can(&[GOES_ON, ADDS.note("makes the agent go on as well"), ENDS]),
    detail(
        "StopFailure",
        &[
            &[text("error"), text("error_details").may()],
            LAST,
            // Mapped by the reference, never sent.
            &[boolean("stop_hook_active").may()],
        ],
    ).values(&[("error", &["authentication_failed", "oauth_org_not_allowed", "account_on_hold", "billing_error", "rate_limit", "overloaded", "invalid_request", "model_not_found", "server_error", "unknown", "max_output_tokens"])])
    .seen(NEW)
    .cannot(&[cannot("blockStop", "nothing of the answer is read but a terminal sequence")]),
    detail("TeammateIdle", &[&[text("teammate_name"), text("team_name")]])
        .blocks("the teammate goes on")
        .can(&[can(Deny, &[ExitTwo("$reason"), STOP]).note("the form on stdout stops the teammate")])
        .cannot(&[cannot("decision", "a decision in JSON is not read")]),
    detail(
        "InstructionsLoaded",
        &[&[
            text("file_path"),
            text("memory_type"),
            text("load_reason"),
            texts("globs").may(),
            text("trigger_file_path").may(),
            text("parent_file_path").may(),
        ]],
    ).values(&[("memory_type", &["User", "Project", "Local", "Managed"]), ("load_reason", &["session_start", "nested_traversal", "path_glob_match", "include", "compact"])]),
    detail("ConfigChange", &[&[text("source"), text("file_path").may()]]).values(&[("source", &["user_settings", "project_settings", "local_settings", "policy_settings", "skills"])])
        .blocks("the change is not applied, except to policies")
        .can(&[BLOCKS]),
    detail("CwdChanged", &[&[text("old_cwd"), text("new_cwd")]]).can(&[WATCHES]),
    detail("DirectoryAdded", &[&[text("directory"), text("source")]]).values(&[("source", &["slash_command", "register_repo_root"])]),
    detail("FileChanged", &[&[text("file_path"), text("event")]]).values(&[("event", &["change", "add", "unlink"])])
        .can(&[WATCHES])
        .cannot(&[cannot("deny", "the file has changed")]),
    detail("WorktreeCreate", &[&[text("name")]])
        .blocks("any exit code but 0 fails it")
        .can(&[can(Result, &[Text("$worktreePath")])]),
    detail("WorktreeRemove", &[&[text("worktree_path")]]),
    detail("PreCompact", &[&[text("trigger"), text("custom_instructions").or_null()]]).values(&[("trigger", &["manual", "auto"])])
        .seen(ALL)
        .blocks("nothing is compacted")
        .can(&[BLOCKS]),
    detail("PostCompact", &[&[text("trigger"), text("compact_summary")]]).values(&[("trigger", &["manual", "auto"])])
        .seen(ALL)
        .cannot(&[cannot("deny", "it is compacted already")]),
    detail("PreModelSwitch", &[SWITCH]).values(&[("source", &["command", "picker", "sdk"]), ("cache_ttl", &["5m", "1h"]), ("pricing", &["configured", "catalog", "default"])]).seen(NEW).blocks("the model stays").can(&[
        can(
            Allow,
            &[Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"allow"}}"#)],
        ),
        DENIES,
        ASKS,
    ]),
    detail("PostModelSwitch", &[SWITCH]).values(&[("source", &["command", "picker", "sdk", "auto", "resume"]), ("cache_ttl", &["5m", "1h"]), ("pricing", &["configured", "catalog", "default"])]).seen(NEW).can(&[ADDS]),
    detail("SessionEnd", &[&[text("reason")]]).values(&[("reason", &["clear", "resume", "logout", "prompt_input_exit", "other"])])
        .seen(ALL)
        .cannot(&[cannot("deny", "the session ends all the same; nothing of the answer is read")]),
    detail(
        "Elicitation",
        &[&[
            text("mcp_server_name"),
            text("message"),
            text("mode").may(),
            text("url").may(),
            text("elicitation_id").may(),
            object("requested_schema").may(),
        ]],
    ).values(&[("mode", &["form", "url"])])
    .seen(NEW)
    .blocks("the tool's server gets a refusal")
    .can(&[ANSWERS, can(Deny, &[ExitTwo("$reason")]).note("what stands on stdout is not read then")]),
    detail(
        "ElicitationResult",
        &[&[
            text("mcp_server_name"),
            text("elicitation_id").may(),
            text("mode").may(),
            text("action"),
            object("content").may(),
        ]],
    ).values(&[("mode", &["form", "url"]), ("action", &["accept", "decline", "cancel"])])
    .seen(NEW)
    .blocks("the tool's server gets a refusal")
    .can(&[ANSWERS, can(Deny, &[ExitTwo("$reason")])]),
    detail(
        "MessageDisplay",
        &[&[text("turn_id"), text("message_id"), number("index"), boolean("final"), text("delta")]],
    )
    .seen(NEW)
    .can(&[can(
        ReplaceOutput,
        &[Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","displayContent":"$text"}}"#)],
    )]),
];
