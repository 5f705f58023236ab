//! The virtual herd: the engine, two clocks, a log that survives restarts, and a spool.

use std::collections::{BTreeMap, BTreeSet};

use herdbook_engine::record::{Record, RecordView};
use herdbook_engine::view::{SessionView, WhyView};
use herdbook_engine::{
    Config, Decided, DecidedBy, Effect, Engine, Focus, HookDelivery, Input, Now, RouteRun, TmuxFacts,
};
use herdbook_events::{Process, SessionKey};
use herdbook_hosts::{Projected, project};
use serde_json::{Value, json};

use crate::replay::eye::PaneEye;
use crate::replay::files::Files;
use crate::replay::origin::origin_of;
use crate::replay::step::{Act, DaemonAct, DecidedStep, HookStep, TmuxStep};

/// Unix time at the start of a replay, until a step sets the clock: 2026-01-01.
const WALL_START_MS: u64 = 1_767_225_600_000;
/// Monotonic time at the start of a replay.
const MONO_START_MS: u64 = 1_000_000;
/// An engine that asks for a tick again and again at the same moment is not asked further.
const MAX_TICKS_AT_ONCE: usize = 16;
/// A start of the daemon takes no time here, but the version it names is a fixed one.
const VERSION: &str = "replay";

/// One engine under virtual time and what became of it.
pub struct VirtualHerd {
    engine: Option<Engine>,
    starts: u64,
    t_ms: u64,
    clocks: Vec<ClockSetting>,
    deliveries: u128,
    /// Whose call each delivery was, as far as its payload tells.
    callers: Vec<Caller>,
    log: Vec<Record>,
    spool: Vec<HookDelivery>,
    announced: Vec<u64>,
    withdrawn: Vec<String>,
    hooks_of: BTreeMap<String, usize>,
    native_ids: BTreeMap<SessionKey, String>,
    tmux: TmuxFacts,
    dead: BTreeSet<(u32, Option<String>)>,
    snapshots: BTreeMap<String, Value>,
    eye: PaneEye,
    files: Files,
}

/// Whose hook call something was.
#[derive(Clone, Debug)]
struct Caller {
    host: String,
    native_event: String,
    session: Option<SessionKey>,
}

/// From `t_ms` on the clocks run on from these values.
#[derive(Clone, Copy, Debug)]
struct ClockSetting {
    t_ms: u64,
    wall_ms: u64,
    mono_ms: u64,
}

impl VirtualHerd {
    /// Starts a herd at time 0 with an empty log.
    pub fn new() -> VirtualHerd {
        let mut herd = VirtualHerd {
            engine: None,
            starts: 0,
            t_ms: 0,
            clocks: vec![ClockSetting { t_ms: 0, wall_ms: WALL_START_MS, mono_ms: MONO_START_MS }],
            deliveries: 0,
            callers: Vec::new(),
            log: Vec::new(),
            spool: Vec::new(),
            announced: Vec::new(),
            withdrawn: Vec::new(),
            hooks_of: BTreeMap::new(),
            native_ids: BTreeMap::new(),
            tmux: TmuxFacts::default(),
            dead: BTreeSet::new(),
            snapshots: BTreeMap::new(),
            eye: PaneEye::default(),
            files: Files::default(),
        };
        herd.start();
        herd
    }

    /// Lets time pass, with a tick at each moment the engine asked for.
    pub fn advance_to(&mut self, t_ms: u64) {
        let mut at_once = 0;
        while let Some(due_mono) = self.engine.as_ref().and_then(Engine::next_deadline_ms) {
            let now_mono = self.now().mono_ms;
            let due_t = self.t_ms + due_mono.saturating_sub(now_mono);
            if due_t > t_ms {
                break;
            }
            at_once = if due_t == self.t_ms { at_once + 1 } else { 0 };
            if at_once > MAX_TICKS_AT_ONCE {
                break;
            }
            self.t_ms = due_t;
            self.step(Input::Tick);
        }
        self.t_ms = t_ms;
    }

