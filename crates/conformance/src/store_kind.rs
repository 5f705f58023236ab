//! The `log` kind: our own store of one session under damage.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use herdbook_log::{DamageKind, Durability, NewRecord, Opened, Options, Reader, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::expectations;
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::report::Line;

/// A check of the store.
#[derive(Clone, Debug)]
pub struct StoreCheck {
    steps: Vec<StoreStep>,
}

/// One step.
#[derive(Clone, Debug)]
pub enum StoreStep {
    /// Append so many events.
    Write(u64),
    /// Close the store.
    Close,
    /// Open it again.
    Open,
    /// Cut so many bytes from the end.
    Cut(u64),
    /// Add a byte so many times.
    Pad {
        /// The byte.
        byte: u8,
        /// How often.
        count: u64,
    },
    /// Put a line behind a line (from 1).
    InsertAfter {
        /// The line, 0 for the front.
        line: u64,
        /// The text.
        text: String,
    },
    /// Replace a line (from 1).
    Overwrite {
        /// The line.
        line: u64,
        /// The text.
        text: String,
    },
    /// Read everything and compare.
    Read(Vec<Expectation>),
}

impl StoreCheck {
    /// Reads the steps.
    ///
    /// # Errors
    /// A step is not known or lacks a field; nothing is read.
    pub fn read(node: &Node<'_>) -> Result<StoreCheck, Problem> {
        let mut steps = Vec::new();
        for step in node.member("steps")?.list()? {
            steps.push(match step.member("do")?.text()? {
                "write" => StoreStep::Write(step.member("count")?.number()?),
                "close" => StoreStep::Close,
                "open" => StoreStep::Open,
                "cut" => StoreStep::Cut(step.member("bytes")?.number()?),
                "pad" => StoreStep::Pad { byte: byte(&step)?, count: step.member("count")?.number()? },
                "insert_after" => StoreStep::InsertAfter {
                    line: step.member("line")?.number()?,
                    text: step.member("text")?.text()?.to_owned(),
                },
                "overwrite" => StoreStep::Overwrite {
                    line: step.member("line")?.number()?,
                    text: step.member("text")?.text()?.to_owned(),
                },
                "read" => StoreStep::Read(expectations(&step)?.collect()),
                other => return Err(step.problem(format_args!("step '{other}' is not known"))),
            });
        }
        if steps.iter().any(|step| matches!(step, StoreStep::Read(_))) {
            Ok(StoreCheck { steps })
        } else {
            Err(node.problem("reads nothing: it expects nothing"))
        }
    }

    /// Runs the steps against a store in a scratch folder; one line for each expectation.
    pub fn run(&self, case: &str, check: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut bench = match StoreBench::new() {
            Ok(bench) => bench,
            Err(error) => return vec![Line::broken(case, check, format!("no scratch folder: {error}"))],
        };
        for (index, step) in self.steps.iter().enumerate() {
            let StoreStep::Read(expectations) = step else {
                if let Err(error) = bench.take(step) {
                    lines.push(Line::broken(case, &format!("{check} step {}", index + 1), error));
                    return lines;
                }
                continue;
            };
            let observed = bench.observe();
            for one in expectations {
                let mut observed = observed.clone();
                // `seq` may be asked for as the list of all, or as one number: then the last one is meant.
                if one.path == "seq" && asks_for_number(&one.written) {
                    observed["seq"] =
                        observed["seq"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
                }
                let (found, ok) = one.test(&observed);
                lines.push(Line::tested(case, label(check, index, one), one.written.clone(), found, ok));
            }
        }
        lines
    }

    /// Returns the lines of a check that is not run.
    pub fn not_run(&self, case: &str, check: &str, reason: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        for (label, one) in self.expectations(check) {
            lines.push(Line::not_run(case, label, one, reason));
        }
        lines
    }

    fn expectations(&self, check: &str) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            if let StoreStep::Read(expectations) = step {
                for one in expectations {
                    all.push((label(check, index, one), one.written.clone()));
                }
            }
        }
        all
    }
}

