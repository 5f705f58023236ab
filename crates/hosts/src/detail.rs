//! What is known of each native event beyond its mapping: the keys it carries, what its host can be told in answer and
//! in which form, what it cannot, and where the event was seen. Columns of a host's table.

use crate::answer::Nearest;
use crate::decision::Outcome;

/// The JSON shape of a native key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Any value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// An object.
    Object,
    /// A list of objects.
    Objects,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
}

impl Shape {
    /// Returns the reference's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Shape::Any => "any",
            Shape::Boolean => "boolean",
            Shape::Number => "number",
            Shape::Object => "object",
            Shape::Objects => "object[]",
            Shape::Text => "string",
            Shape::Texts => "string[]",
        }
    }
}

/// A key that a native event carries, as the host's documents or types promise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// It is promised to be there. What reads events bears its absence all the same.
    pub required: bool,
    /// It may be null.
    pub nullable: bool,
}

impl Key {
    /// Marks a key that may be absent.
    #[must_use]
    pub const fn may(mut self) -> Key {
        self.required = false;
        self
    }

    /// Marks a key that may be null.
    #[must_use]
    pub const fn or_null(mut self) -> Key {
        self.nullable = true;
        self
    }
}

/// What one may want a host to do (reference: intents).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Let it happen, without asking the human.
    Allow,
    /// Give the answer in the human's place.
    Answer,
    /// Add text to what the model reads.
    AddContext,
    /// Do not stop: the agent goes on with the reason.
    BlockStop,
    /// Put the call off: the run ends and can be resumed.
    Defer,
    /// Do not let it happen.
    Deny,
    /// Deny it, and end the turn.
    DenyAndInterrupt,
    /// Ask the human.
    Ask,
    /// What fits no other word.
    Extra,
    /// Comment on what already happened.
    Feedback,
    /// Show a text to the human.
    Notice,
    /// Put another output in the place of the tool's.
    ReplaceOutput,
    /// Return what the host asked the hook to make.
    Result,
    /// Tell the model that it may try again.
    Retry,
    /// Put another input in the place of the given one.
    RewriteInput,
    /// End the turn.
    StopAll,
}

impl Intent {
    /// Returns the reference's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Intent::Allow => "allow",
            Intent::Answer => "answer",
            Intent::AddContext => "addContext",
            Intent::BlockStop => "blockStop",
            Intent::Defer => "defer",
            Intent::Deny => "deny",
            Intent::DenyAndInterrupt => "denyAndInterrupt",
            Intent::Ask => "ask",
            Intent::Extra => "extra",
            Intent::Feedback => "feedback",
            Intent::Notice => "notice",
            Intent::ReplaceOutput => "replaceOutput",
            Intent::Result => "result",
            Intent::Retry => "retry",
            Intent::RewriteInput => "rewriteInput",
            Intent::StopAll => "stopAll",
        }
    }
}

