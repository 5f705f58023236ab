//! Starts, awaits and ends processes. Everything that runs in a check is started here.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// What a process wrote beyond this is dropped: a check needs the beginning.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;
/// How long output is awaited after the process is gone: a descendant may still hold it open.
const OUTPUT_WAIT: Duration = Duration::from_secs(1);

/// Makes a command with exactly this environment and nothing on its stdin.
pub fn command(program: impl AsRef<OsStr>, env: &[(String, String)]) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the runner's one wrapper; checks need a terminal, uids and timing that machine's does not give"
    )]
    let mut command = Command::new(program);
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null());
    command
}

/// What a process left behind.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Exit status; a signal counts as its number below zero, a time-out as none.
    pub exit: Option<i64>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// From its start to its end.
    pub took: Duration,
    /// When it ended.
    pub ended: Option<Instant>,
}

/// Runs a command to its end, or ends it and all of its group after a time.
///
/// # Errors
/// It could not be started.
pub fn run(mut command: Command, limit: Duration) -> std::io::Result<Finished> {
    use std::os::unix::process::CommandExt as _;
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let started = Instant::now();
    let mut child = command.spawn()?;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = wait_within(&mut child, limit, true);
    let ended = Instant::now();
    Ok(Finished {
        exit: status.map(exit_number),
        stdout: stdout.recv_timeout(OUTPUT_WAIT).unwrap_or_default(),
        stderr: stderr.recv_timeout(OUTPUT_WAIT).unwrap_or_default(),
        took: ended - started,
        ended: Some(ended),
    })
}

/// Reads a pipe to its end in a thread of its own.
pub fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut kept = Vec::new();
            // What was read before an error is what there is.
            let _ = pipe.by_ref().take(MAX_OUTPUT_BYTES).read_to_end(&mut kept);
            let _ = sender.send(kept);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        });
    }
    receiver
}

/// Waits for a process; after the limit it (with `group`: its process group) is ended and `None` returned.
pub fn wait_within(child: &mut Child, limit: Duration, group: bool) -> Option<ExitStatus> {
    let pid = pid_of(child.id());
    let (gone, is_gone) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let late = is_gone.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        if late && let Some(pid) = pid {
            let _ =
                if group { kill_process_group(pid, Signal::KILL) } else { kill_process(pid, Signal::KILL) };
        }
        late
    });
    let status = child.wait();
    drop(gone);
    let late = watch.join().unwrap_or(false);
    status.ok().filter(|_| !late)
}

/// Asks a process to stop, and ends it when it does not in time. Returns false in that case.
pub fn stop(child: &mut Child, patience: Duration) -> bool {
    if !matches!(child.try_wait(), Ok(None)) {
        return true;
    }
    if let Some(pid) = pid_of(child.id()) {
        let _ = kill_process(pid, Signal::TERM);
    }
    wait_within(child, patience, false).is_some()
}

/// Ends every process that was started with a mark in its environment, and what it started in turn.
///
/// The mark holds a scratch path of this run, so no other process can have it.
pub fn end_all_marked(mark: &str) {
    // The environment of a process that is just becoming another program reads as empty, so nothing found counts
    // only when it is found twice.
    let mut nothing_found = 0;
    for _ in 0..20 {
        let marked = marked(mark);
        nothing_found = if marked.is_empty() { nothing_found + 1 } else { 0 };
        if nothing_found == 2 {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn marked(mark: &str) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| *pid != std::process::id()) else { continue };
        // Processes of others and those that are gone cannot be read, and are none of ours.
        let Ok(env) = fs::read(entry.path().join("environ")) else { continue };
        if env.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            found.extend(pid_of(pid));
        }
    }
    found
}

/// An exit status as a number; a signal counts as its number below zero.
pub fn exit_number(status: ExitStatus) -> i64 {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => i64::from(code),
        (None, Some(signal)) => -i64::from(signal),
        (None, None) => -1,
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, env: &[(String, String)]) -> Command {
        let mut command = command("/bin/sh", env);
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn a_process_sees_only_the_environment_it_is_given() {
        let env = [("ONLY".to_owned(), "this".to_owned())];
        let finished =
            run(sh("echo $ONLY-$HOME; echo said >&2; exit 3", &env), Duration::from_secs(10)).unwrap();
        assert_eq!(finished.exit, Some(3));
        assert_eq!((finished.stdout, finished.stderr), (b"this-\n".to_vec(), b"said\n".to_vec()));
    }

    #[test]
    fn a_process_that_hangs_is_ended_with_what_it_started() {
        let finished = run(sh("sleep 60 & sleep 60", &[]), Duration::from_millis(200)).unwrap();
        assert_eq!(finished.exit, None);
        assert!(finished.took < Duration::from_secs(30));
    }

    #[test]
    fn only_marked_processes_are_ended() {
        let mark = format!("SCRATCH=/nowhere/{}", std::process::id());
        let env = [("SCRATCH".to_owned(), mark.split_once('=').unwrap().1.to_owned())];
        let sleeper = |env| {
            let mut command = command("/bin/sleep", env);
            command.arg("60").spawn().unwrap()
        };
        let mut other = sleeper(&[][..]);
        let mut ours = sleeper(&env);
        end_all_marked(&mark);
        assert_eq!(exit_number(ours.wait().unwrap()), -9);
        assert!(matches!(other.try_wait(), Ok(None)));
        assert!(stop(&mut other, Duration::from_secs(10)));
    }
}
