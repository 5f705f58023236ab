//! The hook links nothing but `herdbook-wire` and what that needs.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_hook_stays_small() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", "herdbook-hook", "-e", "normal", "--prefix", "none"])
        .args(["--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names: BTreeSet<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let allowed = ["bitflags", "herdbook-hook", "herdbook-wire", "linux-raw-sys", "rustix"];
    assert_eq!(names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(), allowed);
}
