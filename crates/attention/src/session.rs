//! One session as the fold keeps it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use herdbook_events::observation::{Facts, PaneRef, ToolUse};
use herdbook_events::origin::{Process, Terminal};
use herdbook_events::{NormalizedEvent, PaneProgram, ProgramState, Report, SessionKey, WaitKind};

use crate::ledger::Account;
use crate::passed::RuledOut;

/// One moment of the fold. `at_ms` never falls and stands still while the machine sleeps; all deadlines are in it.
/// `wall_ms` is for people (Unix milliseconds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The fold's own clock in milliseconds.
    pub at_ms: u64,
    /// Unix milliseconds.
    pub wall_ms: u64,
}

impl Moment {
    /// The moment at which the fold's own clock showed `at_ms`, which is not after this one.
    pub(crate) fn back_at(self, at_ms: u64) -> Moment {
        Moment { at_ms, wall_ms: self.wall_ms.saturating_sub(self.at_ms - at_ms) }
    }
}

/// What an observation was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Journal id.
    pub id: String,
    /// Where it comes from, in one word.
    pub source: &'static str,
    /// What it said, in words.
    pub fact: String,
    /// Milliseconds since boot at which the hook process started: orders events that overtook each other.
    pub stamp_ms: Option<u64>,
    /// Unix milliseconds at which it happened, when that is not now (it lay in the spool).
    pub happened_at_ms: Option<u64>,
    /// Unix milliseconds at which the hook process started.
    pub started_at_ms: Option<u64>,
}

/// Why a session is in its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Journal id.
    pub id: String,
    /// Where it comes from.
    pub source: &'static str,
    /// What it said, in words.
    pub fact: String,
    /// Unix milliseconds.
    pub at_ms: u64,
}

/// A change of "waits for the human", as one of the four normalized events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The event with the reference's fields, the session among them.
    pub event: NormalizedEvent,
    /// Kind of the wait, for `stuck`.
    pub kind: Option<WaitKind>,
    /// Journal ids it follows from; empty for a transition that only time made.
    pub causes: Vec<String>,
}

/// What a session does when nobody is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Known, no turn yet.
    Registered,
    /// In a turn.
    Working,
    /// The turn is over and nobody shall be called (headless, or the human settled it).
    Idle,
    /// Cannot be told.
    Unknown,
    /// Over.
    Ended,
}

/// One thing a session needs the human for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What for.
    pub kind: WaitKind,
    /// The subagent that waits, none for the main agent.
    pub agent: Option<String>,
    /// The tool use it is about.
    pub tool: Option<ToolUse>,
    /// The host's id of the request, where it gives one.
    pub request: Option<String>,
    /// Journal ids of what told of it, what opened it first: a decision about one of these calls ends it.
    pub calls: Vec<String>,
    /// Where its proof came from, in one word.
    pub source: &'static str,
    /// Text for the human.
    pub message: String,
    /// The pane has shown a dialog since it opened: from then on work on the screen is an answer.
    pub shown: bool,
    /// Opened at.
    pub opened: Moment,
    /// Stamp of the hook that opened it.
    pub stamp_ms: Option<u64>,
    /// When the session last spoke while it waited, on the fold's clock; it ages from there.
    pub looked_at_ms: u64,
    /// When it is announced, on the fold's clock; none when it was, or never shall be.
    pub announce_at_ms: Option<u64>,
}

impl Wait {
    /// True for waits in mid-turn: the agent is blocked until it gets an answer.
    pub fn is_blocking(&self) -> bool {
        self.kind.reason() == herdbook_events::Reason::Permission
    }

    /// Learns that a hook call asks for the same.
    pub(crate) fn told_by(&mut self, cause: &Cause) {
        if self.calls.len() < CALLS_REMEMBERED {
            self.calls.push(cause.id.clone());
        }
    }
}

/// A tool use that started and is not over.
#[derive(Clone, Debug)]
pub(crate) struct OpenTool {
    /// Journal id of the call that told of it.
    pub call: String,
    pub agent: Option<String>,
    pub tool: ToolUse,
    pub started: Moment,
    pub stamp_ms: Option<u64>,
}

