//! `herdbook schema`: the types of events for authors of hooks.

use clap::ValueEnum;
use herdbook_hosts::author;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Print the types of canonical and normalized events
///
/// For authors of hooks, routes and producers. The TypeScript module needs no other; the package in clients/ts holds it,
/// with a function that makes canonical events.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// In which language
    #[arg(long, value_name = "LANGUAGE")]
    lang: Language,
}

/// The languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// JSON Schema, draft 2020-12
    JsonSchema,
    /// TypeScript: types and guards
    Ts,
    /// TypeScript: the host tables that the package in clients/ts projects by
    TsTables,
}

/// Prints it.
///
/// # Errors
/// stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let text = match args.lang {
        Language::JsonSchema => author::json_schema(),
        Language::Ts => author::types_module(),
        Language::TsTables => author::tables_module(),
    };
    context.printer.document(&text)?;
    Ok(Exit::Ok)
}