/// A form in which a host is told something. `$event` stands for the event's name; `$reason`, `$context`, `$input`,
/// `$output`, `$text` and the like for what is told, as one JSON string or value in the place of the quoted word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// This JSON on stdout, exit code 0.
    Json(&'static str),
    /// This text on stdout, exit code 0.
    Text(&'static str),
    /// This text on stderr, exit code 2.
    ExitTwo(&'static str),
    /// A plugin throws an error with this message. Our command prints `{"throw": "$reason"}` for it.
    Throw(&'static str),
    /// A plugin returns this JSON. Our command prints `{"return": …}` for it.
    Return(&'static str),
    /// A plugin changes what it was given: this place, to this value. Our command prints `{"set": {"output.args": …}}`
    /// for it, and of context, which must not take the place of what others added, `{"append": {"output.parts": "…"}}`.
    Set(&'static str, &'static str),
}

/// Something a host can be told: the forms, the preferred one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Can {
    /// What.
    pub intent: Intent,
    /// How.
    pub wordings: &'static [Wording],
    /// The outcomes beside which it may be said. Of another input: where the form allows what it changes, `continue` is
    /// not among them.
    pub beside: &'static [Outcome],
    /// What one must know about it.
    pub note: Option<&'static str>,
}

impl Can {
    /// Names the outcomes beside which it may be said.
    #[must_use]
    pub const fn beside(mut self, outcomes: &'static [Outcome]) -> Can {
        self.beside = outcomes;
        self
    }

    /// Adds what one must know about it.
    #[must_use]
    pub const fn note(mut self, note: &'static str) -> Can {
        self.note = Some(note);
        self
    }
}

/// Something that looks possible and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cannot {
    /// The word of the intent, or of a form, that does not work.
    pub what: &'static str,
    /// What happens instead.
    pub why: &'static str,
    /// The nearest thing that works, where the rule for all hosts does not find it.
    pub instead: Option<Nearest>,
}

impl Cannot {
    /// Names the nearest thing that works.
    #[must_use]
    pub const fn instead(mut self, nearest: Nearest) -> Cannot {
        self.instead = Some(nearest);
        self
    }
}

/// What is known of one native event beyond its mapping.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// The event's name.
    pub event: &'static str,
    /// Keys that not every event of the host carries, in groups because many events share some.
    pub input: &'static [&'static [Key]],
    /// The values that are known of keys which have a list of them, by key. A client may send others.
    pub values: &'static [(&'static str, &'static [&'static str])],
    /// Versions of the client that were seen sending it; none where it is only documented.
    pub seen: &'static [&'static str],
    /// What happens when a hook blocks it.
    pub effect: Option<&'static str>,
    /// What the host can be told.
    pub can: &'static [Can],
    /// What it cannot.
    pub cannot: &'static [Cannot],
    /// The host shows its dialog while the hook runs, so that a hook may wait for an answer from elsewhere.
    pub hold_safe: bool,
}

impl Detail {
    /// Lists the values that are known of some of its keys.
    #[must_use]
    pub const fn values(mut self, values: &'static [(&'static str, &'static [&'static str])]) -> Detail {
        self.values = values;
        self
    }

    /// Names the versions that were seen sending it.
    #[must_use]
    pub const fn seen(mut self, versions: &'static [&'static str]) -> Detail {
        self.seen = versions;
        self
    }

    /// Says what a hook that blocks it brings about.
    #[must_use]
    pub const fn blocks(mut self, effect: &'static str) -> Detail {
        self.effect = Some(effect);
        self
    }

    /// Lists what the host can be told.
    #[must_use]
    pub const fn can(mut self, can: &'static [Can]) -> Detail {
        self.can = can;
        self
    }

    /// Lists what it cannot be told.
    #[must_use]
    pub const fn cannot(mut self, cannot: &'static [Cannot]) -> Detail {
        self.cannot = cannot;
        self
    }

    /// Marks an event whose hook may wait: the host's own dialog is open meanwhile.
    #[must_use]
    pub const fn hold_safe(mut self) -> Detail {
        self.hold_safe = true;
        self
    }

    /// Iterates over the keys that not every event carries.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.input.iter().flat_map(|group| group.iter())
    }
}

