//! Which agents run in terminals, told by a copy of the process table: the pure half of [`crate::Survey`].

use std::collections::HashMap;

use crate::agents::{TreeProcess, host_of};
use crate::process::{Process, Stat, Terminal, terminal_of};
use crate::tmux::Pane;

/// How far up a family of processes is followed.
const DEEPEST: usize = 64;

/// Words of a host's command line with which it serves another program or does one job and ends: no human sits at it.
/// A word that begins with a dash counts anywhere, another one only where the subcommand may stand.
const ASIDE: &[(&str, &[&str])] = &[
    ("claude", &["-p", "--print", "mcp", "plugin", "doctor", "update", "install", "setup-token", "config"]),
    (
        "codex",
        &["exec", "e", "review", "app-server", "mcp-server", "mcp", "login", "logout", "apply", "sandbox"],
    ),
    ("cursor", &["-p", "--print", "mcp", "acp", "login", "logout", "update"]),
    ("gemini", &["-p", "--prompt", "--acp", "--experimental-acp", "mcp", "extensions"]),
    ("copilot", &["-p", "--prompt", "--acp", "--server", "update"]),
    ("opencode", &["run", "serve", "web", "acp", "mcp", "auth", "upgrade", "models", "github"]),
    ("amp", &["-x", "--execute", "mcp", "login", "update", "threads"]),
    ("droid", &["exec", "mcp", "update"]),
];

/// One process of a copied table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub stat: Stat,
    /// Command line; empty where nobody needs it.
    pub argv: Vec<String>,
    /// It runs under our own uid.
    pub is_own: bool,
    /// What it reads and writes may be a terminal: standard input or output is one, or nobody could tell.
    pub has_screen: bool,
}

/// A copy of the process table, by pid.
pub(crate) type Table = HashMap<u32, Row>;

/// An agent that runs in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub host: &'static str,
    /// The outermost process.
    pub process: Process,
    /// All processes that are this agent: wrappers start the program proper beside them, in one process group.
    pub processes: Vec<Process>,
    /// Path of its terminal, if it has a usual name.
    pub tty: Option<String>,
}

/// The agents of our own uid that run in a terminal, by pid. Whatever an agent has started is not one of its own.
pub(crate) fn agents_in(table: &Table) -> Vec<Found> {
    let mut found: Vec<Found> = table
        .values()
        .filter_map(|row| {
            let host = host_in(row).filter(|_| row.is_own && row.stat.tty != 0 && row.has_screen)?;
            let is_inner = above(table, row).any(|outer| host_in(outer).is_some());
            (!is_inner && !is_aside(host, &row.argv)).then(|| Found {
                host,
                process: process_of(row),
                processes: members(table, row, host),
                tty: match terminal_of(row.stat.tty) {
                    Terminal::Named(path) => Some(path),
                    Terminal::None | Terminal::Some => None,
                },
            })
        })
        .collect();
    found.sort_by_key(|agent| agent.process.pid);
    found
}

/// The pane an agent sits in: the one that the nearest process above it was started in, or the one whose terminal it
/// has. Where the two name different panes neither is proven, and a wrong pane is worse than none (overview D11).
pub(crate) fn pane_of<'a>(table: &Table, agent: &Found, panes: &'a [Pane]) -> Option<&'a Pane> {
    let row = table.get(&agent.process.pid)?;
    let pane_with = |pid: u32| panes.iter().find(|pane| pane.pid == pid && !pane.is_dead);
    let by_tree = std::iter::once(row).chain(above(table, row)).find_map(|above| pane_with(above.stat.pid));
    let by_tty =
        agent.tty.as_ref().and_then(|tty| panes.iter().find(|pane| pane.tty == *tty && !pane.is_dead));
    match (by_tree, by_tty) {
        (Some(tree), Some(tty)) => {
            (tree.id == tty.id && tree.server.socket == tty.server.socket).then_some(tree)
        }
        (tree, tty) => tree.or(tty),
    }
}

/// The processes above, the nearest first, without pid 1.
fn above<'a>(table: &'a Table, row: &Row) -> impl Iterator<Item = &'a Row> {
    let parent = |pid: u32| table.get(&pid).filter(|_| pid > 1);
    let own = row.stat.pid;
    // A table read while processes come and go may have circles.
    std::iter::successors(parent(row.stat.parent), move |row| parent(row.stat.parent))
        .take_while(move |row| row.stat.pid != own)
        .take(DEEPEST)
}

