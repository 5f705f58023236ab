//! Processes, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::agents::TreeProcess;
use crate::identity::Identity;

/// How far up or down a family of processes is followed.
const DEEPEST: usize = 64;

/// So many open files of a process are looked at.
const OPEN_FILES: usize = 1024;

/// `ESRCH`, which reading in `/proc` gives when the process ends meanwhile.
const NO_SUCH_PROCESS: i32 = 3;

/// One process, told apart from later ones with the same pid by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start in clock ticks since boot (`/proc/PID/stat` field 22); `None` where it is not known.
    pub start: Option<u64>,
}

/// What `/proc/PID/stat` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Process id.
    pub pid: u32,
    /// Short name of the program.
    pub name: String,
    /// State letter; `Z` and `X` have ended.
    pub state: char,
    /// Parent.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Device number of the controlling terminal, 0 for none.
    pub tty: u32,
    /// Process group in the foreground of that terminal.
    pub foreground: Option<u32>,
    /// Start in clock ticks since boot.
    pub start: u64,
}

/// The controlling terminal of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// It has none.
    None,
    /// It has one without a usual name.
    Some,
    /// Its path, `/dev/pts/3`.
    Named(String),
}

/// The process table, or a copy of one in a folder.
#[derive(Clone, Debug)]
pub struct Proc {
    root: PathBuf,
    own_uid: u32,
}

impl Proc {
    /// The table of this machine.
    pub fn system() -> Self {
        Self::at("/proc")
    }

