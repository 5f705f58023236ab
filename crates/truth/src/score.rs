//! Holds what the queue said against the truth.
//!
//! From the deadline of a span on, the queue must be right: `lag_ms` after the hook that proves it, or three seconds
//! after its beginning where transcript, screen or process prove it, whichever is earlier. Until then, and between two
//! spans, either answer is right. Wrong seconds are counted for each source that could have known at that moment.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::lines;
use crate::timeline::Timeline;
use crate::truth::{Span, Truth};

/// How long after the beginning of a span a source other than a hook must have proved it, in seconds.
const LOOKED: f64 = 3.0;
/// A sample stands for no more than this, in seconds.
const SAMPLE_HOLDS: f64 = 1.0;
/// What the last sample stands for, in seconds.
const LAST_SAMPLE: f64 = 0.1;
/// Two wrong samples that are no further apart, in seconds, are one stretch.
const ONE_STRETCH: f64 = 0.3;
/// Beyond every run.
const NEVER: f64 = 1e12;

/// The hook as a source.
pub const HOOK: &str = "hook";

/// How a queue was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// In the queue, and did not wait.
    FalseWaiting,
    /// Not in the queue, and waited.
    MissedWaiting,
    /// In the queue for the wrong reason.
    Reason,
}

impl Wrong {
    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Wrong::FalseWaiting => "queued while",
            Wrong::MissedWaiting => "not queued while",
            Wrong::Reason => "queued for the wrong reason while",
        }
    }
}

/// A stretch of wrong time.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// How it was wrong.
    pub wrong: Wrong,
    /// What was true, in words.
    pub truth: String,
    /// The sources that could have known by then.
    pub sources: Vec<String>,
    /// Seconds since the start of the run.
    pub from: f64,
    /// Seconds since the start of the run.
    pub to: f64,
    /// Seconds of it that samples stand for.
    pub seconds: f64,
}

/// What became of one run.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Seconds in which the queue had to be right.
    pub scored: f64,
    /// When it was not.
    pub stretches: Vec<Stretch>,
    /// What could not be scored, and why.
    pub notes: Vec<String>,
}

impl Score {
    /// Wrong seconds for each source that could have known.
    pub fn by_source(&self) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for stretch in &self.stretches {
            for source in &stretch.sources {
                *sums.entry(source.clone()).or_default() += stretch.seconds;
            }
        }
        sums
    }

    /// Wrong seconds of the kinds that an outside scorer counts too.
    pub fn wrong_seconds(&self) -> f64 {
        let counted = self.stretches.iter().filter(|stretch| stretch.wrong != Wrong::Reason);
        counted.fold(0.0, |sum, stretch| sum + stretch.seconds)
    }
}

/// A span on the clock of this run.
struct Placed<'a> {
    /// The live session's native id.
    session: String,
    /// When the queue must be right.
    due: f64,
    /// When it need not be any more.
    until: f64,
    /// When a hook has proved it; nothing if none ever does.
    hook_due: Option<f64>,
    span: Option<&'a Span>,
}

impl Placed<'_> {
    fn must_wait(&self) -> bool {
        self.span.is_some_and(|span| span.state == "stuck")
    }

    /// Who could have known at a moment.
    fn sources(&self, at: f64) -> Vec<String> {
        let Some(span) = self.span else { return vec![HOOK.to_owned()] };
        let by_hook = match self.hook_due {
            Some(due) => at >= due,
            None => span.continues && span.provable_by.iter().any(|source| source == HOOK),
        };
        if by_hook {
            return vec![HOOK.to_owned()];
        }
        let others = span.provable_by.iter().filter(|source| *source != HOOK);
        others.cloned().collect()
    }
}

