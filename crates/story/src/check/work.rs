//! Files, processes, memory, subtasks: rules F1, F2, R1, R2, Y1, B1, B2.

use std::collections::{BTreeMap, HashSet};

use herdbook_events::catalog::{
    ExitCause, FileModified, FileRead, MemoryWritten, Phase, ProcessExited, ProcessStarted, SubtaskCompleted,
    SubtaskCreated, SubtaskOutcome,
};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Work {
    /// Paths of `file.modified`.
    pub modified: HashSet<String>,
    pub processes: BTreeMap<String, Process>,
    known_processes: HashSet<String>,
    pub subtasks: BTreeMap<String, u64>,
    known_tasks: HashSet<String>,
    known_children: HashSet<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Process {
    pub seq: u64,
    pub pid: u64,
    is_missed: bool,
}

impl Checker {
    /// F1: what a tool does lies between its start and its end. It returns the tool's name.
    fn is_done_by(&mut self, tool_use_id: &str) -> Option<String> {
        let tool = self.tools.open.get(tool_use_id);
        let wrong = match tool {
            Some(tool) if tool.is_started => None,
            Some(_) => Some("is not started"),
            None if self.tools.ended.contains_key(tool_use_id) => Some("has ended"),
            None => Some("was never requested"),
        };
        if let Some(wrong) = wrong {
            self.found.add(Rule::F1, "toolUseId", format!("tool use {tool_use_id} {wrong}"));
        }
        tool.map(|tool| tool.name.clone())
    }

    fn path_is_inside(&mut self, path: &str) {
        let mut depth = 0i64;
        let leaves = path.split('/').any(|part| {
            depth += match part {
                ".." => -1,
                "" | "." => 0,
                _ => 1,
            };
            depth < 0
        });
        let has_drive = path.as_bytes().get(1) == Some(&b':')
            && path.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if path.is_empty() || path.starts_with('/') || path.contains('\\') || has_drive || leaves {
            let message = format!("'{path}' must be relative, with '/', and inside the workspace");
            self.found.add(Rule::F2, "path", message);
        }
    }

    pub(super) fn file_read(&mut self, event: &FileRead) {
        self.is_done_by(&event.tool_use_id);
        self.path_is_inside(&event.path);
    }

    pub(super) fn file_modified(&mut self, event: &FileModified) {
        self.is_done_by(&event.tool_use_id);
        self.path_is_inside(&event.path);
        if let Some(phase) = self.phases.phase.as_ref().filter(|phase| **phase != Phase::Implement) {
            let message = format!("a file is modified in the phase {}", phase.as_str());
            self.found.add(Rule::H5, "type", message);
        }
        self.work.modified.insert(event.path.clone());
    }

    pub(super) fn process_started(&mut self, event: &ProcessStarted) {
        self.is_done_by(&event.tool_use_id);
        let id = &event.process_id;
        if !self.work.known_processes.insert(id.clone()) {
            return self.found.add(Rule::R1, "processId", format!("{id} was used before"));
        }
        let process = Process { seq: self.found.seq, pid: event.pid, is_missed: false };
        self.work.processes.insert(id.clone(), process);
    }

    pub(super) fn process_exited(&mut self, event: &ProcessExited) {
        let id = &event.process_id;
        if self.work.processes.remove(id).is_none() {
            let is_known = self.work.known_processes.contains(id);
            let message = if is_known { "has exited already" } else { "never started" };
            self.found.add(Rule::R1, "processId", format!("process {id} {message}"));
        }
        match event.cause {
            ExitCause::Exited if event.exit_code.0.is_none() => {
                self.found.add(Rule::R2, "exitCode", "is null, but the cause is exited");
            }
            ExitCause::KhaelorShutdown => self.tools.shutdown = self.found.seq,
            _ => {}
        }
    }

    /// R2: before the main loop goes on behind a resumption, each process of before has an exit.
    pub(super) fn processes_after_resume(&mut self) {
        let resumed = self.session.resumed;
        for (id, process) in &mut self.work.processes {
            if process.seq < resumed && !std::mem::replace(&mut process.is_missed, true) {
                let message = format!("process {id} has no exit since session.resumed at seq {resumed}");
                self.found.add_at(process.seq, Rule::R2, "processId", message);
            }
        }
    }

    pub(super) fn memory_written(&mut self, event: &MemoryWritten) {
        if let Some(name) = self.is_done_by(&event.tool_use_id).filter(|name| name != "remember") {
            self.found.add(Rule::Y1, "toolUseId", format!("names a use of {name}, not of remember"));
        }
    }

    pub(super) fn subtask_created(&mut self, event: &SubtaskCreated) {
        if self.lines.session_id.as_ref() == Some(&event.child_session_id) {
            self.found.add(Rule::B1, "childSessionId", "is this session");
        } else if !self.work.known_children.insert(event.child_session_id.clone()) {
            self.found.add(Rule::B1, "childSessionId", format!("{} was used before", event.child_session_id));
        }
        if self.work.known_tasks.insert(event.task_id.clone()) {
            self.work.subtasks.insert(event.task_id.clone(), self.found.seq);
        } else {
            self.found.add(Rule::B1, "taskId", format!("{} was used before", event.task_id));
        }
    }

    pub(super) fn subtask_completed(&mut self, event: &SubtaskCompleted) {
        if self.work.subtasks.remove(&event.task_id).is_none() {
            let is_known = self.work.known_tasks.contains(&event.task_id);
            let message = if is_known { "is completed already" } else { "was never created" };
            self.found.add(Rule::B1, "taskId", format!("subtask {} {message}", event.task_id));
        }
        if event.outcome == SubtaskOutcome::Done && event.verify_ok.0 == Some(false) {
            self.found.add(Rule::B2, "verifyOk", "is false, but the outcome is done");
        }
    }
}
