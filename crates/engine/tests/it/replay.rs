//! The queue is a fold of the journal: an engine that reads it again stands where the first one stood.

use herdbook_engine::view::{QueueEntry, SessionView};
use herdbook_engine::{HumanAct, Input};
use herdbook_events::{Process, SessionKey, Shows, Told, WaitKind};
use proptest::prelude::*;

use crate::Herd;

#[derive(Clone, Debug)]
enum Step {
    Claude(u8, u8),
    Post(u8, u8, u16),
    Act(u8, u8),
    Gone(u8),
    Pane(u8, u8, u16),
    Told(u8, u8, bool),
    Wait(u32),
}

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;

fn take(herd: &mut Herd, step: &Step) {
    match step {
        Step::Claude(session, event) => {
            let call = format!(r#"{BASH},"tool_use_id":"t{session}""#);
            let (event, more) = match event % 9 {
                0 => ("SessionStart", r#""source":"startup""#.to_owned()),
                1 => ("UserPromptSubmit", r#""prompt":"x""#.to_owned()),
                2 => ("PreToolUse", call),
                3 => ("PermissionRequest", BASH.to_owned()),
                4 => ("PostToolUse", call),
                5 => ("Stop", String::new()),
                6 => ("Notification", r#""notification_type":"idle_prompt","message":"m""#.to_owned()),
                7 => ("SubagentStart", format!(r#""agent_id":"a{session}""#)),
                _ => ("SessionEnd", String::new()),
            };
            herd.claude(&(session % 4).to_string(), event, &more);
        }
        Step::Post(session, kind, timestamp) => {
            let id = format!("p{}", session % 3);
            match kind % 4 {
                0 => herd.stuck(&id, u64::from(*timestamp) + 1, "m"),
                1 => herd.tell("unstuck", &id),
                2 => herd.tell("registered", &id),
                _ => herd.tell("ended", &id),
            }
        }
        Step::Act(session, act) => {
            let key = SessionKey::posted(&format!("claude-{}", session % 4)).unwrap();
            herd.act(match act % 5 {
                0 => HumanAct::Skip(None),
                1 => HumanAct::Snooze(key, 60_000),
                2 => HumanAct::Pin(key, true),
                3 => HumanAct::Pin(key, false),
                _ => HumanAct::Settle(key),
            });
        }
        Step::Gone(pid) => {
            let process = Process { pid: u32::from(*pid), start: None };
            herd.input(Input::Process { process, machine: None, alive: false });
        }
        Step::Pane(session, shows, for_ms) => {
            let shows = match shows % 7 {
                0 => Shows::Busy,
                1 => Shows::Ready { kind: WaitKind::TurnEnd },
                2 => Shows::Ready { kind: WaitKind::Interrupted },
                3 => Shows::Dialog { kind: WaitKind::Permission, sure: true },
                4 => Shows::Dialog { kind: WaitKind::Dialog, sure: false },
                5 => Shows::Gone,
                _ => Shows::Closed,
            };
            crate::screen::look(herd, &(session % 5).to_string(), shows, u64::from(*for_ms));
        }
        Step::Told(session, fact, fresh) => {
            let id = (session % 4).to_string();
            let kind = [WaitKind::Interrupted, WaitKind::Error, WaitKind::TurnEnd][usize::from(session % 3)];
            let told = match fact % 6 {
                0 => Told::Opened { cwd: None, attended: Some(true) },
                1 => Told::ChildOf { parent: (session / 4 % 4).to_string() },
                2 => Told::TurnStarted,
                3 => Told::ResumedFrom { earlier: (session / 4 % 4).to_string() },
                4 => Told::Answered { tool: format!("t{session}"), failed: false },
                _ => Told::TurnEnded { kind, message: String::new() },
            };
            let written = (fact % 2 == 0).then_some(herd.now.wall_ms - u64::from(*fact));
            herd.told(&id, *fresh, written, told);
        }
        Step::Wait(ms) => herd.wait(u64::from(*ms)),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (any::<u8>(), any::<u8>()).prop_map(|(session, event)| Step::Claude(session, event)),
        3 => (any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(s, k, t)| Step::Post(s, k, t)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(session, act)| Step::Act(session, act)),
        1 => any::<u8>().prop_map(Step::Gone),
        3 => (any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(s, k, t)| Step::Pane(s, k, t)),
        3 => (any::<u8>(), any::<u8>(), any::<bool>()).prop_map(|(s, f, fresh)| Step::Told(s, f, fresh)),
        3 => (0u32..90_000_000).prop_map(Step::Wait),
        3 => (0u32..3_000).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..60)
}

fn seen(herd: &Herd) -> (Vec<QueueEntry>, Vec<SessionView>) {
    (herd.engine.queue(herd.now), herd.engine.sessions())
}

#[test]
fn a_session_that_goes_on_after_a_reboot_is_not_taken_for_late() {
    let mut herd = Herd::new();
    herd.wait(864_000_000);
    herd.claude("1", "Stop", "");
    let mut after = herd.restarted();
    // Stamps count from the boot and have begun anew.
    after.now.mono_ms = 90_000;
    after.input(Input::Daemon { what: "start", version: "0".into() });
    after.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    assert_eq!(after.state("claude-1"), "working");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_fold_of_the_journal_is_the_state(steps in steps()) {
        let mut herd = Herd::new();
        for step in &steps {
            take(&mut herd, step);
        }
        // Timers fire in between without a record of their own: both sides look at the same moment.
        herd.input(Input::Daemon { what: "stop", version: "0".into() });
        let after = herd.restarted();
        prop_assert_eq!(seen(&herd), seen(&after));
    }

    #[test]
    fn nothing_that_ended_waits_and_ids_rise(steps in steps()) {
        let mut herd = Herd::new();
        for step in &steps {
            take(&mut herd, step);
            let listed = herd.engine.sessions();
            for entry in herd.engine.queue(herd.now) {
                prop_assert!(listed.iter().any(|view| view.key == entry.session && view.kind.is_some()));
            }
        }
        prop_assert!(herd.journal.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
