//! Decisions: what a route answers, several of them as one, and what a host is told.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{Answer, Refusal};

/// What shall become of what a hook was asked about, from the laxest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No opinion: the host goes by its own rules.
    #[default]
    Continue,
    /// Let it happen, and ask nobody.
    Allow,
    /// Ask the human.
    Ask,
    /// Do not let it happen; of a stop: go on.
    Deny,
}

impl Outcome {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Continue => "continue",
            Outcome::Allow => "allow",
            Outcome::Ask => "ask",
            Outcome::Deny => "deny",
        }
    }

    /// Returns the answer that it is to a host; none to say nothing.
    pub fn answer(self) -> Option<Answer> {
        match self {
            Outcome::Continue => None,
            Outcome::Allow => Some(Answer::Allow),
            Outcome::Ask => Some(Answer::Ask),
            Outcome::Deny => Some(Answer::Deny),
        }
    }
}

/// What a route answers, or several together.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// What shall become of it.
    pub outcome: Outcome,
    /// Why: for the model where it is denied, for the human where he is asked.
    pub reason: Option<String>,
    /// Text for the model.
    pub context: Option<String>,
    /// Another input for the tool, in the place of the whole.
    pub updated_input: Option<Box<RawValue>>,
}

impl Decision {
    /// Reads what a route printed. Nothing, or white space, is `continue`.
    ///
    /// # Errors
    /// It is no such object; the words name the member.
    pub fn read(stdout: &[u8]) -> Result<Decision, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Printed {
            #[serde(default)]
            outcome: Outcome,
            reason: Option<String>,
            context: Option<String>,
            updated_input: Option<Box<RawValue>>,
        }
        if stdout.iter().all(u8::is_ascii_whitespace) {
            return Ok(Decision::default());
        }
        let printed: Printed = serde_json::from_slice(stdout).map_err(|error| error.to_string())?;
        let Printed { outcome, reason, context, updated_input } = printed;
        Ok(Decision { outcome, reason, context, updated_input })
    }

    /// Makes one of several, in their order: the strictest outcome with its reasons, all contexts, and the first other
    /// input of those whose outcome won.
    pub fn fold(decisions: impl IntoIterator<Item = Decision>) -> Decision {
        let decisions: Vec<Decision> = decisions.into_iter().collect();
        let outcome = decisions.iter().map(|one| one.outcome).max().unwrap_or_default();
        let won = || decisions.iter().filter(|one| one.outcome == outcome);
        let join = |texts: Vec<&str>| (!texts.is_empty()).then(|| texts.join("\n"));
        Decision {
            outcome,
            reason: join(won().filter_map(|one| one.reason.as_deref()).collect()),
            context: join(decisions.iter().filter_map(|one| one.context.as_deref()).collect()),
            updated_input: won().find_map(|one| one.updated_input.clone()),
        }
    }
}

/// What a host is told, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Nothing: the host goes by its own rules.
    #[default]
    Nothing,
    /// This on standard output, exit code 0.
    Stdout(String),
    /// This on standard error, exit code 2.
    ExitTwo(String),
}

/// A decision in a host's own form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// What the host is told.
    pub output: Output,
    /// What of the decision that carries.
    pub given: Vec<Answer>,
    /// What the host cannot be told there, and why.
    pub left_out: Vec<(Answer, Refusal)>,
}