/// Describes an event by the keys it carries.
pub(crate) const fn detail(event: &'static str, input: &'static [&'static [Key]]) -> Detail {
    Detail { event, input, values: &[], seen: &[], effect: None, can: &[], cannot: &[], hold_safe: false }
}

/// Describes something a host can be told.
pub(crate) const fn can(intent: Intent, wordings: &'static [Wording]) -> Can {
    // Another input is for what is going to happen.
    let beside: &[Outcome] = match intent {
        Intent::RewriteInput => &[Outcome::Continue, Outcome::Allow],
        _ => &[Outcome::Continue, Outcome::Allow, Outcome::Ask, Outcome::Deny],
    };
    Can { intent, wordings, beside, note: None }
}

/// Describes something that does not work, and what happens instead.
pub(crate) const fn cannot(what: &'static str, why: &'static str) -> Cannot {
    Cannot { what, why, instead: None }
}

const fn key(name: &'static str, shape: Shape) -> Key {
    Key { name, shape, required: true, nullable: false }
}

/// A key with any value.
pub(crate) const fn any(name: &'static str) -> Key {
    key(name, Shape::Any)
}

/// A key with `true` or `false`.
pub(crate) const fn boolean(name: &'static str) -> Key {
    key(name, Shape::Boolean)
}

/// A key with a number.
pub(crate) const fn number(name: &'static str) -> Key {
    key(name, Shape::Number)
}

/// A key with an object.
pub(crate) const fn object(name: &'static str) -> Key {
    key(name, Shape::Object)
}

/// A key with a list of objects.
pub(crate) const fn objects(name: &'static str) -> Key {
    key(name, Shape::Objects)
}

/// A key with a string.
pub(crate) const fn text(name: &'static str) -> Key {
    key(name, Shape::Text)
}

/// A key with a list of strings.
pub(crate) const fn texts(name: &'static str) -> Key {
    key(name, Shape::Texts)
}

/// Forms that several hosts share.
pub(crate) mod forms {
    use super::Wording::{self, ExitTwo, Json, Text};
    use super::{Can, Intent, can};
    use crate::decision::Outcome;

    const BLOCK: Wording = Json(r#"{"decision":"block","reason":"$reason"}"#);
    const CONTEXT: Wording =
        Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","additionalContext":"$context"}}"#);
    const DENIED: Wording = Json(
        r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"deny","permissionDecisionReason":"$reason"}}"#,
    );

    /// Ends the turn.
    pub const STOP: Wording = Json(r#"{"continue":false,"stopReason":"$reason"}"#);
    /// Denies what the human is asked for.
    pub const REFUSED: Wording = Json(
        r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"deny","message":"$reason"}}}"#,
    );

    /// Deny by a block.
    pub const BLOCKS: Can = can(Intent::Deny, &[BLOCK, ExitTwo("$reason")]);
    /// Deny by a block on stdout alone.
    pub const BLOCKS_BY_JSON: Can = can(Intent::Deny, &[BLOCK]);
    /// Go on by a block.
    pub const GOES_ON: Can = can(Intent::BlockStop, &[BLOCK, ExitTwo("$reason")]);
    /// Go on by a block on stdout alone.
    pub const GOES_ON_BY_JSON: Can = can(Intent::BlockStop, &[BLOCK]);
    /// A comment after the fact, by a block.
    pub const COMMENTS: Can = can(Intent::Feedback, &[BLOCK, ExitTwo("$reason")]);
    /// Context for the model.
    pub const ADDS: Can = can(Intent::AddContext, &[CONTEXT]);
    /// Context for the model, also as plain text.
    pub const ADDS_TEXT: Can = can(Intent::AddContext, &[CONTEXT, Text("$context")]);
    /// End the turn.
    pub const STOPS: Can = can(Intent::StopAll, &[STOP]);
    /// Deny before a tool is used.
    pub const DENIES: Can = can(Intent::Deny, &[DENIED, ExitTwo("$reason")]);
    /// The same, with the older form between them.
    pub const DENIES_OR_BLOCKS: Can = can(Intent::Deny, &[DENIED, BLOCK, ExitTwo("$reason")]);
    /// Allow before a tool is used, without asking.
    pub const ALLOWS: Can = can(
        Intent::Allow,
        &[Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"allow","permissionDecisionReason":"$reason"}}"#,
        )],
    );
    /// Ask before a tool is used.
    pub const ASKS: Can = can(
        Intent::Ask,
        &[Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"ask","permissionDecisionReason":"$reason"}}"#,
        )],
    );
    /// Another input for the tool, which is allowed by the same word.
    pub const REWRITES: Can = can(
        Intent::RewriteInput,
        &[Json(
            r#"{"hookSpecificOutput":{"hookEventName":"$event","permissionDecision":"allow","updatedInput":"$input"}}"#,
        )],
    )
    .beside(&[Outcome::Allow]);
    /// Allow what the human is asked for.
    pub const GRANTS: Can = can(
        Intent::Allow,
        &[Json(r#"{"hookSpecificOutput":{"hookEventName":"$event","decision":{"behavior":"allow"}}}"#)],
    );
}
