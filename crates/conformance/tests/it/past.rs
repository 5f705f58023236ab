//! The journal of a recorded scenario tells what was to be seen at each of its moments.

use herdbook_conformance::case::{Body, Case};
use herdbook_conformance::find_cases;
use herdbook_conformance::replay::herd::VirtualHerd;
use herdbook_conformance::replay::step::{Act, Step};
use herdbook_engine::view::SessionView;

use crate::folders::{root, shared};

/// So many moments of a scenario are compared at most: each folds the journal anew.
const LOOKS: usize = 24;

/// What is seen at one moment. Where agents sit is not recorded, so whether a pane is a guess may differ.
fn seen(mut sessions: Vec<SessionView>, queue: Vec<String>) -> (Vec<SessionView>, Vec<String>) {
    sessions.iter_mut().for_each(|view| view.pane_uncertain = false);
    (sessions, queue)
}

/// True where the wall clock is set back: then two moments have the same name.
fn is_set_back(steps: &[Step]) -> bool {
    let mut ahead: Option<(u64, u64)> = None;
    steps.iter().any(|step| match step.act {
        Act::Clock { wall_ms, .. } => {
            let expected = ahead.map(|(t_ms, wall_ms)| wall_ms + step.t_ms - t_ms);
            ahead = Some((step.t_ms, wall_ms));
            expected.is_some_and(|expected| wall_ms < expected) || wall_ms < 1_767_225_600_000 + step.t_ms
        }
        _ => false,
    })
}

/// Plays a scenario, looking just before each step, and compares with what the whole journal tells of that moment.
/// Returns how many moments there were.
fn compare(case: &str, steps: &[Step]) -> usize {
    let mut herd = VirtualHerd::new();
    let (mut moments, mut last_ms) = (Vec::new(), 0);
    for step in steps {
        if step.t_ms > last_ms + 1 {
            herd.advance_to(step.t_ms - 1);
            // Nobody looks while the daemon is stopped.
            if !herd.sessions().is_empty() {
                moments.push((step.t_ms - 1, seen(herd.sessions(), herd.queue_ids())));
            }
        }
        last_ms = step.t_ms;
        herd.advance_to(step.t_ms);
        herd.take(&step.act);
    }
    for (t_ms, then) in moments.iter().step_by(moments.len().div_ceil(LOOKS).max(1)) {
        let (sessions, queue) = herd.past(*t_ms).unwrap();
        assert_eq!(seen(sessions, queue), *then, "{case} at {t_ms}");
    }
    moments.len()
}

fn compare_all(folder: &std::path::Path) -> usize {
    let cases = find_cases(folder).unwrap().into_iter().map(|dir| Case::load(&dir).unwrap());
    cases
        .flat_map(|case| case.checks.into_iter().map(move |check| (case.id.clone(), check.body)))
        .filter_map(|(id, body)| match body {
            Body::Replay { steps, .. } if !is_set_back(&steps) => Some(compare(&id, &steps)),
            _ => None,
        })
        .sum()
}

#[test]
fn the_journal_of_each_public_scenario_tells_each_of_its_moments() {
    assert!(compare_all(&root().join("conformance")) > 300);
}

#[test]
fn the_journal_of_each_reference_scenario_tells_each_of_its_moments() {
    let test = "the_journal_of_each_reference_scenario_tells_each_of_its_moments";
    let Some(folder) = shared(test, "real-cases") else { return };
    assert!(compare_all(&folder) > 300);
}
