//! The subcommands: one file each, with its arguments first and then `run`.

pub mod hook;
mod normalize;

use clap::{Parser, Subcommand};

use crate::env::Env;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::Printer;

/// The record book for a herd of coding agents, and the bell that rings when one needs its human.
#[derive(Debug, Parser)]
#[command(name = "herdbook", version, propagate_version = true, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What a command is given.
pub struct Context<'a> {
    /// The environment.
    pub env: Env,
    /// The terminal.
    pub printer: &'a mut Printer,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Normalize(normalize::Args),
    Hook(hook::Args),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever went wrong, to be told by `main`.
    pub fn run(self, context: &mut Context<'_>) -> Result<Exit, Problem> {
        match self {
            Command::Normalize(args) => normalize::run(&args, context),
            Command::Hook(args) => hook::run(&args),
        }
    }
}
