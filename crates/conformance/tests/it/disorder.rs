//! Every scenario that there is, with its hooks late, out of order and twice: whoever is over at the end is neither in
//! the queue nor at work. Hooks are late against everything else, too: looks at panes, tmux, processes, transcripts, the
//! daemon's own stops, posted events, decisions, and what the human does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use herdbook_conformance::find_cases;
use herdbook_conformance::replay::herd::VirtualHerd;
use herdbook_conformance::replay::origin::origin_of;
use herdbook_conformance::replay::step::{Act, DecidedStep, HookStep, Step, read};
use herdbook_engine::view::State;
use herdbook_engine::{HumanAct, Input};
use herdbook_events::observation::{Observation, Signal};
use herdbook_events::{NormalizedEvent, SessionKey};
use herdbook_hosts::{Projected, observe, project};
use proptest::prelude::*;

use crate::folders::{root, shared};

/// After this time without a sign nobody counts as working (case F-094).
const EXPIRED_MS: u64 = 31 * 60_000;

/// One recorded scenario.
struct Scenario {
    name: String,
    steps: Vec<Step>,
    /// Sessions that are over when all is told, and why.
    over: BTreeMap<SessionKey, &'static str>,
}

/// What a session did last.
#[derive(Default)]
struct Life {
    begun: Option<(u64, Option<u32>)>,
    ended: Option<(u64, Option<u32>)>,
    pids: Vec<Option<u32>>,
    last_ms: u64,
}

fn observed(hook: &HookStep) -> Vec<Observation> {
    match project(&hook.agent, hook.event.as_deref(), hook.payload.get().as_bytes()) {
        Projected::Event(event) => observe(&event, &origin_of(hook)),
        Projected::Unreadable(_) => Vec::new(),
    }
}

/// Who is over for sure: a goodbye after the last start and prompt, out of the same process; or the one process that
/// all its hooks named is gone.
fn over(steps: &[Step]) -> BTreeMap<SessionKey, &'static str> {
    let mut lives: BTreeMap<SessionKey, Life> = BTreeMap::new();
    let mut dead: BTreeMap<u32, u64> = BTreeMap::new();
    for step in steps {
        match &step.act {
            Act::Hook(hook) => {
                let at = (hook.origin_ms.unwrap_or(step.t_ms), hook.pid);
                for seen in observed(hook) {
                    let life = lives.entry(seen.session).or_default();
                    life.last_ms = life.last_ms.max(at.0);
                    life.pids.push(hook.pid.filter(|_| hook.machine.is_none()));
                    let (begun, ended) = (&mut life.begun, &mut life.ended);
                    match seen.signal {
                        Signal::SessionStarted { inside_turn: false, .. }
                        | Signal::PromptSubmitted { human: true } => *begun = (*begun).max(Some(at)),
                        Signal::SessionEnded if seen.agent.is_none() => *ended = (*ended).max(Some(at)),
                        _ => {}
                    }
                }
            }
            Act::Process { pid, alive: false, machine: None } => {
                dead.insert(*pid, step.t_ms);
            }
            Act::Process { pid, alive: true, machine: None } => drop(dead.remove(pid)),
            _ => {}
        }
    }
    let why = |life: &Life| {
        let same_process =
            |begun: Option<u32>, ended: Option<u32>| begun.is_none() || ended.is_none() || begun == ended;
        match (life.begun, life.ended) {
            (None, Some(_)) => return Some("it said goodbye"),
            (Some((begun, of)), Some((ended, by))) if begun < ended && same_process(of, by) => {
                return Some("it said goodbye");
            }
            _ => {}
        }
        let first = life.pids.first().copied().flatten()?;
        let only = life.pids.len() >= 2 && life.pids.iter().all(|pid| *pid == Some(first));
        (only && dead.get(&first).is_some_and(|gone| *gone > life.last_ms)).then_some("its process is gone")
    };
    lives.iter().filter_map(|(key, life)| Some((key.clone(), why(life)?))).collect()
}

