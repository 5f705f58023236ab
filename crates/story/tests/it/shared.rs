//! Where the example logs lie.

use std::path::PathBuf;

/// Reads a file of the shared catalog, or says that the test of that name is skipped.
pub fn catalog(test: &str, name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a test finds its reference data by the environment")]
    let named = std::env::var_os("HERDBOOK_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")));
    let text = std::fs::read_to_string(folder.join("catalog").join(name)).ok();
    if text.is_none() {
        println!("skipped: {test}: no shared catalog");
    }
    text
}

/// The example log of this repository.
pub const OWN_EXAMPLE: &str = include_str!("example.jsonl");

/// Another one: phases, a granted permission, a process, a resumption, a subtask.
pub const OWN_WORKFLOW: &str = include_str!("workflow.jsonl");
