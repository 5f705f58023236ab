//! The pager: what shows a text that is longer than the screen.

use std::process::{Child, ChildStdin, Stdio};

use crate::demo::stop::Stop;
use crate::env::Env;
use crate::error::Problem;
use crate::printer::Printer;

/// A pager that reads what the printer prints.
pub struct Pager {
    child: Child,
    /// What `PAGER` says, where a shell runs it.
    words: Option<String>,
    /// Ctrl-C is the pager's while it shows something; it ends when it is told to.
    _stop: Option<Stop>,
}

impl Pager {
    /// Starts the pager of `PAGER`, else `less`, and lets it read along. Nothing where nobody reads, where `PAGER` is
    /// `cat`, or where there is none: then the text goes to the terminal.
    pub fn start(env: &Env, printer: &mut Printer) -> Option<Pager> {
        if !printer.is_read() {
            return None;
        }
        let (mut child, pipe) = spawn(env)?;
        if printer.divert(pipe).is_err() {
            // Nobody is there to read; it ends by itself.
            let _ = child.wait();
            return None;
        }
        Some(Pager { child, words: env.pager.clone(), _stop: Stop::watch().ok() })
    }

    /// Hands over the rest, and waits until it was read. A reader who has seen enough is no failure.
    ///
    /// # Errors
    /// The shell could not run what `PAGER` says, so nobody saw anything.
    pub fn finish(mut self, printer: &mut Printer) -> Result<(), Problem> {
        printer.rejoin();
        let code = self.child.wait().ok().and_then(|status| status.code());
        // POSIX, 2.8.2: a shell ends so where there is no such program, or it is none.
        match self.words {
            Some(words) if matches!(code, Some(126 | 127)) => Err(Problem::Pager { words }),
            _ => Ok(()),
        }
    }
}

/// Starts it. `PAGER` is a shell's word, as everywhere.
#[expect(
    clippy::disallowed_methods,
    reason = "the pager is the human's own, with his terminal and environment"
)]
fn spawn(env: &Env) -> Option<(Child, ChildStdin)> {
    let mut command = match env.pager.as_deref() {
        Some("cat") => return None,
        Some(words) => {
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-c", words]);
            shell
        }
        None => {
            let mut less = std::process::Command::new("less");
            less.arg("-FRX");
            less
        }
    };
    if !env.has_less {
        command.env("LESS", "FRX");
    }
    let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
    let pipe = child.stdin.take()?;
    Some((child, pipe))
}
