//! The tmux server of a pane that was posted without one. Pure.

use herdbook_api::v1::{Item, Pane};

/// Returns the sockets to look for such panes on: the server the human is on, then the only one that sessions are known
/// to live on. With several of them there is no telling which is meant.
pub fn likely_sockets<'a>(own: Option<&str>, known: impl Iterator<Item = &'a Pane>) -> Vec<String> {
    let mut sockets: Vec<&str> =
        known.map(|pane| pane.socket.as_str()).filter(|socket| !socket.is_empty()).collect();
    sockets.sort_unstable();
    sockets.dedup();
    let only = if let [only] = sockets.as_slice() { Some(*only) } else { None };
    let mut likely: Vec<String> = own.into_iter().chain(only).map(str::to_owned).collect();
    likely.dedup();
    likely
}

/// True for an entry whose pane is known and whose server is not.
pub fn lacks_server(entry: &Item) -> bool {
    entry.pane.as_ref().is_some_and(|pane| pane.socket.is_empty())
}

/// Puts the panes without a server on the first socket that `has` them (told by its place), and returns the keys of their
/// sessions.
pub fn place(queue: &mut [Item], sockets: &[String], has: impl Fn(usize, &str) -> bool) -> Vec<String> {
    let mut placed = Vec::new();
    for entry in queue.iter_mut().filter(|entry| lacks_server(entry)) {
        let Some(pane) = &mut entry.pane else { continue };
        if let Some((_, socket)) = sockets.iter().enumerate().find(|(at, _)| has(*at, &pane.pane)) {
            pane.socket.clone_from(socket);
            placed.push(entry.session_id.clone());
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(socket: &str) -> Pane {
        Pane { socket: socket.into(), server_pid: None, pane: "%1".into() }
    }

    #[test]
    fn the_humans_own_server_comes_first_and_of_several_others_none_is_taken() {
        let (one, two, none) = (pane("/tmp/a"), pane("/tmp/b"), pane(""));
        assert_eq!(likely_sockets(None, [&one, &one, &none].into_iter()), ["/tmp/a"]);
        assert_eq!(likely_sockets(Some("/tmp/b"), [&one].into_iter()), ["/tmp/b", "/tmp/a"]);
        assert_eq!(likely_sockets(Some("/tmp/a"), [&one].into_iter()), ["/tmp/a"]);
        assert_eq!(likely_sockets(Some("/tmp/c"), [&one, &two].into_iter()), ["/tmp/c"]);
        assert!(likely_sockets(None, [&one, &two].into_iter()).is_empty());
    }

    #[test]
    fn a_pane_is_placed_only_where_it_is() {
        let entry =
            |key: &str, pane: Pane| Item { session_id: key.into(), pane: Some(pane), ..Item::default() };
        let mut queue = [entry("known", pane("/tmp/z")), entry("posted", pane(""))];
        let sockets = ["/tmp/a".to_owned(), "/tmp/b".to_owned()];
        assert!(place(&mut queue, &sockets, |_, _| false).is_empty());
        assert!(lacks_server(&queue[1]));
        assert_eq!(place(&mut queue, &sockets, |at, id| (at, id) == (1, "%1")), ["posted"]);
        assert_eq!(queue.map(|entry| entry.pane.unwrap().socket), ["/tmp/z", "/tmp/b"]);
    }
}
