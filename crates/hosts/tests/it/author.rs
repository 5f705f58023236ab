//! What is committed for authors is what the tables say today, and TypeScript takes it as it should.

use std::path::{Path, PathBuf};

use herdbook_hosts::{Projected, author};
use serde_json::Value;

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

#[test]
fn the_pages_example_of_what_a_route_reads_is_what_the_projection_makes() {
    let page = author::reference_page();
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    let Projected::Event(event) =
        herdbook_hosts::project("claude", None, example["native"].to_string().as_bytes())
    else {
        panic!()
    };
    let mut canonical = serde_json::to_value(&event).unwrap();
    for beside in ["native", "lineage"] {
        canonical.as_object_mut().unwrap().remove(beside);
    }
    let mut shown = example["canonical"].clone();
    // The order of the members counts for the key, and a value of ours has lost it.
    let text = r#"{"hook_event_name":"PreToolUse","session_id":"s-1","tool_name":"Bash","tool_input":{"command":"git push -f"}}"#;
    let Projected::Event(event) = herdbook_hosts::project("claude", None, text.as_bytes()) else { panic!() };
    assert_eq!(shown["idempotencyKey"].as_str(), event.idempotency_key.as_deref());
    shown["idempotencyKey"] = canonical["idempotencyKey"].clone();
    assert_eq!(shown, canonical);
}
