//! The canonical text equals what a real ECMAScript engine prints.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use herdbook_events::{Family, Field, Lineage};
use herdbook_hosts::{HOSTS, HostTable, Key, NativeEvent, Projected, Shape, canonical_text, project, read};
use serde_json::Value;
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

/// Runs a script on lines, and returns the lines it prints; nothing where there is no node.
fn node(test: &str, script: &str, texts: &[String]) -> Option<Vec<String>> {
    #[expect(clippy::disallowed_methods, reason = "the test asks a real ECMAScript engine")]
    let node = Command::new("node").args(["-e", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut node) = node else {
        println!("skipped: {test}: no node");
        return None;
    };
    let mut stdin = node.stdin.take().unwrap();
    // Node reads to the end before it prints, so writing all of it cannot block for good.
    stdin.write_all((texts.join("\n") + "\n").as_bytes()).unwrap();
    drop(stdin);
    let printed = node.wait_with_output().unwrap();
    assert!(printed.status.success());
    let printed = String::from_utf8(printed.stdout).unwrap();
    let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), texts.len());
    Some(lines)
}

#[test]
fn random_texts_print_as_node_prints_them() {
    let mut maker = Maker(0x9E37_79B9_7F4A_7C15);
    let texts: Vec<String> = (0..TEXTS)
        .map(|_| {
            let mut text = String::new();
            maker.value(4, &mut text);
            text
        })
        .collect();
    let Some(printed) = node("random_texts_print_as_node_prints_them", SCRIPT, &texts) else { return };
    let mut changed = 0;
    for (text, expected) in texts.iter().zip(printed) {
        let value = RawValue::from_string(text.clone()).unwrap();
        assert_eq!(canonical_text(&value), expected, "{text}");
        changed += usize::from(*text != expected);
    }
    println!("{TEXTS} texts equal, {changed} of them were not in canonical form");
    assert!(changed > TEXTS / 4);
}

/// The reference's key, in its own language.
const KEY_SCRIPT: &str = "const { createHash } = require('node:crypto');
const lines = require('fs').readFileSync(0, 'utf8').split('\\n'); lines.pop();
process.stdout.write(lines.map((line) => {
  const [event, target, native] = [0, 1, 2].map((place) => line.split('\\x1f')[place]);
  const text = JSON.stringify({ event, native: JSON.parse(native), target });
  return createHash('sha256').update(text, 'utf8').digest('hex') + '\\n';
}).join(''))";

#[test]
fn keys_of_random_envelopes_are_the_references() {
    let mut maker = Maker(0xD1B5_4A32_D192_ED03);
    let events: Vec<(&'static HostTable, &'static NativeEvent)> = HOSTS
        .iter()
        .flat_map(|table| table.events.iter().map(|event| (*table, event)))
        .filter(|(_, event)| event.family.is_some())
        .collect();
    let (mut asked, mut ours) = (Vec::new(), Vec::new());
    for place in 0..TEXTS / 2 {
        let (table, event) = events[place % events.len()];
        let mut native = format!("{{\"{}\":\"{}\"", table.identity.event[0], event.name);
        for _ in 0..maker.below(6) {
            native.push_str(&format!(",{}{}:", maker.white(), maker.key()));
            maker.value(3, &mut native);
        }
        native.push('}');
        let Projected::Event(projected) = project(table.host, Some(event.name), native.as_bytes()) else {
            panic!("{native}")
        };
        // A random key may have been a name of its own.
        let Some(family) = projected.event.map(Family::as_str) else { continue };
        asked.push(format!("{family}\u{1f}{}\u{1f}{native}", projected.host));
        ours.push(projected.idempotency_key.unwrap());
    }
    let Some(theirs) = node("keys_of_random_envelopes_are_the_references", KEY_SCRIPT, &asked) else {
        return;
    };
    for ((envelope, ours), theirs) in asked.iter().zip(&ours).zip(&theirs) {
        assert_eq!(ours, theirs, "{envelope}");
    }
    println!("{} keys equal, over {} native events", ours.len(), events.len());
    assert!(ours.len() > TEXTS / 3);
}

impl Maker {
    /// A key as its host spells it, or another way to spell it.
    fn spelled(&mut self, key: &str) -> String {
        match self.below(6) {
            0 => {
                let first = key.chars().next().map_or(0, u32::from);
                format!("\"\\u{first:04x}{}\"", key.get(1..).unwrap_or_default())
            }
            _ => format!("\"{key}\""),
        }
    }

    /// A value of the shape that a key wants, or any.
    fn fitting(&mut self, shape: Shape, text: &mut String) {
        match (self.below(4), shape) {
            (0, _) | (_, Shape::Any) => self.value(3, text),
            (1, Shape::Text) => {
                // Texts that are decoded.
                let mut inner = String::new();
                self.value(2, &mut inner);
                text.push_str(&Value::from(inner).to_string());
            }
            (_, Shape::Text) => text.push_str(&self.string()),
            (_, Shape::Boolean) => text.push_str(self.pick(&["true", "false"])),
            (_, Shape::Number) => text.push_str(&self.number()),
            (_, Shape::Texts) => {
                let (one, other) = (self.string(), self.string());
                text.push_str(&format!("[{one},{other}]"));
            }
            (_, Shape::Object) => self.several(2, '{', '}', text),
            (_, Shape::Objects) => self.several(2, '[', ']', text),
        }
    }

