//! The engine: inputs to journal records, transitions and calls.

use std::collections::{HashMap, HashSet, VecDeque};

use herdbook_attention::{Attention, Cause, Limits, Moment, Transition};
use herdbook_events::{CanonicalEvent, Process, SessionKey, Ulid, UlidGenerator};
use herdbook_redact::Redactor;

use crate::book::Book;
use crate::received::Ledger;
use crate::record::{Record, RecordView, ReplayError};
use crate::types::{Config, Effect, HumanAct, Input, Now, TmuxFacts};
use crate::{decision, detected, intake, pane, payload, status, transcript};

/// The engine: all state of the attention layer, and the rules that move it.
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) redactor: Redactor,
    pub(crate) attention: Attention,
    ids: UlidGenerator,
    clock: Clock,
    pub(crate) deliveries: Deliveries,
    pub(crate) twins: VecDeque<Twin>,
    pub(crate) counts: HashMap<SessionKey, Counts>,
    pub(crate) received: Ledger,
    pub(crate) book: Book,
    /// The last cause that is in the journal: what happened later before a stop is not known.
    last_cause: Moment,
    warned: HashSet<String>,
    /// The boot of the machine in which the daemon started last, where that was told.
    boot: Option<u32>,
}

/// Delivery ids that are in the journal: the same one is dropped for good.
///
/// A second copy can only come out of the spool, which holds fewer calls than are remembered here.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// Each with the id of its record, so that a decision finds the call that it is about.
    known: HashMap<u128, Option<Ulid>>,
    order: VecDeque<u128>,
}

impl Deliveries {
    const REMEMBERED: usize = 65_536;

    /// True when it was taken before.
    pub(crate) fn is_known(&self, delivery: u128) -> bool {
        self.known.contains_key(&delivery)
    }

    /// Returns the journal id of a delivery's record.
    pub(crate) fn record_of(&self, delivery: u128) -> Option<String> {
        self.known.get(&delivery).copied().flatten().map(|id| id.to_string())
    }

    /// Remembers a delivery and its record.
    pub(crate) fn insert(&mut self, delivery: u128, record: &str) {
        if self.known.insert(delivery, Ulid::parse(record)).is_some() {
            return;
        }
        self.order.push_back(delivery);
        if self.order.len() > Deliveries::REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// A recent hook call, to tell another registration of the same call from a new one (overview section 3).
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub at_ms: u64,
    pub stamp_ms: Option<u64>,
    pub key: String,
    pub id: String,
    pub adapter: String,
}

/// Canonical events of a session, repeats left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub turns: u64,
    pub tools: u64,
}

/// The fold's own clock: it never falls, stands still while the machine sleeps, and goes on over a restart.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    at_ms: u64,
    last: Option<Now>,
    /// The journal was replayed up to `last`: the monotonic clock may have begun anew since.
    replayed: bool,
}

/// A wall clock that ran this much further than the monotonic one: the machine slept.
const SLEEP_MS: u64 = 60_000;

impl Engine {
    /// Makes an engine with nothing in it.
    pub fn new(config: Config) -> Engine {
        let limits = Limits {
            grace_ms: config.grace_ms,
            group_ms: 300,
            skip_cooldown_ms: config.skip_cooldown_ms,
            working_expiry_ms: config.working_expiry_ms,
            stale_wait_ms: config.stale_wait_ms,
            tombstone_ms: config.tombstone_ms,
            focus_ms: 60_000,
        };
        Engine {
            redactor: Redactor::new(&config.redact_key),
            attention: Attention::new(limits),
            ids: UlidGenerator::new(config.seed, None),
            clock: Clock::default(),
            deliveries: Deliveries::default(),
            twins: VecDeque::new(),
            counts: HashMap::new(),
            received: Ledger::default(),
            book: Book::default(),
            last_cause: Moment::default(),
            warned: HashSet::new(),
            boot: None,
            config,
        }
    }

