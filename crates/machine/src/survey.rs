//! Looking for running agents and their panes: in `/proc`, and at the tmux servers of the user.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::discover::{Found, Row, Table, agents_in, pane_of};
use crate::env;
use crate::jump::socket_of;
use crate::process::{Proc, Process};
use crate::tmux::{Pane, Server, Tmux};

/// A tmux server that hangs is given up after this time. All are asked at once, so none waits for another.
const ANSWER_TIME: Duration = Duration::from_millis(500);
/// So many servers are asked in one look.
const SERVERS: usize = 32;
/// Panes are asked for again after this time, where nothing else makes it necessary: an agent that is in none may come
/// into one (`reptyr`), and a server that did not answer may.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// What is read of a process's environment to find `TMUX` in it.
const ENVIRON_BYTES: u64 = 256 << 10;

/// Where an agent sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPane {
    /// The server.
    pub server: Server,
    /// Pane id.
    pub id: String,
}

/// An agent that runs in a terminal under our own uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The host.
    pub host: &'static str,
    /// Its outermost process.
    pub process: Process,
    /// All its processes, the outermost included; its tools are none of them.
    pub processes: Vec<Process>,
    /// Working directory, if it could be read.
    pub cwd: Option<String>,
    /// Its terminal, if that has a usual name.
    pub tty: Option<String>,
    /// Start in Unix milliseconds, if the boot time is known.
    pub started_at_ms: Option<u64>,
    /// Its tmux pane, if it was proven.
    pub pane: Option<AgentPane>,
}

/// Looks for agents again and again, and remembers their panes: a pane's id stays with its process.
#[derive(Debug)]
pub struct Survey {
    table: Proc,
    folders: Vec<PathBuf>,
    panes: HashMap<Process, Option<AgentPane>>,
    asked: Option<Instant>,
}

impl Survey {
    /// A survey of this machine. Besides the servers that agents name, those in tmux's usual folder are asked.
    pub fn new(table: Proc) -> Survey {
        let uid = rustix::process::geteuid().as_raw();
        let places = [env::read(env::TMUX_TMPDIR).map(PathBuf::from), Some(PathBuf::from("/tmp"))];
        let folders = places.into_iter().flatten().map(|place| place.join(format!("tmux-{uid}"))).collect();
        Survey::with_folders(table, folders)
    }

    /// As [`Survey::new`], with other folders of sockets in place of the usual ones.
    pub fn with_folders(table: Proc, folders: Vec<PathBuf>) -> Survey {
        Survey { table, folders, panes: HashMap::new(), asked: None }
    }

    /// The agents that run now, by pid. Takes at most about [`ANSWER_TIME`] where a tmux server hangs; tmux is asked
    /// only for agents whose pane is not known.
    pub fn look(&mut self) -> Vec<Agent> {
        let table = self.table.copy();
        let found = agents_in(&table);
        self.panes.retain(|process, _| found.iter().any(|agent| agent.process == *process));
        let is_new = found.iter().any(|agent| !self.panes.contains_key(&agent.process));
        let is_open = self.panes.values().any(Option::is_none);
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= ASK_AGAIN);
        if is_new || (is_open && is_due) {
            self.asked = Some(Instant::now());
            let panes = ask(&self.sockets(&found));
            for agent in &found {
                let pane = pane_of(&table, agent, &panes);
                let pane = pane.map(|pane| AgentPane { server: pane.server.clone(), id: pane.id.clone() });
                // A server that does not answer now takes no pane away.
                let known = self.panes.entry(agent.process).or_default();
                *known = pane.or(known.take());
            }
        }
        let boot_ms = if found.is_empty() { None } else { self.table.boot_time_ms() };
        found.into_iter().map(|agent| self.told(agent, boot_ms)).collect()
    }

    fn told(&self, found: Found, boot_ms: Option<u64>) -> Agent {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let since_boot = found.process.start.map(|start| start.saturating_mul(1_000) / ticks);
        Agent {
            host: found.host,
            process: found.process,
            cwd: self.table.cwd(found.process.pid),
            started_at_ms: boot_ms.zip(since_boot).map(|(boot, since)| boot + since),
            pane: self.panes.get(&found.process).cloned().flatten(),
            processes: found.processes,
            tty: found.tty,
        }
    }

    /// The servers that the agents name, then those in the usual folders.
    fn sockets(&self, found: &[Found]) -> Vec<PathBuf> {
        let named = found.iter().filter_map(|agent| {
            let tmux = self.table.variable(agent.process.pid, env::TMUX)?;
            socket_of(&tmux).map(PathBuf::from)
        });
        let usual = self.folders.iter().flat_map(|folder| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<BTreeSet<_>>()
        });
        let mut sockets: Vec<PathBuf> = Vec::new();
        for socket in named.chain(usual) {
            if sockets.len() < SERVERS && !sockets.contains(&socket) {
                sockets.push(socket);
            }
        }
        sockets
    }
}

