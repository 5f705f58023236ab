//! `herdbook screens`: the rules of a host's screens, and one screen read by them.

use std::fs;

use crate::support::{Ran, TestEnv};

const PANE: &str = "● Bash(make)\n\n────────────────────\n Bash command\n\n   make\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n \
                    Esc to cancel · Tab to amend\n";

fn run(env: &TestEnv, words: &[&str], stdin: &str) -> Ran {
    env.run_with(&[&["screens"], words].concat(), stdin.as_bytes())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
fn what_it_prints_takes_the_place_of_the_built_in_rules_and_reads_the_same() {
    let env = TestEnv::new();
    let built_in = run(&env, &["claude"], "");
    assert_eq!((built_in.code, built_in.stderr.as_str()), (0, ""));
    assert_eq!(built_in.stdout, include_str!("../../../hosts/src/claude/screen.toml"));
    let expected = "dialog (permission), by the rule 'permission': Do you want to proceed?\n";
    assert_eq!(run(&env, &["claude", "--check"], PANE).stdout, expected);
    let file = env.path().join("pane.txt");
    fs::write(&file, PANE).unwrap();
    let words = ["claude", "--json", "--check", file.to_str().unwrap()];
    let json: serde_json::Value = serde_json::from_str(&run(&env, &words, "").stdout).unwrap();
    assert_eq!(
        (&json["verdict"], &json["rule"], &json["sure"]),
        (&"dialog".into(), &"permission".into(), &true.into())
    );
    // The human's own.
    let folder = env.path().join("home/.config/herdbook/screens");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("claude.toml"), &built_in.stdout).unwrap();
    assert_eq!(run(&env, &["claude", "--check"], PANE).stdout, expected);
    let own = built_in.stdout.replace("name = \"permission\"", "name = \"asks\"");
    fs::write(folder.join("claude.toml"), own).unwrap();
    assert!(run(&env, &["claude", "--check"], PANE).stdout.contains("by the rule 'asks'"));
    assert_eq!(run(&env, &["claude"], "").stdout, built_in.stdout, "still what to begin with");
    fs::write(folder.join("claude.toml"), "[[dialog]]\nname = 'x'\n").unwrap();
    let broken = run(&env, &["claude", "--check"], PANE);
    assert_eq!((broken.code, broken.stdout.as_str()), (1, ""));
    assert!(broken.stderr.contains("claude.toml:1: missing field `all`"), "{}", broken.stderr);
}

#[test]
fn a_pane_that_tells_nothing_and_a_host_that_nobody_recorded_are_named() {
    let env = TestEnv::new();
    assert_eq!(run(&env, &["codex", "--check"], "$ ls\n").stdout, "unknown, by the rule 'nothing-known'\n");
    let ran = run(&env, &["amp"], "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("error: the screens of 'amp' are not known\nhint: known are"),
        "{}",
        ran.stderr
    );
    // Foreign text does not act on the terminal.
    let ran = run(&env, &["claude", "--check"], &PANE.replace("proceed", "\u{1b}[31mproceed"));
    assert_eq!(ran.stdout, "dialog (permission), by the rule 'permission': Do you want to proceed?\n");
}
