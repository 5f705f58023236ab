//! Whether an agent stands above a process: what an agent has started must not decide in its human's place (overview
//! D9, D10).
//!
//! It is a fence, not a wall: a process of the same user can let its parent end, or have tmux start something for it.

use crate::agents::{TreeProcess, host_of};
use crate::process::Proc;

/// An agent that a process is, or runs below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentAbove {
    /// The host.
    pub host: &'static str,
    /// The agent's process id.
    pub pid: u32,
}

/// The process table does not tell who started a process: it ended meanwhile, or may not be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the process table does not tell who started process {pid}")]
pub struct UnknownLineage {
    /// The process.
    pub pid: u32,
}

impl Proc {
    /// Returns the nearest agent among a process and all those above it, with a terminal or without, doing one job or
    /// many.
    ///
    /// # Errors
    /// Nobody can tell; whoever asks must not take that for a no.
    pub fn agent_among_ancestors(&self, pid: u32) -> Result<Option<AgentAbove>, UnknownLineage> {
        let above = self.ancestors(pid);
        if let Some(agent) = above.iter().find_map(|process| self.agent_at(process.pid)) {
            return Ok(Some(agent));
        }
        // The last one's parent is init, or outside of our view, which is written as 0.
        let last = above.last().and_then(|process| self.stat(process.pid));
        match last {
            Some(stat) if stat.parent <= 1 => Ok(None),
            _ => Err(UnknownLineage { pid }),
        }
    }

    fn agent_at(&self, pid: u32) -> Option<AgentAbove> {
        let name = self.stat(pid)?.name;
        let mut process = TreeProcess { pid, parent: 0, name, argv: self.argv(pid) };
        let host = host_of(&process).or_else(|| {
            // A program may write another name and other words over its own, but not another file.
            let file = std::fs::read_link(self.root().join(pid.to_string()).join("exe")).ok()?;
            process.argv = vec![file.to_string_lossy().into_owned()];
            host_of(&process)
        })?;
        Some(AgentAbove { host, pid })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use super::*;

    /// A table of (pid, parent, command line, executable).
    fn table(rows: &[(u32, u32, &str, &str)]) -> (tempfile::TempDir, Proc) {
        let folder = tempfile::tempdir().unwrap();
        for (pid, parent, words, file) in rows {
            let place = folder.path().join(pid.to_string());
            fs::create_dir(&place).unwrap();
            let put = |name: &str, text: String| {
                File::create(place.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
            };
            let name = words.split(' ').next().unwrap().rsplit('/').next().unwrap();
            put(
                "stat",
                format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid}00 0 0\n"),
            );
            put("cmdline", words.replace(' ', "\0"));
            std::os::unix::fs::symlink(file, place.join("exe")).unwrap();
        }
        let proc = Proc::at(folder.path());
        (folder, proc)
    }

    #[test]
    fn an_agent_above_is_found_however_it_runs() {
        let (_folder, proc) = table(&[
            (10, 1, "-bash", "/bin/bash"),
            (20, 10, "node /usr/lib/node_modules/@openai/codex/bin/codex.js exec ls", "/usr/bin/node"),
            (21, 20, "bash -c herdbook", "/bin/bash"),
            (22, 21, "herdbook route trust", "/usr/bin/herdbook"),
            // It calls itself otherwise.
            (30, 10, "worker", "/home/dev/.local/share/claude/versions/2.1.332"),
            (31, 30, "herdbook hold on", "/usr/bin/herdbook"),
            (40, 10, "vim claude", "/usr/bin/vim"),
            (41, 40, "herdbook route trust", "/usr/bin/herdbook"),
            // In a container, where the outer process is not seen.
            (50, 0, "bash", "/bin/bash"),
        ]);
        let found =
            |pid| proc.agent_among_ancestors(pid).map(|agent| agent.map(|agent| (agent.host, agent.pid)));
        assert_eq!(found(22), Ok(Some(("codex", 20))));
        assert_eq!(found(20), Ok(Some(("codex", 20))), "an agent is no human either");
        assert_eq!(found(31), Ok(Some(("claude", 30))));
        assert_eq!((found(41), found(50)), (Ok(None), Ok(None)));
    }

    #[test]
    fn what_cannot_be_told_is_no_no() {
        let (_folder, proc) = table(&[(60, 59, "herdbook", "/usr/bin/herdbook")]);
        assert_eq!(proc.agent_among_ancestors(99), Err(UnknownLineage { pid: 99 }));
        assert_eq!(proc.agent_among_ancestors(60), Err(UnknownLineage { pid: 60 }), "its parent is gone");
    }
}
