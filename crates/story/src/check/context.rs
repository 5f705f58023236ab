//! Pruning and compaction: rules C1 to C4.

use herdbook_events::catalog::{ContextCompacted, ContextPruned, CutTrigger};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;
use crate::check::state::digest;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Context {
    /// The model of a compaction request that completed since the last cut.
    pub summary: Option<String>,
    /// A request overflowed since the last cut.
    pub has_overflowed: bool,
    cuts: Vec<(u64, u64)>,
}

impl Checker {
    pub(super) fn context_pruned(&mut self, event: &ContextPruned) {
        let digest = digest(&event.placeholder);
        for id in &event.tool_use_ids.0 {
            match self.tools.ended.get_mut(id.as_str()) {
                None => self.found.add(Rule::C1, "toolUseIds", format!("tool use {id} has not ended")),
                Some(pruned) => {
                    if pruned.replace(digest).is_some_and(|earlier| earlier != digest) {
                        let message = format!("differs from the one that stands for {id}");
                        self.found.add(Rule::C1, "placeholder", message);
                    }
                }
            }
        }
    }

    pub(super) fn context_compacted(&mut self, event: &ContextCompacted) {
        let (from, to, seq) = (event.cut.from_seq.0, event.cut.to_seq.0, self.found.seq);
        if from < 1 || from > to || to >= seq {
            self.found.add(Rule::C2, "cut", format!("{from} to {to} is no range of lines before {seq}"));
        } else {
            self.keeps_pairs(from, to);
            self.fits_earlier_cuts(from, to);
            self.context.cuts.push((from, to));
        }
        if self.context.summary.take().as_ref() != Some(&event.summary_model) {
            let message =
                format!("no compaction request by '{}' completed since the last cut", event.summary_model);
            self.found.add(Rule::C4, "summaryModel", message);
        }
        let has_overflowed = std::mem::take(&mut self.context.has_overflowed);
        if event.trigger == CutTrigger::ReactiveOverflow && !has_overflowed {
            let message = "is reactive-overflow, but no request overflowed since the last cut";
            self.found.add(Rule::C4, "trigger", message);
        }
    }

    fn keeps_pairs(&mut self, from: u64, to: u64) {
        let inside = |seq: u64| (from..=to).contains(&seq);
        let mut broken = Vec::new();
        for tool in self.tools.open.values().filter(|tool| inside(tool.seq)) {
            broken.push(format!("the tool use of seq {} is open inside", tool.seq));
        }
        for (start, end) in self.tools.spans.iter().filter(|(start, end)| inside(*start) != inside(*end)) {
            broken.push(format!("separates the tool use of seq {start} from its end at {end}"));
        }
        for batch in &self.model.batches {
            match batch.close {
                None if inside(batch.start) => {
                    broken.push(format!("the request of seq {} is open inside", batch.start));
                }
                // Its events lie between start and close, so a cut within takes some of them and not others.
                Some(close) => {
                    let within = batch.start < from && to < close;
                    if inside(batch.start) != inside(close) || within {
                        broken.push(format!(
                            "separates the request of seq {} from its close at {close}",
                            batch.start
                        ));
                    }
                }
                None => {}
            }
        }
        for (seq, after) in self.user.injections.iter().filter(|(seq, after)| inside(*seq) != inside(*after))
        {
            broken.push(format!("separates the injection of seq {seq} from its place at {after}"));
        }
        for message in broken {
            self.found.add(Rule::C2, "cut", message);
        }
    }

    fn fits_earlier_cuts(&mut self, from: u64, to: u64) {
        for (start, end) in &self.context.cuts {
            let fits = (from <= *start && *end <= to) || from > *end;
            if !fits {
                let message = format!("neither holds the cut {start} to {end} nor starts behind it");
                self.found.add(Rule::C3, "cut", message);
            }
        }
        let result_first = |batch: &&crate::check::model::Batch| {
            batch.start < from && batch.last_result.is_some_and(|last| last > to)
        };
        if let Some(batch) = self.model.batches.iter().find(result_first) {
            let message = format!("what follows are results of the request of seq {}", batch.start);
            self.found.add(Rule::C3, "cut.toSeq", message);
        }
    }
}
