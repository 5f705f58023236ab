//! Clients of a tmux server: where a human may be looking, and which one a jump moves.

use serde::{Deserialize, Serialize};

/// A client that was not used for so long has nobody in front of it, in milliseconds.
pub const WATCHING_MS: u64 = 120_000;

/// One row of `list-clients`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Client {
    /// Its terminal, which is also its name.
    pub tty: String,
    /// When it was last used, Unix seconds.
    pub activity: u64,
    /// Flags as tmux prints them, `attached,focused,UTF-8`.
    pub flags: String,
    /// A program speaks to tmux through it.
    pub control_mode: bool,
    /// The session it shows.
    pub session: String,
    /// The pane in front: the active pane of that session's current window.
    pub pane: String,
}

impl Client {
    fn has_flag(&self, flag: &str) -> bool {
        self.flags.split(',').any(|known| known == flag)
    }

    /// Whether there is a terminal with a person behind it: not a program in control mode, not suspended.
    pub fn is_human(&self) -> bool {
        !self.control_mode
            && !self.has_flag("control-mode")
            && !self.has_flag("suspended")
            && !self.tty.is_empty()
    }

    /// Milliseconds since it was last used; 0 if that lies ahead of `now_ms` (Unix).
    pub fn idle_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.activity.saturating_mul(1000))
    }
}

/// Terminals of the clients that a human may be looking at: used within [`WATCHING_MS`]. `now_ms` is Unix time.
pub fn watching_clients(clients: &[Client], now_ms: u64) -> Vec<String> {
    clients
        .iter()
        .filter(|client| client.is_human() && client.idle_ms(now_ms) <= WATCHING_MS)
        .map(|client| client.tty.clone())
        .collect()
}

/// So many humans look at a session. What tmux calls `session_attached` counts programs, too.
pub(crate) fn humans_in(clients: &[Client], session: &str) -> usize {
    clients.iter().filter(|client| client.is_human() && client.session == session).count()
}

/// The client that a jump moves when the caller runs in pane `caller`: the one in front of that pane, else one that
/// shows its session (`caller_session`), else the one used last.
pub fn choose_client<'a>(
    clients: &'a [Client],
    caller: Option<&str>,
    caller_session: Option<&str>,
) -> Option<&'a Client> {
    clients.iter().filter(|client| client.is_human()).max_by_key(|client| {
        let is_front = caller.is_some_and(|pane| pane == client.pane);
        let is_session = caller_session.is_some_and(|session| session == client.session);
        (is_front, is_session, client.activity)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(tty: &str, activity: u64, session: &str, pane: &str) -> Client {
        Client { tty: tty.into(), activity, session: session.into(), pane: pane.into(), ..Default::default() }
    }

    #[test]
    fn programs_and_forgotten_terminals_do_not_watch() {
        let mut clients: Vec<Client> =
            ["a", "b", "c", "d"].iter().map(|tty| client(tty, 1_000, "$0", "%0")).collect();
        clients[1].control_mode = true;
        clients[2].flags = "attached,suspended".into();
        clients[3].activity = 800;
        assert_eq!(watching_clients(&clients, 1_001_000), ["a"]);
        assert_eq!(watching_clients(&clients, 1_000_000 + WATCHING_MS + 1), Vec::<String>::new());
        // The clock was set back.
        assert_eq!(watching_clients(&clients, 900_000), ["a", "d"]);
    }

    #[test]
    fn the_client_in_front_of_the_caller_is_moved() {
        let clients = [client("a", 30, "$1", "%4"), client("b", 20, "$2", "%5"), client("c", 10, "$2", "%6")];
        let chosen = |pane, session| choose_client(&clients, pane, session).map(|client| client.tty.as_str());
        assert_eq!(chosen(Some("%6"), Some("$2")), Some("c"));
        assert_eq!(chosen(Some("%9"), Some("$2")), Some("b"));
        assert_eq!(chosen(None, None), Some("a"));
        assert_eq!(choose_client(&[], None, None), None);
    }
}
