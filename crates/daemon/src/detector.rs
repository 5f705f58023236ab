//! The detector: panes of harnesses without hooks, watched where their title or a rule of the human asks for it.
//!
//! What a screen says is decided in `herdbook_hosts`' `detector`; this is the half that looks. Each tmux server has one
//! lasting client while a pane there is watched: one list of panes a cycle, and a look only at those from
//! which something came or whose time is up. Where none is watched, a list now and then finds the first.
//!
//! The engine keeps what is said, so it knows all live sessions: after a crash they go on under their ids. A stop ends
//! them all, as the reference does. What could not be looked at is no proof.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use herdbook_engine::Input;
use herdbook_engine::view::DetectedSession;
use herdbook_events::observation::PaneRef;
use herdbook_events::{Detected, NormalizedEvent};
use herdbook_hosts::detector::{At, Look, Roster, Row, Rules, Screen, ServerId};
use herdbook_log::Durability;
use herdbook_machine::{Control, ControlError, ListedPane, Pane, PaneScreen, Proc, Tmux, TmuxError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::agents::Agents;
use crate::clock;
use crate::config::until_stopped;
use crate::core::Core;
use crate::settings;

/// Between two lists of a server where no pane is watched: each is a process of its own.
const UNWATCHED_EVERY_MS: u64 = 5_000;
/// So many servers are looked at.
const SERVERS: usize = 32;
/// So many panes are looked at in one write.
const A_WRITE: usize = 64;
/// A server that hangs is given up after this time. All are asked at once, so none waits for another.
const ANSWER_TIME: Duration = Duration::from_millis(1_000);
/// What failed is tried again after this time, and after twice of it each further time, up to the longest.
const AGAIN_MS: u64 = 2_000;
const AGAIN_LONGEST_MS: u64 = 10_000;
/// A client without work leaves after this time. Not sooner: what programs show in a session (`tmux display-message`) goes
/// to its client that came or was used last, and a client that comes anew each time comes while the human is away.
const LEAVES_MS: u64 = 3_600_000;
/// The engine has this long to take one event.
const STEP_TIME: Duration = Duration::from_secs(5);

/// Looks at panes until the daemon ends, then ends all sessions it told of.
pub(crate) async fn follow(
    core: Core,
    agents: Agents,
    usual: Vec<PathBuf>,
    settings: settings::Detector,
    stop: watch::Receiver<bool>,
) {
    until_stopped(look_again_and_again(&core, &agents, &usual, &settings), stop).await;
    end_all(&core, "Herdbook stops").await;
}

/// Ends all sessions that the detector told of: nobody looks at them any more.
pub(crate) async fn end_all(core: &Core, why: &str) {
    let Ok(live) = core.look(|engine, _| engine.detected()).await else { return };
    let over = live.into_iter().map(|session| {
        let timestamp = clock::wall_ms().max(1);
        let event = NormalizedEvent::Ended { session_id: session.session_id, timestamp };
        Detected { program: session.program, event, fact: why.to_owned() }
    });
    tell(core, over.collect(), |_| {}).await;
}

async fn look_again_and_again(
    core: &Core,
    agents: &Agents,
    usual: &[PathBuf],
    settings: &settings::Detector,
) {
    let own: Vec<String> =
        usual.iter().chain(&settings.servers).map(|socket| socket.to_string_lossy().into_owned()).collect();
    let mut eye = Eye::default();
    loop {
        let asked = core.look(|engine, _| Known {
            live: engine.detected(),
            hooked: engine.panes_with_hooks(),
            sockets: engine.tmux_sockets(),
        });
        let Ok(mut known) = asked.await else { return };
        known.sockets.extend(own.iter().cloned());
        known.sockets.extend(agents.sockets());
        let rules = settings.rules.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let said = eye.look(known, &rules, at);
            (eye, said)
        });
        eye = match looked.await {
            Ok((mut eye, said)) => {
                tell(core, said, |session_id| eye.roster.forget(session_id)).await;
                eye
            }
            // A panic costs one look.
            Err(_) => Eye::default(),
        };
        sleep(settings.poll).await;
    }
}

/// Tells the engine, in order. What could not be told, and what follows it, is handed to `lost`: what is kept counts.
async fn tell(core: &Core, said: Vec<Detected>, mut lost: impl FnMut(&str)) {
    let mut goes_on = true;
    for detected in said {
        let session_id = detected.event.session_id().to_owned();
        if goes_on {
            let told = timeout(STEP_TIME, core.step(Input::Detected(detected), Durability::Written)).await;
            // The journal is full, the engine is behind, or the daemon ends.
            goes_on = matches!(told, Ok(Ok(())));
        }
        if !goes_on {
            lost(&session_id);
        }
    }
}

