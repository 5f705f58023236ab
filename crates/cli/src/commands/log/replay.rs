//! `herdbook log replay`: a log read from its start, and what it comes to.

mod count;
mod messages;

use std::path::PathBuf;

use clap::ValueEnum;

use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Replay a log: count its events, or print the model history that they give
///
/// Without --as it looks at the envelope and the checksum of each line, and prints how many events of each type there
/// are. A line that is wrong is named on stderr, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A session's key, or a file
    target: PathBuf,
    /// What to print
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
    /// The last line that counts, by its seq; 0 is before the first. All lines count by default
    #[arg(long, value_name = "SEQ", requires = "form")]
    at: Option<u64>,
    /// The text around a checkpoint, where a line does not bring its own; {checkpointYaml} is the checkpoint
    #[arg(long, value_name = "TEXT", requires = "form")]
    template_checkpoint: Option<String>,
    /// The nudge to verify, where a line does not bring its own; {attempt} and {detectedChecks} are filled in
    #[arg(long, value_name = "TEXT", requires = "form")]
    template_nudge: Option<String>,
}

/// What a log is replayed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The exact JSON text of `messages`, as a model request behind that line sees it
    Messages,
}

/// Replays it.
///
/// # Errors
/// The file cannot be read, a line is wrong, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match args.form {
        None => count::run(args, context),
        Some(Form::Messages) => messages::run(args, context),
    }
}
