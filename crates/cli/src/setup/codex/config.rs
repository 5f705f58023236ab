//! Trust in the text of `config.toml`. Nothing but our own entries changes by a byte.
//!
//! We add `[hooks.state."KEY"]` with its `trusted_hash` to the end, each after one line break. Where the text ended
//! with a line that is an empty line, and where it did not, the line is ended; taking the entry out with that one line
//! break gives the text as it was.

use serde_json::Value;
use toml_edit::{Document, Item, Table};

/// Adds trust of these keys and hashes to the text of a file; `None` is no file. An entry that the human switched off
/// stays as it is.
///
/// # Errors
/// Why it cannot be added, in words.
pub fn with_trust(text: Option<&str>, entries: &[(&str, &str)]) -> Result<String, String> {
    let mut after = text.unwrap_or_default().to_owned();
    parse(&after)?;
    let end = if after.contains("\r\n") { "\r\n" } else { "\n" };
    for (key, hash) in entries {
        let not_editable = || format!("config.toml has hooks.state in a form that we do not edit, for {key}");
        let (key_text, hash_text) = (Value::from(*key).to_string(), Value::from(*hash).to_string());
        let document = parse(&after)?;
        match state(&document).and_then(|state| state.get(key)) {
            None => {
                let before = if text.is_none() && after.is_empty() { "" } else { end };
                after += &format!("{before}[hooks.state.{key_text}]{end}trusted_hash = {hash_text}{end}");
                parse(&after).map_err(|_| not_editable())?;
            }
            Some(entry) if entry.get("enabled").and_then(Item::as_bool) == Some(false) => {}
            Some(entry) => {
                let old = entry.get("trusted_hash").filter(|old| old.is_str());
                let span = old.and_then(Item::span).ok_or_else(not_editable)?;
                after.replace_range(span, &hash_text);
            }
        }
    }
    Ok(after)
}

/// Takes the entries of these keys out of a text. Returns it with the keys that it left, as they are not written as a
/// table of their own.
///
/// # Errors
/// Why nothing can be taken out, in words.
pub fn without_trust(text: &str, keys: &[String]) -> Result<(String, Vec<String>), String> {
    let document = parse(text)?;
    let mut spans = Vec::new();
    let mut left = Vec::new();
    for key in keys {
        let Some(entry) = state(&document).and_then(|state| state.get(key)) else { continue };
        match entry.as_table().and_then(block) {
            Some(span) => spans.push(span),
            None => left.push(key.clone()),
        }
    }
    let mut after = text.to_owned();
    spans.sort_unstable();
    for (start, end) in spans.into_iter().rev() {
        let end = after[end..].find('\n').map_or(after.len(), |length| end + length + 1);
        let above = &after[..start];
        let shorter = above.strip_suffix("\r\n").or_else(|| above.strip_suffix('\n'));
        let start = match shorter {
            Some(shorter) if end == after.len() || shorter.is_empty() || shorter.ends_with('\n') => {
                shorter.len()
            }
            _ => start,
        };
        after.replace_range(start..end, "");
    }
    parse(&after)?;
    Ok((after, left))
}

/// The positions of our hooks in the text of a hooks file, as they stand in keys: `pre_tool_use:0:0`.
///
/// # Errors
/// Why the text cannot be read, in words.
pub fn positions(hooks_text: &str, is_ours: impl Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let file: Value =
        serde_json::from_str(hooks_text).map_err(|error| format!("the hooks file is no JSON: {error}"))?;
    let mut positions = Vec::new();
    for (event, groups) in file["hooks"].as_object().into_iter().flatten() {
        for (group, hooks) in groups.as_array().into_iter().flatten().enumerate() {
            for (hook, handler) in hooks["hooks"].as_array().into_iter().flatten().enumerate() {
                if handler["command"].as_str().is_some_and(&is_ours) {
                    positions.push(format!("{}:{group}:{hook}", snake_case(event)));
                }
            }
        }
    }
    Ok(positions)
}

/// `PreToolUse` as `pre_tool_use`.
fn snake_case(event: &str) -> String {
    let mut name = String::with_capacity(event.len() + 4);
    for (at, letter) in event.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn parse(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text)
        .map_err(|error| format!("config.toml is no TOML as we read it: {}", error.message()))
}

fn state<'a>(document: &'a Document<&str>) -> Option<&'a dyn toml_edit::TableLike> {
    document.as_table().get("hooks")?.get("state")?.as_table_like()
}

/// Where a table with a header of its own and only values starts and where its last value ends.
fn block(table: &Table) -> Option<(usize, usize)> {
    let header = table.span().filter(|_| !table.is_dotted() && !table.is_implicit())?;
    let mut end = header.end;
    for (_, item) in table.iter() {
        end = end.max(item.as_value()?.span()?.end);
    }
    Some((header.start, end))
}
