//! Manners of the command line: help, usage, exit codes, pipes.

use crate::support::TestEnv;

#[test]
fn help_goes_to_stdout_and_usage_errors_to_stderr_with_code_2() {
    let env = TestEnv::new();
    let help = env.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.contains("normalize"), "{}", help.stdout);

    let usage = env.run(&["nxet"]);
    assert_eq!((usage.code, usage.stdout.as_str()), (2, ""));
    assert!(usage.stderr.contains("'nxet'"), "{}", usage.stderr);
}

/// Exit code 2 of a hook blocks the host, so no word leads to a usage error.
#[test]
fn a_hook_is_silent_whatever_its_words_are() {
    let env = TestEnv::new();
    for words in [
        &["hook"][..],
        &["hook", "--"],
        &["hook", "--nonsense"],
        &["hook", "--nonsense", "--help"],
        &["hook", ""],
        &["hook", "claude", "--nonsense"],
        &["hook", "--", "claude"],
    ] {
        let ran = env.run_with(words, b"{}");
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{words:?}");
    }
    // The two that name a host are kept.
    assert!(env.run(&["ls"]).stderr.contains("2 events wait in the spool"));
    assert!(env.run(&["hook", "--help"]).stdout.contains("exit code 0"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let env = TestEnv::new();
    let mut command = env.program("sh");
    let many = format!(
        "yes '{{}}' | head -n 20000 | {} normalize --host claude 2>err; echo $? >code",
        env!("CARGO_BIN_EXE_herdbook")
    );
    command.arg("-c").arg(format!("({many}) | head -n 1"));
    let ran = crate::support::finish(command, b"");
    assert_eq!(ran.stdout.lines().count(), 1);
    assert_eq!(std::fs::read_to_string(env.path().join("code")).unwrap(), "0\n");
    assert_eq!(std::fs::read_to_string(env.path().join("err")).unwrap(), "");
}

#[test]
fn keys_can_be_chosen_where_they_are_put_in_and_not_where_they_are_taken_out() {
    let env = TestEnv::new();
    for option in ["--force", "--keys"] {
        assert!(env.run(&["install", "--help"]).stdout.contains(option), "{option}");
        assert!(!env.run(&["uninstall", "--help"]).stdout.contains(option), "{option}");
    }
    assert_eq!(env.run(&["uninstall", "tmux", "--keys", "next=n"]).code, 2);
}
