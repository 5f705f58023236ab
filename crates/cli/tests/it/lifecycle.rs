//! `up`, `down`, and a second daemon.

use crate::support::{TestDaemon, TestEnv, finish};

#[test]
fn up_and_down_say_what_is_and_do_nothing_twice() {
    let env = TestEnv::new();
    let run = |word: &str| {
        let mut command = env.herdbook(&[word]);
        command.env("HERDBOOK_ADDR", "127.0.0.1:0");
        finish(command, b"")
    };
    let up = run("up");
    assert_eq!((up.code, up.stdout.as_str()), (0, ""), "{}", up.stderr);
    assert!(up.stderr.starts_with("the daemon is up, pid "), "{}", up.stderr);
    assert!(up.stderr.contains(env.path().join("state/herdbook").to_str().unwrap()), "{}", up.stderr);
    let pid: String =
        up.stderr.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let given = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(given.split('\0').any(|given| given == "MALLOC_MMAP_THRESHOLD_=1048576"), "{given}");
    let again = run("up");
    assert!(again.stderr.starts_with("the daemon runs already, pid "), "{}", again.stderr);
    assert_eq!(run("status").code, 0);
    let listing = run("ls");
    assert_eq!(
        (listing.code, listing.stdout.as_str(), listing.stderr.as_str()),
        (0, "", "no session was seen yet\n")
    );
    let down = run("down");
    assert_eq!(down.code, 0);
    assert!(down.stderr.starts_with("the daemon is down (it was pid "), "{}", down.stderr);
    let again = run("down");
    assert_eq!((again.code, again.stderr.as_str()), (0, "the daemon is not running\n"));
    assert_eq!(run("ls").code, 3);
}

#[test]
fn a_daemon_that_cannot_start_is_told_with_its_own_words() {
    let env = TestEnv::new();
    let mut command = env.herdbook(&["up"]);
    command.env("HERDBOOK_ADDR", "0.0.0.0:4000");
    let ran = finish(command, b"");
    assert_eq!(ran.code, 1);
    let words = "error: the daemon did not start: HERDBOOK_ADDR=0.0.0.0:4000 is not a loopback address";
    assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: read "), "{}", ran.stderr);
}

#[test]
fn a_second_daemon_names_the_first_and_has_an_exit_code_of_its_own() {
    let env = TestEnv::new();
    let _first = TestDaemon::start(&env);
    let pid = env.run(&["status", "--json"]).stdout;
    let pid = serde_json::from_str::<serde_json::Value>(&pid).unwrap()["pid"].as_u64().unwrap();
    let second = env.run(&["daemon"]);
    assert_eq!((second.code, second.stdout.as_str()), (7, ""));
    assert!(
        second.stderr.contains(&format!("already running on {}", env.path().display())),
        "{}",
        second.stderr
    );
    assert!(second.stderr.contains(&format!("(pid {pid})")), "{}", second.stderr);
    assert_eq!(second.stderr.lines().count(), 2, "{}", second.stderr);
}
