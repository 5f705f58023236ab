//! What is committed for authors is what the tables say today, and TypeScript takes it as it should.

use std::path::{Path, PathBuf};

use herdbook_hosts::author;

/// The project's own folder.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn generated_files_are_as_committed() {
    let made = [
        ("docs/reference/events.md", "reference", author::reference_page()),
        ("docs/reference/events.json", "reference --format json", author::reference_json()),
        ("docs/reference/events.schema.json", "schema --lang json-schema", author::json_schema()),
        ("clients/ts/src/events.ts", "schema --lang ts", author::types_module()),
        ("clients/ts/src/tables.ts", "schema --lang ts-tables", author::tables_module()),
    ];
    for (path, command, text) in made {
        let committed = std::fs::read_to_string(project().join(path)).unwrap_or_default();
        assert!(committed == text, "{path} is stale: herdbook {command} > {path} (or `just generate`)");
    }
}
