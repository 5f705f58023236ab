//! What is open after the lines so far.

use crate::check::checker::Checker;

/// What is open in a log, and what a resumption must go on with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The highest seq, 0 for an empty log.
    pub last_seq: u64,
    /// The model now.
    pub model: Option<String>,
    /// Open model requests, the oldest first: id and seq.
    pub requests: Vec<(String, u64)>,
    /// Permission requests without an answer, the oldest first.
    pub permissions: Vec<OpenPermission>,
    /// Open tool uses: by their request, then in the order of its blocks.
    pub tools: Vec<OpenTool>,
    /// Processes without an exit, the oldest first.
    pub processes: Vec<OpenProcess>,
    /// Tools that were offered or used: whoever goes on must offer them again.
    pub tool_names: Vec<String>,
}

/// A permission request without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPermission {
    /// Its id.
    pub permission_request_id: String,
    /// The tool use that waits for it.
    pub tool_use_id: String,
    /// Where it was made.
    pub seq: u64,
}

/// A tool use that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTool {
    /// Its id.
    pub tool_use_id: String,
    /// Where it was requested.
    pub seq: u64,
    /// It was started, so it may have done something.
    pub is_started: bool,
}

/// A process that is not known to have exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenProcess {
    /// The harness's own name for it.
    pub process_id: String,
    /// The system's number, 0 where it is not known.
    pub pid: u64,
    /// Where it was started.
    pub seq: u64,
}

impl Checker {
    /// Returns what is open after the lines so far.
    pub fn standing(&self) -> Standing {
        let mut requests: Vec<(String, u64)> =
            self.model.open.iter().map(|(id, request)| (id.clone(), request.seq)).collect();
        requests.sort_by_key(|(_, seq)| *seq);
        let mut permissions: Vec<OpenPermission> = self
            .permissions
            .open
            .iter()
            .map(|(id, (tool_use_id, seq))| OpenPermission {
                permission_request_id: id.clone(),
                tool_use_id: tool_use_id.clone(),
                seq: *seq,
            })
            .collect();
        permissions.sort_by_key(|permission| permission.seq);
        let mut tools: Vec<_> = self.tools.open.iter().collect();
        tools.sort_by_key(|(_, tool)| (tool.batch, tool.block_index, tool.seq));
        let tools = tools.into_iter().map(|(id, tool)| OpenTool {
            tool_use_id: id.clone(),
            seq: tool.seq,
            is_started: tool.is_started,
        });
        let mut processes: Vec<OpenProcess> = self
            .work
            .processes
            .iter()
            .map(|(id, process)| OpenProcess { process_id: id.clone(), pid: process.pid, seq: process.seq })
            .collect();
        processes.sort_by_key(|process| process.seq);
        Standing {
            last_seq: self.lines.seqs.last(),
            model: self.session.model.clone(),
            requests,
            permissions,
            tools: tools.collect(),
            processes,
            tool_names: self.session.offered.union(&self.session.used).cloned().collect(),
        }
    }
}
