//! Agents that run without hooks: looked for every few seconds, and told apart from those that a session's hooks came
//! from. Nothing of this is journalled, since it moves no session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herdbook_api::v1;
use herdbook_engine::Input;
use herdbook_engine::view::Claim;
use herdbook_events::observation::{PaneRef, Seat};
use herdbook_events::origin::Terminal;
use herdbook_hosts::transcript::rollout_root;
use herdbook_log::Durability;
use herdbook_machine::{Agent, Proc, Process, Survey};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use crate::config::until_stopped;
use crate::core::Core;

/// Between two looks: one is a read of the process table.
const EVERY: Duration = Duration::from_secs(4);
/// No two looks are closer, whoever asks for one.
const AT_MOST_EVERY: Duration = Duration::from_millis(500);
/// Who asks before the first look is over waits so long.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// A transcript that a running agent writes.
#[derive(Clone, Debug)]
pub(crate) struct Rollout {
    pub path: PathBuf,
    /// The folder of the host's transcripts.
    pub root: PathBuf,
    pub process: herdbook_events::Process,
    /// Start of the process, Unix milliseconds.
    pub started_at_ms: Option<u64>,
    /// The pane it runs in, if it is in one.
    pub pane: Option<PaneRef>,
}

/// What was found last; nothing before the first look.
type Last = Option<Arc<Vec<Agent>>>;

/// What the daemon knows of running agents.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    last: watch::Receiver<Last>,
    /// Asks for a look before its time.
    again: Arc<Notify>,
    /// It looks at all.
    looks: bool,
}

impl Agents {
    /// Starts looking, until the daemon ends; without `discover` no agent is ever found.
    pub(crate) fn start(discover: bool, core: Core, stop: watch::Receiver<bool>) -> Agents {
        let (sender, last) = watch::channel(if discover { None } else { Some(Arc::default()) });
        let again = Arc::new(Notify::new());
        if discover {
            let again = again.clone();
            let work = async move { look_again_and_again(&sender, &again, &core).await };
            tokio::spawn(until_stopped(work, stop));
        }
        Agents { last, again, looks: discover }
    }

    /// Hears of a hook call. A Codex that was not seen yet is looked for at once: until then nobody can say whether the
    /// pane that its hook names is its own.
    pub(crate) fn hear(&self, host: &str, ancestors: &[herdbook_wire::Process]) {
        let is_known = |found: &[Agent]| {
            let known = found.iter().flat_map(|agent| &agent.processes);
            known
                .into_iter()
                .any(|known| ancestors.iter().any(|own| (own.pid, own.start) == (known.pid, known.start)))
        };
        if host == "codex" && self.last.borrow().as_ref().is_some_and(|found| !is_known(found)) {
            self.again.notify_one();
        }
    }

    /// Those that were found last.
    async fn last(&self) -> Arc<Vec<Agent>> {
        let mut last = self.last.clone();
        let found = timeout(FIRST_LOOK, last.wait_for(Option::is_some)).await;
        // The machine is too busy to look at, or the daemon ends: then nothing is known.
        found.ok().and_then(Result::ok).and_then(|found| found.clone()).unwrap_or_default()
    }

    /// The rollouts that running Codexes have open: a session of one without hooks is known by its file alone.
    pub(crate) fn rollouts(&self) -> Vec<Rollout> {
        let found = self.last.borrow().clone().unwrap_or_default();
        let table = Proc::system();
        let mut rollouts: Vec<Rollout> = Vec::new();
        for agent in found.iter().filter(|agent| agent.host == "codex" && table.is_alive(agent.process)) {
            let (process, pane) = (agent.process, seat(agent).pane);
            let open = agent.processes.iter().flat_map(|process| table.open_files(process.pid));
            for path in open {
                let Some(root) = rollout_root(&path).map(Path::to_owned) else { continue };
                if rollouts.iter().all(|known| known.path != path) {
                    let process = herdbook_events::Process { pid: process.pid, start: process.start };
                    let (started_at_ms, pane) = (agent.started_at_ms, pane.clone());
                    rollouts.push(Rollout { path, root, process, started_at_ms, pane });
                }
            }
        }
        rollouts
    }

    /// Those that still run and that none of these claims accounts for.
    pub(crate) async fn without_hooks(&self, claims: &[Claim]) -> Vec<v1::Agent> {
        let found = self.last().await;
        let table = Proc::system();
        let unclaimed = unclaimed(&found, claims, |process| is_server(&table, process)).into_iter();
        unclaimed.filter(|agent| table.is_alive(agent.process)).map(told).collect()
    }

