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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use super::*;

    fn peer(pid: u32, start: u64) -> Peer {
        Peer::Unix(Some(Process { pid, start: Some(start) }))
    }

    #[test]
    fn whoever_runs_below_an_agent_or_cannot_be_told_is_no_human() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, parent, name) in [
            (10, 1, "bash"),
            (11, 10, "herdbook"),
            (20, 10, "sh"),
            (21, 20, "herdbook"),
            (31, 30, "herdbook"),
        ] {
            let place = folder.path().join(pid.to_string());
            fs::create_dir(&place).unwrap();
            let stat = format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid}00 0 0\n");
            File::create(place.join("stat")).unwrap().write_all(stat.as_bytes()).unwrap();
            File::create(place.join("cmdline")).unwrap().write_all(name.as_bytes()).unwrap();
        }
        let proc = Proc::at(folder.path());
        // A session of an agent whose program nobody knows by name.
        let agents = [Process { pid: 20, start: Some(2_000) }];
        let why = |peer: Peer| peer.is_no_human(&proc, &agents).err().unwrap_or_default();
        assert_eq!(why(peer(11, 1_100)), "");
        assert!(why(peer(21, 2_100)).contains("runs below an agent (process 20)"));
        assert!(why(peer(20, 2_000)).contains("runs below an agent (process 20)"), "nor is the agent itself");
        assert!(why(peer(11, 1_099)).contains("which connected, is gone"), "another one has its pid now");
        assert!(why(peer(99, 9_900)).contains("which connected, is gone"));
        assert!(why(peer(31, 3_100)).contains("nobody can tell"), "its parent is gone");
        assert!(why(Peer::Unix(None)).contains("does not tell who answers"));
        assert!(why(Peer::Tcp).contains("over the unix socket alone"));
        // The pid of a session that is over is nobody's.
        let past = [Process { pid: 20, start: Some(1) }];
        assert_eq!(peer(21, 2_100).is_no_human(&proc, &past), Ok(()));
    }
}
