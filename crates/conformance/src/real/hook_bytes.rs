//! The `hook-bytes` kind: the real hook command, once per input.

use std::path::Path;

use crate::case::expectations;
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::real::Tools;
use crate::real::agent;
use crate::real::bench::Bench;
use crate::real::http::fill_in;
use crate::real::script::daemon_up;
use crate::real::stdin::{HookInput, read_inputs};
use crate::report::Line;

/// A hook-bytes check.
#[derive(Clone, Debug)]
pub struct HookBytes {
    /// The host whose adapter is called.
    pub host: String,
    /// A daemon runs while the hooks do.
    pub daemon_up: bool,
    /// One run of the hook each, in order.
    pub inputs: Vec<HookInput>,
    /// What holds for every run.
    pub each: Vec<Expectation>,
    /// What holds afterwards.
    pub expect: Vec<Expectation>,
}

impl HookBytes {
    /// Reads a hook-bytes check with all its inputs.
    ///
    /// # Errors
    /// A field is missing or has another shape, or a file is not there.
    pub fn read(node: &Node<'_>, dir: &Path) -> Result<HookBytes, Problem> {
        let mut inputs = Vec::new();
        for input in node.member("inputs")?.list()? {
            inputs.extend(read_inputs(&input, dir)?);
        }
        if inputs.is_empty() {
            return Err(node.problem("has no inputs"));
        }
        let each = node.member("each")?;
        Ok(HookBytes {
            host: node.member("host")?.text()?.to_owned(),
            daemon_up: daemon_up(node)?,
            inputs,
            each: Expectation::parse_all(each.value()).map_err(|error| each.problem(error))?,
            expect: expectations(node)?.collect(),
        })
    }

    /// Runs the hook for each input and tests each run, then what the product says afterwards.
    ///
    /// # Errors
    /// The scratch folder, the daemon or the stand-in agent could not be started.
    pub fn run(&self, case: &str, check: &str, case_dir: &Path, tools: &Tools) -> Result<Vec<Line>, String> {
        let mut bench = Bench::new(tools, case_dir, self.daemon_up)?;
        let mut inputs = self.inputs.clone();
        for input in &mut inputs {
            input.bytes = fill_in(&input.bytes, &bench.scratch.marks(case_dir));
        }
        let agent = agent::start(tools, &bench.scratch, &bench.env, &self.host, &inputs)?;
        let mut lines = Vec::new();
        for (number, run) in agent.runs.iter().enumerate() {
            for one in &self.each {
                let (found, ok) = one.test(run);
                let label = format!("{check} run {} {}", number + 1, one.path);
                lines.push(Line::tested(case, label, one.written.clone(), found, ok));
            }
        }
        if bench.daemon.is_none() {
            // What the hooks left in the spool is read by the product itself.
            bench.start_daemon()?;
        }
        lines.extend(bench.test(case, check, &self.expect, serde_json::Value::Null));
        drop(agent);
        Ok(lines)
    }
}
