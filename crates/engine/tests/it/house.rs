//! The arrows and invariants of ARCHITECTURE.md that a look at the tree can hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Which rooms each room may use (ARCHITECTURE.md, "Arrows"). A room that is not here may not exist.
const ARROWS: &[(&str, &[&str])] = &[
    ("events", &[]),
    ("hosts", &["events"]),
    ("attention", &["events"]),
    ("redact", &[]),
    ("engine", &["events", "hosts", "attention", "redact"]),
    ("story", &["events"]),
    ("log", &[]),
    ("wire", &[]),
    ("machine", &[]),
    ("api", &[]),
    ("daemon", &["events", "hosts", "engine", "story", "log", "wire", "machine", "api", "redact"]),
    ("hook", &["wire"]),
    ("cli", &["events", "hosts", "story", "log", "wire", "machine", "api", "redact", "daemon"]),
    ("conformance", &["events", "hosts", "engine", "story", "log", "wire", "machine", "api", "redact"]),
    ("truth", &["api", "hosts"]),
];

/// Rooms that do no IO and read no clock, environment or terminal.
const PURE: [&str; 6] = ["events", "hosts", "attention", "redact", "engine", "story"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test asks cargo about the tree; its environment is cargo's own"
)]
fn cargo(arguments: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Normal dependencies of every room on other rooms, out of `cargo metadata`.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let metadata: serde_json::Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
    let room = |name: &str| name.strip_prefix("herdbook-").map(str::to_owned);
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let uses = package["dependencies"].as_array().unwrap().iter();
            let uses = uses
                .filter(|used| used["kind"].is_null())
                .filter_map(|used| room(used["name"].as_str().unwrap()));
            (room(package["name"].as_str().unwrap()).unwrap(), uses.collect())
        })
        .collect()
}

#[test]
fn rooms_use_only_the_rooms_below_them() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for (room, uses) in uses() {
        let allowed =
            allowed.get(room.as_str()).unwrap_or_else(|| panic!("{room} is not in ARCHITECTURE.md"));
        for used in uses {
            assert!(allowed.contains(&used.as_str()), "{room} must not use {used}");
        }
    }
}

#[test]
fn the_hook_links_wire_alone() {
    let tree = cargo(&["tree", "-p", "herdbook-hook", "-e", "normal", "--prefix", "none", "--format", "{p}"]);
    let packages: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected = ["bitflags", "herdbook-hook", "herdbook-wire", "linux-raw-sys", "rustix"];
    assert_eq!(packages, expected.into(), "a new package here is paid by every hook call of every agent");
}

#[test]
fn pure_rooms_do_no_io_and_read_no_clock() {
    const BANNED: [&str; 12] = [
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
        "SystemTime",
        "Instant::now",
        "std::os",
        "stdin(",
        "println!",
        "eprintln!",
        "std::io::",
    ];
    let mut looked = 0;
    for room in PURE {
        let mut folders = vec![root().join("crates").join(room).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                looked += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap();
                for (number, line) in
                    code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
                {
                    for banned in BANNED {
                        assert!(!line.contains(banned), "{}:{}: {banned}", path.display(), number + 1);
                    }
                }
            }
        }
    }
    assert!(looked > 15, "the rooms were found");
}
