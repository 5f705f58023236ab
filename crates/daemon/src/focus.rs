//! Where the human looks: asked of tmux when a wait begins, so that nobody is called to the pane in front of him
//! (case F-101).
//!
//! Nothing is asked while nothing changes: a transition is followed by a few questions, and then by silence.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use herdbook_engine::{Focus, Input, TmuxFacts};
use herdbook_log::Durability;
use herdbook_machine::{Client, Tmux};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::attention::Source;
use crate::clock;
use crate::closed::sockets;
use crate::config::until_stopped;
use crate::core::Core;

/// So many questions follow a change, so far apart: the call for a wait is made within this time (the grace period).
const QUESTIONS: u32 = 3;
const APART: Duration = Duration::from_millis(700);
/// Between two looks at the queue while nobody in it has a pane.
const PAUSE: Duration = Duration::from_millis(300);
/// A tmux server that hangs is given up after this time.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// Follows the attention events until the daemon ends.
pub(crate) async fn follow(core: Core, told: Arc<Source>, stop: watch::Receiver<bool>) {
    until_stopped(ask_after_changes(&core, &told), stop).await;
}

async fn ask_after_changes(core: &Core, told: &Source) {
    let mut changed = told.ring.watch();
    loop {
        if changed.changed().await.is_err() {
            return;
        }
        for _ in 0..QUESTIONS {
            let Ok(sockets) = sockets(core).await else { return };
            if sockets.is_empty() {
                // A flood of changes without a pane is one look now and then, not one for each.
                sleep(PAUSE).await;
                break;
            }
            let asked = tokio::task::spawn_blocking(move || focus(&sockets));
            if let Ok(Some(focus)) = asked.await {
                let facts = TmuxFacts { focus: Some(focus), ..TmuxFacts::default() };
                // The daemon is stopping, or the journal is full: neither is about panes.
                drop(timeout(APART, core.step(Input::Tmux(facts), Durability::Written)).await);
            }
            sleep(APART).await;
        }
    }
}

/// The pane in front of the client that was used last, over all these servers.
fn focus(sockets: &HashSet<String>) -> Option<Focus> {
    // A server that cannot be asked says nothing.
    let clients = sockets.iter().filter_map(|socket| Tmux::at(socket).timeout(ANSWER_TIME).clients().ok());
    focus_of(&clients.flatten().collect::<Vec<_>>(), clock::wall_ms())
}

fn focus_of(clients: &[Client], now_ms: u64) -> Option<Focus> {
    let human = clients.iter().filter(|client| client.is_human() && !client.pane.is_empty());
    let used_last = human.min_by_key(|client| client.idle_ms(now_ms))?;
    Some(Focus { pane: used_last.pane.clone(), client_active_ms_ago: used_last.idle_ms(now_ms) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(pane: &str, activity: u64) -> Client {
        let (tty, pane) = ("/dev/pts/1".to_owned(), pane.to_owned());
        Client { tty, activity, pane, ..Client::default() }
    }

    #[test]
    fn the_client_used_last_counts_and_programs_do_not() {
        let program = Client { control_mode: true, ..client("%9", 1_000) };
        let clients = [client("%1", 100), client("%2", 990), program];
        let focus = focus_of(&clients, 1_000_000).unwrap();
        assert_eq!((focus.pane.as_str(), focus.client_active_ms_ago), ("%2", 10_000));
        assert_eq!(focus_of(&[], 1_000_000), None);
    }
}
