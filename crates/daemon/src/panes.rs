//! What agents' panes show, where no hook tells: whether a permission was answered, a turn interrupted, or a dialog
//! waits that no hook sees. Read beside the engine, like transcripts; what counts comes in as its input.
//!
//! Only panes near a decision are looked at, and while there is none tmux is not asked at all. Each server has one
//! lasting client, in control mode (why: `herdbook_machine`'s `control`), that lists all panes, and captures in one write
//! those that may show something new; it leaves when nothing was near a decision for a while. A server that hangs or is gone costs only itself.
//! What could not be looked at is no proof: it tells the engine nothing, and two samples are needed anew.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use herdbook_engine::Input;
use herdbook_engine::view::WatchedPane;
use herdbook_events::observation::PaneRef;
use herdbook_events::{PaneSeen, Shows};
use herdbook_hosts::screen::{Manifest, Sample, Watch};
use herdbook_log::Durability;
use herdbook_machine::{Control, ControlError, Cycle, PaneRow, Proc, Process, Tmux, TmuxError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::agents::Agents;
use crate::clock;
use crate::config::{Notice, until_stopped};
use crate::core::{Core, Counters};
use crate::screens::Screens;

mod shown;

use shown::Shown;

/// Between two looks: as a rule, when something counts only if the next look says the same, and when a dialog is about
/// to be drawn or answered.
const EVERY: Duration = Duration::from_millis(2_000);
const AGAIN: Duration = Duration::from_millis(800);
const SOON: Duration = Duration::from_millis(250);
/// With more panes than these all wait for the next look as a rule.
const FEW: usize = 16;
/// So many panes of a server are looked at in one cycle; with more, each gets its turn.
const A_TURN: usize = 256;
/// A server that hangs is given up after this time. All are asked at once, so none waits for another.
const ANSWER_TIME: Duration = Duration::from_millis(1_000);
/// What failed is tried again after this time, and after twice of it each further time, up to the longest.
const AGAIN_MS: u64 = 2_000;
const AGAIN_LONGEST_MS: u64 = 60_000;
/// A client without work leaves after this time. Not sooner: what programs show in a session (`tmux display-message`) goes
/// to its client that came or was used last, and a client that comes anew each time comes while the human is away.
const LEAVES_MS: u64 = 3_600_000;
/// A look is told within this time or not at all: by then something else may be on the screen.
const FRESH_MS: u64 = 500;
/// The engine has this long to take one look.
const STEP_TIME: Duration = Duration::from_secs(5);

/// What looking at panes needs.
pub(crate) struct Looks {
    pub core: Core,
    pub agents: Agents,
    pub counters: Arc<Counters>,
    /// The folder of the human's settings.
    pub config_dir: Option<PathBuf>,
    pub notice: Arc<dyn Fn(&Notice) + Send + Sync>,
}

/// Looks at panes until the daemon ends.
pub(crate) async fn follow(looks: Looks, stop: watch::Receiver<bool>) {
    until_stopped(look_again_and_again(&looks), stop).await;
}

async fn look_again_and_again(looks: &Looks) {
    let Looks { core, agents, counters, config_dir, notice } = looks;
    let fresh = || Eye { screens: Screens::new(config_dir.as_deref()), ..Eye::default() };
    let mut eye = fresh();
    loop {
        let asked = core.look(|engine, now| (engine.watched_panes(now), engine.claims())).await;
        let Ok((mut wanted, claims)) = asked else { return };
        let own = agents.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let words = eye.screens.refresh();
            // Each has a process to look up.
            for (host, pane) in own.panes_without_hooks(&claims) {
                if wanted.iter().all(|known| !known.pane.may_be(&pane)) {
                    wanted.push(WatchedPane { pane, host, waits: false, soon: false, found: false });
                }
            }
            wanted.retain(|wanted| eye.screens.of(&wanted.host).is_some());
            let is_left = |pane: &WatchedPane| own.has_left(&pane.host, &pane.pane);
            let begun = Instant::now();
            let told = eye.look(&wanted, &is_left, || clock::now().mono_ms);
            let took = begun.elapsed();
            let pause = eye.pause(&wanted);
            (eye, told, words, pause, (!wanted.is_empty()).then_some(took))
        });
        let pause;
        (eye, pause) = match looked.await {
            Ok((eye, told, words, pause, took)) => {
                if let Some(took) = took {
                    counters.looks.fetch_add(1, Ordering::Relaxed);
                    counters.looks_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
                }
                words.into_iter().for_each(|words| notice(&Notice::Warning(words)));
                for (taken_ms, seen) in told {
                    // The journal is full, or the engine is behind: the pane will be looked at again.
                    let told = core.step_until(Input::Pane(seen), Durability::Written, taken_ms + FRESH_MS);
                    drop(timeout(STEP_TIME, told).await);
                }
                (eye, pause)
            }
            // A panic costs one look.
            Err(_) => (fresh(), EVERY),
        };
        sleep(pause).await;
    }
}