/// The panes of all these servers. One that cannot be asked says nothing.
fn ask(sockets: &[PathBuf]) -> Vec<Pane> {
    let one = |socket: &Path| Tmux::at(socket).timeout(ANSWER_TIME).panes().unwrap_or_default();
    thread::scope(|scope| {
        let asked: Vec<_> = sockets.iter().map(|socket| scope.spawn(move || one(socket))).collect();
        asked.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

impl Proc {
    /// A copy of the table, with the command lines of those that have a terminal and of all above them.
    fn copy(&self) -> Table {
        let mut table = Table::new();
        for entry in fs::read_dir(self.root()).into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(stat) = pid.and_then(|pid| self.stat(pid)) {
                let row = Row { stat, argv: Vec::new(), is_own: false, has_screen: false };
                table.insert(row.stat.pid, row);
            }
        }
        let mut asked: Vec<u32> =
            table.values().filter(|row| row.stat.tty != 0).map(|row| row.stat.pid).collect();
        while let Some(pid) = asked.pop() {
            let Some(row) = table.get_mut(&pid).filter(|row| row.argv.is_empty()) else { continue };
            let parent = row.stat.parent;
            row.argv = self.argv(pid);
            if row.argv.is_empty() {
                // A kernel thread, or one that has just ended: so that it is not read again.
                row.argv.push(String::new());
            }
            row.is_own = self.owner(pid) == Some(rustix::process::geteuid().as_raw());
            row.has_screen = row.stat.tty != 0 && self.has_screen(pid);
            if parent > 1 {
                asked.push(parent);
            }
        }
        table
    }

    /// Effective uid of a process. The folder's owner does not tell: it is root where the program may not be read, or
    /// keeps itself from being dumped (proc_pid(5)).
    fn owner(&self, pid: u32) -> Option<u32> {
        let text = fs::read(self.root().join(pid.to_string()).join("status")).ok()?;
        effective_uid(&String::from_utf8_lossy(&text))
    }

    /// Whether standard input or output is a terminal. A server that a program in a terminal started has pipes there.
    fn has_screen(&self, pid: u32) -> bool {
        let files = self.root().join(pid.to_string()).join("fd");
        let links: Vec<PathBuf> =
            ["0", "1"].iter().filter_map(|fd| fs::read_link(files.join(fd)).ok()).collect();
        links.is_empty() || links.iter().any(|link| link.starts_with("/dev/pts") || is_console(link))
    }

    /// Working directory of a process.
    fn cwd(&self, pid: u32) -> Option<String> {
        let link = fs::read_link(self.root().join(pid.to_string()).join("cwd")).ok()?;
        Some(link.to_string_lossy().into_owned())
    }

    /// One variable of a process's environment as it was at its start.
    fn variable(&self, pid: u32, name: &str) -> Option<String> {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        let file = fs::File::open(self.root().join(pid.to_string()).join("environ")).ok()?;
        file.take(ENVIRON_BYTES).read_to_end(&mut bytes).ok()?;
        let found = bytes.split(|byte| *byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(name.as_bytes())?;
            value.strip_prefix(b"=").filter(|value| !value.is_empty())
        })?;
        Some(String::from_utf8_lossy(found).into_owned())
    }

    /// When the machine was started, Unix milliseconds.
    fn boot_time_ms(&self) -> Option<u64> {
        let text = fs::read_to_string(self.root().join("stat")).ok()?;
        let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?;
        seconds.trim().parse::<u64>().ok().map(|seconds| seconds * 1_000)
    }
}

/// The second number after `Uid:` (proc_pid_status(5)).
fn effective_uid(status: &str) -> Option<u32> {
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    uids.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn is_console(link: &Path) -> bool {
    let name = link.as_os_str().as_bytes();
    name.strip_prefix(b"/dev/").is_some_and(|name| name.starts_with(b"tty") || name == b"console")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_the_effective_uid_and_not_who_owns_the_folder() {
        assert_eq!(effective_uid("Name:\tclaude\nUid:\t1000\t0\t0\t0\nGid:\t7\t7\t7\t7\n"), Some(0));
        assert_eq!(effective_uid("Name:\tUid:\n"), None);
        // As another user sees it: the folder of a process that cannot be dumped is root's.
        assert_eq!(Proc::system().owner(std::process::id()), Some(rustix::process::geteuid().as_raw()));
    }
}
