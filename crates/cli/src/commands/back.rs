//! `herdbook return`: back to where `next` came from.

use super::Context;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::jump::{Arrival, Trail, Whereabouts, go};
use crate::printer::{Line, Style};

/// Go back to where you were before `next`
///
/// After several `next` in a row it is the place before the first of them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The terminal of the tmux client to move; key bindings write #{client_tty}
    #[arg(long, value_name = "TTY")]
    client: Option<String>,
}

/// Goes back.
///
/// # Errors
/// tmux does not answer.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let mut whereabouts = Whereabouts::look(&context.env, args.client.as_deref());
    let outcome = back(context, &mut whereabouts);
    // Nobody reads stderr of a key binding.
    match &outcome {
        Ok((exit, words)) => whereabouts.show(words, *exit != Exit::Ok),
        Err(problem) => whereabouts.show(&whole(problem), true),
    }
    let (exit, words) = outcome?;
    context.printer.say(&Line::new().text(&words, Style::Plain));
    Ok(exit)
}

/// Goes back; returns what is to be said.
fn back(context: &mut Context<'_>, whereabouts: &mut Whereabouts) -> Result<(Exit, String), Problem> {
    let nowhere = "there is nowhere to go back to";
    let Some(trail) = Trail::read(&context.env)? else {
        return Ok((Exit::Nothing, format!("{nowhere}: `next` moved no tmux client")));
    };
    let printer = &mut *context.printer;
    match go(whereabouts, &trail.from, || printer.flush())? {
        Arrival::Moved { client, .. } => {
            whereabouts.arrived(client, &trail.from);
            Trail::forget(&context.env)?;
            Ok((Exit::Ok, format!("back in pane {}", trail.from.pane)))
        }
        Arrival::Type(command) => {
            context.printer.line(&Line::new().text(&command, Style::Name))?;
            let words = format!(
                "pane {} is where this terminal cannot take you; type that in a free one",
                trail.from.pane
            );
            Ok((Exit::NoPane, words))
        }
        Arrival::Gone(why) => {
            Trail::forget(&context.env)?;
            Ok((Exit::Nothing, format!("{nowhere}: {why}")))
        }
        Arrival::Unknown(why) => Err(Problem::Tmux(why)),
        Arrival::NoPane => {
            Trail::forget(&context.env)?;
            Ok((Exit::Nothing, nowhere.to_owned()))
        }
    }
}
