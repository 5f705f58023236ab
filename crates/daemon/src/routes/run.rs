//! One run of a route.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use herdbook_hosts::{Decision, HostTable, NativeEvent, Outcome};
use herdbook_machine::{Command, Halt, Output, RunError};
use herdbook_redact::{clean_line, clip};

use super::load::LoadedRoute;

/// A route may print so much, and say so much of its faults.
const OUTPUT_BYTES: usize = 1 << 20;
/// So much of what it said last of its faults is told.
const WORDS_COLUMNS: usize = 200;

/// What became of one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it printed, where it ended by itself.
    pub printed: Vec<u8>,
    /// What it said of its faults on stderr, where it ended by itself.
    pub stderr: Vec<u8>,
    /// What it answered, checked against what it may; or how it failed, in words that go on after its name.
    pub answer: Result<Decision, String>,
    /// How long it took.
    pub took: Duration,
}

impl Run {
    /// A run that could not even begin.
    pub(crate) fn failed(why: &str) -> Run {
        Run { printed: Vec::new(), stderr: Vec::new(), answer: Err(why.to_owned()), took: Duration::ZERO }
    }
}

/// Runs a route to its end, at most so long, and reads what it answers to that event of a host. The caller's thread
/// waits. Whether the route is trusted is the caller's concern.
pub fn run(
    loaded: &LoadedRoute,
    (table, event): (&HostTable, &NativeEvent),
    input: Arc<[u8]>,
    limit: Duration,
    halt: Option<&Halt>,
) -> Run {
    let begun = Instant::now();
    let ended = ended(&loaded.path, input, limit, halt);
    let took = begun.elapsed();
    let output = match ended {
        Ok(output) => output,
        Err(why) => return Run { took, ..Run::failed(&why) },
    };
    let answer = printed(&output)
        .and_then(|stdout| {
            Decision::read(stdout).map_err(|why| format!("printed what is no answer: {}", words(&why)))
        })
        .and_then(|decision| loaded.route.admit(table, event, decision).map_err(|why| words(&why)));
    Run { printed: output.stdout, stderr: output.stderr, answer, took }
}

impl LoadedRoute {
    /// What counts in the place of an answer that there is not, for words as a [`Run`] has them.
    pub fn failed(&self, why: &str) -> Decision {
        if !self.route.closed {
            return Decision::default();
        }
        let reason = format!(
            "Herdbook's route {} failed: {why}. Nothing passes while it fails, so tell your human.",
            self.route.id
        );
        Decision { outcome: Outcome::Deny, reason: Some(reason), ..Decision::default() }
    }
}

fn ended(program: &Path, input: Arc<[u8]>, limit: Duration, halt: Option<&Halt>) -> Result<Output, String> {
    let mut command = Command::new(program).shared_stdin(input).timeout(limit).output_limit(OUTPUT_BYTES);
    if let Some(folder) = program.parent() {
        command = command.folder(folder);
    }
    if let Some(halt) = halt {
        command = command.halted_by(halt.clone());
    }
    command.run().map_err(|error| match error {
        RunError::TimedOut { after_ms, .. } => format!("did not answer within {after_ms} ms"),
        RunError::TooMuch { limit, .. } => format!("printed more than {limit} bytes"),
        RunError::Halted { .. } => "was ended before it answered".to_owned(),
        RunError::Start { source, .. } => unstarted(&source),
        RunError::Io { source, .. } => format!("could not be talked to: {source}"),
    })
}

/// Why it could not be started, in words of its first line where that is at fault.
fn unstarted(source: &io::Error) -> String {
    let is_no_program = source.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error());
    match source.kind() {
        io::ErrorKind::NotFound => {
            "could not be started: the program that its first line names is not there".to_owned()
        }
        _ if is_no_program => "could not be started: its first line must be one such as #!/bin/sh".to_owned(),
        _ => format!("could not be started: {source}"),
    }
}

/// What it printed, where it ended well.
fn printed(output: &Output) -> Result<&[u8], String> {
    let ended = match (output.code, output.signal) {
        (Some(0), _) => return Ok(&output.stdout),
        // As a shell's `grep … && echo …` does where there is nothing to find.
        (Some(code), _) if output.stdout.is_empty() && output.stderr.is_empty() => {
            return Err(format!("ended with exit code {code}; where it has nothing to say it must be 0"));
        }
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "did not end by itself".to_owned(),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    match stderr.lines().rev().map(words).find(|line| !line.is_empty()) {
        Some(last) => Err(format!("{ended}: {last}")),
        None => Err(ended),
    }
}

fn words(text: &str) -> String {
    clip(clean_line(text).trim(), WORDS_COLUMNS)
}
