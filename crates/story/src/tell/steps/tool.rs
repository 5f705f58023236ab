//! Tools, what they did, and what the human was asked about them.

use herdbook_events::catalog::{
    CancelReason, DenialSource, FileModified, FileRead, GrantScope, MemoryWritten, PermissionDenied,
    PermissionGranted, PermissionRequested, ProcessExited, ProcessStarted, ToolCancelled, ToolCompleted,
    ToolErrorKind, ToolFailed, ToolRequested, ToolStarted,
};

use crate::tell::row::{Row, RowKind, Tone};
use crate::tell::teller::{Teller, Wait};
use crate::tell::tools::{OpenTool, gist, outcome, subject};
use crate::tell::words::{counted, diff_stats, lasting};

impl Teller {
    pub(in crate::tell) fn tool_requested(&mut self, event: &ToolRequested) {
        let input = event.input.0.get();
        let tool = OpenTool {
            seq: self.seq,
            ts_ms: self.ts_ms,
            name: event.tool_name.as_str().to_owned(),
            subject: subject(&event.input.0),
            input: self.telling.full.then(|| input.to_owned()),
            details: Vec::new(),
            lines: String::new(),
        };
        self.tools.insert(event.tool_use_id.clone(), tool);
    }

    pub(in crate::tell) fn tool_started(&mut self, event: &ToolStarted) {
        if self.telling.live {
            let subject = self.tools.get(&event.tool_use_id).map(|tool| tool.subject.clone());
            let row = self.tool_row(event.tool_name.as_str());
            self.add(row.say(subject.unwrap_or_default(), Tone::Plain).note("runs"));
        }
    }

    pub(in crate::tell) fn tool_completed(&mut self, event: &ToolCompleted) {
        let tool = self.ended(&event.tool_use_id);
        let row = self.tool_row(&tool.name).say(&tool.subject, Tone::Plain);
        let row = outcome(row, event, &tool, self.telling.full).note(lasting(event.duration_ms));
        let spilled = event.spill_file.as_ref().map(|file| format!("whole output in {file}"));
        self.add(row.note(spilled.unwrap_or_default()));
        self.add_details(tool, &event.model_text);
    }

    pub(in crate::tell) fn tool_failed(&mut self, event: &ToolFailed) {
        self.turn.failed_tools += 1;
        let tool = self.ended(&event.tool_use_id);
        let row = self.tool_row(&tool.name).say(&tool.subject, Tone::Plain);
        let row = row.also(format!("failed: {}", event.error_kind.as_str()), Tone::Bad);
        // The answer to the question told that reason already.
        let is_told = self.telling.full || event.error_kind == ToolErrorKind::PermissionDenied;
        let why = if is_told { String::new() } else { gist(&event.model_text) };
        let took = if event.duration_ms > 0 { lasting(event.duration_ms) } else { String::new() };
        self.add(row.also(why, Tone::Plain).note(took));
        self.add_details(tool, &event.model_text);
    }

    pub(in crate::tell) fn tool_cancelled(&mut self, event: &ToolCancelled) {
        let tool = self.ended(&event.tool_use_id);
        let why = match &event.reason {
            CancelReason::Interrupted => "was stopped by you",
            CancelReason::ResumeRecovery => "was lost with its process",
            CancelReason::Shutdown => "was ended by a shutdown",
            CancelReason::Other(word) => word,
        };
        let row = self.tool_row(&tool.name).say(&tool.subject, Tone::Plain).also(why, Tone::Bad);
        self.add(row);
        self.add_details(tool, &event.model_text);
    }

    pub(in crate::tell) fn permission_requested(&mut self, event: &PermissionRequested) {
        let wait = Wait {
            seq: self.seq,
            ts_ms: self.ts_ms,
            capability: event.capability.clone(),
            descriptor: self.brief(&event.descriptor),
            is_same_run: true,
        };
        if self.telling.live {
            let row = wait.say(self.row("waits").toned(Tone::Bad)).also("for you", Tone::Bad);
            self.add(row);
        }
        self.waits.insert(event.permission_request_id.clone(), wait);
    }

    pub(in crate::tell) fn permission_granted(&mut self, event: &PermissionGranted) {
        let words = match &event.scope {
            GrantScope::Once => "granted".to_owned(),
            GrantScope::AlwaysProject => "granted for the project".to_owned(),
            GrantScope::Other(word) => format!("granted, {word}"),
        };
        let row = self.answered(&event.permission_request_id, words, Tone::Good);
        self.add(row);
    }

    pub(in crate::tell) fn permission_denied(&mut self, event: &PermissionDenied) {
        let words = match &event.source {
            DenialSource::User => "denied".to_owned(),
            DenialSource::Timeout => "nobody answered".to_owned(),
            source => format!("denied by {}", source.as_str()),
        };
        let row = self.answered(&event.permission_request_id, words, Tone::Bad);
        let feedback = self.brief(&event.feedback);
        self.add(row.also(feedback, Tone::Plain));
    }