    /// Does what a step says, except for checks.
    pub fn take(&mut self, act: &Act) {
        match act {
            Act::Hook(hook) => self.hook(hook),
            Act::Tmux(step) => self.tmux(step),
            Act::Process { pid, alive, machine } => {
                let process = (*pid, machine.clone());
                if *alive {
                    self.dead.remove(&process)
                } else {
                    self.dead.insert(process)
                };
                let process = Process { pid: *pid, start: None };
                self.step(Input::Process { process, machine: machine.clone(), alive: *alive });
            }
            Act::Daemon(act) => {
                if matches!(act, DaemonAct::Stop | DaemonAct::Restart) {
                    self.engine = None;
                }
                if matches!(act, DaemonAct::Start | DaemonAct::Restart) && self.engine.is_none() {
                    self.start();
                }
            }
            Act::Clock { wall_ms, mono_ms } => {
                self.clocks.push(ClockSetting { t_ms: self.t_ms, wall_ms: *wall_ms, mono_ms: *mono_ms });
                self.step(Input::Tick);
            }
            Act::Pane(step) => {
                let running = self.engine.as_ref().map(Engine::sessions);
                let seen = running.and_then(|sessions| self.eye.look(step, self.t_ms, &sessions, &self.tmux));
                if let Some(seen) = seen {
                    self.step(Input::Pane(seen));
                }
            }
            Act::Append(step) => {
                self.files.append(step, &self.sessions());
                self.follow();
            }
            Act::Decided(step) => self.decided(step),
            Act::Check(_) => {}
        }
    }

    /// Takes any other input, at this moment.
    pub fn input(&mut self, input: Input) {
        self.step(input);
    }

    /// Returns all sessions that are listed; none while the daemon is stopped.
    pub fn sessions(&self) -> Vec<SessionView> {
        self.engine.as_ref().map(Engine::sessions).unwrap_or_default()
    }

    /// Returns what may be asked about a session's state.
    pub fn why(&self, key: &SessionKey) -> Option<WhyView> {
        self.engine.as_ref()?.why(self.now(), key)
    }

    /// Returns sessions and queue as they were at an earlier time of the replay, out of the log alone; nothing before its
    /// first record.
    pub fn past(&self, t_ms: u64) -> Option<(Vec<SessionView>, Vec<String>)> {
        let wall_ms = self.clocks_at(t_ms).wall_ms;
        let until = self.log.iter().rposition(|record| record.ts_ms <= wall_ms)? + 1;
        let mut engine = Engine::new(Config::default());
        for record in &self.log[..until] {
            // As at a start.
            let _ = engine.replay(&view(record));
        }
        let now = engine.rest_until(wall_ms, self.log.get(until).map(view).as_ref());
        let queue = engine.queue(now);
        Some((engine.sessions(), queue.iter().map(|entry| self.native_id(&entry.session)).collect()))
    }

    /// Returns the hosts' own ids of the queue in order.
    pub fn queue_ids(&self) -> Vec<String> {
        let queue = self.engine.as_ref().map(|engine| engine.queue(self.now())).unwrap_or_default();
        queue.iter().map(|entry| self.native_id(&entry.session)).collect()
    }

    /// Returns where going to the first entry leads.
    pub fn jump(&self) -> Value {
        let queue = self.engine.as_ref().map(|engine| engine.queue(self.now())).unwrap_or_default();
        let first = queue.first();
        let pane = first.and_then(|entry| entry.pane.as_ref()).map(|pane| &pane.pane);
        json!({"pane": pane, "machine": first.and_then(|entry| entry.machine.as_ref())})
    }

    /// Returns how often the human was called from a time on.
    pub fn announced_since(&self, from_ms: u64) -> usize {
        self.announced.iter().filter(|at_ms| **at_ms >= from_ms).count()
    }

    /// Returns the sessions for which a call was taken back.
    pub fn withdrawn(&self) -> &[String] {
        &self.withdrawn
    }

    /// Returns how many outside events the log holds.
    pub fn log_events(&self) -> usize {
        self.log.iter().filter(|record| is_outside(record)).count()
    }

    /// Returns how many hook events of a session the log holds.
    pub fn log_events_of(&self, id: &str) -> usize {
        self.hooks_of.get(id).copied().unwrap_or(0)
    }

    /// Returns the host's own id of a session.
    pub fn native_id(&self, key: &SessionKey) -> String {
        self.native_ids.get(key).cloned().unwrap_or_else(|| key.to_string())
    }

    /// Remembers a state under a name.
    pub fn remember(&mut self, name: &str, state: Value) {
        self.snapshots.insert(name.to_owned(), state);
    }

    /// Returns a state that was remembered.
    pub fn recall(&self, name: &str) -> Option<&Value> {
        self.snapshots.get(name)
    }

    fn now(&self) -> Now {
        self.clocks_at(self.t_ms)
    }