/// Scores the samples of a run.
///
/// # Errors
/// There is nothing to score; the text says what is missing.
pub fn score(truth: &Truth, out: &Path) -> Result<Score, String> {
    let timeline = Timeline::read(out);
    let start = timeline.start().ok_or_else(|| format!("nothing happened in {}", out.display()))?;
    let samples = lines::read(&out.join("samples.ndjson"), usize::MAX);
    if !samples.iter().any(|sample| sample.get("items").is_some()) {
        return Err(format!("no usable sample of {} in {}", samples.len(), out.display()));
    }
    let mut score = Score::default();
    let failed = samples.iter().filter(|sample| sample.get("items").is_none()).count();
    if failed > 0 {
        score.notes.push(format!("{failed} of {} samples failed: that time is not scored", samples.len()));
    }
    let placed = place(truth, &timeline, start, &mut score.notes);
    let panes = pane_times(truth, &timeline);
    let quiet: Vec<&String> = truth
        .sessions
        .iter()
        .filter(|session| !truth.spans.iter().any(|span| span.session == session.id))
        .filter_map(|session| timeline.ids.get(session.order.checked_sub(1)?))
        .collect();
    for (index, sample) in samples.iter().enumerate() {
        let Some(items) = sample.get("items").and_then(Value::as_array) else { continue };
        let from = lines::seconds(sample);
        let next = samples.get(index + 1).map_or(from + LAST_SAMPLE, lines::seconds);
        let to = next.min(from + SAMPLE_HOLDS);
        let queued: BTreeMap<String, &Value> = items.iter().map(|item| (native_id(item), item)).collect();
        for span in &placed {
            look(span, queued.get(&span.session).copied(), (from, to), start, &mut score);
        }
        for session in queued.keys() {
            let is_true = placed.iter().any(|span| span.session == *session) && !quiet.contains(&session);
            let of_a_pane = !timeline.ids.contains(session)
                && panes.iter().any(|(begin, end)| *begin <= from && from <= *end);
            if !is_true && !of_a_pane {
                score.scored += to - from;
                let stretch = Stretch {
                    wrong: Wrong::FalseWaiting,
                    truth: format!("{session} is no session of the human's"),
                    sources: vec![HOOK.to_owned()],
                    from: from - start,
                    to: to - start,
                    seconds: to - from,
                };
                score.add(stretch);
            }
        }
    }
    Ok(score)
}

impl Score {
    /// Adds wrong time to the stretch it goes on from, if there is one.
    fn add(&mut self, stretch: Stretch) {
        let same = self.stretches.iter_mut().rev().find(|last| {
            (last.wrong, &last.truth, &last.sources) == (stretch.wrong, &stretch.truth, &stretch.sources)
                && stretch.from - last.to < ONE_STRETCH
        });
        match same {
            Some(last) => {
                last.to = stretch.to;
                last.seconds += stretch.seconds;
            }
            None => self.stretches.push(stretch),
        }
    }
}

/// Holds one sample against one span.
fn look(placed: &Placed<'_>, item: Option<&Value>, sample: (f64, f64), start: f64, score: &mut Score) {
    let (from, to) = (sample.0.max(placed.due), sample.1.min(placed.until));
    if to <= from {
        return;
    }
    score.scored += to - from;
    let wrong = match (placed.must_wait(), item) {
        (true, None) => Wrong::MissedWaiting,
        (false, Some(_)) => Wrong::FalseWaiting,
        (true, Some(item)) => {
            let reason = lines::text(item, "reason");
            let is_said = reason == "stopped" || reason == "permission";
            if !is_said || placed.span.is_none_or(|span| span.accepts_reason(reason)) {
                return;
            }
            Wrong::Reason
        }
        (false, None) => return,
    };
    // A sample that lies across the moment at which a hook proved it counts for both sides of it.
    let border = placed.hook_due.filter(|due| from < *due && *due < to);
    for (from, to) in [(from, border.unwrap_or(to)), (border.unwrap_or(to), to)] {
        if to > from {
            score.add(Stretch {
                wrong,
                truth: placed.span.map_or_else(|| "headless".to_owned(), Span::name),
                sources: placed.sources(from),
                from: from - start,
                to: to - start,
                seconds: to - from,
            });
        }
    }
}

/// Puts the spans of the truth on the clock of this run.
fn place<'a>(truth: &'a Truth, timeline: &Timeline, start: f64, notes: &mut Vec<String>) -> Vec<Placed<'a>> {
    let mut placed = Vec::new();
    let live = |id: &str| {
        let session = truth.sessions.iter().find(|session| session.id == id)?;
        timeline.ids.get(session.order.checked_sub(1)?).cloned()
    };
    for session in &truth.sessions {
        if live(&session.id).is_none() {
            notes.push(format!("session {} of the truth never appeared", session.order));
        }
        if session.headless {
            let session = live(&session.id).unwrap_or_else(|| session.id.clone());
            placed.push(Placed { session, due: start - 60.0, until: NEVER, hook_due: None, span: None });
        }
    }
    let headless = |id: &str| truth.sessions.iter().any(|session| session.id == id && session.headless);
    for span in
        truth.spans.iter().filter(|span| !span.is_of_a_pane() && !span.soft && !headless(&span.session))
    {
        let (from, until) =
            (timeline.at(&span.from), span.to.as_ref().map_or(Some(NEVER), |to| timeline.at(to)));
        let (Some(from), Some(until)) = (from, until) else {
            notes.push(format!("{}: an anchor of it is not in this run", span.name()));
            continue;
        };
        let proof = span.proof.as_ref().and_then(|proof| timeline.at(proof));
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are few")]
        let hook_due = proof.map(|at| at + span.lag_ms as f64 / 1_000.0);
        let looked = span.provable_by.iter().any(|source| source != HOOK).then_some(from + LOOKED);
        let continues = span.continues.then_some(from);
        let Some(due) = [hook_due, looked, continues].into_iter().flatten().min_by(f64::total_cmp) else {
            notes.push(format!("{}: nothing could prove it in this run", span.name()));
            continue;
        };
        let session = live(&span.session).unwrap_or_else(|| span.session.clone());
        placed.push(Placed { session, due: due.max(from), until, hook_due, span: Some(span) });
    }
    placed
}

