//! The engine's state as plain values.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use herdbook_attention::{Phase, Session, Wait};
use herdbook_events::observation::PaneRef;
use herdbook_events::{Process, SessionKey};
use herdbook_hosts::transcript::{Reader, child_place};

use crate::aged::Shown;
use crate::book::{Spans, Totals};
use crate::engine::Engine;
use crate::received::Received;
use crate::types::Now;
use crate::view::{
    Claim, DetectedSession, Doubted, Evidence, QueueEntry, SessionView, State, TranscriptFile, WatchedPane,
};

impl Engine {
    /// Returns every entry of the queue in order; those in cooldown come last.
    pub fn queue(&self, now: Now) -> Vec<QueueEntry> {
        let at = self.moment(now);
        let entries = self.attention.queue(at).into_iter().enumerate();
        entries
            .filter_map(|(order, entry)| {
                let session = self.attention.session(&entry.session)?;
                let wait = session.shown_wait()?;
                let until = entry.skip_until_ms.map(|until| now.wall_ms + until.saturating_sub(at.at_ms));
                Some(QueueEntry {
                    id: format!("w{}", entry.id),
                    session: entry.session.clone(),
                    host: session.host().to_owned(),
                    kind: wait.kind,
                    stuck_at_ms: entry.stuck_at_ms,
                    order,
                    skip_cooldown_until_ms: until,
                    pinned: entry.pinned,
                    message: wait.message.clone(),
                    cwd: session.cwd().to_owned(),
                    pane_id: session.pane().map(|pane| pane.pane.clone()).unwrap_or_default(),
                    pane: session.pane().cloned(),
                    machine: session.machine().map(str::to_owned),
                    pane_uncertain: self.attention.pane_uncertain(session),
                })
            })
            .collect()
    }

    /// Returns whose records keep their texts: whatever is shown may have come from them.
    pub fn shown(&self) -> Shown {
        Shown { sessions: self.attention.heard().cloned().collect() }
    }

    /// Returns all listed sessions, live ones first; sessions behind a hook-fed one are shown as its `linked`.
    pub fn sessions(&self) -> Vec<SessionView> {
        let behind: HashMap<&SessionKey, &SessionKey> = self
            .attention
            .sessions()
            .filter_map(|session| Some((session.speaker()?, session.key())))
            .collect();
        let mut views: Vec<SessionView> = self
            .attention
            .sessions()
            .filter(|session| session.speaker().is_none())
            .map(|session| self.view(session, behind.get(session.key()).copied()))
            .collect();
        views.sort_by_key(|view| view.state == State::Ended);
        views
    }

    /// Returns what each host has sent so far, by host.
    pub fn received(&self) -> &BTreeMap<String, Received> {
        &self.received.hosts
    }

    /// Returns the spans of the ledger that ended at or after a time (Unix milliseconds), and those that go on.
    pub fn spans(&self, now: Now, since_ms: u64) -> Spans {
        self.book.since(since_ms, self.attention.open_spans(self.moment(now)))
    }

    /// Returns what was counted since the journal began.
    pub fn totals(&self) -> &Totals {
        &self.book.totals
    }

    /// Returns one session, whether it is listed or stands behind another.
    pub fn session(&self, key: &SessionKey) -> Option<SessionView> {
        let behind = self.attention.sessions().find(|session| session.speaker() == Some(key));
        self.attention.session(key).map(|session| self.view(session, behind.map(Session::key)))
    }

    /// Returns the processes of this machine that live sessions are known to run in: if one is gone, feed
    /// [`crate::Input::Process`].
    pub fn processes(&self) -> Vec<Process> {
        self.attention.sessions().filter_map(Session::known_process).collect()
    }

