//! `herdbook daemon`: the daemon itself, in the foreground.

use std::io;
use std::sync::Arc;

use herdbook_daemon::{DaemonConfig, Notice, Service};

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{notice, ready};

/// Run the daemon in the foreground, until SIGTERM or Ctrl-C
///
/// Prints one line that begins with READY to stdout once it listens; what it has to say goes to stderr. `herdbook up` runs
/// it in the background.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave the terminal and the job of the shell that started it
    #[arg(long, hide = true)]
    own_session: bool,
    /// Take the sockets that systemd passes, and tell it how we are
    #[arg(long, hide = true)]
    systemd: bool,
}

/// Runs it to its end.
///
/// # Errors
/// It cannot start, or one runs already.
pub fn run(args: &Args, context: &Context<'_>) -> Result<Exit, Problem> {
    if args.own_session {
        // Whoever started us may be a session's leader already; then there is nothing to leave.
        let _: Result<_, io::Error> = rustix::process::setsid().map_err(io::Error::from);
    }
    let mut config = DaemonConfig::from_env(&context.env.places, env!("CARGO_PKG_VERSION"))?;
    if args.systemd {
        config.service = Service::of_this_process();
    }
    config.notice = Arc::new(|told| match told {
        Notice::Ready { .. } => ready(&told.to_string()),
        _ => notice(&told.to_string()),
    });
    herdbook_daemon::run(config)?;
    Ok(Exit::Ok)
}
