//! Where the shared reference data lies, if it does.

use std::path::PathBuf;

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
