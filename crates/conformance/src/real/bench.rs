//! What a check against the real binaries works with: a scratch folder, its environment, maybe a daemon.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::expect::Expectation;
use crate::real::afterwards::Afterwards;
use crate::real::daemon::{Daemon, drained};
use crate::real::scratch::Scratch;
use crate::real::tools::Tools;
use crate::report::Line;

/// The place of one check. Fields drop in this order: the daemon stops before its folder goes.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The daemon, once started.
    pub daemon: Option<Daemon>,
    /// The scratch folder.
    pub scratch: Scratch,
    /// The environment of everything that runs in it.
    pub env: Vec<(String, String)>,
    /// The binaries.
    pub tools: &'a Tools,
}

impl<'a> Bench<'a> {
    /// Makes a fresh place, with a daemon in it where the check wants one.
    ///
    /// # Errors
    /// The scratch folder cannot be made, or the daemon does not start.
    pub fn new(tools: &'a Tools, case_dir: &Path, daemon_up: bool) -> Result<Bench<'a>, String> {
        let scratch = Scratch::new().map_err(|error| format!("no scratch folder: {error}"))?;
        let env = scratch.env(tools, case_dir);
        let mut bench = Bench { daemon: None, scratch, env, tools };
        if daemon_up {
            bench.start_daemon()?;
        }
        Ok(bench)
    }

    /// Starts the daemon; `DAEMON_PID` names it from now on.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_daemon(&mut self) -> Result<(), String> {
        let daemon = Daemon::start(self.tools, &self.scratch, &self.env)?;
        self.env.push(("DAEMON_PID".into(), daemon.pid().to_string()));
        self.daemon = Some(daemon);
        Ok(())
    }

    /// Puts the port and the paths of this check in the place of their marks.
    pub fn fill_in(&self, case_dir: &Path, text: &str) -> String {
        let mut filled = text.to_owned();
        for (mark, value) in self.scratch.marks(case_dir) {
            filled = filled.replace(mark, &value);
        }
        filled
    }

    /// Waits until the spool is empty (where a daemon runs to drain it), asks the product what these expectations are
    /// about, and tests them. `facts` are what the check itself observed.
    pub fn test(&mut self, case: &str, check: &str, expect: &[Expectation], facts: Value) -> Vec<Line> {
        let mut facts = match facts {
            Value::Object(members) => members,
            _ => serde_json::Map::new(),
        };
        let asked: BTreeSet<&str> = expect.iter().map(|one| first_key(&one.path)).collect();
        if self.daemon.is_some() {
            // What stays in the spool is seen in the numbers below.
            drained(&self.scratch);
        }
        let mut afterwards = Afterwards::new(self);
        for key in asked {
            if !facts.contains_key(key)
                && let Some(value) = afterwards.observe(key)
            {
                facts.insert(key.to_owned(), value);
            }
        }
        let observed = Value::Object(facts);
        let line = |one: &Expectation| {
            // The daemon calls nobody yet, so there is nothing that could be observed.
            if first_key(&one.path) == "notifications" {
                return Line::not_run(case, format!("{check} {}", one.path), one.written.clone(), "notify");
            }
            let (found, ok) = one.test(&observed);
            Line::tested(case, format!("{check} {}", one.path), one.written.clone(), found, ok)
        };
        expect.iter().map(line).collect()
    }
}

/// The part of a path before its first dot or bracket.
fn first_key(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}
