//! tmux, and agents that run in terminals without hooks.

use std::collections::BTreeMap;

use herdbook_api::v1::Agent;

use super::check::{Check, Mend, finding};
use crate::model::is_hookable;
use crate::setup::tmux::{Block, Standing};
use crate::text::counted;

/// Looks at the block in tmux's configuration and at the running servers. `is_there`: tmux is on `PATH`.
pub fn tmux(is_there: bool, standing: Result<Standing, String>) -> Option<Check> {
    const INSTALL: &str = "herdbook install tmux";
    let standing = match standing {
        Ok(standing) => standing,
        Err(words) => return is_there.then(|| Check::warning("tmux", finding::UNREADABLE, words)),
    };
    let path = standing.path.display();
    Some(match standing.block {
        // Nobody without tmux is told to set it up.
        Block::Absent if !is_there => return None,
        Block::Absent => {
            Check::warning("tmux", finding::NOT_INSTALLED, "no keys and no status segment of ours")
                .fix(INSTALL)
        }
        Block::Stale => {
            let words = format!("the block in {path} is not as this version writes it");
            Check::warning("tmux", finding::STALE_ENTRIES, words).fix(INSTALL).mend(Mend::Tmux)
        }
        Block::Damaged(words) => {
            Check::fault("tmux", finding::DAMAGED, format!("{path}: {words}")).fix(format!("edit {path}"))
        }
        Block::Current if standing.without.is_empty() => Check::ok("tmux", format!("keys in {path}")),
        Block::Current => {
            let words = format!(
                "{} without the keys in {path}",
                match standing.without.len() {
                    1 => "a running server is".to_owned(),
                    many => format!("{many} running servers are"),
                }
            );
            Check::warning("tmux", finding::STALE_ENTRIES, words).fix(INSTALL).mend(Mend::Tmux)
        }
    })
}

/// Counts the agents that run and that no hook was seen of.
pub fn agents(agents: &[Agent]) -> Check {
    let (agents, others): (Vec<&Agent>, Vec<&Agent>) = agents.iter().partition(|agent| is_hookable(agent));
    if agents.is_empty() {
        let others = others.len() as u64;
        let none = "no agent runs without hooks".to_owned();
        let words = if others == 0 { none } else { format!("{none}, but {others} that there are none for") };
        return Check::ok("agents", words);
    }
    let mut by_host: BTreeMap<&str, u64> = BTreeMap::new();
    for agent in &agents {
        *by_host.entry(&agent.host).or_default() += 1;
    }
    let hosts: Vec<String> = by_host.iter().map(|(host, count)| format!("{count} {host}")).collect();
    let count = agents.len() as u64;
    let words = format!("{} running without hooks: {}", counted(count, "agent"), hosts.join(", "));
    Check::warning("agents", finding::NO_HOOK, words).fix("herdbook install, then restart them")
}

#[cfg(test)]
mod tests {
    use super::super::check::Level;
    use super::*;

    fn standing(block: Block, without: &[&str]) -> Result<Standing, String> {
        let path = "/home/dev/.tmux.conf".into();
        Ok(Standing { path, block, without: without.iter().map(Into::into).collect() })
    }

    fn found(check: Option<Check>) -> Option<(Level, Option<&'static str>)> {
        check.map(|check| (check.level, check.finding))
    }

    #[test]
    fn the_block_is_there_stale_broken_or_not_wanted() {
        for (is_there, standing, expected) in [
            (true, standing(Block::Current, &[]), Some((Level::Ok, None))),
            (true, standing(Block::Current, &["/tmp/a"]), Some((Level::Warning, Some("stale-entries")))),
            (true, standing(Block::Stale, &[]), Some((Level::Warning, Some("stale-entries")))),
            (true, standing(Block::Absent, &[]), Some((Level::Warning, Some("not-installed")))),
            (false, standing(Block::Absent, &[]), None),
            (true, standing(Block::Damaged("line 3".into()), &[]), Some((Level::Fault, Some("damaged")))),
            (true, Err("no home".into()), Some((Level::Warning, Some("unreadable-settings")))),
            (false, Err("no home".into()), None),
        ] {
            assert_eq!(found(tmux(is_there, standing.clone())), expected, "{standing:?}");
        }
    }

    #[test]
    fn agents_without_hooks_are_counted_by_host() {
        let agent = |host: &str| Agent { host: host.into(), ..Agent::default() };
        assert_eq!(agents(&[]).level, Level::Ok);
        // Nothing can be done about an agent that there are no hooks for.
        let check = agents(&[agent("amp")]);
        assert_eq!(check.level, Level::Ok);
        assert_eq!(check.message, "no agent runs without hooks, but 1 that there are none for");
        let check = agents(&[agent("codex"), agent("claude"), agent("amp"), agent("codex")]);
        assert_eq!((check.level, check.finding), (Level::Warning, Some("no-hook")));
        assert_eq!(check.message, "3 agents running without hooks: 1 claude, 2 codex");
    }
}
