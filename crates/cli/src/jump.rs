//! Going to a pane, and the place to come back to.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use herdbook_api::v1::Pane;
use herdbook_machine::{
    Binding, Caller, Command, JumpError, JumpPlan, JumpTarget, Place, Proc, Tmux, TmuxError, jump_plan,
    replace_file,
};
use herdbook_redact::tmux_option_text;
use herdbook_wire::paths::{check_dir, state_dir};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::choice::is_same_pane;
use crate::env::Env;
use crate::error::Problem;

/// Where the human is.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts {
    /// `TMUX`, unless its server is not there any more.
    tmux: Option<String>,
    /// The pane in front of them.
    pub pane: Option<Pane>,
    /// The terminal of the tmux client to move, where it was named.
    pub client: Option<String>,
}

impl Whereabouts {
    /// Looks. A client that was named counts for more than the pane we run in: a key binding runs in none.
    pub fn look(env: &Env, client: Option<&str>) -> Whereabouts {
        let tmux = env.tmux.clone().filter(|tmux| Tmux::of_env(tmux).is_some_and(|server| !is_gone(&server)));
        let server = tmux.as_deref().and_then(Tmux::of_env);
        let pid = tmux.as_deref().and_then(server_pid);
        let in_front = match (&server, client) {
            (None, _) => None,
            (Some(_), None) => env.tmux_pane.clone(),
            (Some(server), Some(tty)) => server
                .clients()
                .ok()
                .and_then(|clients| clients.into_iter().find(|known| known.tty == tty))
                .map(|known| known.pane),
        };
        let pane = server.zip(in_front).map(|(server, pane)| Pane {
            socket: server.socket().to_string_lossy().into_owned(),
            server_pid: pid,
            pane,
        });
        Whereabouts { tmux, pane, client: client.map(str::to_owned) }
    }

    /// Returns the socket of the tmux server we were called from.
    pub fn socket(&self) -> Option<String> {
        let server = self.tmux.as_deref().and_then(Tmux::of_env)?;
        Some(server.socket().to_string_lossy().into_owned())
    }

    /// Shows words in the message line of the human's tmux client, if one is known. Words that `need` to be read stay until
    /// a key is pressed, at most [`READING_TIME`]; others as long as the human's tmux shows any, since it draws no pane
    /// meanwhile.
    pub fn show(&self, words: &str, need: bool) {
        if let (Some(client), Some(pane)) = (&self.client, &self.pane)
            && !words.is_empty()
        {
            show_on_client(&pane.socket, client, words, need);
        }
    }

    /// Takes note of a jump: words belong on the server that was gone to.
    pub fn arrived(&mut self, client: String, pane: &Pane) {
        self.client = Some(client);
        self.pane = Some(pane.clone());
    }
}

/// How a jump ended.
#[derive(Debug)]
pub enum Arrival {
    /// A client shows the pane now.
    Moved {
        /// Its terminal.
        client: String,
        /// The pane it showed before.
        from: Option<Pane>,
    },
    /// The human is on another tmux server, or we have no terminal to attach: this is what to type.
    Type(String),
    /// There is no such pane any more, or it is not the agent's.
    Gone(JumpError),
    /// tmux gave no answer: the pane may be there or not.
    Unknown(JumpError),
    /// No pane is known.
    NoPane,
}

/// Goes there. Outside of tmux this process becomes a tmux client and does not come back; `before_attach` is called
/// right before that.
///
/// # Errors
/// tmux did not move the client, or the terminal could not be attached.
pub fn go(
    whereabouts: &Whereabouts,
    pane: &Pane,
    before_attach: impl FnOnce() -> io::Result<()>,
) -> Result<Arrival, Problem> {
    if pane.socket.is_empty() {
        return Ok(Arrival::NoPane);
    }
    let server = Tmux::at(&pane.socket);
    let binding = Binding { server_pid: pane.server_pid, pane: pane.pane.clone(), ..Binding::default() };
    let place = match server.locate(&binding, &Proc::system()) {
        Ok(place) => place,
        // A posted session may call its place anything.
        Err(JumpError::Tmux(TmuxError::BadId(_))) => return Ok(Arrival::NoPane),
        // One server that hangs must not stand before those behind it (case F-074).
        Err(unknown @ JumpError::Tmux(_)) => return Ok(Arrival::Unknown(unknown)),
        Err(gone) => return Ok(Arrival::Gone(gone)),
    };
    let caller = Caller { caller_tmux: whereabouts.tmux.clone(), caller_server_alive: None };
    // A client that is named by a caller outside of tmux lives on the pane's server, or the jump fails.
    let plan = match (&whereabouts.client, &whereabouts.tmux) {
        (Some(_), None) => switch(&place),
        _ => jump_plan(&caller, Some(&target(pane, &place))),
    };
    match plan {
        JumpPlan::SwitchClient { .. } => {
            let own = whereabouts.pane.as_ref().map(|own| own.pane.as_str());
            // Asked before the move; a caller outside of tmux and a key binding do not know it themselves.
            let before = if own.is_none() { server.clients().unwrap_or_default() } else { Vec::new() };
            let client = server.jump(&place, whereabouts.client.as_deref(), own).map_err(Problem::Tmux)?;
            let shown = before.into_iter().find(|known| known.tty == client).map(|known| known.pane);
            let from = whereabouts.pane.clone().or(shown.map(|shown| Pane { pane: shown, ..pane.clone() }));
            Ok(Arrival::Moved { client, from })
        }
        JumpPlan::Attach { .. } if io::stdin().is_terminal() && io::stdout().is_terminal() => {
            before_attach()?;
            Err(Problem::Attach(server.attach(&place)))
        }
        JumpPlan::Attach { .. } => Ok(Arrival::Type(attach_line(pane, &place))),
        JumpPlan::PrintCommand { text } => Ok(Arrival::Type(text)),
        JumpPlan::ReportGone => Ok(Arrival::Gone(JumpError::ServerGone(pane.pane.clone()))),
        JumpPlan::NoJumpTarget => Ok(Arrival::NoPane),
    }
}