/// How long an append may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// A fixed time: nothing here depends on when it happens.
const NOW_MS: u64 = 1_767_225_600_000;

/// A store that is written, closed, damaged and opened again.
struct StoreBench {
    dir: TempDir,
    store: Option<Store>,
    opened: Option<Opened>,
    error: Option<String>,
    written: u64,
}

impl StoreBench {
    fn new() -> io::Result<StoreBench> {
        let dir = tempfile::Builder::new().prefix("hb-").tempdir()?;
        let mut bench = StoreBench { dir, store: None, opened: None, error: None, written: 0 };
        bench.open();
        Ok(bench)
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn open(&mut self) {
        let options = Options::new("conformance", &self.dir.path().join("LOCK"), NOW_MS);
        match Store::open(&self.folder(), options) {
            Ok((store, opened)) => {
                (self.store, self.opened, self.error) = (Some(store), Some(opened), None);
            }
            Err(error) => (self.store, self.opened, self.error) = (None, None, Some(error.to_string())),
        }
    }

    fn take(&mut self, step: &StoreStep) -> Result<(), String> {
        match step {
            StoreStep::Write(count) => return self.write(*count),
            StoreStep::Open if self.store.is_none() => self.open(),
            StoreStep::Open | StoreStep::Read(_) => {}
            StoreStep::Close => {
                if let Some(store) = self.store.take() {
                    store.close();
                }
            }
            damage => {
                return self
                    .damage(damage)
                    .map_err(|error| format!("the file could not be changed: {error}"));
            }
        }
        Ok(())
    }

    fn write(&mut self, count: u64) -> Result<(), String> {
        let store = self.store.as_ref().ok_or("the store is not open")?;
        for _ in 0..count {
            self.written += 1;
            let record = NewRecord {
                id: format!("{:026}", self.written),
                ts_ms: NOW_MS + self.written,
                kind: "hook".into(),
                payload: json!({"number": self.written}).to_string(),
            };
            let (sender, receiver) = mpsc::channel();
            store.append(vec![record], Durability::Written, move |ack| drop(sender.send(ack)));
            let ack = receiver.recv_timeout(PATIENCE).map_err(|_| "an append was not answered")?;
            ack.map_err(|error| format!("an append was refused: {error}"))?;
        }
        Ok(())
    }

    /// Damages the log as if all its segments were one file.
    fn damage(&self, step: &StoreStep) -> io::Result<()> {
        let segments = self.segments()?;
        let Some(last) = segments.last() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no log yet"));
        };
        match step {
            StoreStep::Cut(bytes) => {
                let file = fs::File::options().write(true).open(last)?;
                file.set_len(file.metadata()?.len().saturating_sub(*bytes))
            }
            StoreStep::Pad { byte, count } => {
                let padding = vec![*byte; usize::try_from(*count).unwrap_or(0)];
                io::Write::write_all(&mut fs::File::options().append(true).open(last)?, &padding)
            }
            StoreStep::InsertAfter { line, text } => {
                change_line(&segments, *line, |lines, at| lines.insert(at, text.clone()))
            }
            StoreStep::Overwrite { line, text } => {
                change_line(&segments, *line, |lines, at| lines[at.saturating_sub(1)] = text.clone())
            }
            _ => Ok(()),
        }
    }

    fn segments(&self) -> io::Result<Vec<PathBuf>> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(self.folder())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                segments.push(path);
            }
        }
        segments.sort();
        Ok(segments)
    }

    fn observe(&self) -> Value {
        let before = lines_before(&self.segments().unwrap_or_default());
        let mut seqs = Vec::new();
        let mut damage = Vec::new();
        for next in Reader::open(&self.folder()) {
            match next {
                Ok(line) => seqs.push(line.seq),
                // Missing records are no line.
                Err(found) if matches!(found.kind, DamageKind::Missing { .. }) => {}
                Err(found) => {
                    let earlier = before.iter().find(|(name, _)| *name == found.segment);
                    let line = found.line + earlier.map_or(0, |(_, lines)| *lines);
                    damage.push(json!({"line": line, "text": found.to_string()}));
                }
            }
        }
        let torn = self.opened.iter().flat_map(|opened| &opened.torn);
        let torn_kept = torn.clone().count() > 0 && torn.into_iter().all(|torn| torn.kept.is_some());
        json!({"events": seqs.len(), "seq": seqs, "damage": damage, "torn_kept": torn_kept, "error": self.error})
    }
}

