//! `herdbook schema`: the types of events for authors of hooks.

use clap::ValueEnum;
use herdbook_events::catalog::{self, Lists};
use herdbook_hosts::author;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;

/// Print the types of canonical and normalized events, or those of session events
///
/// For authors of hooks, routes and producers. The package in clients/ts holds the TypeScript modules, with a function that
/// makes canonical events; that of session events takes one type from the other.
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
    /// Session events, as JSON Schema: payloads, and lines of a log
    SessionJsonSchema,
    /// Session events, as TypeScript types
    SessionTs,
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
        Language::SessionJsonSchema => catalog::author::json_schema(Lists::OpenTools),
        Language::SessionTs => catalog::author::typescript(),
    };
    context.printer.document(&text)?;
    Ok(Exit::Ok)
}
