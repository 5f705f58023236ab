//! Which agent runs in a pane, told by its programs (field cases F-065, F-074).

use serde::{Deserialize, Serialize};

/// A process below a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeProcess {
    /// Process id.
    pub pid: u32,
    /// Its parent.
    #[serde(alias = "ppid")]
    pub parent: u32,
    /// Short name, `/proc/PID/comm`.
    #[serde(alias = "comm")]
    pub name: String,
    /// Command line, word by word.
    pub argv: Vec<String>,
}

/// How a host's program is told.
#[derive(Clone, Copy, Debug)]
pub struct AgentProgram {
    /// The host.
    pub host: &'static str,
    /// Names of its program or script.
    pub names: &'static [&'static str],
    /// Parts of the path of its script or executable, where the file name says nothing.
    pub paths: &'static [&'static str],
}

const PROGRAMS: &[AgentProgram] = &[
    AgentProgram {
        host: "claude",
        names: &["claude", "claude-code"],
        // The native install runs a file that is named by its version.
        paths: &["/@anthropic-ai/claude-code/", "/claude/versions/"],
    },
    AgentProgram { host: "codex", names: &["codex"], paths: &["/@openai/codex/"] },
    AgentProgram { host: "cursor", names: &["cursor-agent"], paths: &["/cursor-agent/versions/"] },
    AgentProgram { host: "gemini", names: &["gemini"], paths: &["/@google/gemini-cli/"] },
    AgentProgram { host: "copilot", names: &["copilot"], paths: &["/@github/copilot/"] },
    AgentProgram { host: "opencode", names: &["opencode"], paths: &["/opencode-ai/"] },
    AgentProgram { host: "amp", names: &["amp"], paths: &["/@sourcegraph/amp/"] },
    AgentProgram { host: "droid", names: &["droid"], paths: &[] },
];

/// Programs that run a script which is named in their arguments.
const INTERPRETERS: &[&str] =
    &["node", "bun", "deno", "python", "python3", "sh", "bash", "zsh", "dash", "env"];

/// The host whose agent runs in a pane: the one nearest to the pane's own process, since an agent can start others.
///
/// `command` is tmux's foreground command, which alone says little (`node`); `tree` holds the pane's process and all
/// below it. Only what is run counts: an editor that shows a file named like an agent is none.
pub fn agent_of_pane(command: &str, tree: &[TreeProcess]) -> Option<&'static str> {
    let mut level: Vec<&TreeProcess> = tree
        .iter()
        .filter(|process| !tree.iter().any(|other| other.pid == process.parent && other.pid != process.pid))
        .collect();
    // A table read while processes come and go may have circles; each is visited once.
    let mut seen: Vec<u32> = level.iter().map(|process| process.pid).collect();
    while !level.is_empty() {
        if let Some(host) = level.iter().find_map(|process| host_of(process)) {
            return Some(host);
        }
        level = tree
            .iter()
            .filter(|process| level.iter().any(|parent| parent.pid == process.parent))
            .filter(|process| !seen.contains(&process.pid))
            .collect();
        seen.extend(level.iter().map(|process| process.pid));
    }
    host_of_name(command)
}

/// The host whose agent a process is, told by what it runs.
pub(crate) fn host_of(process: &TreeProcess) -> Option<&'static str> {
    if let Some(host) = host_of_name(&process.name) {
        return Some(host);
    }
    let program = process.argv.first()?;
    // A login shell's name begins with a dash.
    let program_name = file_name(program.trim_start_matches('-'));
    host_of_name(program_name).or_else(|| host_of_path(program)).or_else(|| {
        if !INTERPRETERS.contains(&program_name) {
            return None;
        }
        let script = process.argv[1..].iter().find(|word| !word.starts_with('-') && !word.contains('='))?;
        host_of_name(file_name(script)).or_else(|| host_of_path(script))
    })
}

fn host_of_name(name: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|program| program.names.contains(&name)).map(|program| program.host)
}

fn host_of_path(path: &str) -> Option<&'static str> {
    PROGRAMS
        .iter()
        .find(|program| program.paths.iter().any(|part| path.contains(part)))
        .map(|program| program.host)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, argv: &[&str]) -> TreeProcess {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let name = file_name(argv.first().map_or("", |word| word)).to_owned();
        TreeProcess { pid, parent, name, argv }
    }

    #[test]
    fn an_agent_is_told_by_what_is_run() {
        for (argv, host) in [
            (vec!["claude"], Some("claude")),
            (
                vec!["node", "--no-warnings", "/usr/lib/node_modules/@openai/codex/bin/codex.js"],
                Some("codex"),
            ),
            (vec!["node", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"], Some("gemini")),
            (vec!["/home/dev/.local/share/claude/versions/2.1.332"], Some("claude")),
            (vec!["/bin/sh", "/scratch/agent1/claude"], Some("claude")),
            (vec!["vim", "claude"], None),
            (vec!["tail", "-f", "/var/log/codex"], None),
            (vec!["node", "server.js", "claude"], None),
        ] {
            let tree = [process(10, 1, &["-bash"]), process(11, 10, &argv)];
            assert_eq!(agent_of_pane("node", &tree), host, "{argv:?}");
        }
        assert_eq!(agent_of_pane("claude", &[]), Some("claude"));
        assert_eq!(agent_of_pane("node", &[]), None);
    }

    #[test]
    fn the_outer_agent_is_the_pane_s() {
        let tree =
            [process(12, 11, &["codex", "exec"]), process(11, 10, &["claude"]), process(10, 1, &["-zsh"])];
        assert_eq!(agent_of_pane("claude", &tree), Some("claude"));
    }

    #[test]
    fn a_circle_in_the_table_ends() {
        let tree = [process(10, 11, &["a"]), process(11, 10, &["b"])];
        assert_eq!(agent_of_pane("zsh", &tree), None);
    }
}
