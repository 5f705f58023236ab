//! What a turn, or a log, comes to.

use std::collections::BTreeSet;

use herdbook_events::catalog::ModelUsage;

use super::row::{Row, RowKind, Tone};
use super::words::{counted, lasting, tokens};

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub turns: usize,
    pub requests: usize,
    pub failed_requests: usize,
    /// How long the model took, as the host measured it.
    pub model_ms: u64,
    pub input: u64,
    pub cached: u64,
    pub cache_writes: u64,
    pub output: u64,
    pub tools: usize,
    pub failed_tools: usize,
    pub waits: usize,
    pub waited_ms: u64,
    pub files: BTreeSet<String>,
}

impl Totals {
    pub fn usage(&mut self, usage: &ModelUsage, duration_ms: u64) {
        self.requests += 1;
        self.model_ms = self.model_ms.saturating_add(duration_ms);
        self.input = self.input.saturating_add(usage.input_tokens);
        self.cached = self.cached.saturating_add(usage.cache_read_tokens);
        self.cache_writes = self.cache_writes.saturating_add(usage.cache_write_tokens);
        self.output = self.output.saturating_add(usage.output_tokens);
    }

    /// True where nothing was done.
    pub fn is_empty(&self) -> bool {
        self.requests + self.failed_requests + self.tools + self.waits == 0
    }

    /// Says it: of a turn in one row; of a whole log the tokens, of which there are more, in a second one.
    pub fn rows(&self, is_whole: bool, seq: u64, ts_ms: Option<u64>) -> Vec<Row> {
        let some = |count: usize, words: String| if count > 0 { words } else { String::new() };
        let failed = |count: usize| some(count, format!(" ({count} failed)"));
        let row = |label| Row::new(RowKind::Total, seq, ts_ms, label).toned(Tone::Dim);
        let requests = self.requests + self.failed_requests;
        let took = some(self.requests, format!(", {}", lasting(self.model_ms)));
        let tools = some(self.tools, format!("{}{}", counted(self.tools, "tool"), failed(self.failed_tools)));
        let mut rows = vec![
            row(if is_whole { "whole" } else { "turn" })
                .note(some(self.turns, counted(self.turns, "turn")))
                .note(some(
                    requests,
                    format!("{}{}{took}", counted(requests, "request"), failed(self.failed_requests)),
                ))
                .note(if is_whole { String::new() } else { self.tokens() })
                .note(tools)
                .note(some(self.waits, format!("waited {}", lasting(self.waited_ms))))
                .note(some(self.files.len(), format!("{} changed", counted(self.files.len(), "file")))),
        ];
        if is_whole && self.requests > 0 {
            rows.push(row("").note(self.tokens()));
        }
        rows
    }

    fn tokens(&self) -> String {
        if self.requests == 0 {
            return String::new();
        }
        let mut words = format!("tokens {}", tokens(self.input));
        if self.cached > 0 {
            words.push_str(&format!(" + {} cached", tokens(self.cached)));
        }
        if self.cache_writes > 0 {
            words.push_str(&format!(" + {} to cache", tokens(self.cache_writes)));
        }
        words + &format!(" in, {} out", tokens(self.output))
    }

    /// Adds another count.
    pub fn add(&mut self, other: Totals) {
        self.turns += other.turns;
        self.requests += other.requests;
        self.failed_requests += other.failed_requests;
        self.model_ms = self.model_ms.saturating_add(other.model_ms);
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_writes = self.cache_writes.saturating_add(other.cache_writes);
        self.output = self.output.saturating_add(other.output);
        self.tools += other.tools;
        self.failed_tools += other.failed_tools;
        self.waits += other.waits;
        self.waited_ms = self.waited_ms.saturating_add(other.waited_ms);
        self.files.extend(other.files);
    }
}