    /// A table in a folder, for tests.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), own_uid: rustix::process::geteuid().as_raw() }
    }

    /// The folder of the table.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The id of this boot.
    pub fn boot_id(&self) -> Option<String> {
        let text = fs::read_to_string(self.root.join("sys/kernel/random/boot_id")).ok()?;
        Some(text.trim().to_owned())
    }

    /// The files with a name that a process has open, where it may be asked; so many at most.
    pub fn open_files(&self, pid: u32) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join(pid.to_string()).join("fd"));
        let links = entries.into_iter().flatten().flatten().take(OPEN_FILES);
        let named = links.filter_map(|entry| fs::read_link(entry.path()).ok());
        named.filter(|path| path.is_absolute()).collect()
    }

    /// Reads one process; `None` if it is not there.
    pub fn stat(&self, pid: u32) -> Option<Stat> {
        // The name may hold any bytes.
        let bytes = fs::read(self.root.join(pid.to_string()).join("stat")).ok()?;
        parse_stat(&String::from_utf8_lossy(&bytes))
    }

    /// What the pid is now, in a form to record or to compare with [`crate::same_process`].
    pub fn identity(&self, pid: u32) -> Option<Identity> {
        let stat = self.stat(pid).filter(|stat| !matches!(stat.state, 'Z' | 'X'))?;
        let owner = fs::metadata(self.root.join(pid.to_string())).ok()?.uid();
        Some(Identity {
            pid,
            start_ticks: Some(stat.start),
            boot_id: self.boot_id(),
            boot_time: None,
            other_user: owner != self.own_uid && self.own_uid != 0,
        })
    }

    /// Path of the executable that the process runs, for one of our own that is still the same.
    pub fn program(&self, process: Process) -> Option<PathBuf> {
        let identity = self.identity(process.pid).filter(|identity| !identity.other_user)?;
        if process.start.is_some() && process.start != identity.start_ticks {
            return None;
        }
        fs::read_link(self.root.join(process.pid.to_string()).join("exe")).ok()
    }

    /// Whether the process runs. One that has ended and waits to be collected does not; without a recorded start the
    /// pid alone counts.
    pub fn is_alive(&self, process: Process) -> bool {
        self.stat(process.pid).is_some_and(|stat| {
            !matches!(stat.state, 'Z' | 'X') && process.start.is_none_or(|start| start == stat.start)
        })
    }

    /// As [`Proc::is_alive`], but `None` where the table does not tell: it cannot be read, or another process has the
    /// pid and no start was recorded to tell them apart.
    pub fn tells_alive(&self, process: Process) -> Option<bool> {
        let stat = match fs::read(self.root.join(process.pid.to_string()).join("stat")) {
            Ok(bytes) => parse_stat(&String::from_utf8_lossy(&bytes))?,
            // The process ended before the file was opened, or while it was read.
            Err(error)
                if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS) =>
            {
                // Without a table nothing is there, and that says nothing.
                return self.root.join("self/stat").exists().then_some(false);
            }
            Err(_) => return None,
        };
        if matches!(stat.state, 'Z' | 'X') {
            // Only with a start is it known whose remains these are.
            return process.start.map(|_| false);
        }
        process.start.map(|start| start == stat.start)
    }

    /// The process and those above it, the nearest first, without pid 1.
    pub fn ancestors(&self, pid: u32) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        let mut next = pid;
        while next > 1 && found.len() < DEEPEST && !found.iter().any(|process| process.pid == next) {
            let Some(stat) = self.stat(next) else { break };
            found.push(Process { pid: next, start: Some(stat.start) });
            next = stat.parent;
        }
        found
    }

    /// Whether the process is `root` or runs below it (F-065: the agent still belongs to the pane).
    pub fn descends_from(&self, pid: u32, root: u32) -> bool {
        self.ancestors(pid).iter().any(|process| process.pid == root)
    }

    /// The controlling terminal, or `None` if the process is not there.
    pub fn terminal(&self, pid: u32) -> Option<Terminal> {
        Some(terminal_of(self.stat(pid)?.tty))
    }

    /// The command line, word by word.
    pub fn argv(&self, pid: u32) -> Vec<String> {
        let bytes = fs::read(self.root.join(pid.to_string()).join("cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    /// `root` and all processes below it.
    pub fn tree(&self, root: u32) -> Vec<TreeProcess> {
        let mut children: HashMap<u32, Vec<Stat>> = HashMap::new();
        let Some(first) = self.stat(root) else { return Vec::new() };
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(stat) = pid.filter(|pid: &u32| *pid != root).and_then(|pid| self.stat(pid)) {
                children.entry(stat.parent).or_default().push(stat);
            }
        }
        let mut found = Vec::new();
        let mut waiting = vec![first];
        while let Some(stat) = waiting.pop() {
            // Taking the children out visits each process once, whatever the table says.
            waiting.extend(children.remove(&stat.pid).unwrap_or_default());
            let argv = self.argv(stat.pid);
            found.push(TreeProcess { pid: stat.pid, parent: stat.parent, name: stat.name, argv });
        }
        found
    }
}

/// Reads the line of `/proc/PID/stat` (proc(5)). The name stands in parentheses and may hold any of them, and blanks.
fn parse_stat(line: &str) -> Option<Stat> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    Some(Stat {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(1)?).ok()?,
        group: u32::try_from(number(2)?).ok()?,
        tty: u32::try_from(number(4)? & 0xffff_ffff).ok()?,
        foreground: number(5).and_then(|group| u32::try_from(group).ok()),
        start: u64::try_from(number(19)?).ok()?,
    })
}