/// A tool use that is over, remembered for requests that arrive late.
#[derive(Clone, Debug)]
pub(crate) struct OverTool {
    pub agent: Option<String>,
    pub fingerprint: String,
    pub stamp_ms: Option<u64>,
}

/// What a program said of itself last.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub report: Report,
    /// When it said so, Unix milliseconds.
    pub wall_ms: u64,
    /// When that was heard, on the fold's clock.
    pub heard_ms: u64,
}

/// The place of a stuck session in the queue; lives as long as the session is stuck.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub id: u64,
    /// Order value: a posted event's timestamp, else the time of the first proof.
    pub order_ms: u64,
    /// Ties are broken by arrival.
    pub arrival: u64,
    /// Shown as `stuck_at`.
    pub stuck_at_ms: u64,
    pub skip_until_ms: Option<u64>,
    pub pinned: bool,
    /// Dropped out of the queue for age.
    pub stale: bool,
    /// Some call for it went out.
    pub called: bool,
}

/// One session.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) key: SessionKey,
    pub(crate) host: String,
    pub(crate) posted: bool,
    /// A ghost inside another session's process: never listed.
    pub(crate) parent: Option<SessionKey>,
    pub(crate) phase: Phase,
    pub(crate) since: Moment,
    pub(crate) waits: Vec<Wait>,
    pub(crate) place: Option<Place>,
    pub(crate) cwd: String,
    pub(crate) transcript_path: String,
    pub(crate) transcript_root: String,
    pub(crate) pane: Option<PaneRef>,
    pub(crate) pane_hint: bool,
    /// The pane that was closed while the agent in it lived on.
    pub(crate) closed_pane: Option<PaneRef>,
    pub(crate) process: Option<Process>,
    /// So many hooks named this process.
    pub(crate) process_hooks: u32,
    /// The process it ran in before it was resumed in another one.
    pub(crate) former: Option<Process>,
    /// Stamp of its last start: what older hooks say of its place is past.
    pub(crate) start_stamp_ms: Option<u64>,
    /// Stamp of the last start or prompt of the human: an older goodbye is that of the life before.
    pub(crate) begun_stamp_ms: Option<u64>,
    /// The process in which it ended without a word: whatever its hooks say comes late.
    pub(crate) lost_process: Option<Process>,
    /// Only its transcript is known of it: no hook named it yet.
    pub(crate) unhooked: bool,
    /// The session whose conversation it goes on with, as its transcript proves.
    pub(crate) resumed_from: Option<SessionKey>,
    /// The program that the detector watches, where it tells of this session.
    pub(crate) program: Option<PaneProgram>,
    /// What the detector said it waits for when the human settled it: it stands there until the detector says more.
    pub(crate) settled_prompt: Option<String>,
    /// The hook-fed session that speaks for this posted one.
    pub(crate) hidden_by: Option<SessionKey>,
    pub(crate) terminal: Terminal,
    /// What its program said of itself last.
    pub(crate) said: Option<Said>,
    /// Only its program's own reports tell of it.
    pub(crate) reports: bool,
    /// What parts of its program asked when the human settled it: a repeat is nothing new.
    pub(crate) settled_parts: BTreeMap<String, (WaitKind, String)>,
    /// The program's name, where only its own reports tell of it.
    pub(crate) app: Option<String>,
    pub(crate) attended: Option<bool>,
    pub(crate) asks_nobody: bool,
    pub(crate) machine: Option<String>,
    pub(crate) children: BTreeSet<String>,
    pub(crate) stopped_children: VecDeque<String>,
    pub(crate) open_tools: Vec<OpenTool>,
    pub(crate) over_tools: VecDeque<OverTool>,
    /// The call that began or ended the turn last, by its journal id, and whether it began it.
    pub(crate) turned_by: (String, bool),
    /// Stamp of the last event that moved the main agent.
    pub(crate) main_stamp_ms: Option<u64>,
    /// Wall time of the last event that moved the main agent: older records of its transcript say nothing.
    pub(crate) moved_wall_ms: u64,
    /// The last record of its transcript that moved it: when it was seen, and when it was written.
    pub(crate) proved: Option<Moment>,
    /// Fold time of the last activity of the main agent.
    pub(crate) active: Moment,
    /// When the pane alone told that what blocked it was answered, on the fold's clock.
    pub(crate) answered_ms: Option<u64>,
    pub(crate) asks_by_request: bool,
    pub(crate) elicits: bool,
    /// The turn is over, but the host listed work that will wake the agent.
    pub(crate) background: bool,
    /// The human settled a wait of this kind: a repeat of it does not open it again.
    pub(crate) settled: Option<WaitKind>,
    pub(crate) closed_waits: u64,
    pub(crate) evidence: VecDeque<Evidence>,
    pub(crate) account: Account,
    pub(crate) ruled_out: VecDeque<RuledOut>,
}

