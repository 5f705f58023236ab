//! Whether it is the human who speaks: an agent must not decide in its human's place (overview D9, D10).

use herdbook_machine::Proc;

use crate::error::Problem;

/// Refuses a command that an agent has started, or whose beginnings nobody can tell. A process of the same user can get
/// around that; it is a fence against an agent that runs commands.
///
/// # Errors
/// An agent is among the ancestors of this process.
pub fn by_human() -> Result<(), Problem> {
    match Proc::system().agent_among_ancestors(std::process::id()) {
        Ok(None) => Ok(()),
        Ok(Some(agent)) => Err(Problem::ByAgent { host: agent.host, pid: agent.pid }),
        Err(unknown) => Err(Problem::ByWhom(unknown)),
    }
}
