//! `herdbook doctor`: what is looked at, and what is made of it.
//!
//! `service`, `folder`, `hosts`, `drift`, `routes`, `screens` and `terminals` make checks, the first two by asking the daemon and
//! looking at the folder; `look` gathers the facts about the hosts; `mend` does what `--fix` may do. Start with [`examine`].

mod check;
mod drift;
mod folder;
mod hosts;
mod look;
mod mend;
mod routes;
mod screens;
mod service;
mod terminals;

use std::path::Path;

use herdbook_daemon::{DaemonConfig, Settings, screens_dir};
use herdbook_wire::paths::{config_dir, sockets, state_dir};
use herdbook_wire::spool;

#[cfg(test)]
pub use check::Mend;
pub use check::{Check, Level};
pub use mend::mend;

use crate::clock::now_ms;
use crate::env::Env;
use crate::error::{Problem, whole};
use crate::setup::program::find;
use crate::setup::tmux::standing;
use crate::text::counted;

/// Looks at everything. Changes nothing, talks to no other machine, and waits for nobody for long.
///
/// # Errors
/// The places of state and sockets cannot be told.
pub fn examine(env: &Env) -> Result<Vec<Check>, Problem> {
    let version = env!("CARGO_PKG_VERSION");
    let state = state_dir(&env.places)?;
    let asked = service::ask(sockets(&env.places)?);
    let status = asked.iter().find_map(|socket| socket.answer.as_ref().ok());
    let mut checks = service::daemon(&asked, version);
    checks.extend(service::sockets(&asked));
    match status {
        Some(status) => checks.extend(service::ports(status)),
        None => checks.extend(ports_without_daemon(env, version)),
    }
    checks.push(folder::state(&state));
    checks.extend(settings(Settings::file(&env.places).as_deref()));
    match spool::entries(&service::spool_dir(&state)) {
        Ok(entries) => {
            let lost = spool::lost(&service::spool_dir(&state)).ok().flatten().map_or(0, |lost| lost.new);
            checks.extend(service::spool(&entries, lost, now_ms(), status.is_some()));
        }
        Err(error) => checks.push(Check::fault("spool", check::finding::UNSAFE_FOLDER, whole(&error))),
    }
    if let Some(status) = status {
        checks.extend(service::journal(status));
        checks.extend(service::session_logs(status));
    }
    let client = asked.iter().find(|socket| socket.answer.is_ok()).map(service::Socket::client);
    checks.extend(look::hosts(env, client.as_ref())?);
    checks.extend(routes::of(env, &state, client.as_ref()));
    let running = client.as_ref().and_then(|client| client.agents().ok());
    checks.extend(running.map(|running| terminals::agents(&running)));
    checks.extend(
        config_dir(&env.places).map(|folder| screens::own(&screens_dir(&folder))).unwrap_or_default(),
    );
    let has_tmux = find(&["tmux"], env.path.as_deref()).is_some();
    checks.extend(terminals::tmux(has_tmux, standing(env)));
    Ok(checks)
}

/// Reads the human's own settings as the daemon does; no file is no news.
fn settings(file: Option<&Path>) -> Option<Check> {
    let file = file.filter(|file| file.symlink_metadata().is_ok())?;
    Some(match Settings::read(file) {
        Ok(settings) => {
            let deleted = match settings.retention.session_days {
                0 => String::new(),
                days => {
                    format!("; sessions are deleted {} after they were last written to", counted(days, "day"))
                }
            };
            Check::ok("settings", format!("{}{deleted}", file.display()))
        }
        Err(error) => {
            let words = format!("{}: none of them are used, and old logs stay as they are", whole(&error));
            Check::fault("settings", check::finding::BAD_SETTINGS, words)
                .fix("mend that line, then restart the daemon: herdbook down; herdbook up")
        }
    })
}

/// A daemon that does not run would find its port taken.
fn ports_without_daemon(env: &Env, version: &str) -> Vec<Check> {
    let config = match DaemonConfig::from_env(&env.places, version) {
        Ok(config) => config,
        Err(error) => {
            return vec![
                Check::fault("port", check::finding::PORT_TAKEN, whole(&error)).fix("set HERDBOOK_ADDR"),
            ];
        }
    };
    let taken = |addr: std::net::SocketAddr| {
        let holder = herdbook_machine::owner_of_port(addr.port())?;
        Some(service::taken(&addr.to_string(), Some(holder)))
    };
    config.http.into_iter().filter(|addr| addr.port() != 0).find_map(taken).into_iter().collect()
}