/// The agent's own processes: itself, and those of its host below it in the same process group on the same terminal.
/// One that an agent's tool started is in a group of its own.
fn members(table: &Table, root: &Row, host: &str) -> Vec<Process> {
    let is_member = |row: &&Row| {
        row.stat.pid == root.stat.pid
            || (row.stat.group == root.stat.group
                && row.stat.tty == root.stat.tty
                && host_in(row) == Some(host)
                && above(table, row).any(|above| above.stat.pid == root.stat.pid))
    };
    let mut members: Vec<Process> = table.values().filter(is_member).map(process_of).collect();
    members.sort_by_key(|process| process.pid);
    members
}

fn host_in(row: &Row) -> Option<&'static str> {
    if matches!(row.stat.state, 'Z' | 'X') {
        return None;
    }
    host_of(&TreeProcess {
        pid: row.stat.pid,
        parent: row.stat.parent,
        name: row.stat.name.clone(),
        argv: row.argv.clone(),
    })
}

fn process_of(row: &Row) -> Process {
    Process { pid: row.stat.pid, start: Some(row.stat.start) }
}

/// Whether a command line is one of [`ASIDE`].
fn is_aside(host: &str, argv: &[String]) -> bool {
    let Some((_, words)) = ASIDE.iter().find(|(known, _)| *known == host) else { return false };
    // An interpreter's own words come before the script; the agent's after it.
    let script = argv.iter().position(|word| {
        let name = TreeProcess { argv: vec![word.clone()], ..TreeProcess::default() };
        host_of(&name) == Some(host)
    });
    let own = argv.get(script.unwrap_or(0) + 1..).unwrap_or_default();
    let own = own.split(|word| word == "--").next().unwrap_or_default();
    let is_listed = |word: &str| words.contains(&word.split('=').next().unwrap_or_default());
    own.iter().filter(|word| word.starts_with('-')).any(|word| is_listed(word))
        || subcommands(own).any(is_listed)
}