fn at() -> At {
    let now = clock::now();
    At { mono_ms: now.mono_ms, wall_ms: now.wall_ms.max(1) }
}

/// What the engine and the survey know.
#[derive(Default)]
struct Known {
    live: Vec<DetectedSession>,
    /// Panes of sessions that speak for themselves.
    hooked: Vec<PaneRef>,
    sockets: Vec<String>,
}

#[derive(Default)]
struct Eye {
    roster: Roster,
    /// By socket.
    servers: HashMap<String, Server>,
}

#[derive(Default)]
struct Server {
    client: Option<Control>,
    failures: u32,
    again_ms: u64,
    /// When a pane was watched last.
    needed_ms: u64,
}

/// What asking a server for its panes gave.
enum List {
    Panes(ServerId, Vec<Row>),
    /// Nobody is at its socket.
    NoServer,
    /// It could not be asked.
    Unknown,
    /// It is not time to ask.
    Later,
}

impl Eye {
    fn look(&mut self, known: Known, rules: &Rules, at: impl Fn() -> At) -> Vec<Detected> {
        let Known { live, hooked, sockets } = known;
        let live = live.into_iter().map(|one| (one.session_id, one.program, one.waits));
        self.roster.resume(live);
        let watched: HashSet<String> = self.roster.sockets().into_iter().collect();
        let mut wanted: Vec<&String> = watched.iter().collect();
        wanted.extend(sockets.iter().filter(|socket| !socket.is_empty() && !watched.contains(*socket)));
        wanted.truncate(SERVERS.max(watched.len()));
        self.servers.retain(|socket, _| wanted.contains(&socket));
        for socket in wanted {
            self.servers.entry(socket.clone()).or_default();
        }

        let now = at();
        let lists = together(self.servers.iter_mut(), |socket, server| {
            server.list(socket, rules, &hooked, watched.contains(socket), now.mono_ms)
        });
        let mut said = Vec::new();
        let mut turns = HashMap::new();
        for (socket, list) in lists {
            match list {
                List::Panes(server, rows) => {
                    let (ended, wanted) = self.roster.listed(now, rules, &server, &rows);
                    said.extend(ended);
                    if !wanted.is_empty() {
                        turns.insert(socket, (server, rows, wanted));
                    }
                }
                List::NoServer => {
                    for pid in self.roster.servers_at(&socket).into_iter().collect::<HashSet<_>>() {
                        if is_gone(pid) {
                            said.extend(self.roster.server_gone(now, &socket, pid));
                        }
                    }
                    self.roster.lost_sight(&socket);
                }
                List::Unknown => self.roster.lost_sight(&socket),
                List::Later => {}
            }
        }

        let now = at();
        let asked = self.servers.iter_mut().filter(|(socket, _)| turns.contains_key(*socket));
        let looks = together(asked, |socket, server| {
            turns.get(socket).map_or_else(Vec::new, |(_, _, wanted)| server.screens(wanted, now.mono_ms))
        });
        for (socket, screens) in looks {
            let Some((server, rows, wanted)) = turns.get(&socket) else { continue };
            for row in rows.iter().filter(|row| wanted.contains(&row.pane)) {
                let screen = screens.iter().find(|screen| screen.id == row.pane);
                said.extend(self.roster.looked(now, rules, server, row, screen.map(look_of)));
            }
        }
        said
    }
}