    /// The clocks as they stood (or will stand) at a time of the replay.
    fn clocks_at(&self, t_ms: u64) -> Now {
        let setting =
            self.clocks.iter().rev().find(|setting| setting.t_ms <= t_ms).unwrap_or(&self.clocks[0]);
        let passed = t_ms.saturating_sub(setting.t_ms);
        Now { wall_ms: setting.wall_ms + passed, mono_ms: setting.mono_ms + passed }
    }

    /// A fresh engine folds the log, is told what the samplers would find, and takes what lies in the spool.
    fn start(&mut self) {
        self.starts += 1;
        self.eye = PaneEye::default();
        let mut engine = Engine::new(Config { seed: self.starts, ..Config::default() });
        for record in &self.log {
            // A record that cannot be folded is passed over, as the daemon does; the checks show what is missing.
            let _ = engine.replay(&view(record));
        }
        self.engine = Some(engine);
        self.step(Input::Daemon { what: "start", version: VERSION.to_owned(), boot: Some(1) });
        if self.tmux != TmuxFacts::default() {
            self.step(Input::Tmux(self.tmux.clone()));
        }
        for (pid, machine) in self.dead.clone() {
            self.step(Input::Process { process: Process { pid, start: None }, machine, alive: false });
        }
        let mut spool = std::mem::take(&mut self.spool);
        spool.sort_by_key(|delivery| (delivery.stamp_ms, delivery.delivery));
        for delivery in spool {
            self.deliver(delivery);
        }
        self.files.forget();
        self.follow();
    }

    /// Reads the transcripts. The product looks each second; here each line is read when it is written.
    fn follow(&mut self) {
        if self.engine.is_some() {
            for news in self.files.news(&self.sessions()) {
                self.step(Input::Transcript(news));
            }
        }
    }

    fn hook(&mut self, hook: &HookStep) {
        let started = self.clocks_at(hook.origin_ms.unwrap_or(self.t_ms));
        self.deliveries += 1;
        self.callers.push(caller(hook));
        let delivery = HookDelivery {
            host: hook.agent.clone(),
            native_event: hook.event.clone(),
            delivery: self.deliveries,
            stamp_ms: Some(started.mono_ms),
            started_at_ms: Some(started.wall_ms),
            origin: origin_of(hook),
            body: hook.payload.get().as_bytes().to_vec(),
            cut: false,
            spooled: self.engine.is_none(),
            earlier_boot: false,
        };
        if self.engine.is_some() { self.deliver(delivery) } else { self.spool.push(delivery) }
    }

    fn deliver(&mut self, delivery: HookDelivery) {
        let projected = project(&delivery.host, delivery.native_event.as_deref(), &delivery.body);
        let session = match projected {
            Projected::Event(event) => event.session.clone(),
            Projected::Unreadable(salvage) => salvage.session,
        };
        let before = self.log_events();
        self.step(Input::Hook(delivery));
        let named = |view: &&SessionView| session.as_ref() == Some(&view.native_id);
        if let Some(view) = self.sessions().iter().find(named) {
            self.files.named(view);
        }
        self.follow();
        if let Some(session) = session {
            *self.hooks_of.entry(session).or_default() += self.log_events() - before;
        }
    }

    /// Nothing, where no such call was made.
    fn decided(&mut self, step: &DecidedStep) {
        let place = step.hook.checked_sub(1);
        let Some(caller) = place.and_then(|place| self.callers.get(place)).cloned() else { return };
        let by = match &step.route {
            Some(route) => DecidedBy::Routes(vec![RouteRun {
                route: route.clone(),
                trusted: String::new(),
                outcome: Some(step.outcome),
                reason: None,
                error: None,
                took_ms: 0,
            }]),
            None => DecidedBy::Human { how: "cli".into(), process: None, refused: None },
        };
        self.step(Input::Decided(Decided {
            delivery: step.hook as u128,
            host: caller.host,
            native_event: caller.native_event,
            session: caller.session,
            by,
            outcome: step.outcome,
            given: step.outcome,
            reason: None,
            told: step.told.then(|| step.outcome.to_owned()),
            left_out: Vec::new(),
            took_ms: 0,
        }));
    }

