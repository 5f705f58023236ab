//! JSON with a line for each thing one looks for, so that a copy in the project has readable differences.

use serde::Serialize;

/// Returns a value as JSON whose lists and objects are broken into lines down to a depth, and are on one line below it.
pub fn json_lines(value: &impl Serialize, deepest: usize) -> String {
    // Tables of ours always are JSON.
    let text = serde_json::to_string(value).unwrap_or_default();
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut is_text, mut is_escaped, mut before) = (0, false, false, ' ');
    for character in text.chars() {
        let is_first = matches!(before, '{' | '[');
        before = character;
        if is_text {
            out.push(character);
            is_text = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        if matches!(character, '}' | ']') {
            if !is_first && depth <= deepest {
                begin_line(&mut out, depth - 1);
            }
            depth -= 1;
        } else if is_first && depth <= deepest {
            begin_line(&mut out, depth);
        }
        out.push(character);
        match character {
            '"' => is_text = true,
            '{' | '[' => depth += 1,
            ',' if depth <= deepest => begin_line(&mut out, depth),
            ',' | ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_the_depth_is_reached() {
        let value = serde_json::json!({"a": [{"b": [1, 2]}, {}], "c": [], "d": "{,\\\":"});
        let text = json_lines(&value, 2);
        let expected =
            "{\n  \"a\": [\n    {\"b\": [1, 2]},\n    {}\n  ],\n  \"c\": [],\n  \"d\": \"{,\\\\\\\":\"\n}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
