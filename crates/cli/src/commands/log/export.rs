//! `herdbook log export`: a log as another program reads it.

use std::path::PathBuf;

use clap::ValueEnum;
use herdbook_story::reference::reference_line;

use super::file::FileLine;
use super::target::Target;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Print a log as another program reads it
///
/// It ends at the first line that is damaged or cannot be told in that form; the lines before it are printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A session's key, or a file
    target: PathBuf,
    /// Which program
    #[arg(long)]
    profile: Profile,
}

/// Who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// KHAELOR: exactly its members, no checksums
    Khaelor,
}

/// Prints it.
///
/// # Errors
/// The file cannot be read, a line is damaged or of no type that the reader knows, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Profile::Khaelor = args.profile;
    let (mut file, mut seals) = Target::find(&args.target, &context.env)?.open()?;
    while let Some(FileLine { number, bytes, .. }) = file.next()? {
        let wrong = |why: String| Problem::LogLine { number, why };
        if let Some(damage) = seals.push(bytes).first() {
            return Err(Problem::Log(damage.to_string()));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| wrong(format!("no UTF-8: {error}")))?;
        let line = reference_line(text).map_err(|error| wrong(error.to_string()))?;
        context.printer.json_text(&line)?;
    }
    match seals.finish().first() {
        Some(damage) => Err(Problem::Log(damage.to_string())),
        None => Ok(Exit::Ok),
    }
}
