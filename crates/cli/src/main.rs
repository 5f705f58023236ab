//! `herdbook`: the command line of Herdbook.
//!
//! It parses, asks the daemon, prints. It never writes to the journal of a running daemon, never types into a pane, and
//! never talks to another machine. Start with `commands`, then one file of it; `printer` is the only way to the
//! terminal, `error` the one place for words of failure, `exit` lists the exit codes, `env` every variable.

mod answer;
mod choice;
mod clock;
mod commands;
mod consent;
mod daemon;
mod demo;
mod doctor;
mod env;
mod error;
mod exit;
mod guess;
mod jump;
mod life;
mod listing;
mod model;
mod moment;
mod pager;
mod past;
mod printer;
mod setup;
mod tally;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::commands::{Arguments, Context};
use crate::env::Env;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::Printer;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Hosts wait for their hooks: no argument parser, no runtime stands between them and the hook code.
    if let Some(status) = commands::hook::fast_path(&words) {
        return status;
    }
    let env = Env::read();
    let mut printer = Printer::new(&env);
    let exit = match Arguments::try_parse_from(&words) {
        Ok(arguments) => run(arguments, env, &mut printer),
        Err(usage) => {
            let exit = if usage.use_stderr() { Exit::Usage } else { Exit::Ok };
            match printer.usage(&usage).and_then(|()| printer.flush()) {
                Ok(()) => exit,
                Err(error) => Problem::from(error).exit(),
            }
        }
    };
    exit.into()
}

fn run(arguments: Arguments, env: Env, printer: &mut Printer) -> Exit {
    let mut context = Context { env, printer };
    let outcome = arguments.command.run(&mut context).and_then(|exit| {
        context.printer.flush()?;
        Ok(exit)
    });
    match outcome {
        Ok(exit) => exit,
        Err(problem) => {
            // What was printed before the failure is data all the same. Should this fail too, the first failure is told.
            let _ = printer.flush();
            problem.tell(printer);
            problem.exit()
        }
    }
}
