//! Who asks over a connection, and whether he may answer in the human's place (overview D9).
//!
//! An agent must not approve itself: whoever is one, or runs below one, is refused, and so is whoever cannot be told.
//! It is a fence, not a wall: another process of the same user can be made to ask.

use herdbook_events::Process;
use herdbook_machine::Proc;

/// The other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A process of this machine, over a unix socket, where it can be told.
    Unix(Option<Process>),
    /// Whoever it is, he came over TCP.
    Tcp,
}

impl Peer {
    /// Looks at once who connected: his pid may be another's later.
    pub(crate) fn of(stream: &tokio::net::UnixStream) -> Peer {
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let process = pid.and_then(|pid| u32::try_from(pid).ok()).and_then(|pid| {
            let stat = Proc::system().stat(pid)?;
            Some(Process { pid, start: Some(stat.start) })
        });
        Peer::Unix(process)
    }

    /// Returns his process.
    pub(crate) fn process(self) -> Option<Process> {
        match self {
            Peer::Unix(process) => process,
            Peer::Tcp => None,
        }
    }

    /// Says why he must not answer in the human's place. `agents` are the processes of the sessions that are known.
    pub(crate) fn is_no_human(self, proc: &Proc, agents: &[Process]) -> Result<(), String> {
        let Peer::Unix(process) = self else {
            return Err("answers are taken over the unix socket alone".to_owned());
        };
        let Some(process) = process else {
            return Err("the process table does not tell who answers".to_owned());
        };
        let pid = process.pid;
        let above = proc.ancestors(pid);
        if above.first().map(|own| own.start) != Some(process.start) {
            return Err(format!("process {pid}, which connected, is gone: nobody can tell who answers"));
        }
        let known = above.iter().find(|above| {
            let same = |agent: &&Process| {
                agent.pid == above.pid && (agent.start.is_none() || agent.start == above.start)
            };
            agents.iter().any(|agent| same(&agent))
        });
        if let Some(agent) = known {
            return Err(format!(
                "process {pid} runs below an agent (process {}): what an agent asks its human answers",
                agent.pid
            ));
        }
        match proc.agent_among_ancestors(pid) {
            Ok(None) => Ok(()),
            Ok(Some(agent)) => Err(format!(
                "process {pid} runs below an agent ({}, process {}): what an agent asks its human answers",
                agent.host, agent.pid
            )),
            Err(unknown) => Err(format!("{unknown}: nobody can tell whether an agent answers")),
        }
    }
}
