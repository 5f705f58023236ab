//! The `script` and `tmux` kinds: a program of the case is run, and its last line is what was observed.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::expectations;
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::real::Tools;
use crate::real::bench::Bench;
use crate::real::process::{self, Finished};
use crate::report::Line;

/// A script check.
#[derive(Clone, Debug)]
pub struct Script {
    /// The command words; `@@CASE@@` stands for the case folder.
    pub run: Vec<String>,
    /// A daemon is started before.
    pub daemon_up: bool,
    /// A daemon is started afterwards, so that the spool is drained.
    pub read_back: bool,
    /// Seconds it may take.
    pub timeout_s: u64,
    /// What is expected of the script's facts and of the store.
    pub expect: Vec<Expectation>,
}

impl Script {
    /// Reads a script check.
    ///
    /// # Errors
    /// A field is missing or has another shape.
    pub fn read(node: &Node<'_>) -> Result<Script, Problem> {
        let run = node.member("run")?.texts()?;
        if run.is_empty() {
            return Err(node.problem("run has no words"));
        }
        let read_back = match node.maybe_text("read_back")?.as_deref() {
            None => false,
            Some("start-daemon") => true,
            Some(other) => return Err(node.problem(format_args!("read_back is start-daemon, not '{other}'"))),
        };
        Ok(Script {
            run,
            daemon_up: daemon_up(node)?,
            read_back,
            timeout_s: node.member("timeout_s")?.number()?,
            expect: expectations(node)?.collect(),
        })
    }

    /// Returns the first program it needs that is not on `PATH`.
    pub fn missing_program(&self, tools: &Tools, tmux: bool) -> Option<String> {
        let first = self.run.first().filter(|word| !word.contains("@@"));
        let needed = first.cloned().into_iter().chain(tmux.then(|| "tmux".to_owned()));
        needed.into_iter().find(|name| !tools.has_program(name))
    }

    /// Runs the script and tests what it printed and what the product says afterwards.
    ///
    /// # Errors
    /// The scratch folder, the daemon or the script could not be started.
    pub fn run(&self, case: &str, check: &str, case_dir: &Path, tools: &Tools) -> Result<Vec<Line>, String> {
        let case_dir = std::path::absolute(case_dir).unwrap_or_else(|_| case_dir.to_owned());
        let mut bench = Bench::new(tools, &case_dir, self.daemon_up)?;
        let words: Vec<String> = self.run.iter().map(|word| bench.fill_in(&case_dir, word)).collect();
        let (program, arguments) = words.split_first().ok_or("run has no words")?;
        let mut command = process::command(program, &bench.env);
        command.args(arguments).current_dir(bench.scratch.dir());
        let finished = process::run(command, Duration::from_secs(self.timeout_s))
            .map_err(|error| format!("{program} could not be started: {error}"))?;
        if self.read_back && bench.daemon.is_none() {
            bench.start_daemon()?;
        }
        let mut lines = bench.test(case, check, &self.expect, facts(&finished));
        if finished.exit != Some(0) {
            let said = last_line(&finished.stderr).unwrap_or_else(|| "it wrote no error".into());
            let what = if finished.exit.is_none() {
                "the script was ended for its time"
            } else {
                "the script failed"
            };
            for line in lines.iter_mut().filter(|line| line.ok == Some(false)) {
                line.reason = Some(format!("{what}: {said}"));
            }
        }
        Ok(lines)
    }
}

/// The members of the JSON object in the last line of a script, and its exit status.
fn facts(finished: &Finished) -> Value {
    let printed = last_line(&finished.stdout).and_then(|line| serde_json::from_str::<Value>(&line).ok());
    let mut facts = printed.filter(Value::is_object).unwrap_or_else(|| json!({}));
    facts["exit"] = json!(finished.exit);
    facts
}

fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// Reads `daemon`: up or none.
///
/// # Errors
/// It is missing or something else.
pub fn daemon_up(node: &Node<'_>) -> Result<bool, Problem> {
    let daemon = node.member("daemon")?;
    match daemon.text()? {
        "up" => Ok(true),
        "none" => Ok(false),
        other => Err(daemon.problem(format_args!("is up or none, not '{other}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_script_is_what_it_observed() {
        let finished =
            Finished { exit: Some(0), stdout: b"noise\n{\"a\": 1}\n\n".to_vec(), ..Finished::default() };
        assert_eq!(facts(&finished), json!({"a": 1, "exit": 0}));
        let finished = Finished { exit: None, stdout: b"[1]".to_vec(), ..Finished::default() };
        assert_eq!(facts(&finished), json!({"exit": null}));
    }
}
