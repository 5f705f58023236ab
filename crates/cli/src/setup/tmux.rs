//! tmux: a stub until its own part comes.

use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::Line;

/// How to go about it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Show what would change, and change nothing.
    pub dry_run: bool,
    /// Do not ask.
    pub yes: bool,
}

/// Says that this is not built yet.
///
/// # Errors
/// None.
pub fn install(context: &mut Context<'_>, options: &Options) -> Result<Exit, Problem> {
    let _ = (options.dry_run, options.yes);
    context.printer.say(&Line::new().own("tmux is not built yet"));
    Ok(Exit::Failed)
}

/// Says that this is not built yet.
///
/// # Errors
/// None.
pub fn uninstall(context: &mut Context<'_>, options: &Options) -> Result<Exit, Problem> {
    install(context, options)
}
