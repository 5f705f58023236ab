//! A decision in a host's own form: which of its parts the host can be told at an event, together in one answer.

use serde_json::value::RawValue;

use crate::answer::{Answer, Nearest, Refusal};
use crate::decision::{Decision, Outcome, Said};
use crate::detail::{Can, Intent, Wording};
use crate::form::{Fill, Form};
use crate::table::{HostTable, NativeEvent};

impl HostTable {
    /// Puts a decision about one of its events into the host's own form. Nothing but the outcome `allow` ever becomes
    /// the host's word for it.
    ///
    /// What the host cannot be told is left out, or becomes something nearer at the same event: to ask becomes to deny
    /// where nobody can be asked, and the reason of a denial that comes too late is told the model.
    pub fn say(&self, event: &NativeEvent, decision: &Decision) -> Said {
        let mut said = Said::default();
        let Word { outcome, told, late } = self.word(event, decision, &mut said);
        let reason = filled(&decision.reason);
        let contexts = [reason.filter(|_| late), filled(&decision.context)];
        let context = contexts.into_iter().flatten().collect::<Vec<_>>().join("\n");
        let input = decision.updated_input.as_deref();
        let fill = Fill {
            event: event.name,
            reason: reason.unwrap_or_else(|| told.map_or("", |(_, can)| usual_reason(can.intent))),
            context: &context,
            input,
        };
        let parts = [
            told.map(|(answer, can)| (answer, Ok(can))),
            input.map(|input| (Answer::UpdatedInput, self.rewrite(event, outcome, input))),
            (!context.is_empty()).then(|| (Answer::Context, self.answer(event, Answer::Context))),
        ];
        let mut form = Form::default();
        for (answer, can) in parts.into_iter().flatten() {
            // Beside another input `ask` stays, and `allow` gives way to the word that comes with the input.
            let added = can.and_then(|can| form.add(can, outcome == Outcome::Ask).ok_or(NOT_BESIDE));
            match added {
                Ok(()) => said.given.push(answer),
                Err(refusal) => said.left_out.push((answer, refusal)),
            }
        }
        said.output = form.output(&fill);
        said
    }

    /// What becomes of the outcome. Where the host cannot be told it, `said` names it.
    fn word(&self, event: &NativeEvent, decision: &Decision, said: &mut Said) -> Word {
        let outcome = decision.outcome;
        let mut word = Word { outcome, told: None, late: false };
        let Some(answer) = outcome.answer() else { return word };
        let input = decision.updated_input.as_deref().filter(|_| answer == Answer::Allow);
        let rewrite = input.map(|input| self.rewrite(event, outcome, input));
        let refusal = match (self.answer(event, answer), rewrite) {
            (Ok(_), Some(Err(_))) => ONLY_CHANGED,
            (Ok(can), _) => return Word { told: Some((answer, can)), ..word },
            (Err(_), Some(Ok(can))) if can.allows() => {
                // The form of the input says it.
                said.given.push(answer);
                return word;
            }
            (Err(refusal), _) => refusal,
        };
        said.left_out.push((answer, refusal));
        match (answer, refusal.nearest) {
            (Answer::Allow, _) => word.outcome = Outcome::Continue,
            (Answer::Ask, Nearest::Answer(Answer::Deny)) => {
                word.outcome = Outcome::Deny;
                word.told = self.answer(event, Answer::Deny).ok().map(|can| (Answer::Deny, can));
            }
            (Answer::Deny, Nearest::Answer(Answer::Context)) => word.late = true,
            _ => {}
        }
        word
    }

    /// The form in which another input is given beside an outcome.
    pub(crate) fn rewrite(
        &self,
        event: &NativeEvent,
        outcome: Outcome,
        input: &RawValue,
    ) -> Result<&'static Can, Refusal> {
        let can = self.answer(event, Answer::UpdatedInput)?;
        let refuse = |why| Err(Refusal { why, nearest: Nearest::Continue });
        match outcome {
            Outcome::Deny => refuse("what is denied needs no input"),
            _ if !can.beside.contains(&outcome) && can.allows() => refuse(ALLOWS),
            _ if !can.beside.contains(&outcome) => refuse(NOT_BESIDE.why),
            _ => check_input(can, input).map(|()| can).or_else(refuse),
        }
    }
}

/// An outcome, as a host is told it.
struct Word {
    outcome: Outcome,
    told: Option<(Answer, &'static Can)>,
    /// It denies what has happened: its reason is for the model.
    late: bool,
}

/// Why another input needs the outcome `allow`.
pub(crate) const ALLOWS: &str = "its form allows what it changes, which only the outcome allow may";

/// What was to be allowed is another call than the one that the host has.
const ONLY_CHANGED: Refusal =
    Refusal { why: "it was for the other input, which cannot be told", nearest: Nearest::Continue };

const NOT_BESIDE: Refusal =
    Refusal { why: "it cannot be told that together with the rest", nearest: Nearest::Continue };

impl Can {
    /// True for another input whose form allows what it changes.
    pub(crate) fn allows(&self) -> bool {
        self.intent == Intent::RewriteInput
            && self.beside.contains(&Outcome::Allow)
            && !self.beside.contains(&Outcome::Continue)
    }

    /// True for another input that is a text, not an object.
    pub(crate) fn wants_text(&self) -> bool {
        let has_text = |form: &str| form.contains("\"$text\"");
        self.wordings.iter().any(|wording| matches!(wording, Wording::Json(form) if has_text(form)))
    }
}

/// Checks that another input is of the shape that the host's form wants.
pub(crate) fn check_input(can: &Can, input: &RawValue) -> Result<(), &'static str> {
    let wants_text = can.wants_text();
    match input.get().as_bytes().first() {
        Some(b'"') if wants_text => Ok(()),
        Some(b'{') if !wants_text => Ok(()),
        _ if wants_text => Err("it must be a text"),
        _ => Err("it must be an object"),
    }
}

/// Returns a text that says something. Codex takes an empty reason for an error.
fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.trim().is_empty())
}

/// The reason where none was given.
fn usual_reason(intent: Intent) -> &'static str {
    match intent {
        Intent::Allow => "allowed by a route",
        Intent::Ask => "a route wants the human to decide",
        Intent::BlockStop => "a route wants you to go on",
        _ => "denied by a route",
    }
}
