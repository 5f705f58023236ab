//! `herdbook reference`: families, hosts, native keys, and what each host can be told.

use clap::ValueEnum;
use herdbook_hosts::author;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Print which host says what, under which key, and what it can be told
///
/// The same stands in docs/reference of the project.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// For people or for programs
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    format: Format,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown
    Md,
    /// JSON
    Json,
}

/// Prints it.
///
/// # Errors
/// stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let text = match args.format {
        Format::Md => author::reference_page(),
        Format::Json => author::reference_json(),
    };
    context.printer.document(&text)?;
    Ok(Exit::Ok)
}
