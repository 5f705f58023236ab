//! `herdbook next`: go to who waits.

use herdbook_api::v1::{Item, Pane};
use herdbook_machine::{JumpError, RunError, TmuxError};

use super::Context;
use crate::choice::{Choice, choose};
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::guess::{lacks_server, likely_sockets, place};
use crate::jump::{Arrival, Trail, Whereabouts, go, pane_ids};
use crate::printer::{Line, Style};
use crate::text::resting_words;

/// Go to the first session that waits for you
///
/// In tmux its pane is brought to the front; outside of tmux this terminal becomes a tmux client. Sessions that were
/// skipped and the pane you are in are passed over. From another tmux server the command to type is printed.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "jump")]
pub struct Args {
    /// Only sessions that are held up in mid-turn: permissions, questions, plans
    #[arg(long)]
    blocked: bool,
    /// The terminal of the tmux client to move; key bindings write #{client_tty}
    #[arg(long, value_name = "TTY")]
    client: Option<String>,
    /// Go to a pane that is only a guess, too
    #[arg(long)]
    guess: bool,
}

/// Goes there.
///
/// # Errors
/// The daemon or tmux does not answer.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let whereabouts = Whereabouts::look(&context.env, args.client.as_deref());
    let mut journey = Journey {
        context,
        whereabouts,
        guessed: Vec::new(),
        headline: String::new(),
        is_guess: false,
        passed: Vec::new(),
    };
    let outcome = journey.queue().and_then(|queue| {
        let here = journey.whereabouts.pane.clone();
        journey.travel(args, &choose(&queue, here.as_ref(), args.blocked, now_ms()))
    });
    // Nobody reads stderr of a key binding.
    if let Err(problem) = &outcome {
        journey.headline = whole(problem);
    }
    let is_plain = journey.passed.is_empty() && !journey.is_guess && matches!(outcome, Ok(Exit::Ok));
    journey.whereabouts.show(&message(&journey.headline, &journey.passed), !is_plain);
    outcome
}

/// One call of `next`.
struct Journey<'a, 'b> {
    context: &'a mut Context<'b>,
    whereabouts: Whereabouts,
    /// Sessions whose tmux server is our guess.
    guessed: Vec<String>,
    /// What came of it.
    headline: String,
    /// The pane it went to is one.
    is_guess: bool,
    /// Why entries were passed over, one reason each.
    passed: Vec<String>,
}

impl Journey<'_, '_> {
    /// Asks for the queue. A posted pane comes without its server; where there is only one it can be, it is put there.
    fn queue(&mut self) -> Result<Vec<Item>, Problem> {
        let daemon = Daemon::of(&self.context.env)?;
        let mut queue = daemon.ask(|client| client.queue())?;
        if queue.iter().any(lacks_server) {
            let sessions = daemon.ask(|client| client.sessions())?;
            let open = sessions.iter().filter(|session| session.state != "ended");
            let known = queue.iter().filter_map(|entry| entry.pane.as_ref());
            let sockets = likely_sockets(
                self.whereabouts.socket().as_deref(),
                open.filter_map(|session| session.pane.as_ref()).chain(known),
            );
            // Each server is asked once, however many wait.
            let panes: Vec<_> = sockets.iter().map(|socket| pane_ids(socket)).collect();
            self.guessed = place(&mut queue, &sockets, |at, pane| panes[at].contains(pane));
        }
        Ok(queue)
    }

    fn travel(&mut self, args: &Args, choice: &Choice<'_>) -> Result<Exit, Problem> {
        let mut guesses = 0;
        for entry in &choice.candidates {
            let Some(pane) = &entry.pane else {
                let place = if entry.cwd.is_empty() { String::new() } else { format!(" in {}", entry.cwd) };
                self.say(entry, &format!("waits{place}, but no pane is known for it"));
                self.passed.push("no pane is known".to_owned());
                continue;
            };
            if entry.pane_uncertain && !args.guess {
                guesses += 1;
                self.say(
                    entry,
                    &format!("waits, perhaps in pane {}: that is a guess, so it is passed over", pane.pane),
                );
                self.passed.push(format!("pane {} is a guess", pane.pane));
                continue;
            }
            if let Some(exit) = self.visit(entry, pane)? {
                return Ok(exit);
            }
        }
        if guesses > 0 {
            self.context.printer.say(
                &Line::new()
                    .styled("hint:", Style::Name)
                    .own(" `herdbook next --guess` goes there all the same"),
            );
        }
        Ok(self.nowhere(args, choice))
    }