    /// Returns the transcripts whose news can move a session of this machine; feed [`crate::Input::Transcript`]. A
    /// file that several sessions name belongs to the one that was active last (case F-055).
    pub fn transcripts(&self) -> Vec<TranscriptFile> {
        let mut open: Vec<&Session> = self.attention.sessions().filter(|session| session.is_open()).collect();
        open.sort_by_key(|session| std::cmp::Reverse(session.active().at_ms));
        let mut files: Vec<TranscriptFile> = Vec::new();
        let mut paths = HashSet::new();
        for session in open.into_iter().filter(|session| !session.transcript_root().is_empty()) {
            let root = PathBuf::from(session.transcript_root());
            let native_id = native_id(session).to_owned();
            let path = match session.transcript_path() {
                "" => herdbook_hosts::transcript::place(session.host(), &native_id, &root),
                path => Some(PathBuf::from(path)),
            };
            let Some(path) = path.filter(|_| Reader::reads(session.host())) else { continue };
            let agents = session.waits().iter().filter_map(|wait| wait.agent.as_deref());
            let children = agents.filter_map(|agent| child_place(session.host(), &path, agent));
            let of_session = children.map(|path| (path, true)).chain([(path.clone(), false)]);
            for (path, of_child) in of_session.filter(|(path, _)| paths.insert(path.clone())) {
                files.push(TranscriptFile {
                    session: session.key().clone(),
                    host: session.host().to_owned(),
                    native_id: native_id.clone(),
                    path,
                    root: root.clone(),
                    of_child,
                });
            }
        }
        files
    }

    /// Returns the folders below which a host keeps transcripts, as its hooks named them.
    pub fn transcript_roots(&self, host: &str) -> Vec<PathBuf> {
        let of_host = self.attention.sessions().filter(|session| session.host() == host);
        let roots: HashSet<&str> =
            of_host.map(Session::transcript_root).filter(|root| !root.is_empty()).collect();
        roots.into_iter().map(PathBuf::from).collect()
    }

    /// Returns the panes that may tell what no hook does, those of waiting sessions first; feed [`crate::Input::Pane`].
    pub fn watched_panes(&self, now: Now) -> Vec<WatchedPane> {
        let at = self.moment(now);
        let watched = self.attention.sessions().filter_map(|session| {
            let found = self.attention.is_found(session);
            let near = found || self.attention.is_near_decision(at, session);
            let pane = session.pane().filter(|pane| near && !pane.socket.is_empty())?;
            let waits = !session.waits().is_empty();
            let soon = !found && self.attention.is_soon_decided(at, session);
            Some(WatchedPane { pane: pane.clone(), host: session.host().to_owned(), waits, soon, found })
        });
        let mut watched: Vec<WatchedPane> = watched.collect();
        watched.sort_by_key(|watched| !watched.waits);
        watched
    }

    /// Returns the sessions of a host that wait for an answer which no hook may tell, or whose state is lost; feed
    /// [`crate::Input::Status`].
    pub fn doubted(&self, host: &str) -> Vec<Doubted> {
        let is_in_doubt = |session: &&Session| {
            let asks = session.waits().iter().any(Wait::is_blocking) || session.phase() == Phase::Unknown;
            session.host() == host && !session.is_posted() && !session.is_headless() && asks
        };
        let doubted = self.attention.sessions().filter(is_in_doubt).filter_map(|session| {
            Some(Doubted {
                session: session.key().clone(),
                native_id: native_id(session).to_owned(),
                process: session.known_process()?,
                root: PathBuf::from(session.transcript_root()),
                moved_ms: session.active().at_ms,
            })
        });
        doubted.collect()
    }

    /// Returns what the hooks of each session of this machine told of its agent's place.
    pub fn claims(&self) -> Vec<Claim> {
        let hooked = |session: &&Session| {
            !session.is_posted() && !session.is_unhooked() && session.machine().is_none()
        };
        let claim = |session: &Session| Claim {
            host: session.host().to_owned(),
            process: session.process(),
            terminal: session.terminal().clone(),
            pane: session.pane().cloned(),
            cwd: session.cwd().to_owned(),
            is_live: session.is_live(),
        };
        self.attention.sessions().filter(hooked).map(claim).collect()
    }