fn switch(place: &Place) -> JumpPlan {
    let (session, window, pane) = (place.session.clone(), place.window.clone(), place.pane.clone());
    JumpPlan::SwitchClient { session, window, pane }
}

fn target(pane: &Pane, place: &Place) -> JumpTarget {
    JumpTarget {
        socket: Some(pane.socket.clone()),
        server_alive: true,
        session: place.session.clone(),
        window: place.window.clone(),
        pane: place.pane.clone(),
    }
}

/// The line to type: what a caller on any other server would be told.
fn attach_line(pane: &Pane, place: &Place) -> String {
    let elsewhere = Caller { caller_tmux: Some("/,0,0".to_owned()), caller_server_alive: None };
    match jump_plan(&elsewhere, Some(&target(pane, place))) {
        JumpPlan::PrintCommand { text } => text,
        _ => String::new(),
    }
}

/// Returns the ids of all panes of the server at that socket; none where it does not answer.
pub fn pane_ids(socket: &str) -> HashSet<String> {
    Tmux::at(socket).panes().unwrap_or_default().into_iter().map(|pane| pane.id).collect()
}

fn is_gone(server: &Tmux) -> bool {
    matches!(server.server(), Err(TmuxError::NoServer(_)))
}

fn server_pid(tmux: &str) -> Option<u32> {
    tmux.rsplit(',').nth(1)?.parse().ok()
}

/// Milliseconds; tmux's own 750 are too few to read a sentence.
const READING_TIME: &str = "3000";

/// Shows words in the message line of a tmux client: a key binding has no other place for them. It is a courtesy; that
/// it fails is no failure.
fn show_on_client(socket: &str, client: &str, words: &str, need: bool) {
    let say = |more: &[&str]| {
        let mut command = Command::new("tmux").env("LC_ALL", "C.UTF-8").args(["-u", "-S", socket]);
        command = command.args(["display-message", "-c", client]).args(more.iter().copied());
        command.arg(tmux_option_text(words)).run().is_ok_and(|output| output.is_success())
    };
    // tmux before 3.2 knows no time of its own for a message.
    let _ = (need && say(&["-d", READING_TIME])) || say(&[]);
}

/// Where `next` came from and where it went: the state that `return` reads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Trail {
    /// The pane to come back to.
    pub from: Pane,
    /// The pane it went to.
    pub to: Pane,
}

impl Trail {
    /// Returns the trail after one more jump. From a pane that `next` itself led to, the place to come back to stays
    /// what it was: the human answers one session after another and then wants to go home.
    pub fn after(old: Option<Trail>, from: Pane, to: Pane) -> Trail {
        match old {
            Some(old) if is_same_pane(&old.to, &from) => Trail { from: old.from, to },
            _ => Trail { from, to },
        }
    }

    /// Reads it; one that cannot be read counts as none.
    ///
    /// # Errors
    /// The state folder cannot be told.
    pub fn read(env: &Env) -> Result<Option<Trail>, Problem> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut text = String::new();
        let read = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(Trail::path(env)?)
            .and_then(|file| file.take(64 << 10).read_to_string(&mut text));
        Ok(read.ok().and_then(|_| serde_json::from_str(&text).ok()))
    }

    /// Keeps it.
    ///
    /// # Errors
    /// The state folder is not a private one, or cannot be written.
    pub fn keep(&self, env: &Env) -> Result<(), Problem> {
        let path = Trail::path(env)?;
        if let Some(folder) = path.parent() {
            check_dir(folder)?;
        }
        let cannot = |source| Problem::File { what: "write", path: path.clone(), source };
        let text = serde_json::to_vec(self).map_err(|error| cannot(error.into()))?;
        replace_file(&path, &text, 0o600).map_err(cannot)
    }

    /// Forgets it.
    ///
    /// # Errors
    /// The state folder cannot be told.
    pub fn forget(env: &Env) -> Result<(), Problem> {
        // It may be gone already, and a trail that stays does no harm.
        let _ = std::fs::remove_file(Trail::path(env)?);
        Ok(())
    }

    fn path(env: &Env) -> Result<PathBuf, Problem> {
        Ok(state_dir(&env.places)?.join("return.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(id: &str) -> Pane {
        Pane { socket: "/tmp/a".into(), server_pid: Some(7), pane: id.into() }
    }

    #[test]
    fn a_row_of_jumps_comes_back_to_where_it_began() {
        let first = Trail::after(None, pane("%0"), pane("%1"));
        let second = Trail::after(Some(first), pane("%1"), pane("%2"));
        assert_eq!(second, Trail { from: pane("%0"), to: pane("%2") });
        // The human went elsewhere in between: that is where they work now.
        let third = Trail::after(Some(second), pane("%5"), pane("%1"));
        assert_eq!(third.from, pane("%5"));
    }

    #[test]
    fn the_servers_pid_is_read_from_behind() {
        assert_eq!(server_pid("/tmp/a,b/default,4242,0"), Some(4242));
        assert_eq!(server_pid("nonsense"), None);
    }
}