    /// Tries to go to one pane; nothing when it is not there any more.
    fn visit(&mut self, entry: &Item, pane: &Pane) -> Result<Option<Exit>, Problem> {
        let arrival = {
            let printer = &mut *self.context.printer;
            let attaching = Line::new()
                .own("to ")
                .text(&entry.session_id, Style::Name)
                .own(": ")
                .text(&entry.ask, Style::Plain);
            go(&self.whereabouts, pane, || {
                printer.say(&attaching);
                printer.flush()
            })?
        };
        let is_guess = entry.pane_uncertain || self.guessed.contains(&entry.session_id);
        let guess = if is_guess { " (the pane is a guess: look before you type)" } else { "" };
        match arrival {
            Arrival::Moved { client, from } => {
                if let Some(from) = from {
                    let trail = Trail::after(Trail::read(&self.context.env)?, from, pane.clone());
                    // The jump itself is done; that there is no way back is only said.
                    if let Err(problem) = trail.keep(&self.context.env) {
                        problem.tell(self.context.printer);
                    }
                }
                self.whereabouts.arrived(client, pane);
                self.is_guess = is_guess;
                self.headline = self.say(entry, &format!("{}{guess}", entry.ask));
                Ok(Some(Exit::Ok))
            }
            Arrival::Type(command) => {
                let words = format!("waits where this terminal cannot take you{guess}; type in a free one:");
                let said = self.say(entry, &words);
                self.context.printer.line(&Line::new().text(&command, Style::Name))?;
                self.headline = format!("{said} {command}");
                Ok(Some(Exit::NoPane))
            }
            // Without the program no entry can be gone to: one word about it is enough.
            Arrival::Unknown(why @ JumpError::Tmux(TmuxError::Run(RunError::Start { .. }))) => {
                Err(Problem::Tmux(why))
            }
            Arrival::Gone(why) | Arrival::Unknown(why) => {
                let why = whole(&why);
                self.say(entry, &format!("is passed over: {why}"));
                self.passed.push(why);
                Ok(None)
            }
            Arrival::NoPane => {
                self.say(entry, &format!("waits in pane {}, but its tmux server is not known", pane.pane));
                self.passed.push(format!("the tmux server of pane {} is not known", pane.pane));
                Ok(None)
            }
        }
    }

    /// Says why nobody was gone to.
    fn nowhere(&mut self, args: &Args, choice: &Choice<'_>) -> Exit {
        let mut words = match (choice.candidates.len(), choice.here) {
            (0, Some(_)) => "nobody else waits; you are in the pane of the one that does".to_owned(),
            (0, None) if args.blocked => "nobody is held up in mid-turn".to_owned(),
            (0, None) => "nobody waits".to_owned(),
            _ => "no pane to go to".to_owned(),
        };
        words.push_str(&resting_words(choice.resting as u64));
        self.context.printer.say(&Line::new().text(&words, Style::Plain));
        self.headline = words;
        if choice.candidates.is_empty() { Exit::Nothing } else { Exit::NoPane }
    }

    /// Says something about an entry, and returns it.
    fn say(&mut self, entry: &Item, words: &str) -> String {
        let line = Line::new().text(&entry.session_id, Style::Name).own(" ").text(words, Style::Plain);
        self.context.printer.say(&line);
        format!("{} {words}", entry.session_id)
    }
}

/// Returns the words for a client's message line: what came of it, then who was passed over and why, each reason once.
fn message(headline: &str, passed: &[String]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in passed {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        return headline.to_owned();
    }
    format!("{headline} ({} passed over: {})", passed.len(), reasons.join(", "))
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn the_message_line_says_first_where_you_are() {
        assert_eq!(message("one is done", &[]), "one is done");
        let passed = ["no pane is known", "pane %3 has been closed", "no pane is known"].map(str::to_owned);
        assert_eq!(
            message("one is done", &passed),
            "one is done (3 passed over: no pane is known, pane %3 has been closed)"
        );
    }
}
