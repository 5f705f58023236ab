//! Tables: rows of input and output of one pure function of the product, named by its role.

use std::path::Path;

use serde_json::{Map, Value};

use crate::case::read_input_bytes;
use crate::expect::{Expectation, Expected};
use crate::node::{Node, Problem};
use crate::report::Line;
use crate::roles;

/// A table of one function.
#[derive(Clone, Debug)]
pub struct Table {
    role: String,
    rows: Vec<Row>,
}

/// One row.
#[derive(Clone, Debug)]
struct Row {
    input: Value,
    written: Value,
    expected: Out,
}

/// What a row expects of the function's value.
#[derive(Clone, Debug)]
enum Out {
    /// The value as a whole.
    Whole(Expected),
    /// Members of an object by their paths; others may be there.
    Members(Vec<Expectation>),
}

impl Out {
    fn parse(written: &Value) -> Result<Out, String> {
        match written.as_object() {
            Some(members) if !members.is_empty() && !members.keys().any(|key| key.starts_with('$')) => {
                Expectation::parse_all(written).map(Out::Members)
            }
            _ => Expected::parse(written).map(Out::Whole),
        }
    }

    fn holds(&self, observed: &Value) -> bool {
        match self {
            Out::Whole(expected) => expected.holds(Some(observed)),
            Out::Members(members) => members.iter().all(|one| one.test(observed).1),
        }
    }
}

impl Table {
    /// Reads a table. An input key that ends in `_file` names a file whose text takes its place.
    ///
    /// # Errors
    /// The role is not known, a row lacks a side, or a file is not there.
    pub fn read(node: &Node<'_>, dir: &Path) -> Result<Table, Problem> {
        let role = node.member("fn")?.text()?.to_owned();
        if !roles::ROLES.contains(&role.as_str()) {
            return Err(node.problem(format_args!(
                "function '{role}' is not known; use one of {}",
                roles::ROLES.join(", ")
            )));
        }
        let mut rows = Vec::new();
        for row in node.member("rows")?.list()? {
            let input = with_files(&row.member("in")?, dir)?;
            let out = row.member("out")?;
            let expected = Out::parse(out.value()).map_err(|error| out.problem(error))?;
            rows.push(Row { input, written: out.value().clone(), expected });
        }
        if rows.is_empty() {
            return Err(node.problem("has no rows: it expects nothing"));
        }
        Ok(Table { role, rows })
    }

    /// Calls the function for each row; one line a row.
    pub fn run(&self, case: &str, check: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let label = label(check, index);
            lines.push(match roles::call(&self.role, &row.input) {
                Ok(observed) => {
                    let ok = row.expected.holds(&observed);
                    Line::tested(case, label, row.written.clone(), Some(observed), ok)
                }
                Err(roles::CallError::NotBuilt) => {
                    Line::not_run(case, label, row.written.clone(), &self.role)
                }
                Err(roles::CallError::Input(problem)) => {
                    Line::broken(case, &label, format!("row {}: {problem}", index + 1))
                }
            });
        }
        lines
    }

    /// Returns the lines of a table that is not run.
    pub fn not_run(&self, case: &str, check: &str, reason: &str) -> Vec<Line> {
        let line = |(index, row): (usize, &Row)| {
            Line::not_run(case, label(check, index), row.written.clone(), reason)
        };
        self.rows.iter().enumerate().map(line).collect()
    }
}

fn label(check: &str, index: usize) -> String {
    format!("{check} row {}", index + 1)
}

fn with_files(input: &Node<'_>, dir: &Path) -> Result<Value, Problem> {
    let Value::Object(members) = input.value() else { return Ok(input.value().clone()) };
    let mut replaced = Map::new();
    for (key, value) in members {
        match key.strip_suffix("_file") {
            Some(stem) => {
                let name = input.member(key)?;
                let bytes = read_input_bytes(input, dir, name.text()?)?;
                replaced.insert(stem.to_owned(), String::from_utf8_lossy(&bytes).into_owned().into());
            }
            None => drop(replaced.insert(key.clone(), value.clone())),
        }
    }
    Ok(Value::Object(replaced))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn input_files_take_the_place_of_their_names() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::File::create(dir.path().join("a.txt")).unwrap();
        let value = json!({"text_file": "a.txt", "separator": "\t"});
        let read = with_files(&Node::root(&value, "case.json"), dir.path()).unwrap();
        assert_eq!(read, json!({"text": "", "separator": "\t"}));
        let value = json!({"text_file": "../a.txt"});
        let problem = with_files(&Node::root(&value, "case.json"), dir.path()).unwrap_err();
        assert_eq!(problem, "case.json: file '../a.txt' must lie in the case folder");
    }

    #[test]
    fn an_object_says_what_some_members_are() {
        let holds = |written: Value, observed: Value| Out::parse(&written).unwrap().holds(&observed);
        let observed = json!({"action": "attach", "session": "$1", "rows": []});
        assert!(holds(json!({"action": "attach"}), observed.clone()));
        assert!(holds(json!({"rows": {"$len": 0}, "action": "attach"}), observed.clone()));
        assert!(!holds(json!({"action": "attach", "text": "x"}), observed.clone()));
        assert!(!holds(json!({}), observed));
        assert!(holds(json!({"$any": ["a", "b"]}), json!("b")));
        assert!(holds(json!("a"), json!("a")));
    }

    #[test]
    fn an_unknown_function_and_an_empty_table_are_refused() {
        let dir = Path::new("/nonexistent");
        let value = json!({"fn": "fold_laundry", "rows": []});
        assert!(
            Table::read(&Node::root(&value, "t"), dir).unwrap_err().contains("'fold_laundry' is not known")
        );
        let value = json!({"fn": "redact", "rows": []});
        assert_eq!(
            Table::read(&Node::root(&value, "t"), dir).unwrap_err(),
            "t: has no rows: it expects nothing"
        );
    }
}
