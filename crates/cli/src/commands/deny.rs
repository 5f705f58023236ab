//! `herdbook deny`: refuse an agent what it asks for, from here.

use super::Context;
use crate::answer::{self, Answering};
use crate::error::Problem;
use crate::exit::Exit;

/// Refuse what a session asks for, without going there; without WAIT: list what can be answered from here
///
/// Only what its hook is held for can be: permissions of Claude Code, after `herdbook hold on`. Shows the tool and its
/// whole input and asks; the answer is bound to exactly that input and counts once; the model reads the reason.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    answering: Answering,
}

/// Answers it.
///
/// # Errors
/// As [`answer::run`].
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    answer::run(&args.answering, "deny", context)
}