/// One question is told of by a few calls: the tool's own, the request, and each once more.
const CALLS_REMEMBERED: usize = 8;
/// A hook call reaches us within this time, else it lay in the spool and is ordered by its stamp.
const COMPARABLE_MS: u64 = 10_000;
const EVIDENCE_KEPT: usize = 12;
const TOOLS_REMEMBERED: usize = 64;

impl Session {
    pub(crate) fn new(key: SessionKey, host: String, posted: bool, at: Moment) -> Session {
        Session {
            key,
            host,
            posted,
            parent: None,
            phase: Phase::Registered,
            since: at,
            waits: Vec::new(),
            place: None,
            cwd: String::new(),
            transcript_path: String::new(),
            transcript_root: String::new(),
            pane: None,
            pane_hint: false,
            closed_pane: None,
            process: None,
            process_hooks: 0,
            former: None,
            start_stamp_ms: None,
            begun_stamp_ms: None,
            lost_process: None,
            unhooked: false,
            resumed_from: None,
            program: None,
            settled_prompt: None,
            hidden_by: None,
            terminal: Terminal::Unknown,
            said: None,
            reports: false,
            settled_parts: BTreeMap::new(),
            app: None,
            attended: None,
            asks_nobody: false,
            machine: None,
            children: BTreeSet::new(),
            stopped_children: VecDeque::new(),
            open_tools: Vec::new(),
            over_tools: VecDeque::new(),
            turned_by: (String::new(), false),
            main_stamp_ms: None,
            moved_wall_ms: at.wall_ms,
            proved: None,
            active: at,
            answered_ms: None,
            asks_by_request: false,
            elicits: false,
            background: false,
            settled: None,
            closed_waits: 0,
            evidence: VecDeque::new(),
            account: Account::default(),
            ruled_out: VecDeque::new(),
        }
    }

    /// Key.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Host; `posted` or `detected` where none is known.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Phase; waits come on top of it.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// In its state since.
    pub fn since(&self) -> Moment {
        self.waits.first().map_or(self.since, |wait| wait.opened)
    }

    /// Last activity of the main agent.
    pub fn active(&self) -> Moment {
        self.active
    }

    /// Working directory, empty if unknown.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Transcript path, empty if unknown.
    pub fn transcript_path(&self) -> &str {
        &self.transcript_path
    }

    /// The folder below which its host keeps transcripts, empty if unknown.
    pub fn transcript_root(&self) -> &str {
        &self.transcript_root
    }

    /// True when news of its transcript can move it: a session of this machine in a turn, or one that waits.
    pub fn is_open(&self) -> bool {
        let moves = !self.waits.is_empty() || matches!(self.phase, Phase::Working | Phase::Unknown);
        moves && self.is_live() && !self.posted && self.parent.is_none() && self.machine.is_none()
    }

    /// The pane, if known.
    pub fn pane(&self) -> Option<&PaneRef> {
        self.pane.as_ref()
    }

    /// The agent's process.
    pub fn process(&self) -> Option<Process> {
        self.process
    }

    /// The agent's terminal.
    pub fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// The machine, where it is not this one.
    pub fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// The agent's process on this machine, once it is sure to be the agent's: a single hook's parent may be a shell
    /// that lives no longer than the hook.
    pub fn known_process(&self) -> Option<Process> {
        self.process.filter(|_| self.is_live() && self.machine.is_none() && self.process_hooks >= 2)
    }

