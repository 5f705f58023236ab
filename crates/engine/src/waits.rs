//! Open waits, one by one: what an answer from elsewhere can be about.

use herdbook_attention::{Session, Wait};
use herdbook_events::SessionKey;

use crate::engine::Engine;
use crate::view::WaitView;

impl Engine {
    /// Returns every open wait of the sessions that are listed, by session, in the order in which they opened.
    pub fn waits(&self) -> Vec<WaitView> {
        let shown =
            self.attention.sessions().filter(|session| session.speaker().is_none() && !session.is_headless());
        shown.flat_map(|session| session.waits().iter().map(|wait| view(session, wait))).collect()
    }

    /// Returns the open wait that a hook call asks for.
    pub fn wait_of(&self, delivery: u128) -> Option<WaitView> {
        let call = self.deliveries.record_of(delivery)?;
        let of_session = |session: &Session| {
            let wait = session.waits().iter().find(|wait| wait.calls.contains(&call))?;
            Some(view(session, wait))
        };
        self.attention.sessions().find_map(of_session)
    }

    /// True while that wait of a session is open.
    pub fn is_open(&self, session: &SessionKey, wait: &str) -> bool {
        let waits = self.attention.session(session).map(Session::waits).unwrap_or_default();
        waits.iter().any(|open| id(open) == wait)
    }
}

/// A wait is named by the record that opened it: no other one will ever have that name.
fn id(wait: &Wait) -> &str {
    wait.calls.first().map(String::as_str).unwrap_or_default()
}

fn view(session: &Session, wait: &Wait) -> WaitView {
    WaitView {
        id: id(wait).to_owned(),
        session: session.key().clone(),
        host: session.host().to_owned(),
        kind: wait.kind,
        agent: wait.agent.clone(),
        tool: wait.tool.as_ref().map(|tool| tool.name.clone()).filter(|name| !name.is_empty()),
        message: wait.message.clone(),
        since_ms: wait.opened.wall_ms,
    }
}
