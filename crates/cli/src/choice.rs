//! Which entries of the queue `next` tries, in which order. Pure.

use herdbook_api::v1::{Item, Pane};

use crate::model::is_resting;

/// What `next` may do with the queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choice<'a> {
    /// Where it may go, the first first.
    pub candidates: Vec<&'a Item>,
    /// Entries in cooldown.
    pub resting: usize,
    /// The entry of the pane the human is in.
    pub here: Option<&'a Item>,
}

/// Sorts out the queue: entries in cooldown and the pane the human is in are passed over, and with `blocked` all that
/// do not wait in mid-turn.
pub fn choose<'a>(queue: &'a [Item], here: Option<&Pane>, blocked: bool, now_ms: u64) -> Choice<'a> {
    let mut choice = Choice::default();
    for entry in queue.iter().filter(|entry| !blocked || entry.is_blocked()) {
        if here.is_some_and(|here| entry.pane.as_ref().is_some_and(|pane| is_same_pane(here, pane))) {
            choice.here = Some(entry);
        } else if is_resting(entry, now_ms) {
            choice.resting += 1;
        } else {
            choice.candidates.push(entry);
        }
    }
    choice
}

/// True for the same pane of the same server. Ids like `%3` are per server; a server is its socket and its process.
pub fn is_same_pane(left: &Pane, right: &Pane) -> bool {
    let same_process = match (left.server_pid, right.server_pid) {
        (Some(left), Some(right)) => left == right,
        _ => true,
    };
    left.pane == right.pane && left.socket == right.socket && same_process
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(socket: &str, id: &str) -> Pane {
        Pane { socket: socket.into(), server_pid: Some(7), pane: id.into() }
    }

    fn entry(key: &str, place: Option<Pane>, reason: &str) -> Item {
        Item { session_id: key.into(), pane: place, reason: reason.into(), ..Item::default() }
    }

    fn keys<'a>(choice: &Choice<'a>) -> Vec<&'a str> {
        choice.candidates.iter().map(|entry| entry.session_id.as_str()).collect()
    }

    #[test]
    fn the_pane_you_are_in_and_what_rests_are_passed_over() {
        let mut resting = entry("c", Some(pane("/tmp/a", "%3")), "stopped");
        resting.skip_cooldown_until = Some(2_000);
        let queue = [
            entry("a", Some(pane("/tmp/a", "%1")), "stopped"),
            entry("b", Some(pane("/tmp/b", "%1")), "permission"),
            resting,
            entry("d", None, "stopped"),
        ];
        let here = pane("/tmp/a", "%1");
        let choice = choose(&queue, Some(&here), false, 1_000);
        assert_eq!(keys(&choice), ["b", "d"]);
        assert_eq!((choice.resting, choice.here.map(|entry| entry.session_id.as_str())), (1, Some("a")));
        assert_eq!(keys(&choose(&queue, None, false, 3_000)), ["a", "b", "c", "d"]);
        assert_eq!(keys(&choose(&queue, None, true, 1_000)), ["b"]);
    }

    #[test]
    fn a_server_that_was_started_anew_has_other_panes() {
        let old = pane("/tmp/a", "%1");
        let new = Pane { server_pid: Some(8), ..old.clone() };
        assert!(!is_same_pane(&old, &new));
        assert!(is_same_pane(&old, &Pane { server_pid: None, ..old.clone() }));
    }
}