fn scenarios_of(folder: &Path) -> Vec<Scenario> {
    let mut found = Vec::new();
    for case in find_cases(folder).unwrap() {
        let files = fs::read_dir(&case).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|file| file.extension().is_some_and(|ext| ext == "jsonl")).collect();
        files.sort();
        for file in files {
            let name =
                format!("{}/{}", case.file_name().unwrap().display(), file.file_name().unwrap().display());
            // Other files of lines are no replays.
            let Ok(steps) = read(&name, &fs::read_to_string(&file).unwrap(), &case) else { continue };
            let over = over(&steps);
            found.push(Scenario { name, steps, over });
        }
    }
    found
}

static PUBLIC: LazyLock<Vec<Scenario>> = LazyLock::new(|| scenarios_of(&root().join("conformance")));
static REAL: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    shared("recorded_runs_out_of_order", "real-cases").map(|folder| scenarios_of(&folder)).unwrap_or_default()
});

/// What is done to one step.
#[derive(Clone, Debug)]
struct Fate {
    /// 0: in time; then up to a quarter of a second, up to twenty seconds, behind all else.
    late: u8,
    by: u16,
    twice: bool,
    /// 0 to 5: nothing; then somebody else does something right after it.
    beside: u8,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let late = prop_oneof![4 => Just(0u8), 2 => Just(1u8), 2 => Just(2u8), 1 => Just(3u8)];
    let fate = (late, any::<u16>(), prop::bool::weighted(0.2), 0u8..14)
        .prop_map(|(late, by, twice, beside)| Fate { late, by, twice, beside });
    prop::collection::vec(fate, 0..120)
}

const IN_TIME: Fate = Fate { late: 0, by: 0, twice: false, beside: 0 };

/// The order in which things arrive, each with the time at which it does.
fn schedule<'a>(scenario: &'a Scenario, fates: &'a [Fate]) -> Vec<(u64, &'a Act, &'a Fate)> {
    let end_ms = scenario.steps.last().map_or(0, |step| step.t_ms) + 1_000;
    let mut arrivals = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        let fate = if fates.is_empty() { &IN_TIME } else { &fates[index % fates.len()] };
        let delay = |by: u64| match (&step.act, fate.late) {
            (Act::Hook(_), 1) => step.t_ms + by % 250,
            (Act::Hook(_), 2) => step.t_ms + by % 20_000,
            (Act::Hook(_), 3) => end_ms + by % 5_000,
            // What we look at ourselves is as it is at that moment.
            _ => step.t_ms,
        };
        arrivals.push((delay(u64::from(fate.by)), &step.act, fate));
        // Half a line of a transcript comes once.
        let whole = !matches!(&step.act, Act::Append(append) if !append.text.ends_with('\n'));
        let repeats = !matches!(step.act, Act::Clock { .. } | Act::Daemon(_));
        if fate.twice && whole && repeats {
            arrivals.push((delay(u64::from(fate.by) * 7 + 3), &step.act, &IN_TIME));
        }
    }
    arrivals.sort_by_key(|(at, ..)| *at);
    arrivals
}

/// Lets somebody else do something: the human, or a producer that knows the pane of a session.
fn beside(herd: &mut VirtualHerd, fate: &Fate) {
    let sessions = herd.sessions();
    if sessions.is_empty() || fate.beside < 6 {
        return;
    }
    let view = &sessions[usize::from(fate.by) % sessions.len()];
    let key = view.key.clone();
    let pane = view.pane.as_ref().map_or("%1", |pane| &pane.pane);
    let post = |kind: &str| {
        let body = format!(
            r#"{{"type":"{kind}","sessionId":"producer","paneId":"{pane}","cwd":"","transcriptPath":"","reason":"stopped","message":"m","timestamp":7}}"#
        );
        Input::Normalized { event: NormalizedEvent::parse(body.as_bytes()).unwrap(), body }
    };
    herd.input(match fate.beside {
        6 => Input::Human(HumanAct::Skip(None)),
        7 => Input::Human(HumanAct::Snooze(key, 60_000)),
        8 => Input::Human(HumanAct::Pin(key, true)),
        9 => Input::Human(HumanAct::Settle(key)),
        10 => post("stuck"),
        11 => post("unstuck"),
        decision => {
            // About one of the first calls, or one that was never made.
            let (hook, outcome) = (usize::from(fate.by % 16), ["allow", "deny"][usize::from(decision % 2)]);
            let (route, told) = (None, !fate.by.is_multiple_of(5));
            return herd.take(&Act::Decided(DecidedStep { hook, outcome, route, told }));
        }
    });
}