    /// Folds one input and returns what shall happen. An [`Effect::Append`] comes first if there is one.
    pub fn step(&mut self, now: Now, input: Input) -> Vec<Effect> {
        let at = self.tick(now);
        let mut out = Outcome::default();
        if self.attention.is_due(at) {
            let transitions = self.attention.advance(at);
            self.record_transitions(at, transitions, &mut out);
        }
        match input {
            Input::Hook(delivery) => intake::hook(self, at, delivery, &mut out),
            Input::Normalized { event, body } => {
                let id = self.next_id(at);
                let cause = posted_cause(&id, event.kind());
                let event = intake::marked(&self.redactor, event);
                let body = self.redactor.json(&body).into_owned();
                out.records.push(Record::new(&id, at, "normalized", payload::normalized(at, &event, &body)));
                let transitions = self.attention.post(at, &cause, &event);
                self.record_transitions(at, transitions, &mut out);
            }
            Input::Human(act) => {
                let id = self.next_id(at);
                if let Some((act, transitions)) = self.human(at, &id, act) {
                    out.records.push(Record::new(&id, at, "human", payload::human(at, &act)));
                    self.record_transitions(at, transitions, &mut out);
                }
            }
            Input::Decided(decided) => decision::take(self, at, decided, &mut out),
            Input::Tmux(facts) => self.tmux(at, facts, &mut out),
            Input::Seats(seats) => self.attention.sit(seats),
            Input::Process { process, machine, alive } => {
                let machine = machine.as_deref();
                if !alive && self.attention.knows_process(process, machine) {
                    let id = self.next_id(at);
                    let cause = process_cause(&id, process);
                    let transitions = self.attention.process_gone(at, &cause, process, machine);
                    out.records.push(Record::new(
                        &id,
                        at,
                        "observation",
                        payload::process(at, process, machine),
                    ));
                    self.record_transitions(at, transitions, &mut out);
                }
            }
            Input::Pane(seen) => pane::seen(self, at, seen, &mut out),
            Input::Detected(detected) => detected::take(self, at, detected, &mut out),
            Input::Status(said) => status::said(self, at, said, &mut out),
            Input::Transcript(news) => transcript::news(self, at, news, &mut out),
            Input::Gap { lost, reason } => {
                let id = self.next_id(at);
                self.book.totals.lost += lost;
                out.records.push(Record::new(&id, at, "gap", payload::gap(at, lost, &reason)));
            }
            Input::Daemon { what, version, boot } => {
                let id = self.next_id(at);
                out.records.push(Record::new(&id, at, "daemon", payload::daemon(at, what, &version, boot)));
                if what == "start" {
                    let transitions = self.started(at, &id, boot);
                    self.record_transitions(at, transitions, &mut out);
                }
            }
            Input::Tick => {}
        }
        self.calls(at, &mut out);
        if out.records.iter().any(|record| record.kind != "transition") {
            self.last_cause = at;
        }
        self.write_up();
        out.into_effects()
    }

    /// Folds one journal record again after a start; nothing is written or announced.
    ///
    /// Causes are folded with the rules of this version; recorded transitions are passed over, since they follow.
    ///
    /// # Errors
    /// The record is damaged in a way its crc does not show; the state is as before.
    pub fn replay(&mut self, record: &RecordView<'_>) -> Result<(), ReplayError> {
        if let Some(id) = Ulid::parse(record.id) {
            self.ids.start_above(id);
        }
        if !matches!(
            record.kind,
            "hook" | "unreadable" | "normalized" | "human" | "decision" | "observation" | "daemon" | "gap"
        ) {
            return Ok(());
        }
        let failed = |reason: String| ReplayError { id: record.id.into(), kind: record.kind.into(), reason };
        let clock = payload::clock(record.payload).map_err(|error| failed(error.to_string()))?;
        self.clock.at_ms = self.clock.at_ms.max(clock);
        // What follows is measured from the last record, by the wall clock: the monotonic one may have begun anew.
        self.clock.last = Some(Now { wall_ms: record.ts_ms, mono_ms: 0 });
        self.clock.replayed = true;
        let at = Moment { at_ms: self.clock.at_ms, wall_ms: record.ts_ms };
        if self.attention.is_due(at) {
            self.attention.advance(at);
        }
        let result = self.replay_cause(at, record);
        self.last_cause = at;
        self.write_up();
        let mut silent = Outcome::default();
        self.calls(at, &mut silent);
        self.attention.take_withdrawn();
        result.map_err(|error| failed(error.to_string()))
    }

    /// Lets the time after a replay pass up to a moment of the past, and returns that moment to look at. `next` is the
    /// record that followed: the fold's clock goes no further than it did until then, since the machine may have slept.
    pub fn rest_until(&mut self, wall_ms: u64, next: Option<&RecordView<'_>>) -> Now {
        let rested_ms = self.clock.last.map_or(0, |last| wall_ms.saturating_sub(last.wall_ms));
        // A record that no engine made knows no clock.
        let known = |clock: &u64| *clock >= self.clock.at_ms;
        let bound = next.and_then(|next| payload::clock(next.payload).ok()).filter(known);
        let at_ms = (self.clock.at_ms + rested_ms).min(bound.unwrap_or(u64::MAX));
        let now = Now { wall_ms, mono_ms: 0 };
        self.clock = Clock { at_ms, last: Some(now), replayed: false };
        // Where agents sat then is not recorded: that nobody is known to sit anywhere bears no hint out.
        self.step(now, Input::Seats(Vec::new()));
        now
    }

