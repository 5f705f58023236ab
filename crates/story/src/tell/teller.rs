//! The state of a telling, and what is told line by line.

use std::collections::{HashMap, HashSet};

use herdbook_events::catalog::Event;

use super::row::{Row, RowKind, Tone};
use super::tools::OpenTool;
use super::totals::Totals;
use super::words::{brief, cut};
use crate::line::Line;

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telling {
    /// Texts, inputs, results and diffs are told whole.
    pub full: bool,
    /// What has begun is told before it ends: for whoever follows a log.
    pub live: bool,
}

/// How many lines of a diff, or of a failed check's output, are told where not all is.
const DETAIL_LINES: usize = 12;

/// Tells a log, line by line, from its start or from anywhere in it.
///
/// It holds what is open, cut to a few hundred letters each unless all is told.
#[derive(Clone, Debug)]
pub struct Teller {
    pub(super) telling: Telling,
    pub(super) rows: Vec<Row>,
    pub(super) seq: u64,
    pub(super) ts_ms: Option<u64>,
    pub(super) id: String,
    pub(super) tools: HashMap<String, OpenTool>,
    pub(super) waits: HashMap<String, Wait>,
    /// Requests that are for a summary.
    pub(super) compactions: HashSet<String>,
    /// Where texts were queued, by the ids of those events.
    pub(super) queued: HashMap<String, u64>,
    pub(super) processes: HashMap<String, String>,
    pub(super) subtasks: HashMap<String, String>,
    /// No line was told yet.
    is_new: bool,
    /// The telling began at the first line, so it can say what the whole comes to.
    is_whole: bool,
    /// The turn began within the telling.
    pub(super) is_turn_whole: bool,
    pub(super) turn: Totals,
    pub(super) whole: Totals,
}

/// A question to the human that has no answer yet.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub seq: u64,
    pub ts_ms: Option<u64>,
    pub capability: String,
    pub descriptor: String,
    /// The process that asked is still the same: times can be compared.
    pub is_same_run: bool,
}

impl Teller {
    /// Starts before the first line it is given.
    pub fn new(telling: Telling) -> Teller {
        Teller {
            telling,
            rows: Vec::new(),
            seq: 0,
            ts_ms: None,
            id: String::new(),
            tools: HashMap::new(),
            waits: HashMap::new(),
            compactions: HashSet::new(),
            queued: HashMap::new(),
            processes: HashMap::new(),
            subtasks: HashMap::new(),
            is_new: true,
            is_whole: false,
            is_turn_whole: false,
            turn: Totals::default(),
            whole: Totals::default(),
        }
    }

    /// Takes the next line, and returns the rows that it completes.
    pub fn push(&mut self, line: &Line) -> Vec<Row> {
        let is_first = std::mem::take(&mut self.is_new);
        (self.seq, self.ts_ms) = (line.seq, line.ts_ms);
        self.id.clone_from(&line.id);
        // A log of the reference may begin at 0.
        if is_first && line.seq <= 1 {
            self.is_whole = true;
            self.is_turn_whole = true;
        }
        match line.event() {
            Ok(event) => self.tell(event),
            Err(why) => {
                let row = self.row("unread").toned(Tone::Bad);
                self.add(row.say(&line.event_type, Tone::Plain).say(format!(": {why}"), Tone::Dim));
            }
        }
        std::mem::take(&mut self.rows)
    }

    /// Ends the telling: what is open, and what it all comes to.
    pub fn finish(mut self) -> Vec<Row> {
        self.rows = self.open();
        self.end_turn();
        if self.is_whole && self.whole.turns > 1 {
            self.rows.extend(self.whole.rows(true, self.seq, self.ts_ms));
        }
        self.rows
    }

    /// From here on, what begins is told before it ends.
    pub fn go_live(&mut self) {
        self.telling.live = true;
    }

    /// Tells what is open at this moment: questions that wait for the human, then tools.
    pub fn open(&self) -> Vec<Row> {
        let mut waits: Vec<&Wait> = self.waits.values().collect();
        waits.sort_by_key(|wait| wait.seq);
        let wait_row = |wait: &Wait| {
            let row = Row::new(RowKind::Step, wait.seq, wait.ts_ms, "waits").toned(Tone::Bad);
            wait.say(row).also("no answer yet", Tone::Bad)
        };
        let mut rows: Vec<Row> = waits.into_iter().map(wait_row).collect();
        let mut tools: Vec<&OpenTool> = self.tools.values().collect();
        tools.sort_by_key(|tool| tool.seq);
        for tool in tools {
            let row = Row::new(RowKind::Step, tool.seq, tool.ts_ms, tool.name.clone()).toned(Tone::Name);
            rows.push(row.say(&tool.subject, Tone::Plain).also("no end yet", Tone::Bad));
            rows.extend(tool.details.iter().cloned());
        }
        rows
    }