/// Plays a scenario in that order and returns who is in the queue or at work though it is over.
fn undead(scenario: &Scenario, fates: &[Fate]) -> Vec<String> {
    let mut herd = VirtualHerd::new();
    let mut last_ms = 0;
    for (at, act, fate) in schedule(scenario, fates) {
        let started_ms =
            scenario.steps.iter().find(|step| std::ptr::eq(&step.act, act)).map(|step| step.t_ms);
        last_ms = at;
        herd.advance_to(at);
        match act {
            Act::Check(_) => {}
            Act::Hook(hook) => {
                let origin_ms = hook.origin_ms.or(started_ms);
                herd.take(&Act::Hook(Box::new(HookStep { origin_ms, ..(**hook).clone() })));
            }
            act => herd.take(act),
        }
        beside(&mut herd, fate);
    }
    // The daemon looks at processes all the time; and time passes.
    for step in &scenario.steps {
        if matches!(step.act, Act::Process { .. }) {
            herd.take(&step.act);
        }
    }
    herd.advance_to(last_ms + EXPIRED_MS);
    let sessions = herd.sessions().into_iter();
    sessions
        .filter(|view| matches!(view.state, State::Stuck | State::Working))
        .filter_map(|view| {
            let why = scenario.over.get(&view.key)?;
            let evidence: Vec<&str> = view.evidence.iter().map(|one| one.fact.as_str()).collect();
            Some(format!(
                "{}: {} is {:?} {:?} though {why}: {evidence:?}",
                scenario.name, view.key, view.state, view.kind
            ))
        })
        .collect()
}

fn cases(many: u32) -> u32 {
    #[expect(clippy::disallowed_methods, reason = "a test looks whether it shall be slow")]
    let slow = std::env::var_os("HERDBOOK_TEST_SLOW").is_some();
    if slow { 20_000 } else { many }
}

#[test]
fn scenarios_tell_of_sessions_that_are_over() {
    let over = |scenarios: &[Scenario]| scenarios.iter().map(|scenario| scenario.over.len()).sum::<usize>();
    println!("public: {} of {}; real: {} of {}", over(&PUBLIC), PUBLIC.len(), over(&REAL), REAL.len());
    assert!(over(&PUBLIC) >= 10 && PUBLIC.len() >= 40);
    assert!(REAL.is_empty() || over(&REAL) >= 50);
    for scenario in PUBLIC.iter().chain(REAL.iter()) {
        assert_eq!(undead(scenario, &[]), [""; 0]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(256), ..ProptestConfig::default() })]

    #[test]
    fn whoever_is_over_stays_over_in_any_order_of_a_public_case(which in any::<prop::sample::Index>(), fates in fates()) {
        let scenario = which.get(&PUBLIC);
        prop_assert_eq!(undead(scenario, &fates), [""; 0]);
    }

    #[test]
    fn whoever_is_over_stays_over_in_any_order_of_a_recorded_run(which in any::<prop::sample::Index>(), fates in fates()) {
        if !REAL.is_empty() {
            let scenario = which.get(&REAL);
            prop_assert_eq!(undead(scenario, &fates), [""; 0]);
        }
    }
}
