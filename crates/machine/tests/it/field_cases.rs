//! Rows of the field cases for the functions of this crate.

use std::path::{Path, PathBuf};

use herdbook_machine::*;
use serde::Deserialize as _;
use serde_json::{Value, json};

fn shared() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests find the reference data by this variable")]
    let given = std::env::var_os("HERDBOOK_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    given.or(Some(beside)).filter(|folder| folder.join("field-cases").is_dir())
}

/// The rows' own words to and from the functions, as a runner of cases would have them.
fn call(function: &str, input: &Value, case: &Path) -> Option<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().map(|values| values.iter().map(text).collect()).unwrap_or_default()
    };
    let read = |value: &Value| Identity::deserialize(value).ok();
    Some(match function {
        "pane_state" => json!(pane_state(&text(&input["ask"]), &ListAnswer::deserialize(input).ok()?)),
        "parse_panes" => {
            let answer = match input.get("text_file") {
                Some(file) => std::fs::read_to_string(case.join(text(file))).ok()?,
                None => text(&input["text"]),
            };
            let fields = texts(&input["fields"]);
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            json!(parse_panes(&fields, &text(&input["separator"]), &answer))
        }
        "jump_plan" => {
            let target = Option::<JumpTarget>::deserialize(&input["target"]).ok()?;
            json!(jump_plan(&Caller::deserialize(input).ok()?, target.as_ref()))
        }
        "same_process" => {
            json!(same_process(read(&input["recorded"]).as_ref(), read(&input["now"]).as_ref()))
        }
        "session_folder" => {
            let key = |id: &String| session_folder(&format!("{}-{id}", text(&input["host"])));
            json!(texts(&input["ids"]).iter().map(key).collect::<Vec<_>>())
        }
        "hook_command" => {
            let args = texts(&input["args"]);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            json!(hook_command(&text(&input["os"]), &text(&input["exe"]), &args))
        }
        "project_key" => json!(texts(input).iter().map(|path| project_key(path)).collect::<Vec<_>>()),
        _ => return None,
    })
}

/// The part of the collection's language of expectations that these rows use; any other operator fails.
fn holds(expected: &Value, observed: &Value) -> bool {
    let Some(operators) =
        expected.as_object().filter(|operators| operators.keys().any(|key| key.starts_with('$')))
    else {
        return match (expected, observed) {
            // Members that are not named may be there.
            (Value::Object(expected), Value::Object(observed)) => expected
                .iter()
                .all(|(key, expected)| observed.get(key).is_some_and(|observed| holds(expected, observed))),
            _ => expected == observed,
        };
    };
    let list = observed.as_array().cloned().unwrap_or_default();
    let texts = || list.iter().map(ToString::to_string).collect::<Vec<String>>();
    let count = |values: Vec<String>| values.into_iter().collect::<std::collections::BTreeSet<_>>().len();
    operators.iter().all(|(operator, operand)| match operator.as_str() {
        "$any" => operand.as_array().is_some_and(|some| some.iter().any(|one| holds(one, observed))),
        "$has" => {
            let observed = observed.as_str().unwrap_or_default();
            let parts = operand.as_array().cloned().unwrap_or_default();
            parts.iter().all(|part| part.as_str().is_some_and(|part| observed.contains(part)))
        }
        "$len" => match operand.as_object() {
            Some(bounds) => {
                bounds.get("$min").and_then(Value::as_u64).is_some_and(|min| list.len() as u64 >= min)
            }
            None => operand.as_u64() == Some(list.len() as u64),
        },
        "$same" => count(texts()) == 1,
        "$distinct" => count(texts().iter().map(|text| text.to_lowercase()).collect()) == list.len(),
        "$each" => list.iter().all(|one| holds(operand, one)),
        // Only names of folders are matched here, against letters, digits, `_` and `-`.
        "$match" => observed.as_str().is_some_and(|name| {
            (1..=128).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        }),
        _ => false,
    })
}

#[test]
fn rows_of_the_machine_functions_hold() {
    let Some(shared) = shared() else {
        println!("skipped: rows_of_the_machine_functions_hold: no shared folder");
        return;
    };
    let mut rows_run = 0;
    for folder in std::fs::read_dir(shared.join("field-cases")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(text) = std::fs::read_to_string(folder.join("case.json")) else { continue };
        let case: Value = serde_json::from_str(&text).unwrap();
        for check in case["checks"].as_array().unwrap() {
            for row in check["rows"].as_array().into_iter().flatten() {
                let function = check["fn"].as_str().unwrap_or_default();
                let Some(observed) = call(function, &row["in"], &folder) else { continue };
                assert!(holds(&row["out"], &observed), "{}: {row}: {observed}", folder.display());
                rows_run += 1;
            }
        }
    }
    assert!(rows_run >= 40, "only {rows_run} rows were found");
}
