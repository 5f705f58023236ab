//! `herdbook down`: the daemon ends.

use std::path::Path;

use herdbook_api::v1::Status;
use herdbook_wire::paths::state_dir;

use super::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::life::{TURN_PATIENCE, Turn, end, holder, is_same_folder};
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
    let folder = state_dir(places).ok();
    // Whoever starts one just now is let finish. One that takes too long is not waited for: this may be why.
    let _turn = folder.as_deref().filter(|folder| folder.is_dir()).map(|own| Turn::take(own, TURN_PATIENCE));
    let units = Units::find(places);
    // A manager that does not answer cannot be what keeps the daemon running.
    let state = units.as_ref().and_then(|units| units.state().ok()).unwrap_or_default();
    let daemon = Daemon::of(&context.env)?;
    let answers = daemon.ask(|client| client.status()).ok();
    // The runtime folder's socket may be another environment's, and that one not ours to end; a socket that was named is
    // what was meant.
    let is_ours_to_end = |status: &Status| {
        let is_ours = |own: &Path| is_same_folder(Path::new(&status.state_dir), own);
        places.herdbook_socket.is_some() || folder.as_deref().is_none_or(is_ours)
    };
    let (own, other) = match answers {
        Some(status) if is_ours_to_end(&status) => (Some(status.pid), None),
        other => (None, other),
    };
    // Ours may hang, or be about to start: then the lock knows it.
    let pid = own.or_else(|| holder(&folder.as_ref()?.join("LOCK")));
    let stopped = match &units {
        Some(units) if is_ours(units, state, pid, context) => {
            units.stop()?;
            true
        }
        _ => false,
    };
    let Some(pid) = pid else {
        context.printer.say(&Line::new().own("the daemon is not running"));
        if let Some(Status { pid, state_dir, .. }) = other {
            let words = format!("one on another state folder, {state_dir}, is left alone: pid {pid}");
            context.printer.say(&Line::new().own("  ").text(&words, Style::Dim));
        }
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