/// The words that may be the subcommand: up to the first one that does not follow an option. One that does may be the
/// option's value, and then a later one is the subcommand.
fn subcommands(own: &[String]) -> impl Iterator<Item = &str> {
    let is_option = |at: usize| own.get(at).is_some_and(|word| word.starts_with('-'));
    let follows_option = move |at: usize| {
        at.checked_sub(1).is_some_and(|before| is_option(before) && !own[before].contains('='))
    };
    let first = (0..own.len()).find(|at| !is_option(*at) && !follows_option(*at)).unwrap_or(own.len());
    (0..=first).filter(move |at| !is_option(*at)).filter_map(|at| own.get(at)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tmux::Server;

    const PTS_3: u32 = 136 << 8 | 3;
    const PTS_4: u32 = 136 << 8 | 4;

    fn row(pid: u32, parent: u32, group: u32, tty: u32, argv: &str) -> (u32, Row) {
        let argv: Vec<String> = argv.split(' ').map(str::to_owned).collect();
        let name = argv[0].rsplit('/').next().unwrap().chars().take(15).collect();
        let start = u64::from(pid) * 100;
        let stat = Stat { pid, name, state: 'S', parent, group, tty, foreground: Some(group), start };
        (pid, Row { stat, argv, is_own: true, has_screen: true })
    }

    fn pane(socket: &str, id: &str, pid: u32, tty: &str) -> Pane {
        Pane {
            server: Server { socket: socket.into(), pid: 5, started_at: 1 },
            id: id.into(),
            window: "@0".into(),
            session: "$0".into(),
            session_name: String::new(),
            pid,
            tty: tty.into(),
            is_active: true,
            is_current_window: true,
            is_dead: false,
            in_mode: false,
            command: String::new(),
            title: String::new(),
            cwd: String::new(),
        }
    }

    /// Hosts and pids of the agents in a table.
    fn found(rows: &[(u32, Row)]) -> Vec<(&'static str, u32)> {
        let table: Table = rows.iter().cloned().collect();
        agents_in(&table).into_iter().map(|agent| (agent.host, agent.process.pid)).collect()
    }

    #[test]
    fn an_agent_with_a_terminal_is_found_once_with_all_its_processes() {
        let rows = [
            row(10, 1, 10, PTS_3, "-bash"),
            row(11, 10, 11, PTS_3, "node /usr/lib/node_modules/@openai/codex/bin/codex.js"),
            row(12, 11, 11, PTS_3, "/usr/lib/node_modules/@openai/codex/vendor/codex"),
            // A tool of it, in a group of its own, and a language server.
            row(13, 12, 13, PTS_3, "claude -p hi"),
            row(14, 12, 11, PTS_3, "node /srv/language-server.js"),
        ];
        assert_eq!(found(&rows), [("codex", 11)]);
        let table: Table = rows.into_iter().collect();
        let agent = &agents_in(&table)[0];
        let pids: Vec<u32> = agent.processes.iter().map(|process| process.pid).collect();
        assert_eq!((pids, agent.process.start), (vec![11, 12], Some(1_100)));
        assert_eq!(agent.tty.as_deref(), Some("/dev/pts/3"));
    }

    #[test]
    fn an_agent_inside_another_is_not_its_own_even_of_the_same_host() {
        let rows = [
            row(20, 1, 20, PTS_3, "claude"),
            row(21, 20, 21, PTS_3, "claude"),
            row(22, 21, 22, 0, "bash -c x"),
            row(23, 22, 22, PTS_4, "gemini"),
        ];
        assert_eq!(found(&rows), [("claude", 20)]);
        let table: Table = rows.into_iter().collect();
        assert_eq!(agents_in(&table)[0].processes.len(), 1, "a tool's group is no part of it");
    }

    #[test]
    fn what_serves_others_or_does_one_job_is_no_agent_to_wait_for() {
        for (argv, expected) in [
            ("claude", true),
            ("claude --resume 4f1d", true),
            ("claude --model opus fix it -- -p", true),
            ("claude -p hi", false),
            ("claude --output-format json --print", false),
            ("claude mcp serve", false),
            ("/home/dev/.local/share/claude/versions/2.1.332 mcp serve", false),
            ("node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js --print hi", false),
            ("codex", true),
            ("codex resume --last", true),
            ("codex --no-daemon", true),
            ("codex exec ls", false),
            ("codex exec codex", false),
            ("codex -m o3 -c a=b exec ls", false),
            ("codex --full-auto exec ls", false),
            ("codex --search=1 exec", false),
            ("codex -m o3 fix exec", true),
            ("codex resume exec", true),
            ("gemini -p gemini", false),
            ("codex app-server --listen unix://", false),
            ("node --no-warnings /usr/lib/node_modules/@openai/codex/bin/codex.js exec ls", false),
            ("gemini --prompt=hi", false),
            ("node --no-warnings=DEP0040 /usr/bin/gemini", true),
            ("opencode", true),
            ("opencode run hi", false),
            ("copilot --acp", false),
            ("vim claude", false),
            ("python3 /srv/app.py claude", false),
        ] {
            assert_eq!(!found(&[row(30, 1, 30, PTS_3, argv)]).is_empty(), expected, "{argv}");
        }
    }

    #[test]
    fn no_terminal_no_screen_another_user_or_the_end_make_no_agent() {
        assert!(found(&[row(40, 1, 40, 0, "codex")]).is_empty());
        for change in [
            (|row: &mut Row| row.is_own = false) as fn(&mut Row),
            |row| row.has_screen = false,
            |row| row.stat.state = 'Z',
        ] {
            let mut only = row(40, 1, 40, PTS_3, "codex");
            change(&mut only.1);
            assert!(found(&[only]).is_empty());
        }
        assert_eq!(found(&[row(41, 42, 41, PTS_3, "amp"), row(42, 41, 41, PTS_3, "bash")]), [("amp", 41)]);
    }

    #[test]
    fn the_pane_is_that_of_the_nearest_process_above_or_of_the_terminal() {
        let table: Table = [
            row(50, 1, 50, PTS_3, "-zsh"),
            row(51, 50, 51, PTS_3, "claude"),
            // Its shell has ended.
            row(61, 1, 61, PTS_4, "codex"),
        ]
        .into_iter()
        .collect();
        let agents = agents_in(&table);
        let of = |agent: usize, panes: &[Pane]| {
            pane_of(&table, &agents[agent], panes).map(|pane| (pane.server.socket.clone(), pane.id.clone()))
        };
        let some = |socket: &str, id: &str| Some((socket.to_owned(), id.to_owned()));
        let panes = [
            pane("/a", "%1", 50, "/dev/pts/3"),
            pane("/b", "%1", 99, "/dev/pts/9"),
            pane("/b", "%2", 98, "/dev/pts/4"),
        ];
        assert_eq!(of(0, &panes), some("/a", "%1"));
        assert_eq!(of(1, &panes), some("/b", "%2"));
        assert_eq!(of(0, &panes[1..]), None);
        // `script` gives what it runs a terminal of its own.
        assert_eq!(of(0, &[pane("/a", "%1", 50, "/dev/pts/7")]), some("/a", "%1"));
        // Tree and terminal name different panes.
        assert_eq!(of(0, &[pane("/a", "%1", 50, "/dev/pts/7"), pane("/a", "%2", 90, "/dev/pts/3")]), None);
        let mut dead = pane("/a", "%1", 50, "/dev/pts/3");
        dead.is_dead = true;
        assert_eq!(of(0, &[dead]), None);
    }
}
