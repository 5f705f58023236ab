//! The pane eye of a replay: samples go through the product's own watch, and what counts goes to the engine.

use std::collections::BTreeMap;

use herdbook_engine::TmuxFacts;
use herdbook_engine::view::SessionView;
use herdbook_events::PaneSeen;
use herdbook_events::observation::PaneRef;
use herdbook_hosts::screen::{Sample, Watch, manifest};

use crate::replay::step::PaneStep;

/// Watches over the panes of a replay.
#[derive(Debug, Default)]
pub struct PaneEye {
    watches: BTreeMap<(String, String), Watch>,
}

impl PaneEye {
    /// Takes a sample. Nothing: it could not be read, or it does not count (yet).
    pub fn look(
        &mut self,
        step: &PaneStep,
        t_ms: u64,
        sessions: &[SessionView],
        tmux: &TmuxFacts,
    ) -> Option<PaneSeen> {
        let host = host_of(step, sessions)?;
        let manifest = manifest(&host)?;
        let watch = self.watches.entry((step.pane.clone(), host.clone())).or_default();
        let sample = Sample { at_ms: t_ms, text: &step.text, title: &step.title, ..Sample::default() };
        let judged = watch.see(manifest, &sample);
        let (socket, server_pid) = match &tmux.server {
            Some((socket, pid)) => (socket.clone(), Some(*pid)),
            None => (String::new(), None),
        };
        let pane = PaneRef { socket, server_pid, pane: step.pane.clone() };
        judged.seen(t_ms, pane, &host)
    }
}

/// Whose screen it is: the foreground command says so, else the session that a hook told of in that pane.
fn host_of(step: &PaneStep, sessions: &[SessionView]) -> Option<String> {
    let is_program = |table: &&&herdbook_hosts::HostTable| {
        table.setup.programs.iter().any(|program| *program == step.command)
    };
    if let Some(table) = herdbook_hosts::HOSTS.iter().find(is_program) {
        return Some(table.host.to_owned());
    }
    let here = |view: &&SessionView| view.pane.as_ref().is_some_and(|pane| pane.pane == step.pane);
    sessions.iter().find(here).map(|view| view.host.clone())
}
