//! `herdbook log keep`: a session that no rule deletes.

use std::path::PathBuf;

use herdbook_daemon::retention::hold;

use super::target::Target;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Style};

/// Keep a session's log whatever its age is
///
/// Nor are those deleted that started it, or that it started.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session, by its key or how that begins
    session: PathBuf,
    /// No longer
    #[arg(long)]
    off: bool,
}

/// Keeps it, or lets it go.
///
/// # Errors
/// No session has that key, or the system refuses.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Target::Folder { name, path } = Target::find(&args.session, &context.env)? else {
        return Err(Problem::Log("only the log of a session is kept: name it by its key".to_owned()));
    };
    let changed =
        hold(&path, !args.off).map_err(|source| Problem::File { what: "write to", path, source })?;
    let words = match (args.off, changed) {
        (false, true) => "is kept, whatever its age is",
        (false, false) => "is kept already",
        (true, true) => "is kept by the rules again",
        (true, false) => "is kept by the rules",
    };
    context.printer.line(&Line::new().text(&format!("{name} {words}"), Style::Plain))?;
    Ok(Exit::Ok)
}
