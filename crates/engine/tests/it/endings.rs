//! Ends that come too early or too late: hooks overtake each other, and an agent's last words may be read after it is
//! gone.

use herdbook_engine::{HookDelivery, Input};
use herdbook_events::{Origin, Process};

use crate::Herd;

const PROMPT: &str = r#","prompt":"x""#;

/// A hook that started so many seconds after the boot, out of a process where one is given.
fn hook(herd: &mut Herd, stamp_s: u64, event: &str, more: &str, pid: Option<u32>) {
    let ancestors = pid.map(|pid| Process { pid, start: Some(1) }).into_iter().collect();
    herd.input(Input::Hook(HookDelivery {
        host: "claude".into(),
        native_event: None,
        delivery: u128::from(stamp_s),
        stamp_ms: Some(stamp_s * 1_000),
        started_at_ms: Some(herd.now.wall_ms),
        origin: Origin { ancestors, ..Origin::default() },
        body: format!(r#"{{"session_id":"1","cwd":"/srv","hook_event_name":"{event}"{more}}}"#).into(),
        cut: false,
        spooled: false,
        earlier_boot: false,
    }));
    herd.wait(1);
}

#[test]
fn what_a_goodbye_overtook_raises_nobody() {
    let mut herd = Herd::new();
    hook(&mut herd, 10, "UserPromptSubmit", PROMPT, None);
    hook(&mut herd, 30, "SessionEnd", "", None);
    hook(&mut herd, 20, "UserPromptSubmit", PROMPT, None);
    assert_eq!(herd.state("claude-1"), "ended");
    hook(&mut herd, 40, "UserPromptSubmit", PROMPT, None);
    assert_eq!(herd.state("claude-1"), "working", "a later one is another life");
}

#[test]
fn a_goodbye_that_comes_first_of_all_is_remembered() {
    let mut herd = Herd::new();
    hook(&mut herd, 30, "SessionEnd", "", None);
    for (stamp_s, event, more) in
        [(10, "SessionStart", ""), (12, "UserPromptSubmit", PROMPT), (14, "Stop", "")]
    {
        hook(&mut herd, stamp_s, event, more, None);
    }
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("absent", 0));
    let mut again = herd.restarted();
    for herd in [&mut herd, &mut again] {
        hook(herd, 40, "SessionStart", r#","source":"resume""#, None);
        assert_eq!(herd.state("claude-1"), "registered");
    }
}

#[test]
fn a_late_goodbye_is_that_of_the_life_before() {
    let mut herd = Herd::new();
    hook(&mut herd, 10, "UserPromptSubmit", PROMPT, None);
    hook(&mut herd, 30, "SessionStart", r#","source":"resume""#, None);
    hook(&mut herd, 20, "SessionEnd", "", None);
    assert_eq!(herd.state("claude-1"), "registered");
    hook(&mut herd, 40, "SessionEnd", "", None);
    assert_eq!(herd.state("claude-1"), "ended");
}

#[test]
fn the_last_words_of_a_process_that_is_gone_raise_nobody() {
    let mut herd = Herd::new();
    hook(&mut herd, 10, "SessionStart", r#","source":"startup""#, Some(7));
    hook(&mut herd, 12, "UserPromptSubmit", PROMPT, Some(7));
    let process = Process { pid: 7, start: Some(1) };
    herd.input(Input::Process { process, machine: None, alive: false });
    hook(&mut herd, 20, "UserPromptSubmit", PROMPT, Some(7));
    assert_eq!(herd.state("claude-1"), "ended");
    hook(&mut herd, 30, "UserPromptSubmit", PROMPT, Some(8));
    assert_eq!(herd.state("claude-1"), "working", "resumed in another process");
}
