//! The subcommands: one file each, with its arguments first and then `run`.

mod approve;
mod back;
mod daemon;
mod demo;
mod deny;
mod doctor;
mod down;
mod hold;
pub mod hook;
pub mod install;
mod log;
mod ls;
mod next;
mod normalize;
mod pin;
mod popup;
mod queue;
mod reference;
mod route;
mod schema;
mod screens;
mod settle;
mod skip;
mod snooze;
mod stand_in;
mod stats;
mod status;
mod uninstall;
pub mod up;
mod why;

use clap::{Parser, Subcommand};

pub use route::is_failing;

use crate::env::Env;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::Printer;

/// The record book for a herd of coding agents, and the bell that rings when one needs its human.
#[derive(Debug, Parser)]
#[command(name = "herdbook", version)]
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
    Up(up::Args),
    Down(down::Args),
    Install(install::Args),
    Uninstall(uninstall::Args),
    Route(route::Args),
    Hold(hold::Args),
    Daemon(daemon::Args),
    Ls(ls::Args),
    Next(next::Args),
    Return(back::Args),
    Skip(skip::Args),
    Snooze(snooze::Args),
    Pin(pin::Args),
    Popup(popup::Args),
    Settle(settle::Args),
    Approve(approve::Args),
    Deny(deny::Args),
    Why(why::Args),
    Status(status::Args),
    Stats(stats::Args),
    Doctor(doctor::Args),
    Normalize(normalize::Args),
    Log(log::Args),
    Screens(screens::Args),
    Schema(schema::Args),
    Reference(reference::Args),
    Hook(hook::Args),
    Demo(demo::Args),
    StandIn(stand_in::Args),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever went wrong, to be told by `main`.
    pub fn run(self, context: &mut Context<'_>) -> Result<Exit, Problem> {
        match self {
            Command::Up(args) => up::run(&args, context),
            Command::Down(_) => down::run(context),
            Command::Install(args) => install::run(&args, context),
            Command::Uninstall(args) => uninstall::run(&args, context),
            Command::Route(args) => route::run(&args, context),
            Command::Hold(args) => hold::run(&args, context),
            Command::Daemon(args) => daemon::run(&args, context),
            Command::Ls(args) => ls::run(&args, context),
            Command::Next(args) => next::run(&args, context),
            Command::Return(args) => back::run(&args, context),
            Command::Skip(args) => skip::run(&args, context),
            Command::Snooze(args) => snooze::run(&args, context),
            Command::Pin(args) => pin::run(&args, context),
            Command::Popup(args) => popup::run(&args, context),
            Command::Settle(args) => settle::run(&args, context),
            Command::Approve(args) => approve::run(&args, context),
            Command::Deny(args) => deny::run(&args, context),
            Command::Why(args) => why::run(&args, context),
            Command::Status(args) => status::run(&args, context),
            Command::Stats(args) => stats::run(&args, context),
            Command::Doctor(args) => doctor::run(&args, context),
            Command::Normalize(args) => normalize::run(&args, context),
            Command::Log(args) => log::run(&args, context),
            Command::Screens(args) => screens::run(&args, context),
            Command::Schema(args) => schema::run(&args, context),
            Command::Reference(args) => reference::run(&args, context),
            // Only its help comes this far.
            Command::Hook(_) => Ok(Exit::Ok),
            Command::Demo(_) => demo::run(context),
            Command::StandIn(args) => stand_in::run(args, context),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Arguments::command().debug_assert();
    }
}
