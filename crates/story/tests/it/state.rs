//! What a checker knows survives as bytes.

use herdbook_story::{Checker, Finding, Options, Standing};
use proptest::prelude::*;
use serde_json::Value;

use crate::shared::{OWN_EXAMPLE, OWN_WORKFLOW};

/// A change of a log; the numbers choose lines.
#[derive(Clone, Debug)]
enum Change {
    Drop(usize),
    Repeat(usize),
    Swap(usize, usize),
    /// Two lines say what the other did, each in its place.
    SwapPayloads(usize, usize),
    /// One line says what another one says.
    CopyPayload(usize, usize),
    NumberAnew,
}

fn change() -> impl Strategy<Value = Change> {
    let line = || 0usize..1000;
    prop_oneof![
        line().prop_map(Change::Drop),
        line().prop_map(Change::Repeat),
        (line(), line()).prop_map(|(one, other)| Change::Swap(one, other)),
        (line(), line()).prop_map(|(one, other)| Change::SwapPayloads(one, other)),
        (line(), line()).prop_map(|(one, other)| Change::CopyPayload(one, other)),
        Just(Change::NumberAnew),
    ]
}

fn apply(lines: &mut Vec<Value>, change: &Change) {
    let count = lines.len();
    let say = |lines: &mut Vec<Value>, at: usize, of: &Value| {
        lines[at]["type"] = of["type"].clone();
        lines[at]["payload"] = of["payload"].clone();
    };
    match *change {
        Change::Drop(at) => drop(lines.remove(at % count)),
        Change::Repeat(at) => lines.insert(at % count, lines[at % count].clone()),
        Change::Swap(one, other) => lines.swap(one % count, other % count),
        Change::SwapPayloads(one, other) => {
            let (of_one, of_other) = (lines[one % count].clone(), lines[other % count].clone());
            say(lines, one % count, &of_other);
            say(lines, other % count, &of_one);
        }
        Change::CopyPayload(one, other) => {
            let of = lines[other % count].clone();
            say(lines, one % count, &of);
        }
        Change::NumberAnew => {
            (1..).zip(lines.iter_mut()).for_each(|(seq, line)| line["seq"] = Value::from(seq));
        }
    }
}

/// Checks a log; `between` may put another checker in the place of the one that has come so far.
fn checked(lines: &[String], between: impl Fn(Checker) -> Checker) -> (Vec<Vec<Finding>>, Vec<Standing>) {
    let mut checker = Checker::new(Options { strict: true, ..Options::native() });
    let (mut found, mut standings) = (Vec::new(), Vec::new());
    for line in lines {
        found.push(checker.push(line));
        standings.push(checker.standing());
        checker = between(checker);
    }
    found.push(checker.finish());
    (found, standings)
}

fn restored(checker: &Checker) -> Checker {
    Checker::restore(Options { strict: true, ..Options::native() }, &checker.state().unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A checker that is stopped behind every line finds what one finds that never is.
    #[test]
    fn stopping_behind_any_line_changes_nothing(
        log in prop_oneof![Just(OWN_EXAMPLE), Just(OWN_WORKFLOW)],
        changes in prop::collection::vec(change(), 0..6),
    ) {
        let mut lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        changes.iter().for_each(|change| apply(&mut lines, change));
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        prop_assert_eq!(checked(&lines, |checker| restored(&checker)), checked(&lines, |checker| checker));
    }

    #[test]
    fn no_bytes_make_it_panic(cut in 0usize..4000, at in 0usize..4000, byte: u8) {
        let mut checker = Checker::new(Options::native());
        OWN_WORKFLOW.lines().for_each(|line| drop(checker.push(line)));
        let mut state = checker.state().unwrap();
        prop_assert!(Checker::restore(Options::native(), &state[..cut % state.len()]).is_none());
        let place = at % state.len();
        state[place] = byte;
        let _ = Checker::restore(Options::native(), &state);
        state.push(0);
        prop_assert!(Checker::restore(Options::native(), &state).is_none());
    }
}

#[test]
fn what_streams_said_is_in_it() {
    let mut checker = Checker::new(Options::native());
    let mut lines = OWN_EXAMPLE.lines();
    for line in lines.by_ref().take(4) {
        assert_eq!(checker.push(line), []);
    }
    let delta =
        r#"{"type":"model.text-delta","payload":{"requestId":"r1","blockIndex":1,"text":"something else"}}"#;
    assert_eq!(checker.push_ephemeral(delta), []);
    let mut checker = restored(&checker);
    let found = checker.push(lines.next().unwrap());
    assert_eq!(found.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>(), ["X2"]);
}

#[test]
fn it_says_how_far_it_came_and_of_whose_log() {
    let mut checker = Checker::new(Options::native());
    OWN_EXAMPLE.lines().for_each(|line| drop(checker.push(line)));
    let checker = restored(&checker);
    assert_eq!(checker.last_seq(), OWN_EXAMPLE.lines().count() as u64);
    let last: Value = serde_json::from_str(OWN_EXAMPLE.lines().last().unwrap()).unwrap();
    assert_eq!(checker.session_id(), last["sessionId"].as_str());
    let ids = OWN_EXAMPLE.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string());
    assert_eq!(checker.highest_id().map(|id| format!("\"{id}\"")), ids.max());
}

/// Whoever changes what a checker remembers sees this fail: then `FORMAT` in `check/state.rs` must be raised.
#[test]
fn its_bytes_are_those_of_its_format() {
    let lengths = [OWN_EXAMPLE, OWN_WORKFLOW].map(|log| {
        let mut checker = Checker::new(Options::native());
        log.lines().for_each(|line| drop(checker.push(line)));
        checker.state().unwrap().len()
    });
    assert_eq!(lengths, [1613, 1769]);
}
