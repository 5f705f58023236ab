//! The `log` kind: our own store of one session under damage.

use serde_json::Value;

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

    /// Returns the steps.
    pub fn steps(&self) -> &[StoreStep] {
        &self.steps
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

/// Names the expectation of a read step.
pub fn label(check: &str, index: usize, one: &Expectation) -> String {
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