    /// Live subagents.
    pub fn children(&self) -> usize {
        self.children.len()
    }

    /// Open waits, in the order they opened.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Closed waits that lasted beyond the grace period.
    pub fn closed_waits(&self) -> u64 {
        self.closed_waits
    }

    /// Why it is in its state, oldest first.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter()
    }

    /// True when no human sits at it: the host says so, or the agent has no terminal.
    pub fn is_headless(&self) -> bool {
        match self.attended {
            Some(attended) => !attended,
            None => self.terminal == Terminal::None,
        }
    }

    /// True when its pane was closed and its agent lives on: nobody can answer it where it is (case F-012).
    pub fn is_detached(&self) -> bool {
        self.closed_pane.is_some() && self.closed_pane == self.pane
    }

    /// True when it waits and has dropped out of the queue for age.
    pub fn is_stale(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.stale)
    }

    /// True when the session was posted as normalized events.
    pub fn is_posted(&self) -> bool {
        self.posted
    }

    /// True when only its own reports tell of it, the last of which the human has yet to see.
    pub(crate) fn has_left_word(&self) -> bool {
        let last = self.said.as_ref().map(|said| said.report.state);
        self.posted
            && !self.waits.is_empty()
            && matches!(last, Some(ProgramState::Done | ProgramState::Error))
    }

    /// The hook-fed session that speaks for this posted one, on the same pane or transcript.
    pub fn speaker(&self) -> Option<&SessionKey> {
        self.hidden_by.as_ref()
    }

    /// True when only its program's own reports tell of it.
    pub fn is_reporter(&self) -> bool {
        self.reports
    }

    /// The program that the detector watches, where it tells of this session.
    pub fn program(&self) -> Option<&PaneProgram> {
        self.program.as_ref()
    }

    /// The message of what the detector said it waits for, be it that the human settled it.
    pub fn prompt(&self) -> Option<&str> {
        self.shown_wait().map(|wait| wait.message.as_str()).or(self.settled_prompt.as_deref())
    }

    /// The session whose conversation it goes on with, as its transcript proves.
    pub fn resumed_from(&self) -> Option<&SessionKey> {
        self.resumed_from.as_ref()
    }

    /// True when only its transcript is known of it: no hook named it yet.
    pub fn is_unhooked(&self) -> bool {
        self.unhooked
    }

    /// True while only its pane told that it was answered: nothing has been heard of its agent since.
    pub(crate) fn is_doubted(&self) -> bool {
        self.answered_ms == Some(self.active.at_ms)
    }

    /// True while the session is not over.
    pub fn is_live(&self) -> bool {
        self.phase != Phase::Ended
    }

    /// The wait that is shown: what blocks comes before what ended a turn, then the oldest.
    pub fn shown_wait(&self) -> Option<&Wait> {
        self.waits.iter().find(|wait| wait.is_blocking()).or(self.waits.first())
    }

    /// Takes what an event tells of the session. A start in another process forgets the former place first; a hook
    /// that is older than the start, or of the former process, says nothing of the place any more.
    pub(crate) fn learn(&mut self, facts: &Facts, cause: &Cause, starts: bool) {
        let older =
            matches!((cause.stamp_ms, self.start_stamp_ms), (Some(stamp), Some(start)) if stamp < start);
        let moved = facts.process.is_some() && facts.process != self.process;
        if !older && starts {
            if moved && self.process.is_some() {
                self.former = self.process;
                self.pane = None;
                self.pane_hint = false;
                self.terminal = Terminal::Unknown;
                self.attended = None;
                self.machine = None;
                self.said = None;
                self.settled_parts.clear();
            }
            self.start_stamp_ms = cause.stamp_ms;
            self.closed_pane = None;
        }
        if let Some(cwd) = facts.cwd.as_ref().filter(|cwd| !cwd.is_empty()) {
            self.cwd.clone_from(cwd);
        }
        if let Some(path) = &facts.transcript_path {
            self.transcript_path.clone_from(path);
        }
        if let Some(root) = &facts.transcript_root {
            self.transcript_root.clone_from(root);
        }
        if let Some(asks_nobody) = facts.asks_nobody {
            self.asks_nobody = asks_nobody;
        }
        if older || self.is_former(facts) {
            return;
        }
        if let Some(pane) = &facts.pane {
            self.pane = Some(pane.clone());
            self.pane_hint = facts.pane_uncertain;
        }
        if let Some(process) = facts.process {
            self.process_hooks = if moved { 1 } else { self.process_hooks.saturating_add(1) };
            self.process = Some(process);
        }
        if !facts.terminal.is_unknown() {
            self.terminal = facts.terminal.clone();
        }
        if facts.attended.is_some() {
            self.attended = facts.attended;
        }
        if facts.machine.is_some() {
            self.machine.clone_from(&facts.machine);
        }
    }

    /// True when the event comes from the process that the session left.
    pub(crate) fn is_former(&self, facts: &Facts) -> bool {
        self.former.is_some() && facts.process == self.former && self.process != self.former
    }

    pub(crate) fn note(&mut self, at: Moment, cause: &Cause) {
        if self.evidence.back().is_some_and(|last| last.id == cause.id && last.fact == cause.fact) {
            return;
        }
        // What counts for something was not ruled out.
        self.ruled_out.retain(|passed| passed.id.is_empty() || passed.id != cause.id);
        if self.evidence.len() == EVIDENCE_KEPT {
            self.evidence.pop_front();
        }
        self.evidence.push_back(Evidence {
            id: cause.id.clone(),
            source: cause.source,
            fact: cause.fact.clone(),
            at_ms: cause.happened_at_ms.unwrap_or(at.wall_ms),
        });
    }

    /// True when the event's hook started before the last one that moved the main agent, or just before the record
    /// of its transcript that did.
    pub(crate) fn is_late(&self, at: Moment, cause: &Cause) -> bool {
        self.is_overtaken(cause) || self.is_before_proof(at, cause)
    }

    /// True when the event's hook started before the last one that moved the main agent.
    pub(crate) fn is_overtaken(&self, cause: &Cause) -> bool {
        matches!((cause.stamp_ms, self.main_stamp_ms), (Some(stamp), Some(last)) if stamp < last)
    }

    /// True when the event's hook started just before the record of the transcript that moved the main agent.
    pub(crate) fn is_before_proof(&self, at: Moment, cause: &Cause) -> bool {
        self.proved.is_some_and(|proved| {
            // Wall times are compared only where the clock was not set back since, and for a while only.
            let comparable =
                proved.wall_ms <= at.wall_ms && at.at_ms.saturating_sub(proved.at_ms) < COMPARABLE_MS;
            comparable && cause.started_at_ms.is_some_and(|started| started < proved.wall_ms)
        })
    }

    pub(crate) fn moved(&mut self, at: Moment, cause: &Cause) {
        self.active = at;
        self.main_stamp_ms = self.main_stamp_ms.max(cause.stamp_ms);
        let happened = cause.happened_at_ms.or(cause.started_at_ms).unwrap_or(at.wall_ms);
        self.moved_wall_ms = happened.min(at.wall_ms);
        self.settled = None;
    }

    pub(crate) fn enter(&mut self, phase: Phase, at: Moment) {
        if self.phase != phase {
            self.phase = phase;
            self.since = at;
        }
    }

    pub(crate) fn remember_open(&mut self, tool: OpenTool) {
        if self.open_tools.len() == TOOLS_REMEMBERED {
            self.open_tools.remove(0);
        }
        self.open_tools.push(tool);
    }

    /// The tool use that an agent started last and that is not over.
    pub(crate) fn last_called(&self, agent: &Option<String>) -> Option<&ToolUse> {
        self.open_tools.iter().rev().find(|open| open.agent == *agent).map(|open| &open.tool)
    }

    pub(crate) fn remember_over(&mut self, tool: OverTool) {
        if self.over_tools.len() == TOOLS_REMEMBERED {
            self.over_tools.pop_front();
        }
        self.over_tools.push_back(tool);
    }
}
