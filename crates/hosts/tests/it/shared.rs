//! Where the shared reference data lies, if it does.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the shared folder, or says that the test of that name is skipped.
pub fn folder(test: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test finds its reference data by the environment")]
    let named = std::env::var_os("HERDBOOK_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let found = named.or_else(|| beside.is_dir().then_some(beside));
    if found.is_none() {
        println!("skipped: {test}: no shared folder");
    }
    found
}

/// Reads a JSON file.
pub fn read_json(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What real clients did otherwise than the shared contract says: host, event, intent, and the form that works where one
/// does. `herdbook-truth --forms` shows it.
const SEEN_OTHERWISE: &[(&str, &str, &str, Option<&str>)] = &[
    ("codex", "PostToolUse", "stopAll", None),
    ("gemini", "BeforeTool", "allow", None),
    (
        "copilot",
        "UserPromptSubmit",
        "deny",
        Some(r#"{"via":"stdout-json","exit":0,"json":{"decision":"block","reason":"$reason"}}"#),
    ),
    ("copilot", "UserPromptSubmit", "denyByExit2", None),
    ("opencode", "chat.message", "deny", Some(r#"{"via":"throw","message":"$reason"}"#)),
    ("opencode", "permission.ask", "allow", None),
    ("opencode", "permission.ask", "deny", None),
    ("opencode", "permission.ask", "ask", None),
];

/// Reads a host's contract, with what was seen otherwise.
pub fn contract_of(shared: &Path, host: &str) -> Value {
    let mut contract = read_json(shared.join(format!("hosts/{host}.json")));
    for event in contract["events"].as_array_mut().unwrap() {
        let of = |(of, native, ..): &&(&str, &str, &str, _)| *of == host && event["native"] == *native;
        for (_, native, intent, form) in SEEN_OTHERWISE.iter().filter(of).collect::<Vec<_>>() {
            let outputs = event["outputs"].as_object_mut().unwrap();
            if let Some(form) = form {
                let form: Value = serde_json::from_str(form).unwrap();
                assert!(outputs.insert((*intent).to_owned(), Value::Array(vec![form])).is_none());
                event["unsupportedOutputs"].as_object_mut().unwrap().remove(*intent);
                if *intent == "deny" {
                    event["canBlock"] = Value::Bool(true);
                }
            } else {
                let had = outputs.remove(*intent).is_some();
                assert!(had || *intent == "denyByExit2", "{native} {intent}");
                event["unsupportedOutputs"][*intent] = Value::Null;
            }
        }
    }
    contract
}

/// Reads the lines of all files of a folder whose names begin with one of `hosts` and end in `.ndjson`.
pub fn lines(folder: PathBuf, hosts: &[&str]) -> Vec<String> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ndjson"))
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            hosts.iter().any(|host| name.starts_with(host))
        })
        .collect();
    paths.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    paths.iter().flat_map(|path| read(path).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}