/// The tmux servers, by socket and pid: a successor on the same socket is another one.
#[derive(Default)]
struct Eye {
    screens: Screens,
    servers: HashMap<(String, Option<u32>), Server>,
}

/// What is known of one server.
#[derive(Default)]
struct Server {
    client: Option<Control>,
    panes: HashMap<String, Pane>,
    /// Where the next turn begins: of those that wait, and of the others.
    at: [usize; 2],
    failures: u32,
    again_ms: u64,
    needed_ms: u64,
}

#[derive(Default)]
struct Pane {
    host: String,
    watch: Watch,
    size: Option<(u32, u32)>,
    shown: Shown,
}

/// What is told, with the time on the daemon's clock before which the look was over.
type Told = Vec<(u64, PaneSeen)>;

impl Eye {
    fn look(
        &mut self,
        wanted: &[WatchedPane],
        is_left: &(impl Fn(&WatchedPane) -> bool + Sync),
        now: impl Fn() -> u64 + Sync,
    ) -> Told {
        for pane in wanted {
            self.servers.entry((pane.pane.socket.clone(), pane.pane.server_pid)).or_default();
        }
        let now_ms = now();
        let screens = &self.screens;
        let servers = self.servers.iter_mut().map(|((socket, pid), server)| {
            let is_own = |pane: &&WatchedPane| pane.pane.socket == *socket && pane.pane.server_pid == *pid;
            (socket, *pid, server, wanted.iter().filter(is_own).collect::<Vec<_>>())
        });
        let (working, idle): (Vec<_>, Vec<_>) = servers.partition(|(.., wanted)| !wanted.is_empty());
        for (_, _, server, _) in idle {
            server.panes.clear();
            let stays = |client: &mut Control| client.is_there() && now_ms < server.needed_ms + LEAVES_MS;
            server.client = server.client.take_if(|client| stays(client));
        }
        let told = thread::scope(|scope| {
            let now = &now;
            let asked: Vec<_> = working
                .into_iter()
                .map(|(socket, pid, server, wanted)| {
                    scope.spawn(move || server.look(socket, pid, screens, &wanted, is_left, now))
                })
                .collect();
            asked.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        self.servers.retain(|_, server| server.client.is_some() || !server.panes.is_empty());
        told
    }

    /// How long until the next look.
    fn pause(&self, wanted: &[WatchedPane]) -> Duration {
        let mut panes = self.servers.values().flat_map(|server| server.panes.values());
        match () {
            () if wanted.len() > FEW => EVERY,
            () if wanted.iter().any(|wanted| wanted.soon) => SOON,
            () if panes.any(|pane| pane.watch.is_undecided()) => AGAIN,
            () => EVERY,
        }
    }
}

impl Server {
    fn look(
        &mut self,
        socket: &str,
        pid: Option<u32>,
        screens: &Screens,
        wanted: &[&WatchedPane],
        is_left: &impl Fn(&WatchedPane) -> bool,
        now: &impl Fn() -> u64,
    ) -> Told {
        let start_ms = now();
        self.needed_ms = start_ms;
        self.panes.retain(|id, known| {
            wanted.iter().any(|wanted| wanted.pane.pane == *id && wanted.host == known.host)
        });
        for wanted in wanted {
            let fresh = || Pane { host: wanted.host.clone(), ..Pane::default() };
            self.panes.entry(wanted.pane.pane.clone()).or_insert_with(fresh);
        }
        if start_ms < self.again_ms {
            return Told::new();
        }
        let turn = self.turn(wanted);
        let answer = self.ask(socket, pid, &turn, start_ms);
        let taken_ms = now();
        match answer {
            Ok(Some(cycle)) => {
                self.failures = 0;
                let rows: HashMap<&str, &PaneRow> =
                    cycle.panes.iter().map(|row| (row.id.as_str(), row)).collect();
                let taken = cycle.screens.into_iter().zip(&turn);
                let mut told = Told::new();
                for ((id, text), wanted) in taken {
                    let Some(pane) = self.panes.get_mut(&id) else { continue };
                    let row = rows.get(id.as_str());
                    let shows = match (row, text) {
                        (Some(row), Some(text)) if !row.is_dead => {
                            let manifest = screens.of(&pane.host);
                            let seen =
                                manifest.and_then(|it| pane.see(it, row, &text, start_ms, &wanted.pane));
                            if wanted.found && is_left(wanted) { Some(gone(wanted)) } else { seen }
                        }
                        (row, _) => {
                            pane.watch.lost_sight();
                            // A server that lists others and not this one, or with no program in it.
                            row.is_none_or(|row| row.is_dead).then(|| gone(wanted))
                        }
                    };
                    told.extend(shows.map(|seen| (start_ms, seen)));
                }
                told
            }
            Ok(None) => {
                self.fail(taken_ms);
                // It may live on without its socket; if it does not, all that was in it is gone.
                let process = pid.map(|pid| Process { pid, start: None });
                let is_dead = process.and_then(|process| Proc::system().tells_alive(process)) == Some(false);
                let found = wanted.iter().filter(|wanted| wanted.found && is_dead);
                found.map(|wanted| (taken_ms, gone(wanted))).collect()
            }
            Err(_) => {
                self.fail(taken_ms);
                Told::new()
            }
        }
    }

    /// The panes of this cycle: all of sessions that wait, as long as they leave a quarter to the others.
    fn turn<'a>(&mut self, wanted: &[&'a WatchedPane]) -> Vec<&'a WatchedPane> {
        let (waiting, others): (Vec<_>, Vec<_>) = wanted.iter().partition(|wanted| wanted.waits);
        let first = waiting.len().min(A_TURN - others.len().min(A_TURN / 4));
        let mut share = |of: usize, panes: &[&'a WatchedPane], most: usize| {
            let count = panes.len().min(most);
            let at = &mut self.at[of];
            *at = if *at < panes.len() && count < panes.len() { *at } else { 0 };
            let turn: Vec<_> = panes.iter().copied().cycle().skip(*at).take(count).collect();
            *at += count;
            turn
        };
        let mut turn = share(0, &waiting, first);
        turn.extend(share(1, &others, A_TURN - first));
        turn
    }

    /// Asks for these panes. Nothing: this server is not at its socket.
    fn ask(
        &mut self,
        socket: &str,
        pid: Option<u32>,
        turn: &[&WatchedPane],
        now_ms: u64,
    ) -> Result<Option<Cycle>, ControlError> {
        let ids: Vec<&str> = turn.iter().map(|wanted| wanted.pane.pane.as_str()).collect();
        if let Some(mut client) = self.client.take() {
            match self.changed(&mut client, &ids, now_ms) {
                // The session it sat in may be over, no more: another one is tried at once.
                Err(ControlError::Closed) => {}
                answer => {
                    self.client = Some(client);
                    return answer.map(Some);
                }
            }
        }
        let mut client = match Control::attach(&Tmux::at(socket).timeout(ANSWER_TIME)) {
            Err(ControlError::Tmux(TmuxError::NoServer(_))) => return Ok(None),
            answer => answer?,
        };
        if pid.is_some_and(|pid| pid != client.server().pid) {
            return Ok(None);
        }
        let answer = self.changed(&mut client, &ids, now_ms);
        self.client = Some(client);
        answer.map(Some)
    }

    /// Looks at these panes, and at those from which nothing can have come since only in the list: a capture costs tmux
    /// and us more than all the rest.
    fn changed(&mut self, client: &mut Control, ids: &[&str], now_ms: u64) -> Result<Cycle, ControlError> {
        let is_kept = |panes: &HashMap<String, Pane>, id: &str| {
            panes.get(id).is_some_and(|pane| pane.shown.text.is_some())
        };
        let listed =
            if ids.iter().any(|id| is_kept(&self.panes, id)) { client.cycle(&[])?.panes } else { Vec::new() };
        for row in &listed {
            if let Some(pane) = self.panes.get_mut(&row.id) {
                pane.shown.drop_unless_same(row);
            }
        }
        let asked: Vec<&str> = ids.iter().copied().filter(|id| !is_kept(&self.panes, id)).collect();
        let mut cycle = match asked.is_empty() {
            true => Cycle { panes: listed, screens: Vec::new() },
            false => client.cycle(&asked)?,
        };
        let rows: HashMap<&str, &PaneRow> = cycle.panes.iter().map(|row| (row.id.as_str(), row)).collect();
        for (id, text) in &cycle.screens {
            if let (Some(pane), Some(row)) = (self.panes.get_mut(id), rows.get(id.as_str())) {
                pane.shown.keep(row, text.as_deref(), now_ms);
            }
        }
        let mut taken: HashMap<String, Option<String>> = cycle.screens.drain(..).collect();
        let kept = |id: &str| self.panes.get(id).and_then(|pane| pane.shown.text.clone());
        let screen = |id: &&str| ((*id).to_owned(), taken.remove(*id).unwrap_or_else(|| kept(id)));
        cycle.screens = ids.iter().map(screen).collect();
        Ok(cycle)
    }

    /// Nothing could be seen.
    fn fail(&mut self, now_ms: u64) {
        self.client = None;
        self.panes.values_mut().for_each(|pane| pane.watch.lost_sight());
        let pause = AGAIN_MS.saturating_mul(1 << self.failures.min(10)).min(AGAIN_LONGEST_MS);
        self.failures += 1;
        self.again_ms = now_ms + pause;
    }
}

