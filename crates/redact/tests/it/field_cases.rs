//! Rows of the field cases for the functions of this crate.

use std::path::PathBuf;

use serde_json::Value;

fn shared() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests find the reference data by this variable")]
    let given = std::env::var_os("HERDBOOK_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    given.or(Some(beside)).filter(|folder| folder.join("field-cases").is_dir())
}

/// Checks `out` of a row: a plain value is equal, `$match` and `$has` as the collection's page says. Another operator
/// is not known here, and fails.
fn holds(expected: &Value, observed: &str) -> bool {
    let Some(operators) = expected.as_object() else { return expected.as_str() == Some(observed) };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    operators.iter().all(|(operator, operand)| match operator.as_str() {
        "$match" => regex::Regex::new(&text(operand)).is_ok_and(|pattern| pattern.is_match(observed)),
        "$has" => {
            operand.as_array().is_some_and(|parts| parts.iter().all(|part| observed.contains(&text(part))))
        }
        _ => false,
    })
}

#[test]
fn rows_of_the_text_functions_hold() {
    let Some(shared) = shared() else {
        println!("skipped: rows_of_the_text_functions_hold: no shared folder");
        return;
    };
    let mut rows_run = 0;
    for case in std::fs::read_dir(shared.join("field-cases")).unwrap() {
        let path = case.unwrap().path().join("case.json");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let case: Value = serde_json::from_str(&text).unwrap();
        for check in case["checks"].as_array().unwrap() {
            let function: &dyn Fn(&str) -> String = match check["fn"].as_str() {
                Some("clean_line") => &herdbook_redact::clean_line,
                Some("tmux_option_text") => &herdbook_redact::tmux_option_text,
                Some("tmux_job_text") => &herdbook_redact::tmux_job_text,
                Some("redact") => &|text| super::redactor().text(text).into_owned(),
                _ => continue,
            };
            for row in check["rows"].as_array().unwrap() {
                let observed = function(row["in"].as_str().unwrap());
                assert!(holds(&row["out"], &observed), "{}: {row}: {observed:?}", path.display());
                rows_run += 1;
            }
        }
    }
    assert!(rows_run >= 29, "only {rows_run} rows were found");
}
