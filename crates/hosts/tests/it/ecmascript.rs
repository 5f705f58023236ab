//! The canonical text equals what a real ECMAScript engine prints.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use herdbook_hosts::canonical_text;
use serde_json::value::RawValue;

const TEXTS: usize = 20_000;

/// Reads texts as lines, prints each as ECMAScript does.
const SCRIPT: &str = "const lines = require('fs').readFileSync(0, 'utf8').split('\\n'); lines.pop();
process.stdout.write(lines.map(line => JSON.stringify(JSON.parse(line)) + '\\n').join(''))";

/// Makes JSON texts of all spellings that matter, the same ones each time.
struct Maker(u64);

impl Maker {
    /// Returns a number below `bound` (xorshift).
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn number(&mut self) -> String {
        match self.below(6) {
            0 => self
                .pick(&[
                    "0", "-0", "-0.0", "1.0", "1e400", "-1e400", "1e-400", "0e9", "5e-324", "1e21", "1E+2",
                ])
                .into(),
            1 => self.below(100_000).to_string(),
            // Any double, in the shortest spelling Rust has for it.
            2 => {
                let double = f64::from_bits(self.below(u64::MAX));
                if double.is_finite() { format!("{double:e}") } else { "9007199254740993".into() }
            }
            3 => format!("-{}.{}", self.below(1_000_000), self.below(1_000_000)),
            4 => format!("{}{}", self.below(u64::MAX).max(1), self.below(u64::MAX)),
            _ => format!(
                "{}.{}E{}{}",
                self.below(10),
                self.below(1_000),
                self.pick(&["", "+", "-"]),
                self.below(330)
            ),
        }
    }

    fn string(&mut self) -> String {
        let mut text = String::from("\"");
        for _ in 0..self.below(6) {
            match self.below(6) {
                0 => write!(text, "\\u{:04x}", self.below(0x1_0000)).unwrap(),
                1 => write!(text, "\\u{:04X}", 0xD800 + self.below(0x800)).unwrap(),
                2 => write!(text, "\\ud83d\\ude{:02x}", self.below(0x100)).unwrap(),
                3 => {
                    text.push_str(self.pick(&[
                        "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u001F",
                    ]))
                }
                4 => text.push_str(
                    self.pick(&["é", "😀", "\u{2028}", "\u{7f}", "\u{feff}", "\u{fffd}", "\u{e000}"]),
                ),
                _ => text.push_str(self.pick(&["a", "toString", "0", "{", ",", ":", " ", "12"])),
            }
        }
        text.push('"');
        text
    }

    fn key(&mut self) -> String {
        match self.below(4) {
            0 => format!("\"{}\"", self.below(20)),
            1 => self
                .pick(&[
                    "\"4294967294\"",
                    "\"4294967295\"",
                    "\"01\"",
                    "\"-1\"",
                    "\"__proto__\"",
                    "\"\"",
                    "\"\\u0031\"",
                    "\"99999999999\"",
                ])
                .into(),
            2 => self.pick(&["\"a\"", "\"b\"", "\"\\u0061\"", "\"é\"", "\"\\u00e9\"", "\"toJSON\""]).into(),
            _ => self.string(),
        }
    }

    fn white(&mut self) -> &'static str {
        self.pick(&["", "", "", " ", "\t", "  "])
    }

    fn value(&mut self, depth: u32, text: &mut String) {
        text.push_str(self.white());
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0 => text.push_str(&self.number()),
            1 => text.push_str(&self.string()),
            2 => text.push_str(self.pick(&["true", "false", "null"])),
            3 => self.several(depth, '[', ']', text),
            _ => self.several(depth, '{', '}', text),
        }
        text.push_str(self.white());
    }

    fn several(&mut self, depth: u32, open: char, close: char, text: &mut String) {
        text.push(open);
        let bound = if self.below(50) == 0 { 60 } else { 6 };
        for place in 0..self.below(bound) {
            if place > 0 {
                text.push(',');
            }
            if open == '{' {
                text.push_str(self.white());
                text.push_str(&self.key());
                text.push_str(self.white());
                text.push(':');
            }
            self.value(depth - 1, text);
        }
        text.push(close);
    }
}

#[test]
fn random_texts_print_as_node_prints_them() {
    #[expect(clippy::disallowed_methods, reason = "the test asks a real ECMAScript engine")]
    let node = Command::new("node").args(["-e", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut node) = node else {
        println!("skipped: random_texts_print_as_node_prints_them: no node");
        return;
    };
    let mut maker = Maker(0x9E37_79B9_7F4A_7C15);
    let texts: Vec<String> = (0..TEXTS)
        .map(|_| {
            let mut text = String::new();
            maker.value(4, &mut text);
            text
        })
        .collect();
    let mut stdin = node.stdin.take().unwrap();
    // Node reads to the end before it prints, so writing all of it cannot block for good.
    stdin.write_all((texts.join("\n") + "\n").as_bytes()).unwrap();
    drop(stdin);
    let printed = node.wait_with_output().unwrap();
    assert!(printed.status.success());
    let printed = String::from_utf8(printed.stdout).unwrap();
    let expected: Vec<&str> = printed.lines().collect();
    assert_eq!(expected.len(), TEXTS);
    let mut changed = 0;
    for (text, expected) in texts.iter().zip(expected) {
        let value = RawValue::from_string(text.clone()).unwrap();
        assert_eq!(canonical_text(&value), expected, "{text}");
        changed += usize::from(text != expected);
    }
    println!("{TEXTS} texts equal, {changed} of them were not in canonical form");
    assert!(changed > TEXTS / 4);
}
