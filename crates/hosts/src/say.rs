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
        let reason = filled(&decision.reason);
        let mut contexts = Vec::new();
        let mut outcome = decision.outcome;
        let rewrite = |outcome| Some(self.rewrite(event, outcome, decision.updated_input.as_deref()?));
        let is_allowed_by_it = || matches!(rewrite(Outcome::Allow), Some(Ok(can)) if can.allows());
        let mut word = outcome.answer().map(|answer| (answer, self.answer(event, answer)));
        if let Some((answer, Err(refusal))) = word {
            word = None;
            if answer == Answer::Allow && is_allowed_by_it() {
                said.given.push(answer);
            } else {
                match (answer, refusal.nearest) {
                    // Its rules decide.
                    (Answer::Allow, _) => outcome = Outcome::Continue,
                    (Answer::Ask, Nearest::Answer(Answer::Deny)) => {
                        outcome = Outcome::Deny;
                        word = Some((Answer::Deny, self.answer(event, Answer::Deny)));
                    }
                    (Answer::Deny, Nearest::Answer(Answer::Context)) => contexts.extend(reason),
                    _ => {}
                }
                said.left_out.push((answer, refusal));
            }
        }
        contexts.extend(filled(&decision.context));
        let context = contexts.join("\n");
        let usual = word.map_or("", |(_, can)| can.map_or("", |can| usual_reason(can.intent)));
        let fill = Fill {
            event: event.name,
            reason: reason.unwrap_or(usual),
            context: &context,
            input: decision.updated_input.as_deref(),
        };
        let input = rewrite(outcome).map(|can| (Answer::UpdatedInput, can));
        let context = (!contexts.is_empty()).then(|| (Answer::Context, self.answer(event, Answer::Context)));
        let mut form = Form::default();
        for (answer, can) in [word, input, context].into_iter().flatten() {
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

/// Why another input needs the outcome `allow`.
pub(crate) const ALLOWS: &str = "its form allows what it changes, which only the outcome allow may";

const NOT_BESIDE: Refusal =
    Refusal { why: "it cannot be told that together with the rest", nearest: Nearest::Continue };

impl Can {
    /// True for another input whose form allows what it changes.
    pub(crate) fn allows(&self) -> bool {
        self.intent == Intent::RewriteInput
            && self.beside.contains(&Outcome::Allow)
            && !self.beside.contains(&Outcome::Continue)
    }
}

/// Checks that another input is of the shape that the host's form wants.
pub(crate) fn check_input(can: &Can, input: &RawValue) -> Result<(), &'static str> {
    let wants_text = can.wordings.iter().any(
        |wording| matches!(wording, Wording::Json(text) | Wording::Return(text) if text.contains("\"$text\"")),
    );
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