    /// Starts the row of a question that has its answer now.
    fn answered(&mut self, id: &str, words: String, tone: Tone) -> Row {
        self.turn.waits += 1;
        let row = self.row("waited").toned(Tone::Strong);
        let Some(wait) = self.waits.remove(id) else { return row.say(words, tone) };
        let waited = wait.ts_ms.zip(self.ts_ms).and_then(|(from, to)| to.checked_sub(from));
        let waited = waited.filter(|_| wait.is_same_run);
        self.turn.waited_ms = self.turn.waited_ms.saturating_add(waited.unwrap_or(0));
        let took = waited.map(|ms| format!(" after {}", lasting(ms))).unwrap_or_default();
        wait.say(row).also(words, tone).say(took, Tone::Dim)
    }

    pub(in crate::tell) fn file_read(&mut self, event: &FileRead) {
        let lines = match &event.range {
            Some(range) => format!("lines {} to {}", range.start.0, range.end.0),
            None => counted(usize::try_from(event.bytes).unwrap_or(usize::MAX), "byte"),
        };
        if let Some(tool) = self.tools.get_mut(&event.tool_use_id) {
            tool.lines = lines;
        }
    }

    pub(in crate::tell) fn file_modified(&mut self, event: &FileModified) {
        self.turn.files.insert(event.path.clone());
        let row = self.detail().say(event.operation.as_str(), Tone::Dim).say(" ", Tone::Plain);
        let mut rows = vec![row.say(&event.path, Tone::Name).note(diff_stats(&event.diff_stats))];
        // A tool that is about this file tells that in its own row.
        let is_told = self.tools.get(&event.tool_use_id).is_some_and(|tool| tool.subject == event.path);
        if is_told && event.diff.is_some() {
            rows.clear();
        }
        rows.extend(self.lines(event.diff.as_deref().unwrap_or_default(), |line| match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', ..] => Tone::Dim,
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            _ => Tone::Plain,
        }));
        self.did(&event.tool_use_id, rows);
    }

    pub(in crate::tell) fn process_started(&mut self, event: &ProcessStarted) {
        let name = event.name.as_ref().unwrap_or(&event.process_id).clone();
        let row = self.detail().say("process ", Tone::Dim).say(&name, Tone::Name);
        let row = row.note(format!("pid {}", event.pid)).also(self.brief(&event.command), Tone::Plain);
        self.processes.insert(event.process_id.clone(), name);
        self.did(&event.tool_use_id, vec![row.note(&event.cwd)]);
    }

    pub(in crate::tell) fn process_exited(&mut self, event: &ProcessExited) {
        let name = self.processes.remove(&event.process_id).unwrap_or_else(|| event.process_id.clone());
        let row = self.row("process").say(name, Tone::Name);
        let row = match event.exit_code.0 {
            Some(0) => row.also("exit 0", Tone::Plain),
            Some(code) => row.also(format!("exit {code}"), Tone::Bad),
            None => row.also("no exit code", Tone::Bad),
        };
        self.add(row.note(event.cause.as_str()).note(format!("ran {}", lasting(event.duration_ms))));
    }

    pub(in crate::tell) fn memory_written(&mut self, event: &MemoryWritten) {
        let about = format!("{}, confidence {}", event.section, event.confidence.as_str());
        let row = self.detail().say("remembers ", Tone::Dim).say(self.brief(&event.entry), Tone::Plain);
        self.did(&event.tool_use_id, vec![row.note(about)]);
    }

    /// Keeps what a tool did until it ends; what no open tool did is told at once.
    fn did(&mut self, tool_use_id: &str, rows: Vec<Row>) {
        match self.tools.get_mut(tool_use_id) {
            Some(tool) => tool.details.extend(rows),
            None => self.rows.extend(rows),
        }
    }

    /// Takes a tool use that ends. One that began before the telling has no more than its id.
    fn ended(&mut self, tool_use_id: &str) -> OpenTool {
        self.turn.tools += 1;
        self.tools.remove(tool_use_id).unwrap_or_else(|| OpenTool {
            seq: self.seq,
            ts_ms: self.ts_ms,
            name: "tool".to_owned(),
            subject: tool_use_id.to_owned(),
            input: None,
            details: Vec::new(),
            lines: String::new(),
        })
    }

    fn tool_row(&self, name: &str) -> Row {
        Row::new(RowKind::Step, self.seq, self.ts_ms, name.to_owned()).toned(Tone::Name)
    }

    /// Tells what a tool was given and did, and what the model saw of it where all is told.
    fn add_details(&mut self, tool: OpenTool, model_text: &str) {
        if let Some(input) = tool.input {
            self.add(self.detail().say("input ", Tone::Dim).say(input, Tone::Plain));
        }
        self.rows.extend(tool.details);
        if self.telling.full {
            let rows = self.lines(model_text, |_| Tone::Plain);
            self.rows.extend(rows);
        }
    }
}
