//! `herdbook return`: back to where `next` came from.

use super::Context;
use crate::error::Problem;
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
    let Some(trail) = Trail::read(&context.env)? else {
        context
            .printer
            .say(&Line::new().own("there is nowhere to go back to: `next` did not take you anywhere"));
        return Ok(Exit::Nothing);
    };
    let whereabouts = Whereabouts::look(&context.env, args.client.as_deref());
    let arrival = {
        let printer = &mut *context.printer;
        go(&whereabouts, &trail.from, || printer.flush())?
    };
    match arrival {
        Arrival::Moved(_) => {
            Trail::forget(&context.env)?;
            context.printer.say(&Line::new().own("back in pane ").text(&trail.from.pane, Style::Name));
            Ok(Exit::Ok)
        }
        Arrival::Type(command) => {
            context
                .printer
                .say(&Line::new().own("it is where this terminal cannot take you; type in a free one:"));
            context.printer.line(&Line::new().text(&command, Style::Name))?;
            Ok(Exit::NoPane)
        }
        Arrival::Gone(why) => {
            Trail::forget(&context.env)?;
            context.printer.say(
                &Line::new().own("there is nowhere to go back to: ").text(&why.to_string(), Style::Plain),
            );
            Ok(Exit::Nothing)
        }
        Arrival::Unknown(why) => Err(Problem::Tmux(why)),
        Arrival::NoPane => {
            Trail::forget(&context.env)?;
            Ok(Exit::Nothing)
        }
    }
}