/// How many lines lie in the segments before each one.
fn lines_before(segments: &[PathBuf]) -> Vec<(String, u64)> {
    let mut lines = 0;
    let mut before = Vec::new();
    for segment in segments {
        let name = segment.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        before.push((name, lines));
        lines += fs::read(segment).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    before
}

/// Changes the lines of the segment that holds a line (from 1; 0 is before the first).
fn change_line(
    segments: &[PathBuf],
    line: u64,
    change: impl FnOnce(&mut Vec<String>, usize),
) -> io::Result<()> {
    let mut left = usize::try_from(line).unwrap_or(usize::MAX);
    for segment in segments {
        let text = String::from_utf8_lossy(&fs::read(segment)?).into_owned();
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let whole = lines.len() - 1;
        if left <= whole {
            change(&mut lines, left);
            return rewrite(segment, &lines.join("\n"));
        }
        left -= whole;
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no line {line}")))
}

/// Rewrites a closed file in place: damage is the point here, not safety.
fn rewrite(file: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::options().write(true).truncate(true).open(file)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

/// A number, or bounds of one.
fn asks_for_number(written: &Value) -> bool {
    written.is_number() || written.get("$min").is_some() || written.get("$max").is_some()
}

/// Names the expectation of a read step.
fn label(check: &str, index: usize, one: &Expectation) -> String {
    format!("{check} step {} {}", index + 1, one.path)
}

/// A byte is written as a number, or as a text of one character below U+0100.
fn byte(step: &Node<'_>) -> Result<u8, Problem> {
    let node = step.member("byte")?;
    let wrong = || node.problem("must be a number up to 255 or a text of one such character");
    match node.value() {
        Value::String(text) => {
            let mut characters = text.chars();
            match (characters.next().map(u32::from).map(u8::try_from), characters.next()) {
                (Some(Ok(byte)), None) => Ok(byte),
                _ => Err(wrong()),
            }
        }
        value => value.as_u64().and_then(|number| u8::try_from(number).ok()).ok_or_else(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(steps: Value) -> Vec<Line> {
        let value = json!({"steps": steps});
        StoreCheck::read(&Node::root(&value, "t")).unwrap().run("F-1", "own")
    }

    #[test]
    fn damage_in_the_middle_costs_no_other_event() {
        let lines = run(json!([
            {"do": "write", "count": 3}, {"do": "close"}, {"do": "insert_after", "line": 1, "text": "garbage"},
            {"do": "open"}, {"do": "write", "count": 1}, {"do": "close"}, {"do": "overwrite", "line": 5, "text": "x"},
            {"do": "read", "expect": {"events": 3, "damage[*].line": [2, 5], "seq": [1, 2, 3], "error": null}}
        ]));
        assert_eq!(lines.len(), 4);
        for line in lines {
            assert_eq!(line.ok, Some(true), "{line:?}");
        }
    }

    #[test]
    fn a_torn_end_is_kept() {
        let lines = run(json!([
            {"do": "write", "count": 2}, {"do": "close"}, {"do": "cut", "bytes": 3}, {"do": "open"},
            {"do": "read", "expect": {"events": 1, "seq": 1, "torn_kept": true}}
        ]));
        for line in lines {
            assert_eq!(line.ok, Some(true), "{line:?}");
        }
    }

    #[test]
    fn steps_that_cannot_be_done_fail_the_check() {
        let lines = run(
            json!([{"do": "overwrite", "line": 9, "text": "x"}, {"do": "read", "expect": {"events": 0}}]),
        );
        assert_eq!(lines[0].ok, Some(false));
        assert_eq!(lines.len(), 1);
    }
}