    /// True where hooks told of a session: what happens in it is theirs to say.
    pub fn is_hook_fed(&self, key: &SessionKey) -> bool {
        let session = self.attention.session(key);
        session.is_some_and(|session| !session.is_posted() && !session.is_unhooked())
    }

    /// Returns the live sessions that the detector told of, so that it can go on with them after a start.
    pub fn detected(&self) -> Vec<DetectedSession> {
        let live = self.attention.sessions().filter(|session| session.is_live());
        let detected = live.filter_map(|session| {
            Some(DetectedSession {
                session_id: session.key().to_string(),
                program: session.program()?.clone(),
                waits: session.prompt().map(str::to_owned),
            })
        });
        detected.collect()
    }

    /// Returns the sockets of the tmux servers that live sessions of this machine sit in, each once.
    pub fn tmux_sockets(&self) -> Vec<String> {
        let here =
            self.attention.sessions().filter(|session| session.is_live() && session.machine().is_none());
        let panes = here.filter_map(|session| session.pane()).filter(|pane| !pane.socket.is_empty());
        panes.map(|pane| pane.socket.clone()).collect::<HashSet<_>>().into_iter().collect()
    }

    /// Returns the panes of live sessions that hooks feed: they speak for themselves, and the detector leaves them alone.
    pub fn panes_with_hooks(&self) -> Vec<PaneRef> {
        self.attention.panes_with_hooks()
    }

    fn view(&self, session: &Session, linked: Option<&SessionKey>) -> SessionView {
        let key = session.key();
        let wait = session.shown_wait().filter(|_| !session.is_stale());
        let state = match (wait, session.phase()) {
            (Some(_), _) => State::Stuck,
            // It waited too long without anything to look at: nobody can tell any more.
            (None, _) if session.is_stale() => State::Unknown,
            (None, Phase::Working) => State::Working,
            (None, Phase::Registered | Phase::Idle) => State::Registered,
            (None, Phase::Unknown) => State::Unknown,
            (None, Phase::Ended) => State::Ended,
        };
        let counts = self.counts.get(key).copied().unwrap_or_default();
        SessionView {
            key: key.clone(),
            host: session.host().to_owned(),
            native_id: native_id(session).to_owned(),
            state,
            kind: wait.map(|wait| wait.kind),
            since_ms: session.since().wall_ms,
            message: wait.map(|wait| wait.message.clone()).unwrap_or_default(),
            cwd: session.cwd().to_owned(),
            transcript_path: session.transcript_path().to_owned(),
            pane: session.pane().cloned(),
            pane_uncertain: self.attention.pane_uncertain(session),
            headless: session.is_headless(),
            detached: session.is_detached(),
            machine: session.machine().map(str::to_owned),
            stale: session.is_stale(),
            children: session.children(),
            pending: session.waits().iter().filter(|wait| wait.is_blocking()).count(),
            turns: counts.turns,
            tools: counts.tools,
            waits: session.closed_waits(),
            linked: linked.cloned(),
            resumed_from: session.resumed_from().cloned(),
            evidence: session
                .evidence()
                .map(|evidence| Evidence {
                    id: evidence.id.clone(),
                    source: evidence.source.to_owned(),
                    fact: evidence.fact.clone(),
                    at_ms: evidence.at_ms,
                })
                .collect(),
            looks_again: self
                .attention
                .timer_of(session)
                .map(|(at_ms, why)| (self.wall_of(at_ms), why.to_owned())),
        }
    }
}

/// The host's own id of a session.
fn native_id(session: &Session) -> &str {
    let key = session.key().as_str();
    let rest = key.strip_prefix(session.host()).and_then(|rest| rest.strip_prefix('-'));
    rest.unwrap_or(key)
}