    fn tmux(&mut self, step: &TmuxStep) {
        let gone = step.error.as_deref().is_some_and(says_no_server);
        let facts = TmuxFacts {
            server: step
                .server
                .clone()
                .map(|(socket, pid, _)| (socket, pid))
                .or_else(|| if gone { self.tmux.server.clone() } else { None }),
            panes: match &step.panes {
                Some(rows) => Some(rows.iter().map(|row| row.id.clone()).collect()),
                None => gone.then(Vec::new),
            },
            focus: step
                .focus
                .as_ref()
                .map(|(pane, ago)| Focus { pane: pane.clone(), client_active_ms_ago: *ago }),
        };
        // A time-out and the like prove nothing, so nothing is said.
        if facts == TmuxFacts::default() {
            return;
        }
        self.tmux = TmuxFacts {
            server: facts.server.clone().or_else(|| self.tmux.server.take()),
            panes: facts.panes.clone().or_else(|| self.tmux.panes.take()),
            focus: facts.focus.clone().or_else(|| self.tmux.focus.take()),
        };
        self.step(Input::Tmux(facts));
    }

    fn step(&mut self, input: Input) {
        let now = self.now();
        let Some(engine) = &mut self.engine else { return };
        let effects = engine.step(now, input);
        for view in engine.sessions() {
            self.native_ids.insert(view.key, view.native_id);
        }
        for effect in effects {
            match effect {
                Effect::Append(records) => self.log.extend(records),
                // One call may be for several sessions: it is one announcement.
                Effect::Announce { .. } => self.announced.push(self.t_ms),
                Effect::Withdraw { session } => {
                    let id = self.native_id(&session);
                    self.withdrawn.push(id);
                }
                Effect::Publish { .. } | Effect::Warn(_) => {}
            }
        }
    }
}

impl Default for VirtualHerd {
    fn default() -> VirtualHerd {
        VirtualHerd::new()
    }
}

fn view(record: &Record) -> RecordView<'_> {
    RecordView { id: &record.id, ts_ms: record.ts_ms, kind: record.kind, payload: record.payload.get() }
}

fn caller(hook: &HookStep) -> Caller {
    match project(&hook.agent, hook.event.as_deref(), hook.payload.get().as_bytes()) {
        Projected::Event(event) => Caller {
            session: event.session.as_deref().and_then(|id| SessionKey::hooked(&event.host, id)),
            native_event: event.native_event.clone().unwrap_or_default(),
            host: event.host,
        },
        Projected::Unreadable(_) => {
            Caller { host: hook.agent.clone(), native_event: String::new(), session: None }
        }
    }
}

/// Records of what came from outside, as opposed to what the engine made of it.
fn is_outside(record: &Record) -> bool {
    matches!(record.kind, "hook" | "unreadable" | "normalized")
}

/// tmux 3.x says one of these when there is no server behind a socket; every other error proves nothing.
fn says_no_server(error: &str) -> bool {
    error.starts_with("no server running")
        || error.contains("No such file or directory")
        || error.contains("Connection refused")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_follow_the_time_of_the_replay_and_the_clock_steps() {
        let mut herd = VirtualHerd::new();
        herd.advance_to(500);
        assert_eq!(herd.now(), Now { wall_ms: WALL_START_MS + 500, mono_ms: MONO_START_MS + 500 });
        herd.take(&Act::Clock { wall_ms: 5_000, mono_ms: 7_000 });
        herd.advance_to(600);
        assert_eq!(herd.now(), Now { wall_ms: 5_100, mono_ms: 7_100 });
        assert_eq!(herd.clocks_at(400), Now { wall_ms: WALL_START_MS + 400, mono_ms: MONO_START_MS + 400 });
    }

    #[test]
    fn only_a_missing_server_counts_as_no_panes() {
        assert!(says_no_server("no server running on /tmp/tmux-1000/default"));
        assert!(says_no_server("error connecting to /tmp/x (No such file or directory)"));
        assert!(!says_no_server("timeout"));
        let mut herd = VirtualHerd::new();
        herd.take(&Act::Tmux(TmuxStep { error: Some("timeout".into()), ..TmuxStep::default() }));
        assert_eq!(herd.tmux, TmuxFacts::default());
        herd.take(&Act::Tmux(TmuxStep {
            server: Some(("/tmp/x".to_owned(), 7, 9)),
            panes: Some(Vec::new()),
            ..TmuxStep::default()
        }));
        herd.take(&Act::Tmux(TmuxStep {
            error: Some("no server running on /tmp/x".into()),
            ..TmuxStep::default()
        }));
        assert_eq!((herd.tmux.server, herd.tmux.panes), (Some(("/tmp/x".to_owned(), 7)), Some(Vec::new())));
    }
}
