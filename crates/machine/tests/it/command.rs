//! Programs with limits.

use std::time::{Duration, Instant};

use herdbook_machine::{Command, Halt, Proc, Process, RunError};

fn shell(script: &str) -> Command {
    Command::new("/bin/sh").args(["-c", script])
}

#[test]
fn input_and_both_outputs_pass_whatever_their_size() {
    let input = "line\n".repeat(100_000);
    let output =
        shell("tee /dev/stderr").stdin(input.clone()).timeout(Duration::from_secs(30)).run().unwrap();
    assert!(output.is_success());
    assert_eq!(output.stdout, input.as_bytes());
    assert_eq!(output.stderr, input.as_bytes());
}

#[test]
fn a_program_that_does_not_read_its_input_ends_as_it_likes() {
    let output = shell("exit 3").stdin(vec![b'x'; 1 << 20]).run().unwrap();
    assert_eq!((output.code, output.signal), (Some(3), None));
    let output = shell("kill -9 $$").run().unwrap();
    assert_eq!((output.code, output.signal), (None, Some(9)));
}

#[test]
fn input_stays_open_until_the_answer_is_enough() {
    let server = || shell("cat").stdin("answer");
    let held = server().stdin_open_until(|_| false).timeout(Duration::from_millis(50)).run();
    assert!(matches!(held, Err(RunError::TimedOut { .. })), "{held:?}");
    let answered = server().stdin_open_until(|stdout| stdout == b"answer").timeout(Duration::from_secs(30));
    let answered = answered.run().unwrap();
    assert_eq!((answered.stdout, answered.code), (b"answer".to_vec(), Some(0)));
}

#[test]
fn the_environment_is_cleared() {
    let output = shell("env").env("ONLY", "this").run().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    // The shell sets some of its own.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert!(names.contains(&"ONLY") && names.contains(&"PATH"));
    assert!(names.iter().all(|name| ["HOME", "ONLY", "PATH"].contains(name)), "{names:?}");
}

#[test]
fn what_hangs_is_killed_with_all_it_started() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let script = format!("sleep 1000 & echo $! > '{}'; wait", file.display());
    let start = Instant::now();
    let error = shell(&script).timeout(Duration::from_millis(1500)).run().unwrap_err();
    assert!(matches!(error, RunError::TimedOut { after_ms: 1500, .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
    let pid: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    // Death by SIGKILL takes a moment of the kernel's.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Proc::system().is_alive(Process { pid, start: None }) {
        assert!(Instant::now() < deadline, "the child of the program lives on");
        std::thread::yield_now();
    }
}

#[test]
fn what_outlives_the_program_does_not_hold_us() {
    let start = Instant::now();
    let output = shell("sleep 1000 & echo done").timeout(Duration::from_secs(60)).run().unwrap();
    assert_eq!(output.stdout, b"done\n");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_flood_is_cut_off() {
    let error = shell("yes").output_limit(1 << 16).timeout(Duration::from_secs(60)).run().unwrap_err();
    assert!(matches!(error, RunError::TooMuch { limit: 65536, .. }), "{error}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = Command::new("/nowhere/at-all").run().unwrap_err();
    assert_eq!(error.to_string(), "could not start /nowhere/at-all");
}

#[test]
fn a_program_is_ended_from_elsewhere_with_all_it_started_also_one_that_was_not_there_yet() {
    let scratch = tempfile::tempdir().unwrap();
    let pipe = scratch.path().join("pipe");
    let halt = Halt::new().unwrap();
    // It ends when nobody has the pipe open for writing any more: neither the shell nor what it started.
    let script = format!("exec 3> '{}'; sleep 1000 & wait", pipe.display());
    shell(&format!("mkfifo '{}'", pipe.display())).run().unwrap();
    let running = {
        let command = shell(&script).timeout(Duration::from_secs(60)).halted_by(halt.clone());
        std::thread::spawn(move || command.run())
    };
    let mut reader = std::fs::File::open(&pipe).unwrap();
    halt.halt();
    assert_eq!(std::io::copy(&mut reader, &mut std::io::sink()).unwrap(), 0);
    assert!(matches!(running.join().unwrap(), Err(RunError::Halted { .. })));
    assert!(matches!(shell("sleep 1000").halted_by(halt).run(), Err(RunError::Halted { .. })));
}

#[test]
fn a_program_runs_in_the_folder_it_is_given() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().canonicalize().unwrap();
    let output = shell("pwd").folder(&folder).run().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), folder.to_str().unwrap());
}
