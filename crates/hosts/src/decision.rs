//! Decisions: what a route answers, several of them as one, and what a host is told.

use herdbook_events::canonical::read_text;
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

/// Of a reason and of context so much is told: what many routes say must fit into one answer to the hook (8 MiB), also
/// where every letter is written as six.
const REASON_BYTES: usize = 64 << 10;
const CONTEXT_BYTES: usize = 512 << 10;

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
            reason: Option<Box<RawValue>>,
            context: Option<Box<RawValue>>,
            updated_input: Option<Box<RawValue>>,
        }
        // serde_json refuses texts with lone surrogates, which a script may have cut out of what it read.
        let text = |name: &str, value: Option<Box<RawValue>>| {
            value.map(|value| read_text(&value).ok_or_else(|| format!("{name}: must be a text"))).transpose()
        };
        if stdout.iter().all(u8::is_ascii_whitespace) {
            return Ok(Decision::default());
        }
        // serde would take a list of the members as well.
        if stdout.trim_ascii_start().first() != Some(&b'{') {
            return Err("must be one JSON object, or nothing".to_owned());
        }
        let printed: Printed = serde_json::from_slice(stdout).map_err(|error| error.to_string())?;
        let Printed { outcome, reason, context, updated_input } = printed;
        let reason = text("reason", reason)?;
        Ok(Decision { outcome, reason, context: text("context", context)?, updated_input })
    }

    /// Makes one of several, in their order: the strictest outcome with its reasons, all contexts, and the first other
    /// input of those whose outcome won. Too long a reason or context is cut: the outcome must not be lost with it.
    pub fn fold(decisions: impl IntoIterator<Item = Decision>) -> Decision {
        let decisions: Vec<Decision> = decisions.into_iter().collect();
        let outcome = decisions.iter().map(|one| one.outcome).max().unwrap_or_default();
        let won = || decisions.iter().filter(|one| one.outcome == outcome);
        let join = |texts: Vec<&str>, most| (!texts.is_empty()).then(|| cut(texts.join("\n"), most));
        Decision {
            outcome,
            reason: join(won().filter_map(|one| one.reason.as_deref()).collect(), REASON_BYTES),
            context: join(decisions.iter().filter_map(|one| one.context.as_deref()).collect(), CONTEXT_BYTES),
            updated_input: won().find_map(|one| one.updated_input.clone()),
        }
    }
}

/// Cuts a text that is longer than so many bytes.
fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
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

impl Said {
    /// Returns what the host takes for the outcome. It is another one than what was decided where `ask` became `deny`, and
    /// `continue` where it could not be told.
    pub fn outcome(&self) -> Outcome {
        let told = |outcome: &Outcome| outcome.answer().is_some_and(|answer| self.given.contains(&answer));
        [Outcome::Deny, Outcome::Ask, Outcome::Allow].into_iter().find(told).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(printed: &str) -> Decision {
        Decision::read(printed.as_bytes()).unwrap()
    }

    fn fault(printed: &[u8]) -> String {
        Decision::read(printed).unwrap_err()
    }

    #[test]
    fn nothing_and_white_space_are_no_opinion() {
        for printed in ["", " \r\n\t", "{}", "{\"outcome\":\"continue\"}", "{\"reason\":null}\n"] {
            let Decision { outcome, reason, context, updated_input } = read(printed);
            assert_eq!((outcome, reason, context), (Outcome::Continue, None, None));
            assert!(updated_input.is_none());
        }
    }

    #[test]
    fn an_answer_is_read_to_the_letter() {
        let decision = read(
            "{\"outcome\":\"ask\",\"reason\":\"a\\n\\ud83d\\ude00\",\"context\":\"cut \\ud83d\",\"updatedInput\":{\"n\": 1.0}}\n",
        );
        assert_eq!(decision.outcome, Outcome::Ask);
        assert_eq!(decision.reason.as_deref(), Some("a\n\u{1f600}"));
        // Half a surrogate pair stands for nothing.
        assert_eq!(decision.context.as_deref(), Some("cut \u{fffd}"));
        assert_eq!(decision.updated_input.unwrap().get(), "{\"n\": 1.0}");
    }

    #[test]
    fn what_is_no_answer_is_named() {
        for (printed, named) in [
            (
                &b"{\"outcom\":\"deny\"}"[..],
                "unknown field `outcom`, expected one of `outcome`, `reason`, `context`",
            ),
            (
                b"{\"outcome\":\"block\"}",
                "unknown variant `block`, expected one of `continue`, `allow`, `ask`",
            ),
            (b"{\"reason\":3}", "reason: must be a text"),
            (b"{\"context\":[\"x\"]}", "context: must be a text"),
            (b"deny", "must be one JSON object, or nothing"),
            (b"\"deny\"", "must be one JSON object, or nothing"),
            (b"[\"deny\",null,null,null]", "must be one JSON object, or nothing"),
            (b"{}{}", "trailing characters"),
            (b"{\"outcome\":\"deny\"", "EOF while parsing"),
            (b"{\"reason\":\"\xff\"}", "invalid unicode"),
        ] {
            assert!(fault(printed).contains(named), "{}", fault(printed));
        }
    }

    #[test]
    fn of_several_the_strictest_wins_with_its_reasons_and_its_input() {
        let fold = |printed: &[&str]| Decision::fold(printed.iter().map(|one| read(one)));
        let deny = r#"{"outcome":"deny","reason":"no","context":"1"}"#;
        let ask = r#"{"outcome":"ask","reason":"sure?","updatedInput":{"a":1}}"#;
        let allow = r#"{"outcome":"allow","context":"2","updatedInput":{"b":2}}"#;
        let again = r#"{"outcome":"deny","reason":"never"}"#;
        let input = |decision: Decision| decision.updated_input.map(|input| input.get().to_owned());

        let all = fold(&[allow, deny, ask, again]);
        assert_eq!((all.outcome, all.reason.as_deref()), (Outcome::Deny, Some("no\nnever")));
        assert_eq!(all.context.as_deref(), Some("2\n1"));
        // What is denied takes no input from who wanted to allow it.
        assert_eq!(input(all), None);

        assert_eq!(fold(&[allow, ask]).outcome, Outcome::Ask);
        assert_eq!(input(fold(&[allow, ask])).as_deref(), Some("{\"a\":1}"));
        assert_eq!(fold(&["", allow]).outcome, Outcome::Allow);
        let nothing = fold(&[]);
        assert_eq!((nothing.outcome, nothing.reason, nothing.context), (Outcome::Continue, None, None));
    }

    #[test]
    fn what_many_say_at_length_is_cut_and_what_they_decided_stays() {
        let long = Decision {
            outcome: Outcome::Deny,
            reason: Some("é".repeat(500_000)),
            context: Some("\u{1}".repeat(900_000)),
            updated_input: None,
        };
        let folded = Decision::fold(vec![long; 12]);
        assert_eq!(folded.outcome, Outcome::Deny);
        let (reason, context) = (folded.reason.unwrap(), folded.context.unwrap());
        assert_eq!((reason.chars().count(), reason.ends_with("é…")), ((32 << 10) + 1, true));
        assert_eq!(context.chars().count(), (512 << 10) + 1);
        assert!(serde_json::to_string(&[&reason, &context]).unwrap().len() < 4 << 20);
    }
}
