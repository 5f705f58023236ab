//! Going to a recorded pane: is it still that pane, where is it now, and which client shows it (field cases F-065, F-067,
//! F-072).

use std::io;
use std::os::unix::process::CommandExt as _;

use crate::clients::{Client, choose_client, humans_in};
use crate::env;
use crate::jump::attach_args;
use crate::pane::{is_pane_id, is_session_id, is_window_id};
use crate::process::{Proc, Process};
use crate::tmux::{Pane, Server, Tmux, TmuxError};

/// Why there was no jump.
#[derive(Debug, thiserror::Error)]
pub enum JumpError {
    /// The server that the pane belonged to is not there any more, even if another one uses its socket.
    #[error("the tmux server of pane {0} has ended")]
    ServerGone(String),
    /// The server does not list the pane.
    #[error("pane {0} has been closed")]
    PaneGone(String),
    /// The agent has ended.
    #[error("the agent in pane {0} has ended")]
    AgentGone(String),
    /// The agent runs, but not below the pane's own process: the pane is somebody else's.
    #[error("pane {0} does not belong to the agent")]
    NotItsPane(String),
    /// No client with a human shows this server.
    #[error("no tmux client to move: attach to the server, or name one with --client")]
    NoClient,
    /// The named client is not one of this server.
    #[error("{0} is not the terminal of a client of this tmux server")]
    UnknownClient(String),
    /// tmux moved the client, but not to the pane.
    #[error("tmux did not show pane {0}")]
    Missed(String),
    /// tmux gave no answer: nothing is known.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
}

/// Where a pane is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// tmux session id; the pane's window may be linked into several, then one with a client.
    pub session: String,
    /// Window id.
    pub window: String,
    /// Pane id.
    pub pane: String,
    /// The session is one of several that show the window.
    pub is_linked: bool,
}

/// A pane as it was recorded when a hook ran in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Pid of the server, from `TMUX`.
    pub server_pid: Option<u32>,
    /// Start of the server in Unix seconds, once it was asked for.
    pub server_started_at: Option<u64>,
    /// Pane id, from `TMUX_PANE`.
    pub pane: String,
    /// The agent's process, if it is known and ought to run in the pane.
    pub agent: Option<Process>,
}

impl Tmux {
    /// Where a recorded pane is now, if it is still that pane: same server, listed, and the agent below its process
    /// (F-065). Panes move between windows and sessions, so this is asked at each jump (F-072).
    ///
    /// # Errors
    /// The binding is void, or tmux gave no answer.
    pub fn locate(&self, binding: &Binding, processes: &Proc) -> Result<Place, JumpError> {
        let id = &binding.pane;
        if !is_pane_id(id) {
            return Err(TmuxError::BadId(id.clone()).into());
        }
        let panes = match self.panes() {
            Err(TmuxError::NoServer(_)) => return Err(JumpError::ServerGone(id.clone())),
            answer => answer?,
        };
        let is_other = |server: &Server| {
            binding.server_pid.is_some_and(|pid| pid != server.pid)
                || binding.server_started_at.is_some_and(|at| at != server.started_at)
        };
        if panes.first().is_some_and(|pane| is_other(&pane.server)) {
            return Err(JumpError::ServerGone(id.clone()));
        }
        let places: Vec<&Pane> = panes.iter().filter(|pane| pane.id == *id).collect();
        let clients = if places.len() > 1 { self.clients()? } else { Vec::new() };
        let Some(pane) = places.iter().max_by_key(|pane| humans_in(&clients, &pane.session)) else {
            return Err(JumpError::PaneGone(id.clone()));
        };
        if let Some(agent) = binding.agent {
            if !processes.is_alive(agent) {
                return Err(JumpError::AgentGone(id.clone()));
            }
            if !processes.descends_from(agent.pid, pane.pid) {
                return Err(JumpError::NotItsPane(id.clone()));
            }
        }
        Ok(Place {
            session: pane.session.clone(),
            window: pane.window.clone(),
            pane: id.clone(),
            is_linked: places.len() > 1,
        })
    }

    /// Moves a client to a pane: its session, window and pane, wherever they are on this server. The client is the one
    /// on terminal `client`, else the one in front of the caller's pane, else the one used last. Returns its terminal.
    ///
    /// # Errors
    /// There is no such client, tmux refused, or the client shows another pane afterwards.
    pub fn jump(
        &self,
        place: &Place,
        client: Option<&str>,
        caller: Option<&str>,
    ) -> Result<String, JumpError> {
        let clients = self.clients()?;
        let chosen = match client {
            Some(tty) => clients
                .iter()
                .find(|client| client.tty == tty)
                .ok_or_else(|| JumpError::UnknownClient(tty.to_owned()))?,
            None => {
                let caller = caller.filter(|pane| is_pane_id(pane));
                let session = match caller {
                    Some(caller) => self.session_of(caller, &clients)?,
                    None => None,
                };
                choose_client(&clients, caller, session.as_deref()).ok_or(JumpError::NoClient)?
            }
        };
        for (id, is_id) in [
            (&place.session, is_session_id as fn(&str) -> bool),
            (&place.window, is_window_id),
            (&place.pane, is_pane_id),
        ] {
            if !is_id(id) {
                return Err(TmuxError::BadId(id.clone()).into());
            }
        }
        // A pane's id alone names it. Only where several sessions show its window the session has to be said too; tmux
        // may then answer about another pane (F-066), which is why the outcome is looked at.
        let target = if place.is_linked {
            format!("{}:{}.{}", place.session, place.window, place.pane)
        } else {
            place.pane.clone()
        };
        self.run("switch-client", &["-c", &chosen.tty, "-t", &target])?;
        let is_there = |now: &Client| now.tty == chosen.tty && now.pane == place.pane;
        if self.clients()?.iter().any(is_there) {
            Ok(chosen.tty.clone())
        } else {
            Err(JumpError::Missed(place.pane.clone()))
        }
    }

    /// Becomes a tmux client that shows the pane: replaces this process, so it returns only if that fails. For a caller
    /// with a terminal, outside of tmux.
    pub fn attach(&self, place: &Place) -> io::Error {
        let socket = self.socket().to_string_lossy();
        let args = attach_args(&socket, &place.session, &place.window, &place.pane);
        // The client is the human's own: it gets the human's environment, and tmux decides by it what to update. TMUX
        // may be left over from a server that has ended, and tmux would refuse to nest.
        #[expect(
            clippy::disallowed_methods,
            reason = "becomes the human's interactive client; limits would end it"
        )]
        let mut command = std::process::Command::new("tmux");
        command.args(["-u"]).args(args).env_remove(env::TMUX).env_remove(env::TMUX_PANE).exec()
    }

    fn session_of(&self, pane: &str, clients: &[Client]) -> Result<Option<String>, TmuxError> {
        let panes = self.panes()?;
        let own = panes.into_iter().filter(|listed| listed.id == pane);
        Ok(own.max_by_key(|listed| humans_in(clients, &listed.session)).map(|listed| listed.session))
    }
}