    /// What a host may send as an event: its own keys and others, some of them twice, inside its wrappers or beside.
    fn envelope(&mut self, table: &HostTable, event: &NativeEvent) -> String {
        let mut text = self.pick(&["", "", "\u{feff}", "\u{feff} \u{feff}\n", "\t"]).to_owned() + "{";
        let keys: Vec<&Key> = table
            .common
            .iter()
            .chain(table.detail(event).into_iter().flat_map(|detail| detail.keys()))
            .collect();
        let ids = table.identity.session.iter().chain(table.identity.turn).chain(table.identity.agent);
        let ids: Vec<&str> = ids.copied().collect();
        for member in 0..self.below(12) + 1 {
            text.push_str(if member == 0 { self.white() } else { "," });
            let mark = table.mark.unwrap_or("cursor_version");
            match self.below(12) {
                0 if self.below(5) == 0 => text.push_str(&format!("\"{mark}\":{}", self.string())),
                0..=2 => {
                    let name = if self.below(6) == 0 {
                        self.pick(&["Stop", "stop", "", "no\\u0054hing"])
                    } else {
                        event.name
                    }
                    .to_owned();
                    let key = table.identity.event[self.below(table.identity.event.len() as u64) as usize];
                    text.push_str(&format!("{}:\"{name}\"", self.spelled(key)));
                }
                3 if !table.layout.wrappers.is_empty() => {
                    let wrapper = self.pick(table.layout.wrappers).to_owned();
                    text.push_str(&format!("{}:{{", self.spelled(&wrapper)));
                    for place in 0..self.below(5) {
                        text.push_str(if place == 0 { "" } else { "," });
                        self.member(&keys, &ids, &mut text);
                    }
                    text.push('}');
                }
                4 => {
                    let key = self.key();
                    text.push_str(&format!("{key}{}:", self.white()));
                    self.value(3, &mut text);
                }
                _ => self.member(&keys, &ids, &mut text),
            }
        }
        text + self.white() + "}" + self.white()
    }

    fn member(&mut self, keys: &[&Key], ids: &[&str], text: &mut String) {
        if self.below(4) == 0 && !ids.is_empty() {
            let id = self.pick(ids).to_owned();
            let (key, value) = (self.spelled(&id), self.string());
            return text.push_str(&format!("{key}:{value}"));
        }
        let Some(key) = keys.get(self.below(keys.len().max(1) as u64) as usize) else {
            return text.push_str("\"a\":1");
        };
        text.push_str(&format!("{}{}:", self.spelled(key.name), self.white()));
        self.fitting(key.shape, text);
    }
}

/// What is printed of an envelope where it lies is what the event that is made of it prints, and says of the native object
/// what the host said.
#[test]
fn the_line_of_any_envelope_is_what_its_event_prints() {
    let mut maker = Maker(0xA076_1D64_78BD_642F);
    let events: Vec<(&'static HostTable, &'static NativeEvent)> = HOSTS
        .iter()
        .flat_map(|table| table.events.iter().map(|event| (*table, event)))
        .filter(|(_, event)| event.family.is_some())
        .collect();
    let (mut fields, mut strange, mut lineages) = (0, 0, 0);
    for place in 0..TEXTS / 2 {
        let (table, event) = events[place % events.len()];
        let host = maker.pick(&[table.host, table.host, table.host, "cursor", "no \"host\"\n"]).to_owned();
        let argument = maker.pick(&[event.name, "odd \u{7f}\\\"\u{1}é", ""]).to_owned();
        let argument = (maker.below(2) == 0).then_some(argument.as_str());
        let body = maker.envelope(table, event);
        let Projected::Event(projected) = project(&host, argument, body.as_bytes()) else { panic!("{body}") };
        let mut line = String::new();
        read(&host, argument, body.as_bytes()).unwrap().write_line(&mut line);
        assert_eq!(line, serde_json::to_string(&projected).unwrap(), "{body}");
        assert!(!line.contains('\n'), "{body}");
        // Each value stands in the native object, or is made of what does.
        for (field, present) in projected.payload.iter() {
            fields += 1;
            let value = present.value.get();
            assert!(
                projected.native.get().contains(value)
                    || matches!(field, Field::ToolResponse | Field::Reentry),
                "{body} {value}"
            );
        }
        strange += usize::from(projected.event.is_none());
        lineages += usize::from(projected.lineage != Lineage::default());
    }
    println!("{fields} fields, {lineages} lineages, {strange} outside the families");
    assert!(fields > TEXTS / 5 && lineages > TEXTS / 20 && strange > TEXTS / 20);
}
