//! What a check needs of the product and the runner, and what this runner can do.

use std::collections::BTreeSet;

/// Every need a case may name.
pub const NEEDS: [&str; 18] = [
    "hooks",
    "transcript",
    "screen",
    "process",
    "tmux",
    "clock",
    "restart",
    "notify",
    "log",
    "command",
    "http",
    "stream",
    "web",
    "install",
    "doctor",
    "redact",
    "clean",
    "root",
];

/// The needs this product can meet so far. `root` is asked of the system at run time.
const MET: [&str; 15] = [
    "hooks",
    "notify",
    "command",
    "http",
    "log",
    "restart",
    "clock",
    "clean",
    "redact",
    "tmux",
    "install",
    "doctor",
    "transcript",
    "screen",
    "process",
];

/// The hosts whose hooks the product reads.
const HOSTS: [&str; 7] = ["claude", "codex", "cursor", "gemini", "copilot", "opencode", "droid"];

/// Needs that only single keys of a replay ask for: without them the other keys are still decided.
const BY_KEY: [&str; 3] = ["notify", "tmux", "log"];

/// What this runner can do.
#[derive(Clone, Debug)]
pub struct Abilities {
    needs: BTreeSet<String>,
    hosts: BTreeSet<String>,
}

impl Abilities {
    /// Returns what the product can do so far; `root` tells whether the runner may take another uid.
    pub fn of_this_product(root: bool) -> Abilities {
        let mut needs: BTreeSet<String> = MET.into_iter().map(str::to_owned).collect();
        if root {
            needs.insert("root".into());
        }
        Abilities { needs, hosts: HOSTS.into_iter().map(str::to_owned).collect() }
    }

    /// Adds a need, to try what the product does not claim yet.
    pub fn with(mut self, need: &str) -> Abilities {
        self.needs.insert(need.to_owned());
        self
    }

    /// Takes a need away.
    pub fn without(mut self, need: &str) -> Abilities {
        self.needs.remove(need);
        self
    }

    /// Tells whether a need is met.
    pub fn meets(&self, need: &str) -> bool {
        self.needs.contains(need)
    }

    /// Returns the first need or host that is missing for a whole check (`in_process`: a replay or a table), `root` last: a line that is not run for
    /// `root` alone does not keep a case from passing.
    pub fn missing(
        &self,
        check_needs: &[String],
        check_hosts: &[String],
        in_process: bool,
    ) -> Option<String> {
        let decided_here = |need: &str| in_process && BY_KEY.contains(&need);
        let lacking = |need: &&String| !self.meets(need) && !decided_here(need);
        let need = check_needs.iter().filter(lacking).min_by_key(|need| need.as_str() == "root");
        match need {
            Some(need) if need != "root" => Some(need.clone()),
            root => {
                let host = check_hosts.iter().find(|host| !self.hosts.contains(*host));
                host.or(root).cloned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(needs: &[&str], hosts: &[&str], replay: bool, abilities: &Abilities) -> Option<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        abilities.missing(&owned(needs), &owned(hosts), replay)
    }

    #[test]
    fn the_first_missing_need_or_host_is_named_and_root_comes_last() {
        let plain = Abilities::of_this_product(false);
        assert_eq!(missing(&["hooks", "notify"], &["claude"], true, &plain), None);
        assert_eq!(missing(&["hooks", "web"], &["claude"], true, &plain).as_deref(), Some("web"));
        assert_eq!(missing(&["hooks"], &["claude", "amp"], true, &plain).as_deref(), Some("amp"));
        assert_eq!(missing(&["root", "web"], &[], false, &plain).as_deref(), Some("web"));
        assert_eq!(missing(&["root"], &["amp"], false, &plain).as_deref(), Some("amp"));
        assert_eq!(missing(&["http", "root"], &[], false, &plain).as_deref(), Some("root"));
        assert_eq!(missing(&["http", "root"], &[], false, &Abilities::of_this_product(true)), None);
    }

    #[test]
    fn a_replay_goes_on_without_what_only_single_keys_need() {
        let deaf = Abilities::of_this_product(false).without("notify").without("hooks");
        assert_eq!(missing(&["notify"], &[], true, &deaf), None);
        assert_eq!(missing(&["notify"], &[], false, &deaf).as_deref(), Some("notify"));
        assert_eq!(missing(&["hooks"], &[], true, &deaf).as_deref(), Some("hooks"));
        assert_eq!(missing(&["hooks"], &[], true, &deaf.with("hooks")), None);
    }
}
