//! What a hook author may answer in canonical words, and what each host can make of it: its own form, or a refusal that
//! names the nearest thing that works.

use std::fmt;

use herdbook_events::Family;

use crate::detail::{Can, Cannot, Detail, Intent};
use crate::table::{HostTable, NativeEvent};

/// An answer in canonical words. To say nothing, `continue`, is always possible and prints nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Let it happen, and ask nobody.
    Allow,
    /// Ask the human.
    Ask,
    /// Do not let it happen; of a stop: go on.
    Deny,
    /// Text for the model.
    Context,
    /// Another input for the tool.
    UpdatedInput,
}

impl Answer {
    /// All of them.
    pub const ALL: [Answer; 5] =
        [Answer::Allow, Answer::Ask, Answer::Deny, Answer::Context, Answer::UpdatedInput];

    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Answer::Allow => "allow",
            Answer::Ask => "ask",
            Answer::Deny => "deny",
            Answer::Context => "context",
            Answer::UpdatedInput => "updatedInput",
        }
    }

    /// Returns the answer of that word.
    pub fn parse(word: &str) -> Option<Answer> {
        Answer::ALL.into_iter().find(|answer| answer.as_str() == word)
    }

    /// Returns what it means for an event of a family: to deny a stop is to make the agent go on.
    fn intent(self, family: Option<Family>) -> Intent {
        match self {
            Answer::Allow => Intent::Allow,
            Answer::Ask => Intent::Ask,
            Answer::Deny if is_stop(family) => Intent::BlockStop,
            Answer::Deny => Intent::Deny,
            Answer::Context => Intent::AddContext,
            Answer::UpdatedInput => Intent::RewriteInput,
        }
    }
}

/// The nearest thing a host can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// To say nothing: it goes by its own rules.
    Continue,
    /// Another answer to the same event.
    Answer(Answer),
    /// That answer to another event of the host.
    At(&'static str, Answer),
}

/// In words: `deny`, `ask at beforeShellExecution`.
impl fmt::Display for Nearest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nearest::Continue => formatter.write_str("continue"),
            Nearest::Answer(other) => formatter.write_str(other.as_str()),
            Nearest::At(event, other) => write!(formatter, "{} at {event}", other.as_str()),
        }
    }
}

/// Why a host cannot be told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: &'static str,
    /// What comes nearest.
    pub nearest: Nearest,
}

/// The reason where the documents know no form at all.
const NO_FORM: &str = "it has no form for that";

impl HostTable {
    /// Returns what the host can make of an answer to one of its events.
    ///
    /// # Errors
    /// It cannot be told that there.
    pub fn answer(&self, event: &NativeEvent, answer: Answer) -> Result<&'static Can, Refusal> {
        let detail = self.detail(event);
        if let Some(can) = self.possible(event, answer) {
            return Ok(can);
        }
        let intent = answer.intent(event.family);
        let known = detail.and_then(|detail| refused(detail, intent));
        let nearest = known.and_then(|cannot| cannot.instead).unwrap_or_else(|| self.nearest(event, answer));
        Err(Refusal { why: known.map_or(NO_FORM, |cannot| cannot.why), nearest })
    }

    fn possible(&self, event: &NativeEvent, answer: Answer) -> Option<&'static Can> {
        let intent = answer.intent(event.family);
        self.detail(event)?.can.iter().find(|can| can.intent == intent)
    }

    /// The rule for all hosts. What is stricter stands in for what is asked, never what is laxer: no refusal leads to
    /// `allow`.
    fn nearest(&self, event: &NativeEvent, answer: Answer) -> Nearest {
        let here: &[Answer] = match answer {
            Answer::Allow => &[],
            // The human is asked there as it is: by the host's dialog, or because the agent rests.
            Answer::Ask if is_stop(event.family) || is_asked(event.family) => &[],
            Answer::Ask => &[Answer::Deny],
            Answer::Deny => &[Answer::Context],
            // The reason is what the model reads next.
            Answer::Context if is_stop(event.family) => &[Answer::Deny],
            Answer::Context => &[],
            Answer::UpdatedInput => &[Answer::Deny, Answer::Context],
        };
        let elsewhere: &[Family] = match (answer, event.family) {
            (Answer::Deny | Answer::UpdatedInput, Some(Family::ToolAfter | Family::ToolFailure)) => {
                &[Family::ToolBefore]
            }
            (Answer::Deny, Some(Family::PermissionRequest)) => &[Family::ToolBefore],
            (Answer::Deny, Some(Family::SessionStart)) => &[Family::PromptSubmit],
            (Answer::Context, _) => &[Family::PromptSubmit, Family::ToolAfter, Family::SessionStart],
            _ => &[],
        };
        let same = here.iter().find(|other| self.possible(event, **other).is_some());
        let at = elsewhere.iter().find_map(|family| {
            let there = self.events.iter().find(|there| there.family == Some(*family))?;
            self.possible(there, answer).map(|_| Nearest::At(there.name, answer))
        });
        same.map(|other| Nearest::Answer(*other)).or(at).unwrap_or(Nearest::Continue)
    }
}

fn is_stop(family: Option<Family>) -> bool {
    matches!(family, Some(Family::Stop | Family::AgentStop))
}

fn is_asked(family: Option<Family>) -> bool {
    matches!(family, Some(Family::PermissionRequest | Family::AgentIdle))
}

fn refused(detail: &Detail, intent: Intent) -> Option<&'static Cannot> {
    // To block a stop is denying it, also in the words of the refusals.
    let words = match intent {
        Intent::BlockStop | Intent::Deny => ["blockStop", "deny"],
        other => [other.as_str(); 2],
    };
    detail.cannot.iter().find(|cannot| words.contains(&cannot.what))
}
