//! Files of one JSON object a line, as the driver leaves them.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Reads the objects of a file, at most so many. Lines that are none are left out, and a file that is not there has
/// none: a run that broke off still says what it can.
pub fn read(path: &Path, most: usize) -> Vec<Value> {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).take(most).collect()
}

/// A member that is a text, else the empty one.
pub fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The Unix seconds of a line.
pub fn seconds(object: &Value) -> f64 {
    object.get("ts").and_then(Value::as_f64).unwrap_or_default()
}
