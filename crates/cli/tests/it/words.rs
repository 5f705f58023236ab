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