impl Pane {
    fn see(
        &mut self,
        manifest: &Manifest,
        row: &PaneRow,
        text: &str,
        at_ms: u64,
        pane: &PaneRef,
    ) -> Option<PaneSeen> {
        let was = self.size.replace(row.size);
        let sample = Sample {
            at_ms,
            text,
            size: Some(row.size),
            title: &row.title,
            in_mode: row.in_mode,
            resized_ms_ago: was.filter(|was| *was != row.size).map(|_| 0),
            cursor: Some(row.cursor),
        };
        self.watch.see(manifest, &sample).seen(at_ms, pane.clone(), &self.host)
    }
}

fn gone(wanted: &WatchedPane) -> PaneSeen {
    PaneSeen {
        pane: wanted.pane.clone(),
        host: wanted.host.clone(),
        shows: Shows::Gone,
        for_ms: 0,
        drawn_ms: 0,
        message: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use herdbook_events::WaitKind;
    use herdbook_machine::Command;

    use super::*;

    const DIALOG: &str = "● Bash(make)\n\n────────────────────\n Bash command\n\n   make\n\n Do you want to proceed?\n \
                          ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n";

    const WORKS: &str = "● Bash(make)\r\n  ⎿  Running…\r\n\r\n✻ Brewing… (3s · ↓ 12 tokens)\r\n\r\n\
                         ────────────────────────\r\n❯ \r\n────────────────────────\r\n  esc to interrupt\r\n";

    struct Bench {
        folder: tempfile::TempDir,
        eye: Eye,
        now_ms: Cell<u64>,
    }

    impl Bench {
        fn start(test: &str) -> Option<Bench> {
            if Command::new("tmux").arg("-V").run().is_err() {
                println!("skipped: {test}: no tmux");
                return None;
            }
            let (folder, now_ms) = (tempfile::tempdir().unwrap(), Cell::new(1_000_000));
            Some(Bench { folder, eye: Eye::default(), now_ms })
        }

        fn socket(&self) -> String {
            self.folder.path().join("s").display().to_string()
        }

        fn tmux(&self, args: &[&str]) -> String {
            let command =
                Command::new("tmux").args(["-u", "-S", &self.socket(), "-f", "/dev/null"]).args(args);
            let command = command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
            let output = command.timeout(Duration::from_secs(20)).run().unwrap();
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }

        /// A pane that shows this and stays.
        #[expect(clippy::disallowed_methods, reason = "a test's own file")]
        fn pane(&self, text: &str) -> WatchedPane {
            let file = self.folder.path().join("text");
            std::fs::write(&file, text).unwrap();
            let shows = format!("cat '{}'; tmux wait-for -S shown; exec sleep 600", file.display());
            let format = "#{pid} #{pane_id}";
            let made = self.tmux(&["new-session", "-d", "-P", "-F", format, "-x", "90", "-y", "25", &shows]);
            self.tmux(&["wait-for", "shown"]);
            let (pid, pane) = made.split_once(' ').unwrap();
            let pane = PaneRef { socket: self.socket(), server_pid: pid.parse().ok(), pane: pane.to_owned() };
            WatchedPane { pane, host: "claude".into(), waits: true, soon: false, found: false }
        }

        /// Looks after the time between two looks; the clock stands still meanwhile.
        fn look(&mut self, wanted: &[WatchedPane]) -> Vec<(Shows, u64)> {
            self.now_ms.set(self.now_ms.get() + 2_000);
            let now_ms = self.now_ms.get();
            let told = self.eye.look(wanted, &|_| false, || now_ms);
            told.into_iter().map(|(_, seen)| (seen.shows, seen.for_ms)).collect()
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            self.tmux(&["kill-server"]);
        }
    }

    const GONE: (Shows, u64) = (Shows::Gone, 0);
    const ASKS: Shows = Shows::Dialog { kind: WaitKind::Permission, sure: true };

    #[test]
    fn a_dialog_is_told_from_the_first_look_and_a_server_that_is_gone_tells_nothing() {
        let Some(mut bench) = Bench::start("a_dialog_is_told_from_the_first_look") else { return };
        let asks = bench.pane(DIALOG);
        assert_eq!(bench.look(std::slice::from_ref(&asks)), [(ASKS, 0)], "told as one look");
        let pause = |bench: &Bench, soon: bool, count: usize| {
            bench.eye.pause(&vec![WatchedPane { soon, ..asks.clone() }; count]).as_millis()
        };
        assert_eq!(
            (pause(&bench, false, 1), pause(&bench, true, 1), pause(&bench, true, 17)),
            (800, 250, 2_000)
        );
        assert_eq!(bench.look(std::slice::from_ref(&asks)), [(ASKS, 2_000)]);
        assert_eq!(pause(&bench, false, 1), 2_000);
        // A pane of another server on that socket, and one that is not there.
        let server_pid = asks.pane.server_pid.map(|pid| pid + 1);
        let earlier = WatchedPane { pane: PaneRef { server_pid, ..asks.pane.clone() }, ..asks.clone() };
        let closed =
            WatchedPane { pane: PaneRef { pane: "%77".into(), ..asks.pane.clone() }, ..asks.clone() };
        assert_eq!(bench.look(&[earlier, closed, asks.clone()]), [GONE, (ASKS, 4_000)]);
        bench.tmux(&["kill-server"]);
        assert_eq!(bench.look(std::slice::from_ref(&asks)), [], "could not look");
        // What only the pane told of goes with it, as soon as the process is gone for sure.
        let found = [WatchedPane { found: true, ..asks }];
        let begun = Instant::now();
        let mut told = Vec::new();
        while told.is_empty() && begun.elapsed() < Duration::from_secs(20) {
            told = bench.look(&found);
        }
        assert_eq!(told, [GONE]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test's own terminal")]
    fn a_screen_is_captured_again_only_when_something_came_out_of_its_window() {
        let test = "a_screen_is_captured_again_only_when_something_came_out_of_its_window";
        let Some(mut bench) = Bench::start(test) else { return };
        let asks = [bench.pane(DIALOG)];
        let is_kept = |bench: &Bench| {
            let mut panes = bench.eye.servers.values().flat_map(|server| server.panes.values());
            panes.all(|pane| pane.shown.text.is_some())
        };
        let activity = |bench: &Bench| bench.tmux(&["display-message", "-p", "#{window_activity}"]);
        assert_eq!(
            (bench.look(&asks), is_kept(&bench)),
            (vec![(ASKS, 0)], false),
            "more may come in its second"
        );
        assert_eq!((bench.look(&asks), is_kept(&bench)), (vec![(ASKS, 2_000)], true));
        assert_eq!(
            (bench.look(&asks), is_kept(&bench)),
            (vec![(ASKS, 4_000)], true),
            "told from what is kept"
        );
        // The eye's clock runs ahead of tmux's here: the next second is waited for.
        let before = activity(&bench);
        let is_over = || clock::now().wall_ms / 1_000 > before.parse().unwrap();
        while !is_over() {
            thread::yield_now();
        }
        let tty = bench.tmux(&["display-message", "-p", "#{pane_tty}"]);
        std::fs::write(tty, format!("\u{1b}[2J\u{1b}[H{WORKS}")).unwrap();
        while activity(&bench) == before {
            thread::yield_now();
        }
        assert_eq!(bench.look(&asks).first().map(|(shows, _)| *shows), Some(Shows::Busy));
    }

    #[test]
    fn without_a_pane_to_look_at_tmux_is_not_asked_and_the_client_leaves() {
        let Some(mut bench) = Bench::start("without_a_pane_to_look_at_tmux_is_not_asked") else { return };
        let asks = bench.pane(DIALOG);
        let clients = |bench: &Bench| bench.tmux(&["list-clients", "-F", "#{client_control_mode}"]);
        assert_eq!(bench.look(&[]), []);
        assert_eq!(clients(&bench), "");
        bench.look(std::slice::from_ref(&asks));
        assert_eq!(clients(&bench), "1");
        bench.look(&[]);
        assert_eq!((clients(&bench).as_str(), bench.eye.servers.len()), ("1", 1));
        // One that was sent away is collected, though nothing is asked of it.
        bench.tmux(&["detach-client", "-s", "0"]);
        let begun = Instant::now();
        while !bench.eye.servers.is_empty() && begun.elapsed() < Duration::from_secs(20) {
            bench.eye.look(&[], &|_| false, || 1_002_000);
        }
        assert!(bench.eye.servers.is_empty(), "not there any more");
        bench.look(&[asks]);
        bench.look(&[]);
        assert_eq!((clients(&bench).as_str(), bench.eye.servers.len()), ("1", 1));
        bench.now_ms.set(bench.now_ms.get() + LEAVES_MS);
        bench.look(&[]);
        assert!(bench.eye.servers.is_empty());
    }

    #[test]
    fn every_one_of_many_panes_gets_its_turn_and_those_that_wait_come_first() {
        let seen = |waiting: usize, count: usize, turns: usize| {
            let pane = |n: usize| WatchedPane {
                pane: PaneRef { socket: "/s".into(), server_pid: None, pane: format!("%{n}") },
                host: "claude".into(),
                waits: n < waiting,
                soon: false,
                found: false,
            };
            let wanted: Vec<WatchedPane> = (0..count).map(pane).collect();
            let wanted: Vec<&WatchedPane> = wanted.iter().collect();
            let mut server = Server::default();
            let mut seen = std::collections::BTreeMap::new();
            for pane in (0..turns).flat_map(|_| server.turn(&wanted)) {
                *seen.entry(pane.pane.pane.clone()).or_insert(0) += 1;
            }
            let least = |range: std::ops::Range<usize>| {
                range.map(|n| seen.get(&format!("%{n}")).copied().unwrap_or(0)).min()
            };
            assert_eq!(seen.values().sum::<usize>(), turns * count.min(A_TURN));
            (least(0..waiting), least(waiting..count))
        };
        assert_eq!(seen(14, 30, 3), (Some(3), Some(3)));
        assert_eq!(seen(56, 456, 2), (Some(2), Some(1)));
        assert_eq!(seen(800, 800, 4), (Some(1), None));
        assert_eq!(seen(768, 896, 4), (Some(1), Some(2)));
    }
}