/// Times in which a pane shows a dialog before there is a session: whatever is queued for it then is right.
fn pane_times(truth: &Truth, timeline: &Timeline) -> Vec<(f64, f64)> {
    let spans = truth.spans.iter().filter(|span| span.is_of_a_pane() && !span.soft);
    spans
        .filter_map(|span| {
            let until = span.to.as_ref().map_or(Some(NEVER), |to| timeline.at(to))?;
            Some((timeline.at(&span.from)?, until + LOOKED))
        })
        .collect()
}

/// The host's own id of a queue entry.
fn native_id(item: &Value) -> String {
    const HOSTS: [&str; 8] = ["claude", "codex", "cursor", "gemini", "copilot", "opencode", "droid", "amp"];
    let key = lines::text(item, "session_id");
    let own = HOSTS.iter().find_map(|host| key.strip_prefix(host)?.strip_prefix('-'));
    own.unwrap_or(key).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    /// A run of ten seconds: asked at 1, proved by a hook at 1.5, answered at 6 and proved by a hook at 8.
    fn run(queued: impl Fn(f64) -> bool) -> Score {
        let dir = tempfile::tempdir().unwrap();
        let hooks = [(0.0, "SessionStart"), (1.5, "PermissionRequest"), (8.0, "PostToolUse")];
        let hooks = hooks.map(|(at, name)| {
            format!(r#"{{"ts":{at:?},"tag":"claude","native":{{"hook_event_name":"{name}","session_id":"live"}}}}"#)
        });
        let marks = [r#"{"ts":1.0,"do":"saw","what":"Do you want"}"#, r#"{"ts":6.0,"do":"key","key":"1"}"#];
        let samples = (0..100).map(|tenth| f64::from(tenth) / 10.0).map(|at| {
            let item = if queued(at) { r#"{"session_id":"claude-live","reason":"permission"}"# } else { "" };
            format!(r#"{{"ts":{at:?},"ms":1,"items":[{item}]}}"#)
        });
        let put = |name: &str, text: &str| {
            let mut file = File::create(dir.path().join(format!("{name}.ndjson"))).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        put("hooks", &hooks.join("\n"));
        put("marks", &marks.join("\n"));
        put("samples", &samples.collect::<Vec<_>>().join("\n"));
        let truth = r#"{"sessions":[{"id":"recorded","order":1}],"spans":[
            {"session":"recorded","from":{"saw":"Do you want"},"to":{"key":"1"},"state":"stuck","kind":"permission",
             "reason":"permission","provable_by":["hook","screen"],"proof":{"hook":"PermissionRequest"},"lag_ms":1000},
            {"session":"recorded","from":{"key":"1"},"to":{"end":true,"plus_ms":2000},"state":"working",
             "provable_by":["hook","screen"],"proof":{"hook":"PostToolUse"},"lag_ms":1000}]}"#;
        score(&serde_json::from_str(truth).unwrap(), dir.path()).unwrap()
    }

    fn near(seconds: f64, expected: f64) -> bool {
        (seconds - expected).abs() < 0.15
    }

    #[test]
    fn a_queue_that_follows_the_hooks_is_never_wrong() {
        let score = run(|at| (1.6..6.0).contains(&at));
        assert_eq!(score.stretches, []);
        // From 2.5 (a second after the proof) to 6, and from 9 (before 6 + 3 s there is no proof) to 10.
        assert!(near(score.scored, 3.5 + 1.0), "{}", score.scored);
        assert_eq!(score.notes, [""; 0]);
    }

    #[test]
    fn a_missed_wait_counts_for_the_hook_that_proved_it() {
        let score = run(|_| false);
        assert!(near(score.by_source()[HOOK], 3.5), "{:?}", score.stretches);
        assert_eq!(score.stretches[0].wrong, Wrong::MissedWaiting);
        assert_eq!(score.stretches[0].truth, "stuck permission");
    }

    #[test]
    fn a_wait_that_goes_on_counts_for_who_could_know_by_then() {
        let score = run(|at| at >= 1.6);
        // The answer is due from the screen at 9, three seconds after the key, and from the hook at 9 as well.
        assert!(near(score.by_source()[HOOK], 1.0), "{:?}", score.stretches);
        assert!(!score.by_source().contains_key("screen"), "{:?}", score.stretches);
    }
}
