//! Whether the panes of those who wait are still there: an agent may outlive its pane, and nobody can go to it then
//! (cases F-012, F-066). And whether their tmux servers are: all panes of one go at once (case F-097).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use herdbook_engine::{Input, TmuxFacts};
use herdbook_log::Durability;
use herdbook_machine::{Proc, Process, Server, Tmux, TmuxError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::config::until_stopped;
use crate::core::Core;

/// Between two lists of a server's panes, while somebody in one of them waits.
const EVERY: Duration = Duration::from_secs(5);
/// Between the first two: the first says nothing of waits that are younger than 2 s.
const AFTER_START: Duration = Duration::from_millis(2_100);
/// A tmux server that hangs is given up after this time.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// Lists panes until the daemon ends. Nothing is asked while nobody waits in a pane.
pub(crate) async fn follow(core: Core, stop: watch::Receiver<bool>) {
    until_stopped(list_again_and_again(&core), stop).await;
}

async fn list_again_and_again(core: &Core) {
    let mut pause = AFTER_START;
    loop {
        let Ok(named) = servers(core).await else { return };
        if !named.is_empty() {
            let listed = tokio::task::spawn_blocking(move || facts(&named, &Proc::system()));
            for facts in listed.await.unwrap_or_default() {
                // The daemon is stopping, or the journal is full: the next list tells it.
                drop(timeout(EVERY, core.step(Input::Tmux(facts), Durability::Written)).await);
            }
        }
        sleep(std::mem::replace(&mut pause, EVERY)).await;
    }
}

/// The tmux servers of the sessions that wait: the pids that hooks named, by socket.
async fn servers(core: &Core) -> Result<HashMap<String, HashSet<u32>>, crate::core::Refused> {
    core.look(|engine, now| {
        let mut named: HashMap<String, HashSet<u32>> = HashMap::new();
        let panes = engine.queue(now).into_iter().filter_map(|entry| entry.pane);
        for pane in panes.filter(|pane| !pane.socket.is_empty()) {
            named.entry(pane.socket).or_default().extend(pane.server_pid);
        }
        named
    })
    .await
}

/// The tmux sockets of the sessions that wait.
pub(crate) async fn sockets(core: &Core) -> Result<HashSet<String>, crate::core::Refused> {
    Ok(servers(core).await?.into_keys().collect())
}

/// What there is to say of each server: the panes it lists, or that it is gone and they with it. One that cannot be
/// asked says nothing.
fn facts(named: &HashMap<String, HashSet<u32>>, table: &Proc) -> Vec<TmuxFacts> {
    let mut facts = Vec::new();
    for (socket, pids) in named {
        let answer = Tmux::at(socket).timeout(ANSWER_TIME).pane_ids();
        for pid in pids.iter().filter(|pid| is_gone(**pid, &answer, table)) {
            let server = Some((socket.clone(), *pid));
            facts.push(TmuxFacts { server, panes: Some(Vec::new()), focus: None });
        }
        if let Ok((server, ids)) = answer {
            facts.push(TmuxFacts {
                server: Some((server.socket, server.pid)),
                panes: Some(ids),
                focus: None,
            });
        }
    }
    facts
}

/// True when a server is gone for sure: nobody, or another one, serves its socket, and its process is none of tmux
/// (any more). One of them alone may be a socket that was moved, or a process that we cannot see.
fn is_gone(pid: u32, answer: &Result<(Server, Vec<String>), TmuxError>, table: &Proc) -> bool {
    let serves = match answer {
        Ok((server, _)) => server.pid == pid,
        Err(TmuxError::NoServer(_)) => false,
        Err(_) => return false,
    };
    let runs = || table.tells_alive(Process { pid, start: None }) != Some(false);
    let is_tmux = || table.stat(pid).is_none_or(|stat| stat.name.starts_with("tmux"));
    !(serves || runs() && is_tmux())
}