    /// Hosts and panes of those that still run and that none of these claims accounts for, as far as is known now.
    pub(crate) fn panes_without_hooks(&self, claims: &[Claim]) -> Vec<(String, PaneRef)> {
        let found = self.last.borrow().clone().unwrap_or_default();
        let table = Proc::system();
        let unclaimed = unclaimed(&found, claims, |process| is_server(&table, process)).into_iter();
        let alive = unclaimed.filter(|agent| table.is_alive(agent.process));
        alive.filter_map(|agent| Some((agent.host.to_owned(), seat(agent).pane?))).collect()
    }

    /// The tmux servers that running agents sit in, as far as is known now.
    pub(crate) fn sockets(&self) -> Vec<String> {
        let found = self.last.borrow().clone().unwrap_or_default();
        found.iter().filter_map(|agent| agent.pane.as_ref()).map(|pane| pane.server.socket.clone()).collect()
    }

    /// Whether no agent of this host runs in this pane any more, for sure: the process table says so, and all that run
    /// are known with their panes.
    pub(crate) fn has_left(&self, host: &str, pane: &PaneRef) -> bool {
        let Some(found) = self.last.borrow().clone().filter(|_| self.looks) else { return false };
        let table = Proc::system();
        let may_be_here = |agent: &&Agent| {
            agent.host == host
                && table.is_alive(agent.process)
                && seat(agent).pane.is_none_or(|seat| seat.may_be(pane))
        };
        !found.iter().any(|agent| may_be_here(&agent))
    }
}

async fn look_again_and_again(sender: &watch::Sender<Last>, again: &Notify, core: &Core) {
    let mut survey = Survey::new(Proc::system());
    let mut seats = None;
    loop {
        // It waits for tmux servers.
        let looked = tokio::task::spawn_blocking(move || {
            let found = survey.look();
            (survey, found)
        });
        survey = match looked.await {
            Ok((survey, found)) => {
                let now: Vec<Seat> = found.iter().map(seat).collect();
                sender.send_replace(Some(Arc::new(found)));
                if seats.as_ref() != Some(&now) {
                    // The daemon is stopping, or the engine is behind: then they are told with the next change.
                    let told = core.step(Input::Seats(now.clone()), Durability::Written);
                    drop(timeout(EVERY, told).await);
                    seats = Some(now);
                }
                survey
            }
            // A panic costs one look.
            Err(_) => Survey::new(Proc::system()),
        };
        sleep(AT_MOST_EVERY).await;
        // The time being over is as good as being asked.
        drop(timeout(EVERY - AT_MOST_EVERY, again.notified()).await);
    }
}

/// How a Codex server that several terminals share is told by its command line (host notes 10).
const SERVER: &str = "app-server";

fn is_server(table: &Proc, process: herdbook_events::Process) -> bool {
    let process = Process { pid: process.pid, start: process.start };
    table.is_alive(process) && table.argv(process.pid).iter().any(|word| word == SERVER)
}

/// The agents that no session's hooks came from.
///
/// A session accounts for the agent whose process it runs in, else for one in its pane or terminal that is not younger
/// than the session's process. Hooks of a shared server may name the pane of another terminal; there each session
/// accounts for one agent in its folder, whichever that is: the list of sessions has it, and that is all that counts
/// here.
fn unclaimed<'a>(
    found: &'a [Agent],
    claims: &[Claim],
    is_server: impl Fn(herdbook_events::Process) -> bool,
) -> Vec<&'a Agent> {
    let mut left: Vec<&Agent> = found.iter().collect();
    let mut open: Vec<&Claim> = Vec::new();
    for claim in claims {
        match found.iter().find(|agent| is_process_of(agent, claim)) {
            Some(known) => left.retain(|agent| agent.process != known.process),
            None if claim.is_live => open.push(claim),
            None => {}
        }
    }
    let mut take = |open: &mut Vec<&Claim>, fits: &dyn Fn(&Agent, &Claim) -> bool| {
        open.retain(|claim| {
            let place = left.iter().position(|agent| agent.host == claim.host && fits(agent, claim));
            place.map(|place| left.remove(place)).is_none()
        });
    };
    take(&mut open, &is_place_of);
    take(&mut open, &|agent, claim| {
        claim.host == "codex"
            && agent.cwd.as_deref() == Some(claim.cwd.as_str())
            && claim.process.is_some_and(&is_server)
    });
    left
}