    /// Tells what the turn came to, and begins to count anew.
    pub(super) fn end_turn(&mut self) {
        let turn = std::mem::take(&mut self.turn);
        if self.is_turn_whole && !turn.is_empty() {
            self.rows.extend(turn.rows(false, self.seq, self.ts_ms));
        }
        self.whole.add(turn);
    }

    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Starts the row of a step that ends with this line.
    pub(super) fn row(&self, label: &'static str) -> Row {
        Row::new(RowKind::Step, self.seq, self.ts_ms, label)
    }

    /// Starts a row that says more about the one above.
    pub(super) fn detail(&self) -> Row {
        Row::new(RowKind::Detail, self.seq, self.ts_ms, "")
    }

    /// Cuts a text, unless all is told.
    pub(super) fn brief(&self, text: &str) -> String {
        brief(text, self.telling.full)
    }

    /// Lines of a text as details: all of them, or the first few; what was left out is counted.
    pub(super) fn lines(&self, text: &str, tone: impl Fn(&str) -> Tone) -> Vec<Row> {
        let count = text.lines().count();
        // A last line alone is no shorter than the word that it was left out.
        let shown = if self.telling.full || count <= DETAIL_LINES + 1 { count } else { DETAIL_LINES };
        let row = |line: &str| self.detail().say(cut(line, self.telling.full), tone(line));
        let mut rows: Vec<Row> = text.lines().take(shown).map(row).collect();
        if count > shown {
            rows.push(self.detail().say(format!("… {} more lines", count - shown), Tone::Dim));
        }
        rows
    }

    /// Says a text in its row; told whole, its further lines are details.
    pub(super) fn add_text(&mut self, row: Row, text: &str, tone: Tone, note: &str) {
        let text = self.brief(text);
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        self.add(row.say(first.trim_end(), tone).note(note));
        let rest = self.lines(rest, |_| tone);
        self.rows.extend(rest);
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::SessionStarted(event) => self.session_started(&event),
            Event::SessionResumed(event) => self.session_resumed(&event),
            Event::SessionRenamed(event) => self.session_renamed(&event),
            Event::ModelChanged(event) => self.model_changed(&event),
            Event::BaselineRecorded(event) => self.baseline_recorded(&event),
            Event::UserMessageCreated(event) => self.user_message(&event),
            Event::UserSteeringQueued(event) => self.steering_queued(&event),
            Event::UserSteeringInjected(event) => self.steering_injected(&event),
            Event::UserInterrupted(event) => self.interrupted(&event),
            Event::ModelRequestStarted(event) => self.request_started(&event),
            Event::ModelTextBlockCompleted(event) => self.text_block(&event),
            Event::ModelThinkingBlockCompleted(event) => self.thinking_block(&event),
            Event::ToolRequested(event) => self.tool_requested(&event),
            Event::ModelResponseCompleted(event) => self.response_completed(&event),
            Event::ModelRequestFailed(event) => self.request_failed(&event),
            Event::PermissionRequested(event) => self.permission_requested(&event),
            Event::PermissionGranted(event) => self.permission_granted(&event),
            Event::PermissionDenied(event) => self.permission_denied(&event),
            Event::ToolApproved(_) => {}
            Event::ToolStarted(event) => self.tool_started(&event),
            Event::ToolCompleted(event) => self.tool_completed(&event),
            Event::ToolFailed(event) => self.tool_failed(&event),
            Event::ToolCancelled(event) => self.tool_cancelled(&event),
            Event::FileRead(event) => self.file_read(&event),
            Event::FileModified(event) => self.file_modified(&event),
            Event::ProcessStarted(event) => self.process_started(&event),
            Event::ProcessExited(event) => self.process_exited(&event),
            Event::ContextPruned(event) => self.context_pruned(&event),
            Event::ContextCompacted(event) => self.context_compacted(&event),
            Event::TaskVerificationRequested(event) => self.verification_requested(&event),
            Event::TaskCompleted(event) => self.task_completed(&event),
            Event::TaskFailed(event) => self.task_failed(&event),
            Event::PhaseEntered(event) => self.phase_entered(&event),
            Event::PhaseArtifact(event) => self.phase_artifact(&event),
            Event::PhaseApproved(event) => self.phase_approved(&event),
            Event::PhaseRejected(event) => self.phase_rejected(&event),
            Event::VerifyResult(event) => self.verify_result(&event),
            Event::MemoryWritten(event) => self.memory_written(&event),
            Event::SubtaskCreated(event) => self.subtask_created(&event),
            Event::SubtaskCompleted(event) => self.subtask_completed(&event),
            // Not durable: `Line::event` has refused them.
            Event::ModelTextDelta(_)
            | Event::ModelThinkingDelta(_)
            | Event::ModelToolCallStarted(_)
            | Event::ModelToolInputDelta(_)
            | Event::ToolOutput(_)
            | Event::ProcessOutput(_) => {}
        }
    }
}

impl Wait {
    /// Says what is asked.
    pub fn say(&self, row: Row) -> Row {
        row.say(format!("{}: ", self.capability), Tone::Dim).say(&self.descriptor, Tone::Plain)
    }
}
