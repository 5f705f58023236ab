//! `herdbook next`: go to who waits.

use herdbook_api::v1::{Item, Pane};

use super::Context;
use crate::choice::{Choice, choose};
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::jump::{Arrival, Trail, Whereabouts, go};
use crate::printer::{Line, Style};
use crate::text::counted;

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
    let queue = match Daemon::of(&context.env)?.ask(|client| client.queue()) {
        Ok(queue) => queue,
        Err(problem) => {
            // Nobody reads stderr of a key binding.
            let whereabouts = Whereabouts::look(&context.env, args.client.as_deref());
            Journey { context, whereabouts, said: vec![problem.to_string()] }.show();
            return Err(problem);
        }
    };
    let whereabouts = Whereabouts::look(&context.env, args.client.as_deref());
    let choice = choose(&queue, whereabouts.pane.as_ref(), args.blocked, now_ms());
    let mut journey = Journey { context, whereabouts, said: Vec::new() };
    let outcome = journey.travel(args, &choice);
    if let Err(problem) = &outcome {
        journey.said.push(whole(problem));
    }
    journey.show();
    outcome
}

/// One call of `next`.
struct Journey<'a, 'b> {
    context: &'a mut Context<'b>,
    whereabouts: Whereabouts,
    said: Vec<String>,
}

impl Journey<'_, '_> {
    fn travel(&mut self, args: &Args, choice: &Choice<'_>) -> Result<Exit, Problem> {
        let mut guesses = 0;
        for entry in &choice.candidates {
            let Some(pane) = &entry.pane else {
                let place = if entry.cwd.is_empty() { String::new() } else { format!(" in {}", entry.cwd) };
                self.say(entry, &format!("waits{place}, but no pane is known for it"));
                continue;
            };
            if entry.pane_uncertain && !args.guess {
                guesses += 1;
                self.say(
                    entry,
                    &format!("waits, perhaps in pane {}: that is a guess, so it is passed over", pane.pane),
                );
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
        let guess = if entry.pane_uncertain { " (the pane is a guess: look before you type)" } else { "" };
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
                self.say(entry, &format!("{}{guess}", entry.ask));
                Ok(Some(Exit::Ok))
            }
            Arrival::Type(command) => {
                self.say(
                    entry,
                    &format!("waits where this terminal cannot take you{guess}; type in a free one:"),
                );
                self.context.printer.line(&Line::new().text(&command, Style::Name))?;
                self.said.push(command);
                Ok(Some(Exit::NoPane))
            }
            Arrival::Gone(why) | Arrival::Unknown(why) => {
                self.say(entry, &format!("is passed over: {}", whole(&why)));
                Ok(None)
            }
            Arrival::NoPane => {
                self.say(entry, &format!("waits in pane {}, but its tmux server is not known", pane.pane));
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
        if choice.resting > 0 {
            words = format!("{words}; {} skipped or snoozed", counted(choice.resting as u64, "session"));
        }
        self.context.printer.say(&Line::new().text(&words, Style::Plain));
        self.said.push(words);
        if choice.candidates.is_empty() { Exit::Nothing } else { Exit::NoPane }
    }

    fn say(&mut self, entry: &Item, words: &str) {
        let line = Line::new().text(&entry.session_id, Style::Name).own(" ").text(words, Style::Plain);
        self.context.printer.say(&line);
        self.said.push(format!("{} {words}", entry.session_id));
    }

    /// Shows on the human's tmux client what was said.
    fn show(&self) {
        self.whereabouts.show(&self.said.join("; "));
    }
}