fn is_process_of(agent: &Agent, claim: &Claim) -> bool {
    agent.host == claim.host
        && claim.process.is_some_and(|claimed| {
            agent.processes.iter().any(|process| {
                process.pid == claimed.pid && (claimed.start.is_none() || process.start == claimed.start)
            })
        })
}

fn is_place_of(agent: &Agent, claim: &Claim) -> bool {
    let in_pane = agent.pane.as_ref().zip(claim.pane.as_ref()).is_some_and(|(pane, claimed)| {
        pane.id == claimed.pane
            && pane.server.socket == claimed.socket
            && claimed.server_pid.is_none_or(|pid| pid == pane.server.pid)
    });
    let on_terminal =
        matches!((&claim.terminal, &agent.tty), (Terminal::Named(tty), Some(own)) if tty == own);
    // A hook's parent is the agent or what it started.
    let started = claim.process.and_then(|process| process.start);
    let is_younger = agent.process.start.zip(started).is_some_and(|(agent, claimed)| agent > claimed);
    (in_pane || on_terminal) && !is_younger
}

fn seat(agent: &Agent) -> Seat {
    let pane = agent.pane.as_ref().map(|pane| PaneRef {
        socket: pane.server.socket.clone(),
        server_pid: Some(pane.server.pid),
        pane: pane.id.clone(),
    });
    let known = |process: &Process| herdbook_events::Process { pid: process.pid, start: process.start };
    Seat { host: agent.host.to_owned(), processes: agent.processes.iter().map(known).collect(), pane }
}