/// Names a terminal by its device number: majors 136 to 143 are pseudo terminals, 4 is the console.
pub(crate) fn terminal_of(device: u32) -> Terminal {
    let major = (device >> 8) & 0xfff;
    let minor = (device & 0xff) | ((device >> 12) & 0xfff00);
    match major {
        0 if minor == 0 => Terminal::None,
        136..=143 => Terminal::Named(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
        4 if minor < 64 => Terminal::Named(format!("/dev/tty{minor}")),
        _ => Terminal::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_around_any_name() {
        let line = "4242 (a) b (c) S 4000 4242 4000 34819 4242 4194304 1 0 0 0 1 2 0 0 20 0 1 0 880123 1 1";
        let stat = parse_stat(line).unwrap();
        assert_eq!((stat.pid, stat.name.as_str(), stat.state, stat.parent), (4242, "a) b (c", 'S', 4000));
        assert_eq!((stat.group, stat.tty, stat.foreground, stat.start), (4242, 34819, Some(4242), 880_123));
        assert_eq!(terminal_of(stat.tty), Terminal::Named("/dev/pts/3".into()));
        assert_eq!(parse_stat("4242 (a) S"), None);
    }

    #[test]
    fn terminals_are_named_by_their_number() {
        assert_eq!(terminal_of(0), Terminal::None);
        assert_eq!(terminal_of(4 << 8 | 1), Terminal::Named("/dev/tty1".into()));
        assert_eq!(terminal_of(136 << 8 | 0x0010_0000 | 2), Terminal::Named("/dev/pts/258".into()));
        assert_eq!(terminal_of(204 << 8), Terminal::Some);
    }

    fn table(rows: &[(u32, u32, char)]) -> (tempfile::TempDir, Proc) {
        let folder = tempfile::tempdir().unwrap();
        for (pid, parent, state) in rows {
            let place = folder.path().join(pid.to_string());
            fs::create_dir(&place).unwrap();
            let line =
                format!("{pid} (p{pid}) {state} {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid}00 0 0\n");
            std::io::Write::write_all(&mut fs::File::create(place.join("stat")).unwrap(), line.as_bytes())
                .unwrap();
        }
        let table = Proc::at(folder.path());
        (folder, table)
    }

    #[test]
    fn families_are_followed_both_ways_and_circles_end() {
        let (_folder, table) =
            table(&[(10, 1, 'S'), (20, 10, 'S'), (30, 20, 'S'), (40, 41, 'S'), (41, 40, 'S')]);
        let pids = |processes: Vec<Process>| processes.iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!(pids(table.ancestors(30)), [30, 20, 10]);
        assert_eq!(pids(table.ancestors(40)), [40, 41]);
        assert!(table.descends_from(30, 10) && table.descends_from(10, 10) && !table.descends_from(10, 20));
        let mut below: Vec<u32> = table.tree(10).iter().map(|process| process.pid).collect();
        below.sort_unstable();
        assert_eq!(below, [10, 20, 30]);
        assert_eq!(table.tree(40).len(), 2);
        assert!(table.tree(99).is_empty());
    }

    #[test]
    fn a_zombie_and_a_successor_are_not_alive() {
        let (_folder, table) = table(&[(10, 1, 'S'), (20, 10, 'Z')]);
        let alive = |pid, start| table.is_alive(Process { pid, start });
        assert!(alive(10, Some(1000)) && alive(10, None));
        assert!(!alive(10, Some(999)) && !alive(20, Some(2000)) && !alive(30, None));
        assert_eq!(table.identity(20), None);
    }

    #[test]
    fn a_process_is_gone_only_where_the_table_says_so() {
        let (folder, table) = table(&[(10, 1, 'S'), (20, 10, 'Z')]);
        let tells = |pid, start| table.tells_alive(Process { pid, start });
        assert_eq!(tells(30, Some(3000)), None, "there is no table: its own entry is missing");
        let own = folder.path().join("self");
        fs::create_dir(&own).unwrap();
        fs::File::create(own.join("stat")).unwrap();
        assert_eq!((tells(30, Some(3000)), tells(30, None)), (Some(false), Some(false)));
        assert_eq!(
            (tells(10, Some(1000)), tells(10, Some(999)), tells(10, None)),
            (Some(true), Some(false), None)
        );
        assert_eq!((tells(20, Some(2000)), tells(20, None)), (Some(false), None));
        fs::create_dir_all(folder.path().join("40/stat")).unwrap();
        assert_eq!(tells(40, Some(4000)), None, "it cannot be read");
    }

    #[test]
    fn this_test_runs() {
        let table = Proc::system();
        let own = table.identity(std::process::id()).unwrap();
        assert!(own.boot_id.is_some() && !own.other_user);
        assert!(table.is_alive(Process { pid: own.pid, start: own.start_ticks }));
        assert!(table.ancestors(own.pid).len() >= 2);
        assert!(!table.argv(own.pid).is_empty());
    }
}
