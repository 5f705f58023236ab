//! `herdbook normalize`.

use crate::support::TestEnv;

#[test]
fn a_bad_line_is_named_and_the_others_go_on() {
    let env = TestEnv::new();
    let ran = env.run_with(&["normalize", "--host", "claude"], b"{\"hook_event_name\": \"Stop\"\n\n[1]\n");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stdout, "");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("error: line 1: "), "{}", ran.stderr);
    assert!(lines[1].starts_with("error: line 3: "), "{}", ran.stderr);
    assert_eq!(lines[2], "error: 2 of 2 lines could not be read as an event");
    assert!(lines[3].starts_with("hint: "), "{}", ran.stderr);
}
