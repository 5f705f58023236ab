//! The `script` and `tmux` kinds: a program of the case is run, and its last line is what was observed.

use crate::case::expectations;
use crate::expect::Expectation;
use crate::node::{Node, Problem};

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
