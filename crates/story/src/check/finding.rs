//! What a checker finds.

use std::fmt;

use serde::Serialize;

use crate::check::rules::{Level, Profile, Rule};

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// How much it weighs.
    pub level: Level,
    /// The line that breaks the rule, as it numbers itself, or the one that opened what was never closed.
    pub seq: u64,
    /// The member of the envelope or of the payload; empty where it is the line as a whole.
    pub field: String,
    /// What is wrong, in words.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Warn => "warning",
            Level::Error => "error",
        };
        write!(formatter, "seq {}: {level} {}: ", self.seq, self.rule.as_str())?;
        if !self.field.is_empty() {
            write!(formatter, "{}: ", self.field)?;
        }
        formatter.write_str(&self.message)
    }
}

/// Collects what is found while one line is looked at.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub profile: Profile,
    /// The line that is looked at.
    pub seq: u64,
    pub findings: Vec<Finding>,
}

impl Found {
    /// Adds a breach by this line.
    pub fn add(&mut self, rule: Rule, field: &str, message: impl Into<String>) {
        self.add_at(self.seq, rule, field, message);
    }

    /// Adds a breach by another line.
    pub fn add_at(&mut self, seq: u64, rule: Rule, field: &str, message: impl Into<String>) {
        let level = rule.level(self.profile);
        self.findings.push(Finding { rule, level, seq, field: field.to_owned(), message: message.into() });
    }

    /// Adds a breach that is only worth a look, whatever the rule's level.
    pub fn warn(&mut self, rule: Rule, field: &str, message: impl Into<String>) {
        self.add(rule, field, message);
        if let Some(finding) = self.findings.last_mut() {
            finding.level = Level::Warn;
        }
    }
}
