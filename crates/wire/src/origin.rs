//! Where this hook runs, read from `/proc` (overview D3). A few short reads: an agent waits for them.

use std::fs::File;
use std::io::Read;

use rustix::process::getppid;

use crate::delivery::{Origin, Process, Tty};
use crate::env::origin_vars;

/// How many ancestors are looked at; shells, wrappers and multiplexers between hook and login are fewer.
pub const MAX_ANCESTORS: usize = 16;

/// Collects the facts about this process.
pub fn collect() -> Origin {
    let parent = getppid().map_or(0, |pid| pid.as_raw_nonzero().get() as u32);
    let (ancestors, tty) = walk(parent, read_stat);
    let cwd = std::env::current_dir().ok().map(|path| path.to_string_lossy().into_owned());
    Origin { ancestors, tty, cwd, vars: origin_vars(), machine: None }
}

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    tty: u32,
    start: u64,
}

/// Walks up from the hook's parent. The terminal is that of the nearest ancestor that has one: hosts start their hooks
/// without.
///
/// Pid 1 is nobody's agent on a machine (and an ancestor of everybody), so it is left out. In a container it may be the
/// agent itself: there it has a terminal.
fn walk(parent: u32, stat_of: impl Fn(u32) -> Option<Stat>) -> (Vec<Process>, Tty) {
    let (mut ancestors, mut tty, mut pid) = (Vec::new(), None, parent);
    let mut complete = true;
    // Parent 0: the top of this process tree, or a parent outside of the container.
    while pid != 0 {
        if ancestors.len() == MAX_ANCESTORS {
            complete = false;
            break;
        }
        if pid == 1 && tty.is_some() {
            break;
        }
        let stat = stat_of(pid);
        if pid != 1 || stat.is_some_and(|stat| stat.tty != 0) {
            ancestors.push(Process { pid, start: stat.map(|stat| stat.start) });
        }
        let Some(stat) = stat else {
            complete = false;
            break;
        };
        if stat.tty != 0 && tty.is_none() {
            tty = Some(stat.tty);
        }
        pid = stat.parent;
    }
    let tty = match tty {
        Some(device) => terminal(device),
        // An orphaned hook knows no ancestor at all, which proves nothing.
        None if complete && !ancestors.is_empty() => Tty::None,
        None => Tty::Unknown,
    };
    (ancestors, tty)
}

fn read_stat(pid: u32) -> Option<Stat> {
    let mut bytes = [0; 1024];
    let len = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut bytes).ok()?;
    parse_stat(&bytes[..len])
}

/// Reads the fields after the command name, which may hold spaces, brackets and foreign bytes.
fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let after_name = bytes.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = str::from_utf8(&bytes[after_name..]).ok()?.split_ascii_whitespace();
    // Fields 4, 7 and 22 of proc_pid_stat(5); the first one here is field 3. The device number is a signed int.
    let parent = fields.nth(1)?.parse().ok()?;
    let tty = fields.nth(2)?.parse::<i32>().ok()? as u32;
    let start = fields.nth(14)?.parse().ok()?;
    Some(Stat { parent, tty, start })
}

/// Names a terminal by its device number: major in bits 8 to 19, minor in the others.
fn terminal(device: u32) -> Tty {
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00);
    match (major, minor) {
        // Pseudo-terminals: eight majors, of which Linux uses the first with a wide minor.
        (136..=143, minor) => Tty::Named(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
        (4, 0..=63) => Tty::Named(format!("/dev/tty{minor}")),
        (4, 64..=255) => Tty::Named(format!("/dev/ttyS{}", minor - 64)),
        _ => Tty::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTS_3: u32 = 136 << 8 | 3;

    fn walked(parent: u32, tree: &[(u32, u32, u32)]) -> (Vec<u32>, Tty) {
        let stat_of = |pid| {
            let (_, parent, tty) = *tree.iter().find(|(of, ..)| *of == pid)?;
            Some(Stat { parent, tty, start: u64::from(pid) * 100 })
        };
        let (ancestors, tty) = walk(parent, stat_of);
        assert!(
            ancestors.iter().all(|process| process.start.is_none_or(|at| at == u64::from(process.pid) * 100))
        );
        (ancestors.iter().map(|process| process.pid).collect(), tty)
    }

    #[test]
    fn the_nearest_terminal_counts() {
        let tree = [(50, 40, 0), (40, 30, PTS_3), (30, 1, 136 << 8 | 9), (1, 0, 0)];
        assert_eq!(walked(50, &tree), (vec![50, 40, 30], Tty::Named("/dev/pts/3".into())));
    }

    #[test]
    fn none_is_said_only_when_the_whole_chain_was_seen() {
        assert_eq!(walked(50, &[(50, 40, 0), (40, 1, 0), (1, 0, 0)]), (vec![50, 40], Tty::None));
        assert_eq!(walked(50, &[(50, 40, 0), (40, 0, 0)]), (vec![50, 40], Tty::None));
        assert_eq!(walked(50, &[(50, 40, 0)]), (vec![50, 40], Tty::Unknown));
        assert_eq!(walked(1, &[(1, 0, 0)]), (vec![], Tty::Unknown));
        assert_eq!(walked(0, &[]), (vec![], Tty::Unknown));
    }

    #[test]
    fn pid_1_counts_where_it_has_a_terminal() {
        assert_eq!(walked(7, &[(7, 1, 0), (1, 0, PTS_3)]), (vec![7, 1], Tty::Named("/dev/pts/3".into())));
    }

    #[test]
    fn the_walk_is_bounded() {
        let long: Vec<_> = (2..100).map(|pid| (pid, pid + 1, 0)).collect();
        let (ancestors, tty) = walked(2, &long);
        assert_eq!((ancestors.len(), tty), (MAX_ANCESTORS, Tty::Unknown));
        assert_eq!(walked(5, &[(5, 5, 0)]).0.len(), MAX_ANCESTORS);
    }

    #[test]
    fn a_command_name_may_hold_anything() {
        let line = b"77 (a) b) \xff 1) S 42 77 77 34819 77 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 99 9";
        assert_eq!(parse_stat(line), Some(Stat { parent: 42, tty: PTS_3, start: 123_456 }));
        assert_eq!(parse_stat(b"77 (a) S 42"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn terminals_are_named_by_their_device() {
        assert_eq!(terminal(136 << 8 | 0x2c | 1 << 20), Tty::Named("/dev/pts/300".into()));
        assert_eq!(terminal(4 << 8 | 2), Tty::Named("/dev/tty2".into()));
        assert_eq!(terminal(4 << 8 | 65), Tty::Named("/dev/ttyS1".into()));
        assert_eq!(terminal(229 << 8), Tty::Some);
    }

    #[test]
    fn this_process_has_ancestors() {
        let own = read_stat(std::process::id()).unwrap();
        let origin = collect();
        assert!(own.parent <= 1 || origin.ancestors[0].pid == own.parent);
        assert!(origin.ancestors.iter().all(|process| process.start.is_some()));
        assert_eq!(origin.cwd, Some(std::env::current_dir().unwrap().to_str().unwrap().to_owned()));
    }
}