fn told(agent: &Agent) -> v1::Agent {
    v1::Agent {
        host: agent.host.to_owned(),
        pid: agent.process.pid,
        started_at: agent.started_at_ms,
        cwd: agent.cwd.clone().unwrap_or_default(),
        tty: agent.tty.clone().unwrap_or_default(),
        pane: agent.pane.as_ref().map(|pane| v1::Pane {
            socket: pane.server.socket.clone(),
            server_pid: Some(pane.server.pid),
            pane: pane.id.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use herdbook_machine::{AgentPane, Server};

    use super::*;

    /// Started at `pid * 100`, in pane `%pid` and on terminal `/dev/pts/pid`, with a second process `pid + 1`.
    fn agent(host: &'static str, pid: u32) -> Agent {
        let process = |pid| Process { pid, start: Some(u64::from(pid) * 100) };
        let server = Server { socket: "/s".into(), pid: 5, started_at: 1 };
        Agent {
            host,
            process: process(pid),
            processes: vec![process(pid), process(pid + 1)],
            cwd: Some("/home/dev/app".into()),
            tty: Some(format!("/dev/pts/{pid}")),
            started_at_ms: Some(1),
            pane: Some(AgentPane { server, id: format!("%{pid}") }),
        }
    }

    fn claim(host: &str, pid: u32, start: u64) -> Claim {
        Claim {
            host: host.into(),
            process: Some(herdbook_events::Process { pid, start: Some(start) }),
            terminal: Terminal::Unknown,
            pane: None,
            cwd: "/home/dev/app".into(),
            is_live: true,
        }
    }

    fn pane(socket: &str, server_pid: Option<u32>, id: &str) -> Option<PaneRef> {
        Some(PaneRef { socket: socket.into(), server_pid, pane: id.into() })
    }

    fn left(claims: &[Claim]) -> Vec<u32> {
        let found = [agent("claude", 10), agent("codex", 20), agent("codex", 30)];
        let is_server = |process: herdbook_events::Process| process.pid == 77;
        unclaimed(&found, claims, is_server).into_iter().map(|agent| agent.process.pid).collect()
    }

    #[test]
    fn a_session_accounts_for_the_agent_whose_process_it_runs_in() {
        assert_eq!(left(&[]), [10, 20, 30]);
        assert_eq!(left(&[claim("claude", 10, 1_000)]), [20, 30]);
        assert_eq!(left(&[claim("codex", 21, 2_100)]), [10, 30]);
        // A former process with that pid, and another host.
        assert_eq!(left(&[claim("claude", 10, 999), claim("gemini", 20, 2_000)]), [10, 20, 30]);
        // It has hooks, though its session is over.
        let over = Claim { is_live: false, ..claim("claude", 10, 1_000) };
        assert_eq!(left(&[over]), [20, 30]);
    }

    #[test]
    fn or_for_one_in_its_pane_or_terminal() {
        let shell = claim("claude", 99, 9_900);
        let in_pane = |pane| Claim { pane, ..shell.clone() };
        for (claim, expected) in [
            (in_pane(pane("/s", Some(5), "%10")), vec![20, 30]),
            (in_pane(pane("/s", None, "%10")), vec![20, 30]),
            (in_pane(pane("/s", Some(6), "%10")), vec![10, 20, 30]),
            (in_pane(pane("/t", Some(5), "%10")), vec![10, 20, 30]),
            (in_pane(pane("/s", Some(5), "%20")), vec![10, 20, 30]),
            (Claim { terminal: Terminal::Named("/dev/pts/10".into()), ..shell.clone() }, vec![20, 30]),
            (Claim { is_live: false, ..in_pane(pane("/s", Some(5), "%10")) }, vec![10, 20, 30]),
            // The session's process is older than the agent that sits there now.
            (Claim { pane: pane("/s", Some(5), "%10"), ..claim("claude", 9, 900) }, vec![10, 20, 30]),
        ] {
            assert_eq!(left(std::slice::from_ref(&claim)), expected, "{claim:?}");
        }
    }

    #[test]
    fn sessions_of_a_shared_server_account_for_as_many_agents_in_their_folder() {
        let session = Claim { pane: pane("/s", Some(5), "%20"), ..claim("codex", 77, 7_700) };
        assert_eq!(left(std::slice::from_ref(&session)), [10, 30]);
        assert_eq!(left(&[session.clone(), session.clone()]), [10]);
        let elsewhere = Claim { cwd: "/home/dev/other".into(), ..session.clone() };
        assert_eq!(left(&[session.clone(), elsewhere]), [10, 30]);
        // No shared server: a run without a terminal.
        let alone = Claim { pane: None, ..session };
        let run = Claim { process: claim("codex", 78, 7_800).process, ..alone };
        assert_eq!(left(&[run]), [10, 20, 30]);
    }

    #[test]
    fn panes_of_agents_without_hooks_are_told_and_one_has_left_only_for_sure() {
        let (sender, last) = watch::channel(None);
        let mut agents = Agents { last, again: Arc::default(), looks: true };
        let seat = pane("/s", Some(5), "%10").unwrap();
        assert!(!agents.has_left("claude", &seat), "nobody has looked yet");
        // It runs: it is this test.
        let pid = std::process::id();
        let own = Process { pid, start: Proc::system().stat(pid).map(|stat| stat.start) };
        let here = Agent { process: own, processes: vec![own], ..agent("claude", 10) };
        sender.send_replace(Some(Arc::new(vec![here.clone(), agent("claude", 20)])));
        assert_eq!(agents.panes_without_hooks(&[]), [("claude".to_owned(), seat.clone())]);
        assert!(!agents.has_left("claude", &seat));
        assert!(agents.has_left("codex", &seat), "another host's");
        let hooked = Claim { pane: Some(seat.clone()), ..claim("claude", 99, own.start.unwrap()) };
        assert_eq!(agents.panes_without_hooks(&[hooked]), []);
        sender.send_replace(Some(Arc::new(vec![Agent { pane: None, ..here }])));
        assert!(!agents.has_left("claude", &seat), "it runs somewhere, and may be there");
        sender.send_replace(Some(Arc::new(vec![agent("claude", 10)])));
        assert!(agents.has_left("claude", &seat), "its process is gone");
        agents.looks = false;
        assert!(!agents.has_left("claude", &seat), "nobody looks");
    }

    #[tokio::test]
    async fn a_codex_that_was_not_seen_yet_is_looked_for_at_once() {
        let (sender, last) = watch::channel(None);
        let agents = Agents { last, again: Arc::default(), looks: true };
        let is_asked = async |host: &str, pid: u32| {
            agents.hear(host, &[herdbook_wire::Process { pid, start: Some(u64::from(pid) * 100) }]);
            timeout(Duration::ZERO, agents.again.notified()).await.is_ok()
        };
        // The first look is on its way.
        assert!(!is_asked("codex", 20).await);
        sender.send_replace(Some(Arc::new(vec![agent("codex", 20)])));
        assert!(!is_asked("codex", 20).await);
        assert!(!is_asked("codex", 21).await, "its second process");
        assert!(is_asked("codex", 30).await);
        assert!(!is_asked("claude", 30).await, "its pane is its own");
    }
}