/// Asks servers at once.
fn together<'a, T: Send>(
    servers: impl Iterator<Item = (&'a String, &'a mut Server)>,
    ask: impl Fn(&str, &mut Server) -> T + Sync,
) -> Vec<(String, T)> {
    thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> = servers
            .map(|(socket, server)| scope.spawn(move || (socket.clone(), ask(socket, server))))
            .collect();
        asked.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

impl Server {
    fn list(
        &mut self,
        socket: &str,
        rules: &Rules,
        hooked: &[PaneRef],
        has_sessions: bool,
        now_ms: u64,
    ) -> List {
        if now_ms < self.again_ms {
            // After an error, nobody looked; else there is nothing to see.
            return if has_sessions { List::Unknown } else { List::Later };
        }
        let list = match self.ask(socket, rules, hooked, has_sessions) {
            Ok(list) => {
                self.failures = 0;
                list
            }
            Err(ControlError::Tmux(TmuxError::NoServer(_))) => {
                self.client = None;
                self.again_ms = now_ms + if has_sessions { 0 } else { UNWATCHED_EVERY_MS };
                return List::NoServer;
            }
            Err(_) => {
                self.fail(now_ms);
                return List::Unknown;
            }
        };
        match &list {
            List::Panes(_, rows) if rows.iter().any(|row| row.is_watched(rules)) => self.needed_ms = now_ms,
            _ if now_ms >= self.needed_ms + LEAVES_MS => self.client = None,
            _ => {}
        }
        if self.client.is_none() {
            self.again_ms = now_ms + UNWATCHED_EVERY_MS;
        }
        list
    }

    fn ask(
        &mut self,
        socket: &str,
        rules: &Rules,
        hooked: &[PaneRef],
        has_sessions: bool,
    ) -> Result<List, ControlError> {
        let tmux = Tmux::at(socket).timeout(ANSWER_TIME);
        if let Some(client) = &mut self.client {
            match client.list(rules.ask_for_command()) {
                // The session it sat in may be over, no more: another one is tried at once.
                Err(ControlError::Closed) => self.client = None,
                listed => return listed.map(|panes| listed_by(client, panes, hooked)),
            }
        }
        // By this list nothing ends and no pane is looked at: it leaves out what cannot be read.
        let is_watched = |pane: &Pane| {
            let server = server_id(&pane.server);
            row_of(&server, pane, hooked).is_watched(rules)
        };
        if !has_sessions && !tmux.panes()?.iter().any(is_watched) {
            return Ok(List::Later);
        }
        let mut client = Control::attach(&tmux)?;
        let panes = client.list(rules.ask_for_command())?;
        let list = listed_by(&client, panes, hooked);
        self.client = Some(client);
        Ok(list)
    }

    /// Looks at these panes. What could not be looked at is not in the answer.
    fn screens(&mut self, wanted: &[String], now_ms: u64) -> Vec<PaneScreen> {
        let mut screens = Vec::with_capacity(wanted.len());
        for panes in wanted.chunks(A_WRITE) {
            let panes: Vec<&str> = panes.iter().map(String::as_str).collect();
            let Some(client) = &mut self.client else { break };
            match client.screens(&panes) {
                Ok(seen) => screens.extend(seen),
                Err(_) => self.fail(now_ms),
            }
        }
        screens
    }

    fn fail(&mut self, now_ms: u64) {
        self.client = None;
        let pause = AGAIN_MS.saturating_mul(1 << self.failures.min(10)).min(AGAIN_LONGEST_MS);
        self.failures += 1;
        self.again_ms = now_ms + pause;
    }
}

fn listed_by(client: &Control, panes: Vec<ListedPane>, hooked: &[PaneRef]) -> List {
    let server = server_id(client.server());
    let rows = panes.into_iter().map(|pane| Row {
        has_hooks: has_hooks(&server, &pane.id, hooked),
        pane: pane.id,
        pid: pane.pid,
        activity_s: pane.activity_s,
        size: pane.size,
        in_mode: pane.in_mode,
        is_dead: pane.is_dead,
        command: pane.command,
        title: pane.title,
    });
    let rows = rows.collect();
    List::Panes(server, rows)
}

fn server_id(server: &herdbook_machine::Server) -> ServerId {
    ServerId { socket: server.socket.clone(), pid: server.pid, start: server.started_at }
}

/// A row of a list without what tells change: no pane is looked at by it.
fn row_of(server: &ServerId, pane: &Pane, hooked: &[PaneRef]) -> Row {
    Row {
        pane: pane.id.clone(),
        pid: pane.pid,
        in_mode: pane.in_mode,
        is_dead: pane.is_dead,
        has_hooks: has_hooks(server, &pane.id, hooked),
        command: pane.command.clone(),
        title: pane.title.clone(),
        ..Row::default()
    }
}

fn has_hooks(server: &ServerId, pane: &str, hooked: &[PaneRef]) -> bool {
    let own = PaneRef { socket: server.socket.clone(), server_pid: Some(server.pid), pane: pane.to_owned() };
    hooked.iter().any(|hooked| hooked.may_be(&own))
}

fn look_of(screen: &PaneScreen) -> Look<'_> {
    Look {
        pid: screen.pid,
        in_mode: screen.in_mode,
        cwd: &screen.cwd,
        screen: Screen { text: &screen.text, cursor: screen.cursor, size: screen.size },
    }
}

/// Whether a tmux server is gone for sure. One whose socket was removed lives on; its pid may be another's by now.
fn is_gone(pid: u32) -> bool {
    let table = Proc::system();
    // Without a table nothing is there, and that says nothing.
    let has_table = table.stat(std::process::id()).is_some();
    has_table && table.stat(pid).is_none_or(|stat| !stat.name.starts_with("tmux"))
}