    fn replay_cause(&mut self, at: Moment, record: &RecordView<'_>) -> Result<(), serde_json::Error> {
        match record.kind {
            "hook" | "unreadable" => intake::replay(self, at, record)?,
            "normalized" => {
                let event = payload::read_normalized(record.payload)?;
                self.attention.post(at, &posted_cause(record.id, event.kind()), &event);
            }
            "human" => {
                let act = payload::read_human(record.payload)?;
                self.human(at, record.id, act);
            }
            "decision" => decision::replay(self, at, record)?,
            "observation" => {
                match payload::source(record.payload)?.as_str() {
                    "process" => {
                        if let Some((process, machine)) = payload::read_process(record.payload)? {
                            let cause = process_cause(record.id, process);
                            self.attention.process_gone(at, &cause, process, machine.as_deref());
                        }
                    }
                    "transcript" => transcript::replay(self, at, record)?,
                    "pane" => pane::replay(self, at, record.id, record.payload)?,
                    detected::SOURCE => detected::replay(self, at, record.id, record.payload)?,
                    "status" => status::replay(self, at, record)?,
                    // Of a later version.
                    _ => {}
                }
            }
            "daemon" => {
                if let Some(boot) = payload::read_start(record.payload)? {
                    self.started(at, record.id, boot);
                }
            }
            "gap" => self.book.totals.lost += payload::lost(record.payload)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns the monotonic time at which [`Input::Tick`] should come at the latest.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let due = self.attention.next_deadline_ms()?;
        let last = self.clock.last?;
        Some(last.mono_ms + due.saturating_sub(self.clock.at_ms))
    }

    pub(crate) fn moment(&self, now: Now) -> Moment {
        Moment { at_ms: self.clock.at_ms + self.clock.elapsed(now), wall_ms: now.wall_ms }
    }

    /// The wall time at which the fold's clock will show `at_ms`, if the machine does not sleep.
    pub(crate) fn wall_of(&self, at_ms: u64) -> u64 {
        let wall_ms = self.clock.last.map_or(0, |last| last.wall_ms);
        wall_ms + at_ms.saturating_sub(self.clock.at_ms)
    }

    fn tick(&mut self, now: Now) -> Moment {
        let at_ms = self.clock.at_ms + self.clock.elapsed(now);
        let slept = self.clock.last.is_some_and(|last| {
            !self.clock.replayed
                && now.wall_ms.saturating_sub(last.wall_ms)
                    > now.mono_ms.saturating_sub(last.mono_ms) + SLEEP_MS
        });
        self.clock = Clock { at_ms, last: Some(now), replayed: false };
        let at = Moment { at_ms, wall_ms: now.wall_ms };
        if slept {
            self.attention.restart_grace(at);
        }
        at
    }

    /// Counts of sessions that nobody remembers go before those of a new one come.
    pub(crate) fn forget_counts(&mut self, coming: &SessionKey) {
        let is_new = !self.counts.contains_key(coming);
        if is_new && self.counts.len() > 2 * self.attention.sessions().count() + 1_000 {
            let attention = &self.attention;
            self.counts.retain(|key, _| attention.session(key).is_some());
        }
    }

    pub(crate) fn next_id(&mut self, at: Moment) -> String {
        self.ids.generate(at.wall_ms).to_string()
    }

    pub(crate) fn warn_once(&mut self, text: String, out: &mut Outcome) {
        // Bounded: a host's name and an error's place are foreign text.
        if self.warned.len() < 1_000 && self.warned.insert(text.clone()) {
            out.warnings.push(text);
        }
    }

    /// Folds what a canonical event says. Returns the transitions.
    pub(crate) fn observe(
        &mut self,
        at: Moment,
        cause: &Cause,
        event: &CanonicalEvent,
        origin: &herdbook_events::Origin,
    ) -> Vec<Transition> {
        let mut transitions = Vec::new();
        for seen in herdbook_hosts::observe(event, origin) {
            transitions.extend(self.attention.observe(at, cause, &seen));
        }
        transitions
    }

    pub(crate) fn record_transitions(&mut self, at: Moment, transitions: Vec<Transition>, out: &mut Outcome) {
        for transition in transitions {
            let id = self.next_id(at);
            out.records.push(Record::new(&id, at, "transition", payload::transition(at, &transition)));
            out.published.push(Effect::Publish { id, event: transition.event });
        }
    }

    /// Carries out a human's act; nothing when there was no such entry. The act comes back with its session named.
    fn human(&mut self, at: Moment, id: &str, act: HumanAct) -> Option<(HumanAct, Vec<Transition>)> {
        let cause = Cause {
            id: id.to_owned(),
            source: "human",
            fact: "settled by the human".into(),
            ..Cause::default()
        };
        match act {
            HumanAct::Skip(session) => {
                self.attention.skip(at, session.as_ref()).map(|key| (HumanAct::Skip(Some(key)), Vec::new()))
            }
            HumanAct::Snooze(session, for_ms) => self
                .attention
                .snooze(at, &session, for_ms)
                .map(|key| (HumanAct::Snooze(key, for_ms), Vec::new())),
            HumanAct::Pin(session, pinned) => {
                self.attention.pin(&session, pinned).map(|key| (HumanAct::Pin(key, pinned), Vec::new()))
            }
            HumanAct::Settle(session) => {
                let transitions = self.attention.settle(at, &cause, &session)?;
                Some((HumanAct::Settle(session), transitions))
            }
        }
    }

    /// The daemon started: nobody is called for what waited before. In another boot the stamps of before say nothing,
    /// and what ran on this machine is gone.
    fn started(&mut self, at: Moment, id: &str, boot: Option<u32>) -> Vec<Transition> {
        self.attention.look_away(self.last_cause, at);
        self.attention.silence_pending();
        self.twins.clear();
        let before = self.boot;
        self.boot = boot.or(before);
        if boot.is_none() || boot != before {
            self.attention.forget_stamps();
        }
        if boot.is_none() || before.is_none() || boot == before {
            return Vec::new();
        }
        let fact = "the machine was started anew".to_owned();
        let cause = Cause { id: id.to_owned(), source: "process", fact, ..Cause::default() };
        self.attention.rebooted(at, &cause)
    }

    /// Puts what is over into the book.
    fn write_up(&mut self) {
        for span in self.attention.take_spans() {
            self.book.add(&span);
        }
    }

    fn tmux(&mut self, at: Moment, facts: TmuxFacts, out: &mut Outcome) {
        if let Some(panes) = &facts.panes {
            let server = facts.server.as_ref().map(|(socket, pid)| (socket.as_str(), *pid));
            pane::listed(self, at, server, panes, out);
        }
        if let Some(focus) = facts.focus {
            self.attention.focus(at, focus.pane, focus.client_active_ms_ago);
        }
    }

    fn calls(&mut self, at: Moment, out: &mut Outcome) {
        if self.attention.is_due(at) {
            if let Some(call) = self.attention.calls(at) {
                let message = herdbook_redact::clean_line(&call.message);
                out.calls.push(Effect::Announce { sessions: call.sessions, message });
            }
            self.attention.settle_deadline();
        }
        let withdrawn = self.attention.take_withdrawn();
        out.calls.extend(withdrawn.into_iter().map(|session| Effect::Withdraw { session }));
    }
}

impl Clock {
    fn elapsed(&self, now: Now) -> u64 {
        match self.last {
            // The wall clock bridges the stop.
            Some(last) if self.replayed => now.wall_ms.saturating_sub(last.wall_ms),
            Some(last) => now.mono_ms.saturating_sub(last.mono_ms),
            None => 0,
        }
    }
}

/// What one step gives, in the order it is to be carried out.
#[derive(Default)]
pub(crate) struct Outcome {
    pub records: Vec<Record>,
    pub published: Vec<Effect>,
    pub calls: Vec<Effect>,
    pub warnings: Vec<String>,
}

impl Outcome {
    fn into_effects(self) -> Vec<Effect> {
        let append = (!self.records.is_empty()).then_some(Effect::Append(self.records));
        append
            .into_iter()
            .chain(self.published)
            .chain(self.calls)
            .chain(self.warnings.into_iter().map(Effect::Warn))
            .collect()
    }
}

fn posted_cause(id: &str, kind: &str) -> Cause {
    Cause {
        id: id.to_owned(),
        source: "posted",
        fact: format!("a producer posted {kind}"),
        ..Cause::default()
    }
}

fn process_cause(id: &str, process: Process) -> Cause {
    let pid = process.pid;
    Cause { id: id.to_owned(), source: "process", fact: format!("process {pid} is gone"), ..Cause::default() }
}
