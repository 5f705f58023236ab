//! What a run of the hook is fed: bytes, and how they arrive.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::read_input_bytes;
use crate::node::{Node, Problem};

/// What one run of the hook is fed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HookInput {
    /// Bytes for its stdin.
    pub bytes: Vec<u8>,
    /// Stdin stays open until it exits.
    pub held_open: bool,
    /// Bytes a piece; all at once if absent.
    pub piece: Option<usize>,
    /// Milliseconds between pieces.
    pub every_ms: u64,
    /// Milliseconds before the first byte.
    pub first_after_ms: u64,
    /// The last argument.
    pub argument: Option<String>,
}

/// Reads one entry of `inputs`; `lines` makes one input of each line.
///
/// # Errors
/// A field is missing or has another shape, or a file is not there.
pub fn read_inputs(input: &Node<'_>, dir: &Path) -> Result<Vec<HookInput>, Problem> {
    const SOURCES: [&str; 7] = ["file", "lines", "text", "json", "random", "repeat", "none"];
    let stdin = input.member("stdin")?;
    let named: Vec<&str> = SOURCES
        .into_iter()
        .filter(|name| stdin.members().is_ok_and(|members| members.contains_key(*name)))
        .collect();
    let [source] = named[..] else {
        return Err(stdin.problem(format_args!("needs exactly one of {}", SOURCES.join(", "))));
    };
    let argument = match input.maybe("argv_file")? {
        Some(name) => Some(
            String::from_utf8(read_input_bytes(input, dir, name.text()?)?)
                .map_err(|_| input.problem("argv_file is not UTF-8"))?,
        ),
        None => None,
    };
    let value = stdin.member(source)?;
    let bodies = match source {
        "file" => vec![read_input_bytes(&stdin, dir, value.text()?)?],
        "lines" => lines(&stdin, &read_input_bytes(&stdin, dir, value.text()?)?)?,
        "text" => vec![value.text()?.as_bytes().to_vec()],
        "json" => vec![padded_json(&stdin, value.value())?],
        "random" => {
            let seed = stdin.maybe_number("seed")?.unwrap_or(0);
            vec![random_bytes(usize_of(&value)?, seed)]
        }
        "repeat" => {
            let times = usize_of(&stdin.member("times")?)?;
            vec![value.text()?.as_bytes().repeat(times)]
        }
        _ => vec![Vec::new()],
    };
    let trim = stdin.flag_or_false("trim_newline")?;
    let piece = stdin.maybe("piece")?.map(|node| usize_of(&node)).transpose()?;
    let plain = HookInput {
        bytes: Vec::new(),
        held_open: stdin.flag_or_false("held_open")?,
        piece,
        every_ms: stdin.maybe_number("every_ms")?.unwrap_or(0),
        first_after_ms: stdin.maybe_number("first_after_ms")?.unwrap_or(0),
        argument,
    };
    let one = |mut bytes: Vec<u8>| {
        while trim && matches!(bytes.last(), Some(b'\n' | b'\r')) {
            bytes.pop();
        }
        HookInput { bytes, ..plain.clone() }
    };
    Ok(bodies.into_iter().map(one).collect())
}

/// The lines of a file, or those from `from` to `to`, counted from 1.
fn lines(stdin: &Node<'_>, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Problem> {
    let mut all: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if all.last().is_some_and(Vec::is_empty) {
        all.pop();
    }
    let from = stdin.maybe("from")?.map_or(Ok(1), |node| usize_of(&node))?;
    let to = stdin.maybe("to")?.map_or(Ok(all.len()), |node| usize_of(&node))?;
    if from == 0 || to > all.len() || from > to {
        return Err(
            stdin.problem(format_args!("lines {from} to {to} are not in a file of {} lines", all.len()))
        );
    }
    Ok(all[from - 1..to].to_vec())
}

fn padded_json(stdin: &Node<'_>, value: &Value) -> Result<Vec<u8>, Problem> {
    let mut value = value.clone();
    if let Some(pad) = stdin.maybe("pad")? {
        let filler = "x".repeat(usize_of(&pad.member("bytes")?)?);
        let key = pad.member("at")?.text()?;
        let members = value.as_object_mut().ok_or_else(|| stdin.problem("pad needs a JSON object"))?;
        members.insert(key.to_owned(), filler.into());
    }
    Ok(value.to_string().into_bytes())
}

fn usize_of(node: &Node<'_>) -> Result<usize, Problem> {
    usize::try_from(node.number()?).map_err(|_| node.problem("is too large"))
}

/// The same bytes for the same seed on every machine (SplitMix64).
fn random_bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(word ^ (word >> 31)).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs(value: Value) -> Result<Vec<HookInput>, Problem> {
        let dir = tempfile::tempdir().unwrap();
        std::io::Write::write_all(
            &mut std::fs::File::create(dir.path().join("lines")).unwrap(),
            b"one\ntwo\n\nfour\n",
        )
        .unwrap();
        read_inputs(&Node::root(&value, "input"), dir.path())
    }

    fn bodies(stdin: Value) -> Vec<String> {
        let all = inputs(json!({"stdin": stdin})).unwrap();
        all.into_iter().map(|input| String::from_utf8_lossy(&input.bytes).into_owned()).collect()
    }

    #[test]
    fn every_source_of_stdin_is_read() {
        assert_eq!(bodies(json!({"lines": "lines"})), ["one", "two", "", "four"]);
        assert_eq!(bodies(json!({"lines": "lines", "from": 2, "to": 2})), ["two"]);
        assert_eq!(bodies(json!({"file": "lines", "trim_newline": true})), ["one\ntwo\n\nfour"]);
        assert_eq!(bodies(json!({"text": "x"})), ["x"]);
        assert_eq!(bodies(json!({"repeat": "{", "times": 3})), ["{{{"]);
        assert_eq!(bodies(json!({"none": true, "held_open": true})), [""]);
        assert_eq!(
            bodies(json!({"json": {"a": 1}, "pad": {"at": "b", "bytes": 3}})),
            [r#"{"a":1,"b":"xxx"}"#]
        );
        let random = inputs(json!({"stdin": {"random": 13, "seed": 7}})).unwrap();
        assert_eq!(random[0].bytes, random_bytes(13, 7));
        assert_ne!(random_bytes(13, 7), random_bytes(13, 8));
    }

    #[test]
    fn stdin_needs_exactly_one_source_and_lines_that_are_there() {
        assert!(inputs(json!({"stdin": {}})).unwrap_err().contains("needs exactly one of"));
        assert!(inputs(json!({"stdin": {"text": "a", "none": true}})).is_err());
        assert_eq!(
            inputs(json!({"stdin": {"lines": "lines", "from": 4, "to": 9}})).unwrap_err(),
            "input.stdin: lines 4 to 9 are not in a file of 4 lines"
        );
    }
}
