//! `herdbook down`: the daemon ends.

use herdbook_wire::paths::state_dir;

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::life::{end, holder};
use crate::printer::{Line, Style};
use crate::setup::systemd::{SOCKET, Units, UnitsState};

/// End the daemon; hooks go to the spool until it is up again
///
/// Where systemd runs it, systemd no longer listens for it either, until `herdbook up` or the next login.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "stop")]
pub struct Args {}

/// Asks the daemon to end and waits until it has.
///
/// # Errors
/// It cannot be asked, or goes on.
pub fn run(context: &mut Context<'_>) -> Result<Exit, Problem> {
    let places = &context.env.places;
    let units = Units::find(places);
    // A manager that does not answer cannot be what keeps the daemon running.
    let state = units.as_ref().and_then(|units| units.state().ok()).unwrap_or_default();
    let daemon = Daemon::of(&context.env)?;
    let pid = match daemon.ask(|client| client.status()) {
        Ok(status) => Some(status.pid),
        // It may hang, or be about to start: then the lock knows it.
        Err(_) => holder(&state_dir(places)?.join("LOCK")),
    };
    let stopped = match &units {
        Some(units) if is_ours(units, state, pid, context) => {
            units.stop()?;
            true
        }
        _ => false,
    };
    let Some(pid) = pid else {
        context.printer.say(&Line::new().own("the daemon is not running"));
        return Ok(Exit::Ok);
    };
    // One that systemd has ended is gone by now.
    end(pid)?;
    context.printer.say(&Line::new().text(&format!("the daemon is down (it was pid {pid})"), Style::Plain));
    if stopped && state.enabled {
        let words = format!(
            "{SOCKET} stays enabled, so it is back after the next login: `systemctl --user disable {SOCKET}` ends that"
        );
        context.printer.say(&Line::new().own("  ").text(&words, Style::Dim));
    }
    Ok(Exit::Ok)
}

/// Whether systemd has, or would bring back, the daemon of this environment.
fn is_ours(units: &Units, state: UnitsState, pid: Option<u32>, context: &Context<'_>) -> bool {
    // The connection that asked for the pid may have started it.
    let runs = |state: UnitsState| state.pid.is_some() && state.pid == pid;
    if runs(state) {
        return true;
    }
    state.listens && (units.check_fit(&context.env.places).is_ok() || units.state().is_ok_and(runs))
}
