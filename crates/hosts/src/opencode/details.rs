//! What OpenCode's events and hooks carry, and what it can be told in answer (types of 1.18.33 and 1.19.3).
//!
//! A plugin answers by throwing, or by changing what it was given. Bus events cannot be answered at all.

use crate::detail::Intent::{AddContext, Deny, Extra, ReplaceOutput, RewriteInput};
use crate::detail::Wording::{Set, Throw};
use crate::detail::{Detail, Key, any, can, cannot, detail, object, objects, text, texts};

const LIVE: &[&str] = &["1.18.33"];

const SESSION: &[Key] = &[text("sessionID")];
const INFO: &[Key] = &[text("sessionID").may(), object("info")];
const CALL: &[Key] = &[text("tool"), text("sessionID"), text("callID"), any("args")];
const REQUEST: &[Key] = &[text("sessionID"), text("requestID")];

/// Its events, in the order of the table.
pub const DETAILS: &[Detail] = &[
    detail("session.created", &[INFO]).seen(LIVE),
    detail("session.deleted", &[INFO]),
    detail(
        "chat.message",
        &[
            SESSION,
            &[
                text("agent").may(),
                object("model").may(),
                text("messageID").may(),
                text("variant").may(),
                // Our plugin forwards their words alone, as the prompt.
                objects("parts").may(),
                text("prompt"),
            ],
        ],
    )
    .seen(LIVE)
    .blocks("the message is rejected, and never reaches the model")
    .can(&[
        can(AddContext, &[Set("output.parts", "append a text part")]),
        can(Deny, &[Throw("$reason")]).note("the prompt vanishes, and nobody reads the reason"),
    ]),
    detail("tool.execute.before", &[CALL])
        .seen(LIVE)
        .blocks("the call fails with the reason")
        .can(&[
            can(Deny, &[Throw("$reason")]),
            can(RewriteInput, &[Set("output.args", "$input")])
                .note("in place: another object is not read; its own rules still decide"),
        ])
        .cannot(&[
            cannot("ask", "the hook that it declares for that, permission.ask, is never called"),
            cannot("allow", "a call that is not denied goes by its rules"),
        ]),
    detail(
        "tool.execute.after", // Our plugin leaves the output out: it may be long.
        &[CALL, &[text("title"), text("output").may(), any("metadata")]],
    )
    .seen(LIVE)
    .can(&[can(ReplaceOutput, &[Set("output.output", "$output")])]),
    detail("session.idle", &[SESSION]).seen(LIVE),
    detail("session.error", &[&[text("sessionID").may(), object("error").may()]]).seen(LIVE),
    detail("experimental.session.compacting", &[SESSION]).can(&[
        can(AddContext, &[Set("output.context", "$context")]),
        can(Extra, &[Set("output.prompt", "$text")]),
    ]),
    detail("session.compacted", &[SESSION]),
    detail(
        "permission.asked",
        &[
            &[text("id")],
            SESSION,
            &[
                text("permission"),
                texts("patterns"),
                object("metadata"),
                texts("always"),
                object("tool").may(),
            ],
        ],
    )
    .seen(LIVE)
    .cannot(&[cannot("deny", "a bus event only tells, and permission.ask is never called")]),
    detail(
        "permission.updated",
        &[
            &[text("id"), text("type"), any("pattern").may()],
            SESSION,
            &[text("messageID"), text("callID").may(), text("title"), object("metadata")],
        ],
    ),
    detail("permission.ask", &[&[text("id"), text("type")], SESSION, &[text("title"), object("metadata")]])
        .blocks("the request is denied")
        .cannot(&[
            cannot("allow", "it is declared, and never called"),
            cannot("deny", "it is declared, and never called"),
            cannot("ask", "it is declared, and never called"),
        ]),
    detail(
        "permission.replied",
        &[
            SESSION,
            &[
                text("requestID").may(),
                text("reply").may(),
                text("permissionID").may(),
                text("response").may(),
            ],
        ],
    )
    .values(&[("reply", &["once", "always", "reject"])])
    .seen(LIVE),
    detail("question.asked", &[&[text("id")], SESSION, &[objects("questions"), object("tool").may()]]),
    detail("question.replied", &[REQUEST, &[any("answers")]]),
    detail("question.rejected", &[REQUEST]),
    detail("session.status", &[SESSION, &[object("status")]]).seen(LIVE),
    detail("message.part.updated", &[&[object("part"), text("delta").may()]]),
    detail("command.execute.before", &[&[text("command")], SESSION, &[text("arguments")]]),
    detail("shell.env", &[&[text("cwd"), text("sessionID").may(), text("callID").may()]]),
    detail("todo.updated", &[SESSION, &[objects("todos")]]),
    detail("file.edited", &[&[text("file")]]),
    detail("file.watcher.updated", &[&[text("file"), text("event")]])
        .values(&[("event", &["add", "change", "unlink"])]),
    detail("server.instance.disposed", &[]),
    detail("session.updated", &[INFO]).seen(LIVE),
    detail("message.updated", &[INFO]).seen(LIVE),
];
