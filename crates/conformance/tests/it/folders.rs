//! Runs the cases that need no binaries in this process.

use std::path::{Path, PathBuf};

use herdbook_conformance::needs::Abilities;
use herdbook_conformance::report::{Line, Tally};
use herdbook_conformance::{Runner, case::Case, find_cases};

/// The folder that holds the checkout's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of the reference data, or nothing (and a word about it) where there is none.
pub fn shared(test: &str, name: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test finds its reference data by the environment")]
    let given = std::env::var_os("HERDBOOK_SHARED").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| root().join("../shared")).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {test}: no shared folder");
    None
}

/// Runs all cases of a folder without binaries and returns the lines.
fn run(folder: &Path) -> Vec<Line> {
    let runner = Runner::new(Abilities::of_this_product(false), None);
    find_cases(folder).unwrap().iter().flat_map(|case| runner.run_folder(case)).collect()
}

/// Fails with every line that is wrong, and returns how many were right.
fn passed(lines: &[Line]) -> usize {
    let wrong: Vec<String> = lines
        .iter()
        .filter(|line| line.ok == Some(false))
        .map(|line| serde_json::to_string(line).unwrap())
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let mut tally = Tally::default();
    lines.iter().for_each(|line| tally.count(line));
    println!("{tally}");
    tally.passed
}

#[test]
fn public_cases_hold() {
    let lines = run(&root().join("conformance"));
    assert!(passed(&lines) >= 100);
    for line in lines.iter().filter(|line| line.ok.is_none()) {
        let reason = line.reason.as_deref().unwrap_or_default();
        assert!(matches!(reason, "herdbook" | "root"), "only binaries and root are missing here: {line:?}");
    }
}

#[test]
fn field_cases_hold() {
    let Some(folder) = shared("field_cases_hold", "field-cases") else { return };
    assert!(passed(&run(&folder)) >= 100);
}

#[test]
fn real_cases_hold() {
    let Some(folder) = shared("real_cases_hold", "real-cases") else { return };
    assert!(passed(&run(&folder)) >= 1_000);
}

/// Public cases that follow the design where the reference case contradicts it: `/queue` leaves entries in cooldown out.
const CHANGED: [&str; 1] = ["F-006-stop-fired-thirteen-times"];

#[test]
fn public_cases_are_those_of_the_reference_data() {
    let Some(folder) = shared("public_cases_are_those_of_the_reference_data", "field-cases") else { return };
    for public in find_cases(&root().join("conformance")).unwrap() {
        let name = public.file_name().unwrap();
        // The H cases are the project's own.
        let text = name.to_str().unwrap();
        if CHANGED.contains(&text) || text.starts_with("H-") {
            continue;
        }
        let (ours, theirs) = (public.join("case.json"), folder.join(name).join("case.json"));
        assert_eq!(
            std::fs::read(&ours).unwrap(),
            std::fs::read(&theirs).unwrap(),
            "{} differs from the reference",
            ours.display()
        );
        let case = Case::load(&public).unwrap();
        assert!(!case.checks.is_empty());
    }
}
