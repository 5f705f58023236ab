//! Whether the panes of those who wait are still there: an agent may outlive its pane, and nobody can go to it then
//! (cases F-012, F-066).

use std::collections::HashSet;
use std::time::Duration;

use herdbook_engine::{Input, TmuxFacts};
use herdbook_log::Durability;
use herdbook_machine::{Server, Tmux};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::config::until_stopped;
use crate::core::Core;

/// Between two lists of a server's panes, while somebody in one of them waits.
const EVERY: Duration = Duration::from_secs(5);
/// A tmux server that hangs is given up after this time.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// Lists panes until the daemon ends. Nothing is asked while nobody waits in a pane.
pub(crate) async fn follow(core: Core, stop: watch::Receiver<bool>) {
    until_stopped(list_again_and_again(&core), stop).await;
}

async fn list_again_and_again(core: &Core) {
    loop {
        sleep(EVERY).await;
        let Ok(sockets) = sockets(core).await else { return };
        if sockets.is_empty() {
            continue;
        }
        let listed = tokio::task::spawn_blocking(move || {
            // A server that cannot be asked says nothing.
            let lists =
                sockets.iter().filter_map(|socket| Tmux::at(socket).timeout(ANSWER_TIME).pane_ids().ok());
            lists.map(facts).collect::<Vec<_>>()
        });
        for facts in listed.await.unwrap_or_default() {
            // The daemon is stopping, or the journal is full: the next list tells it.
            drop(timeout(EVERY, core.step(Input::Tmux(facts), Durability::Written)).await);
        }
    }
}

/// The tmux servers of the sessions that wait.
pub(crate) async fn sockets(core: &Core) -> Result<HashSet<String>, crate::core::Refused> {
    core.look(|engine, now| {
        let panes = engine.queue(now).into_iter().filter_map(|entry| entry.pane);
        panes.map(|pane| pane.socket).filter(|socket| !socket.is_empty()).collect()
    })
    .await
}

fn facts((server, ids): (Server, Vec<String>)) -> TmuxFacts {
    TmuxFacts { server: Some((server.socket, server.pid)), panes: Some(ids), focus: None }
}
