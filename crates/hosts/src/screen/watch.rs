//! Samples of one pane over time: what counts, and since when.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use herdbook_events::observation::PaneRef;
use herdbook_events::{PaneSeen, Shows, WaitKind};

use super::manifest::Manifest;
use super::read::{CHOICE, Reading, read};
use super::{Confidence, Sample, Verdict};

/// Samples this soon after a change of size are dropped: the client has not drawn itself anew (field case F-085).
const RESIZED_MS: u64 = 1_000;
/// A dialog that no rule names must stand unchanged so long before it counts (field case F-081).
const UNNAMED_MS: u64 = 10_000;

/// What a pane shows, as far as it counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The reading that counts; [`Verdict::Unknown`] until one does.
    pub reading: Reading,
    /// When the first of the samples that say so was taken, on the clock of the samples.
    pub since_ms: u64,
    /// Changes of the verdict so far.
    pub transitions: u32,
    /// The last sample changed the verdict to one that a human may be told, and no human is at the pane.
    pub announce: bool,
    /// The last sample says so itself.
    pub is_fresh: bool,
    /// The host's own dialog, if the last sample is the first to show it: it counts for a request that is known.
    pub glimpse: Option<Reading>,
    /// The host draws a dialog no later than this after it asked, as a rule.
    pub drawn_ms: u64,
}

impl Judgement {
    /// Returns what this tells the engine, if the last sample itself says it: `at_ms` is the time of that sample. What
    /// cannot be told is no proof of anything.
    pub fn seen(&self, at_ms: u64, pane: PaneRef, host: &str) -> Option<PaneSeen> {
        let (reading, for_ms) = match &self.glimpse {
            Some(glimpse) => (glimpse, 0),
            None if self.is_fresh => (&self.reading, at_ms.saturating_sub(self.since_ms)),
            None => return None,
        };
        let kind = reading.kind;
        let shows = match reading.verdict {
            Verdict::Busy => Shows::Busy,
            Verdict::Ready => Shows::Ready { kind: kind.unwrap_or(WaitKind::TurnEnd) },
            Verdict::Dialog => Shows::Dialog {
                kind: kind.unwrap_or(WaitKind::Dialog),
                sure: reading.confidence == Confidence::High,
            },
            Verdict::Menu => Shows::Menu,
            Verdict::Unknown => return None,
        };
        Some(PaneSeen {
            pane,
            host: host.to_owned(),
            shows,
            for_ms,
            drawn_ms: self.drawn_ms,
            message: reading.message.clone(),
        })
    }

    /// What it waits for, where the pane shows a dialog.
    pub fn dialog(&self) -> Option<WaitKind> {
        self.reading.kind.filter(|_| self.reading.verdict == Verdict::Dialog)
    }
}

/// One pane under watch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    counted: Judgement,
    /// A verdict was given at all; the first one is no change.
    judged: bool,
    /// The last reading, with the time of the first of the equal samples.
    last: Option<(Reading, u64)>,
    /// What the last sample that was read says, and what it was: most panes stand still, and reading is most of the work.
    read: Option<(u64, Reading)>,
    /// Frame of the animation in the title of the sample before.
    frame: Option<char>,
}

impl Watch {
    /// Starts with a verdict from before.
    pub fn after(previous: Verdict) -> Watch {
        let reading = Reading { verdict: previous, ..Reading::default() };
        Watch { counted: Judgement { reading, ..Judgement::default() }, judged: true, ..Watch::default() }
    }

    /// Takes a sample and returns what counts now. The same work counts at once, since a finished turn leaves no sign
    /// of it in the live region; all else counts when the next sample says the same.
    pub fn see(&mut self, manifest: &Manifest, sample: &Sample<'_>) -> &Judgement {
        self.counted.announce = false;
        self.counted.is_fresh = false;
        self.counted.glimpse = None;
        if sample.in_mode || sample.resized_ms_ago.is_some_and(|ago| ago < RESIZED_MS) {
            self.last = None;
            return &self.counted;
        }
        let mut reading = self.read(manifest, sample);
        self.counted.drawn_ms = manifest.drawn_ms(&reading.rule);
        let frame = sample.title.chars().next().filter(|sign| matches!(sign, '\u{2801}'..='\u{28ff}'));
        let moves = matches!((self.frame, frame), (Some(before), Some(now)) if before != now);
        self.frame = frame;
        // A title can prove work, never that it is over (field case F-079).
        if moves && matches!(reading.verdict, Verdict::Ready | Verdict::Unknown) {
            reading = Reading { verdict: Verdict::Busy, kind: None, rule: "title".into(), ..reading };
        }
        let since_ms = match &self.last {
            Some((last, since_ms)) if same(last, &reading) => *since_ms,
            _ => sample.at_ms,
        };
        let again = since_ms < sample.at_ms;
        self.last = Some((reading.clone(), since_ms));
        let counts = match (reading.verdict, reading.confidence) {
            (Verdict::Busy, _) => true,
            (Verdict::Dialog, Confidence::Low) if reading.rule == CHOICE => {
                sample.at_ms.saturating_sub(since_ms) >= UNNAMED_MS
            }
            _ => again,
        };
        let is_known = (reading.verdict, reading.confidence) == (Verdict::Dialog, Confidence::High);
        if is_known && !counts {
            self.counted.glimpse = Some(reading);
        } else if counts {
            let changed = self.judged && self.counted.reading.verdict != reading.verdict;
            self.counted.transitions += u32::from(changed);
            self.counted.announce = changed
                && matches!(reading.verdict, Verdict::Ready | Verdict::Dialog)
                && !reading.human_there;
            self.judged = true;
            self.counted.is_fresh = true;
            self.counted.since_ms = since_ms;
            self.counted.reading = reading;
        }
        &self.counted
    }

    fn read(&mut self, manifest: &Manifest, sample: &Sample<'_>) -> Reading {
        let mut hasher = DefaultHasher::new();
        (manifest.mark, sample.text, sample.title, sample.size, sample.cursor).hash(&mut hasher);
        let mark = hasher.finish();
        match &self.read {
            Some((known, reading)) if *known == mark => reading.clone(),
            _ => {
                let reading = read(manifest, sample);
                self.read = Some((mark, reading.clone()));
                reading
            }
        }
    }

    /// Forgets the sample before: the pane could not be looked at, so two samples are needed anew. The verdict that
    /// counted is no longer known.
    pub fn lost_sight(&mut self) {
        self.last = None;
        self.frame = None;
        self.counted = Judgement { transitions: self.counted.transitions, ..Judgement::default() };
        self.judged = false;
    }

    /// True when the last sample showed something that counts only if the next one shows it, too.
    pub fn is_undecided(&self) -> bool {
        let shows = self.last.as_ref().is_some_and(|(reading, _)| reading.verdict != Verdict::Unknown);
        shows && !self.counted.is_fresh
    }

    /// Returns what counts now.
    pub fn judgement(&self) -> &Judgement {
        &self.counted
    }
}

fn same(left: &Reading, right: &Reading) -> bool {
    let key = |reading: &Reading| (reading.verdict, reading.kind, reading.confidence);
    key(left) == key(right) && (left.verdict == Verdict::Busy || left.mark == right.mark)
}
