//! Permissions: rules P1 to P4, as far as they are told by `permission.*`.

use std::collections::{BTreeMap, HashSet};

use herdbook_events::catalog::{PermissionDenied, PermissionGranted, PermissionRequested};
use serde::{Deserialize, Serialize};

use crate::check::checker::Checker;
use crate::check::rules::Rule;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Permissions {
    /// Requests without an answer: the tool use and the seq.
    pub open: BTreeMap<String, (String, u64)>,
    known: HashSet<String>,
}

impl Checker {
    pub(super) fn permission_requested(&mut self, event: &PermissionRequested) {
        let id = &event.permission_request_id;
        if !self.permissions.known.insert(id.clone()) {
            return self.found.add(Rule::P1, "permissionRequestId", format!("{id} was used before"));
        }
        if let Some(tool) = self.tools.open.get_mut(&event.tool_use_id) {
            if let Some(asks) = &tool.asks {
                self.found.add(Rule::P1, "toolUseId", format!("permission request {asks} waits already"));
            }
            if tool.is_approved || tool.is_started {
                self.found.add(Rule::T3, "type", "asks behind the approval or start of the tool use");
            }
            tool.asks = Some(id.clone());
        } else {
            self.found.add(Rule::P1, "toolUseId", format!("tool use {} is not open", event.tool_use_id));
        }
        // It waits for its answer all the same.
        self.permissions.open.insert(id.clone(), (event.tool_use_id.clone(), self.found.seq));
    }

    /// P2: each request gets one answer.
    fn answered(&mut self, id: &str) -> Option<String> {
        let Some((tool_use_id, _)) = self.permissions.open.remove(id) else {
            let is_known = self.permissions.known.contains(id);
            let message = if is_known { "is answered already" } else { "was never made" };
            self.found.add(Rule::P2, "permissionRequestId", format!("permission request {id} {message}"));
            return None;
        };
        if let Some(tool) = self.tools.open.get_mut(&tool_use_id) {
            tool.asks = None;
        }
        Some(tool_use_id)
    }

    pub(super) fn permission_granted(&mut self, event: &PermissionGranted) {
        if let Some(tool_use_id) = self.answered(&event.permission_request_id)
            && let Some(tool) = self.tools.open.get_mut(&tool_use_id)
        {
            tool.granted = Some(event.scope.clone());
        }
    }

    pub(super) fn permission_denied(&mut self, event: &PermissionDenied) {
        if let Some(tool_use_id) = self.answered(&event.permission_request_id)
            && let Some(tool) = self.tools.open.get_mut(&tool_use_id)
        {
            tool.refusals.push(event.feedback.clone());
        }
    }
}
