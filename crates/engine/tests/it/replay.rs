//! The queue is a fold of the journal: an engine that reads it again stands where the first one stood.

use herdbook_engine::book::KeptSpan;
use herdbook_engine::view::{QueueEntry, SessionView, WhyView};
use herdbook_engine::{Doing, HookDelivery, HumanAct, Input, Shown, TmuxFacts, session_of};
use herdbook_events::{Origin, Process, SessionKey, Shows, Told, WaitKind};
use proptest::prelude::*;

use crate::{Herd, aged};

#[derive(Clone, Debug)]
enum Step {
    Claude(u8, u8),
    Post(u8, u8, u16),
    Detected(u8, u8),
    Act(u8, u8),
    /// The human settles one of the sessions.
    Settle(u8),
    /// The wall clock is set, by so many milliseconds.
    Clock(i32),
    Gone(u8),
    Pane(u8, u8, u16),
    Told(u8, u8, bool),
    /// A call of another host, that many milliseconds late.
    Other(u8, u8, u16),
    /// The panes that the tmux server lists, a bit each.
    Listed(u8),
    Says(u8, u8, u8),
    Wait(u32),
    /// A start of the daemon, sometimes in another boot.
    Start(u8),
    /// A hook of a boot that is over.
    Earlier(u8),
    /// What was decided about one of the last hook calls.
    Decided(u8, u8),
}

/// A payload of Codex, Gemini, Copilot or OpenCode, by number: one event of a session's life.
fn other(session: u8, event: u8) -> (&'static str, String) {
    let id = session / 4 % 3;
    let named = |host: &'static str, event: &str, more: &str| {
        (host, format!(r#"{{"session_id":"{id}","cwd":"/srv/demo","hook_event_name":"{event}"{more}}}"#))
    };
    let tool = r#","turn_id":"1","tool_name":"shell","tool_input":{"command":"make"},"tool_use_id":"t""#;
    match session % 4 {
        0 => match event % 8 {
            0 => named("codex", "SessionStart", r#","source":"startup""#),
            1 => named("codex", "UserPromptSubmit", r#","turn_id":"1","prompt":"x""#),
            2 => named("codex", "PreToolUse", tool),
            3 => named("codex", "PermissionRequest", tool),
            4 => named("codex", "PostToolUse", tool),
            5 => named("codex", "Stop", r#","turn_id":"1""#),
            6 => named("codex", "Interrupt", r#","turn_id":"1""#),
            _ => named("codex", "SessionEnd", ""),
        },
        1 => match event % 6 {
            0 => named("gemini", "SessionStart", r#","source":"startup""#),
            1 => named("gemini", "BeforeAgent", r#","prompt":"x""#),
            2 => named("gemini", "BeforeTool", tool),
            3 => named("gemini", "Notification", r#","notification_type":"ToolPermission","message":"m""#),
            4 => named("gemini", "AfterAgent", ""),
            _ => named("gemini", "SessionEnd", r#","reason":"exit""#),
        },
        2 => match event % 6 {
            0 => named("copilot", "SessionStart", r#","source":"new""#),
            1 => named("copilot", "UserPromptSubmit", r#","prompt":"x""#),
            2 => named("copilot", "PreToolUse", tool),
            3 => {
                named("copilot", "Notification", r#","notification_type":"permission_prompt","message":"m""#)
            }
            4 => named("copilot", "Stop", ""),
            _ => named("copilot", "SessionEnd", r#","reason":"user_exit""#),
        },
        _ => {
            let typed = |kind: &str, more: &str| {
                let body = format!(r#"{{"type":"{kind}","properties":{{"sessionID":"{id}"{more}}}}}"#);
                ("opencode", body)
            };
            match event % 5 {
                0 => typed("session.idle", ""),
                1 => typed("session.status", r#","status":{"type":"busy"}"#),
                2 => typed("permission.asked", r#","id":"p1","permission":"bash","patterns":["make"]"#),
                3 => typed("permission.replied", r#","requestID":"p1","reply":"once""#),
                _ => typed("session.deleted", &format!(r#","info":{{"id":"{id}"}}"#)),
            }
        }
    }
}

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"}"#;
const AGENT: &str = r#""tool_name":"Agent","tool_input":{"prompt":"x"}"#;

fn take(herd: &mut Herd, step: &Step) {
    match step {
        Step::Claude(session, event) => {
            let tool = if session / 16 % 4 == 0 { AGENT } else { BASH };
            let call = format!(r#"{tool},"tool_use_id":"t{session}""#);
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
            let id = (session % 4).to_string();
            let body =
                format!(r#"{{"session_id":"{id}","cwd":"/srv/demo","hook_event_name":"{event}",{more}}}"#);
            let body = body.replace(",}", "}");
            // Sessions share processes, and go from one to another.
            let pid = u32::from(session / 4 % 4);
            let ancestors = (pid > 0).then_some(Process { pid, start: None }).into_iter().collect();
            let vars = match session / 64 {
                0 => vec![],
                _ => vec![
                    ("TMUX_PANE".into(), format!("%{id}")),
                    ("TMUX".into(), "/tmp/t/default,42,0".into()),
                ],
            };
            herd.hook("claude", &body, Origin { ancestors, vars, ..Origin::default() });
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
        Step::Detected(pane, kind) => crate::detected::say(herd, pane % 3, kind % 4),
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
        Step::Settle(nth) => {
            let keys: Vec<_> = herd.engine.sessions().into_iter().map(|view| view.key).collect();
            if let Some(key) = keys.get(usize::from(*nth) % keys.len().max(1)) {
                herd.act(HumanAct::Settle(key.clone()));
            }
        }
        Step::Clock(by_ms) => {
            // When the clock was set is not in the journal, and what time alone did just then shows another wall time
            // after a restart: so there are records before and after.
            let gap = || Input::Gap { lost: 0, reason: "set".into() };
            herd.input(gap());
            herd.now.wall_ms = herd.now.wall_ms.saturating_add_signed(i64::from(*by_ms));
            herd.input(gap());
        }
        Step::Gone(pid) => {
            let process = Process { pid: u32::from(*pid % 4), start: None };
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
        Step::Other(session, event, late_ms) => {
            let (host, body) = other(*session, *event);
            let pid = u32::from(session / 16 % 4);
            let ancestors = (pid > 0).then_some(Process { pid, start: None }).into_iter().collect();
            let vars = vec![
                ("TMUX_PANE".into(), format!("%{}", session % 4)),
                ("TMUX".into(), "/tmp/t/default,42,0".into()),
            ];
            herd.behind_ms = u64::from(*late_ms);
            herd.hook(host, &body, Origin { ancestors, vars, ..Origin::default() });
            herd.behind_ms = 0;
        }
        Step::Listed(panes) => {
            let listed = (0..4u8).filter(|bit| panes & (1 << bit) != 0).map(|pane| format!("%{pane}"));
            let facts = TmuxFacts {
                server: Some(("/tmp/t/default".into(), 42)),
                panes: Some(listed.collect()),
                focus: None,
            };
            herd.input(Input::Tmux(facts));
        }
        Step::Says(place, word, late) => crate::status::any_word(herd, *place, *word, *late),
        Step::Wait(ms) => herd.wait(u64::from(*ms)),
        Step::Start(boot) => {
            let boot = (boot % 8 > 0).then_some(u32::from(boot / 128 + 1));
            herd.input(Input::Daemon { what: "start", version: "0".into(), boot });
        }
        Step::Earlier(session) => {
            let body = format!(r#"{{"session_id":"{}","hook_event_name":"Stop"}}"#, session % 4);
            herd.earlier_boot = true;
            herd.hook("claude", &body, Origin::default());
            herd.earlier_boot = false;
        }
        Step::Decided(ago, what) => {
            let delivery = herd.last().saturating_sub(u128::from(*ago % 4));
            let session = match what / 16 % 4 {
                0 => "opencode-0".to_owned(),
                session => format!("claude-{session}"),
            };
            // The session of a wait that is open, where the call opened one.
            let session = herd.engine.wait_of(delivery).map_or(session, |wait| wait.session.to_string());
            let outcome = ["allow", "deny", "ask", "continue"][usize::from(what % 4)];
            let by = if what & 4 == 0 { crate::decisions::human() } else { crate::decisions::route() };
            herd.decide(delivery, &session, outcome, by);
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (any::<u8>(), any::<u8>()).prop_map(|(session, event)| Step::Claude(session, event)),
        3 => (any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(s, k, t)| Step::Post(s, k, t)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(pane, kind)| Step::Detected(pane, kind)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(session, act)| Step::Act(session, act)),
        2 => any::<u8>().prop_map(Step::Settle),
        1 => any::<u8>().prop_map(Step::Gone),
        3 => (any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(s, k, t)| Step::Pane(s, k, t)),
        3 => (any::<u8>(), any::<u8>(), any::<bool>()).prop_map(|(s, f, fresh)| Step::Told(s, f, fresh)),
        5 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(p, w, late)| Step::Says(p, w, late)),
        3 => (0u32..90_000_000).prop_map(Step::Wait),
        3 => (0u32..3_000).prop_map(Step::Wait),
        // Long enough to forget.
        1 => (2_500_000_000u32..2_700_000_000).prop_map(Step::Wait),
        1 => any::<u8>().prop_map(Step::Start),
        4 => (any::<u8>(), any::<u8>(), 0u16..5_000).prop_map(|(s, e, late)| Step::Other(s, e, late)),
        1 => any::<u8>().prop_map(Step::Listed),
        1 => any::<u8>().prop_map(Step::Earlier),
        5 => (any::<u8>(), any::<u8>()).prop_map(|(ago, what)| Step::Decided(ago, what)),
    ];
    prop::collection::vec(step, 1..60)
}

/// Steps with a clock that is set between them.
fn steps_and_clocks() -> impl Strategy<Value = Vec<Step>> {
    let clock = (-90_000_000i32..90_000_000).prop_map(Step::Clock);
    (steps(), prop::collection::vec((any::<prop::sample::Index>(), clock), 0..3)).prop_map(
        |(mut steps, clocks)| {
            for (place, clock) in clocks {
                steps.insert(place.index(steps.len()), clock);
            }
            steps
        },
    )
}

fn ended(herd: &Herd) -> Vec<KeptSpan> {
    herd.engine.spans(herd.now, 0).spans.into_iter().filter(|span| span.end.is_some()).collect()
}

type Seen = (Vec<QueueEntry>, Vec<SessionView>, Vec<WhyView>);

/// All that can be seen, but what was ruled out without being in the journal: such notes end with the run.
fn seen(herd: &Herd) -> Seen {
    let sessions = herd.engine.sessions();
    let mut whys: Vec<WhyView> =
        sessions.iter().filter_map(|view| herd.engine.why(herd.now, &view.key)).collect();
    whys.iter_mut().for_each(|why| why.ruled_out.retain(|passed| passed.id.is_some()));
    (herd.engine.queue(herd.now), sessions, whys)
}

/// Queue and sessions, without what they say to the human.
fn without_texts(herd: &Herd) -> (Vec<QueueEntry>, Vec<SessionView>) {
    let mut queue = herd.engine.queue(herd.now);
    let mut sessions = herd.engine.sessions();
    queue.iter_mut().for_each(|entry| entry.message.clear());
    sessions.iter_mut().for_each(|view| view.message.clear());
    (queue, sessions)
}

/// What is seen of a herd, but for the ids of records, which a program makes anew.
fn seen_without_ids(herd: &Herd) -> (Vec<QueueEntry>, Vec<SessionView>) {
    let (queue, mut sessions, _) = seen(herd);
    sessions.iter_mut().flat_map(|view| &mut view.evidence).for_each(|evidence| evidence.id.clear());
    (queue, sessions)
}

#[test]
fn a_session_that_goes_on_after_a_reboot_is_not_taken_for_late() {
    let mut herd = Herd::new();
    herd.wait(864_000_000);
    herd.claude("1", "Stop", "");
    let mut after = herd.restarted();
    // Stamps count from the boot and have begun anew.
    after.now.mono_ms = 90_000;
    after.input(Input::Daemon { what: "start", version: "0".into(), boot: None });
    after.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    assert_eq!(after.state("claude-1"), "working");
}

#[test]
fn a_reboot_ends_what_ran_on_this_machine_and_nothing_else() {
    let mut herd = Herd::new();
    let start = |boot| Input::Daemon { what: "start", version: "0".into(), boot: Some(boot) };
    herd.input(start(1));
    herd.wait(864_000_000);
    herd.claude("asks", "Stop", "");
    herd.claude("works", "UserPromptSubmit", r#""prompt":"x""#);
    let elsewhere = r#"{"session_id":"far","cwd":"/srv","hook_event_name":"Stop"}"#;
    herd.hook("claude", elsewhere, Origin { machine: Some("other".into()), ..Origin::default() });
    herd.stuck("detector", 1, "in a pane of tmux");
    herd.post(r#"{"type":"stuck","sessionId":"ci","paneId":"ci-job","cwd":"","transcriptPath":"","reason":"stopped","message":"m","timestamp":2}"#);
    herd.wait(10_000);
    let again = herd.restarted();
    let states = |herd: &Herd| {
        ["claude-asks", "claude-works", "claude-far", "detector", "ci"].map(|key| herd.state(key))
    };
    let all = ["stuck/turn_end", "working", "stuck/turn_end", "stuck/turn_end", "stuck/turn_end"];
    assert_eq!(states(&again), all);
    // In the same boot nothing happens to them.
    let mut same = herd.restarted();
    same.input(start(1));
    assert_eq!(states(&same), all);
    assert_eq!(same.take_published(), [] as [&str; 0]);
    let mut other = again;
    other.input(start(2));
    assert_eq!(states(&other), ["ended", "ended", "stuck/turn_end", "ended", "stuck/turn_end"]);
    assert_eq!(other.queue(), ["ci", "claude-far"]);
    assert_eq!(
        other.take_published(),
        [
            "unstuck claude-asks",
            "ended claude-asks",
            "ended claude-works",
            "unstuck detector",
            "ended detector"
        ]
    );
    let why = other.engine.session(&SessionKey::posted("claude-asks").unwrap()).unwrap().evidence;
    assert_eq!(why.last().unwrap().fact, "the machine was started anew");
    // Stamps count from the boot: a conversation that goes on is not taken for late.
    other.now.mono_ms = 90_000;
    other.claude("asks", "SessionStart", r#""source":"resume""#);
    other.claude("asks", "UserPromptSubmit", r#""prompt":"x""#);
    assert_eq!(other.state("claude-asks"), "working");
    herd.journal.extend(other.journal.clone());
    herd.now = other.now;
    assert_eq!(seen(&other), seen(&herd.restarted()));
}

#[test]
fn a_hook_of_an_earlier_boot_is_kept_and_moves_nothing() {
    let mut herd = Herd::new();
    herd.input(Input::Daemon { what: "start", version: "0".into(), boot: Some(2) });
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    for (delivery, session) in [(100, "1"), (101, "2")] {
        herd.input(Input::Hook(HookDelivery {
            host: "claude".into(),
            native_event: None,
            delivery,
            stamp_ms: Some(herd.now.mono_ms + 864_000_000),
            started_at_ms: Some(herd.now.wall_ms - 60_000),
            origin: Origin::default(),
            body: format!(r#"{{"session_id":"{session}","cwd":"/srv","hook_event_name":"Stop"}}"#).into(),
            cut: false,
            spooled: true,
            earlier_boot: true,
        }));
    }
    assert_eq!(herd.journal.iter().filter(|record| record.kind == "hook").count(), 3);
    assert_eq!([herd.state("claude-1"), herd.state("claude-2")], ["working", "absent"]);
    assert_eq!(seen(&herd), seen(&herd.restarted()));
    herd.wait(1);
    herd.claude("1", "Stop", "");
    assert_eq!(herd.state("claude-1"), "stuck/turn_end", "nor is what comes now late");
}

#[test]
fn a_child_of_a_session_that_nobody_knows_is_the_same_after_a_restart() {
    let mut herd = Herd::new();
    herd.stuck("p0", 1, "m");
    herd.wait(1_800);
    herd.told("2", false, None, Told::ChildOf { parent: "0".into() });
    // What was announced at 2 s swept the link away in one engine and not in the other.
    herd.wait(300);
    herd.claude("2", "SessionStart", r#""source":"startup""#);
    assert_eq!(seen(&herd), seen(&herd.restarted()));
}

/// Folds the journal again and returns what the first engine saw at this moment, and what the second one does.
fn both(herd: &mut Herd) -> [Seen; 2] {
    herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
    [seen(herd), seen(&herd.restarted())]
}

#[test]
fn a_child_named_before_its_session_spoke_stays_a_child_over_ticks_and_restarts() {
    let mut herd = Herd::new();
    // A wait of another session has the engine tick in between.
    herd.claude("2", "Stop", "");
    herd.wait(1_800);
    herd.told("1", false, None, Told::ChildOf { parent: "3".into() });
    herd.wait(300);
    herd.claude("1", "SessionStart", r#""source":"startup""#);
    assert_eq!([herd.state("claude-1"), herd.state("claude-3")], ["absent", "registered"]);
    let [live, again] = both(&mut herd);
    assert_eq!(live, again);
}

#[test]
fn an_ended_session_is_forgotten_at_its_time_whatever_else_is_due() {
    const KEPT_MS: u64 = 30 * 86_400_000;
    let mut herd = Herd::new();
    herd.claude("1", "SessionStart", r#""source":"startup""#);
    herd.claude("1", "SessionEnd", "");
    herd.wait(KEPT_MS);
    assert_eq!(herd.state("claude-1"), "ended");
    let [live, again] = both(&mut herd);
    assert_eq!(live, again);
    herd.wait(1);
    assert_eq!(herd.state("claude-1"), "absent");
    let [live, again] = both(&mut herd);
    assert_eq!(live, again);
}

#[test]
fn a_wait_that_is_stale_and_settled_is_settled_after_a_restart() {
    let mut herd = Herd::new();
    let asks = r#"{"session_id":"1","cwd":"/srv/demo","hook_event_name":"Stop"}"#;
    herd.hook("claude", asks, Origin::default());
    herd.wait(10 * 86_400_000);
    assert_eq!(
        (herd.queue().len(), herd.journal.iter().filter(|record| record.kind == "human").count()),
        (0, 0)
    );
    herd.act(HumanAct::Settle(SessionKey::posted("claude-1").unwrap()));
    assert_eq!(herd.journal.iter().filter(|record| record.kind == "human").count(), 1);
    assert_eq!(herd.state("claude-1"), "registered");
    let [live, again] = both(&mut herd);
    assert_eq!(live, again);
}

#[test]
fn a_posted_session_speaks_for_itself_once_its_speaker_is_forgotten() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.stuck("1", 1, "m");
    assert_eq!(herd.queue(), [] as [&str; 0]);
    herd.wait(60 * 86_400_000);
    assert_eq!([herd.state("claude-1"), herd.queue().join(" ")], ["absent", "1"]);
    let [live, again] = both(&mut herd);
    assert_eq!(live, again);
}

#[test]
fn a_session_that_speaks_again_does_so_when_its_speaker_is_forgotten_however_late_that_is_seen() {
    let mut herd = Herd::new();
    crate::detected::say(&mut herd, 2, 1);
    herd.wait(1_000);
    let vars = vec![("TMUX_PANE".into(), "%2".into()), ("TMUX".into(), "/tmp/t/default,42,0".into())];
    let prompt = r#"{"session_id":"2","cwd":"/srv","hook_event_name":"UserPromptSubmit","prompt":"x"}"#;
    herd.hook("claude", prompt, Origin { vars, ..Origin::default() });
    assert_eq!(herd.queue(), [] as [&str; 0]);
    // Unknown after half an hour, forgotten 30 days later: at that time the other one waits again.
    let begins_ms = herd.now.wall_ms + 30 * 60_000 + 30 * 86_400_000 + 1;
    herd.wait(60 * 86_400_000);
    assert_eq!(herd.queue(), ["tmux-%2-1"]);
    herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
    for herd in [&herd, &herd.restarted()] {
        let spans = herd.engine.spans(herd.now, 0).spans;
        let own = spans.iter().filter(|span| &*span.session == "tmux-%2-1");
        assert_eq!(own.map(|span| span.from_ms).max(), Some(begins_ms), "{spans:?}");
    }
}

/// So many, or as many as are worth an hour.
fn cases(few: u32) -> u32 {
    #[expect(clippy::disallowed_methods, reason = "a test looks whether it shall be slow")]
    let slow = std::env::var_os("HERDBOOK_TEST_SLOW").is_some();
    if slow { 20_000 } else { few }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(128), ..ProptestConfig::default() })]

    #[test]
    fn the_fold_of_the_journal_is_the_state(steps in steps_and_clocks()) {
        let mut herd = Herd::new();
        for step in &steps {
            take(&mut herd, step);
        }
        // Timers fire in between without a record of their own: both sides look at the same moment.
        herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
        let after = herd.restarted();
        prop_assert_eq!(seen(&herd), seen(&after));
        prop_assert_eq!(herd.engine.spans(herd.now, 0), after.engine.spans(herd.now, 0));
        prop_assert_eq!(herd.engine.totals(), after.engine.totals());
    }

    /// The texts of old records are gone: what moves sessions is not.
    #[test]
    fn an_aged_journal_gives_the_same_herd(steps in steps_and_clocks()) {
        let mut herd = Herd::new();
        steps.iter().for_each(|step| take(&mut herd, step));
        herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
        let whole = herd.restarted();
        let kept = herd.folded(aged::age(&herd, &aged::shown(&herd)));
        prop_assert_eq!(seen(&whole), seen(&kept));
        let aged = herd.folded(aged::age(&herd, &Shown::default()));
        prop_assert_eq!(without_texts(&whole), without_texts(&aged));
        prop_assert_eq!(whole.engine.spans(herd.now, 0), aged.engine.spans(herd.now, 0));
        prop_assert_eq!(whole.engine.totals(), aged.engine.totals());
        prop_assert_eq!(whole.engine.received(), aged.engine.received());
    }

    /// Segments get old one after the other: a call may be in an old one, and what it led to in the next.
    #[test]
    fn a_journal_that_is_aged_up_to_anywhere_gives_the_same_herd(steps in steps_and_clocks(), cut in 0usize..120) {
        let mut herd = Herd::new();
        steps.iter().for_each(|step| take(&mut herd, step));
        herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
        let whole = herd.restarted();
        let cut = cut.min(herd.journal.len());
        let mut young = Shown::default();
        let sessions = herd.journal[cut..].iter().map(|record| session_of(record.kind, record.payload.get()));
        young.sessions.extend(sessions.flatten());
        let mut journal = aged::age(&herd, &young);
        journal.truncate(cut);
        journal.extend_from_slice(&herd.journal[cut..]);
        let mut aged = herd.folded(journal);
        prop_assert_eq!(without_texts(&whole), without_texts(&aged));
        prop_assert_eq!(whole.engine.spans(herd.now, 0), aged.engine.spans(herd.now, 0));
        prop_assert_eq!(whole.engine.received(), aged.engine.received());
        // What an old hook process brings once more out of the spool is known.
        for delivery in 1..=herd.last() {
            aged.deliver("claude", r#"{"session_id":"9","hook_event_name":"Stop"}"#, Origin::default(), delivery);
        }
        prop_assert_eq!(aged.journal.len(), 0);
    }

    #[test]
    fn the_ledger_of_a_prefix_and_the_rest_is_the_ledger_of_the_whole(steps in steps(), cut in 0usize..60) {
        let mut herd = Herd::new();
        let (prefix, rest) = steps.split_at(cut.min(steps.len()));
        prefix.iter().for_each(|step| take(&mut herd, step));
        herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
        let prefix = ended(&herd);
        rest.iter().for_each(|step| take(&mut herd, step));
        herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
        let whole = ended(&herd);
        // What was written stays as it is, whatever comes later, and each session does one thing at a time.
        prop_assert_eq!(&whole[..prefix.len()], &prefix[..]);
        for span in &whole {
            prop_assert!(span.lasted_ms > 0 && span.to_ms <= herd.now.wall_ms);
            let also = |other: &&KeptSpan| other.session == span.session && other.doing == Doing::Working
                && *other != span && other.from_ms < span.to_ms && other.to_ms > span.from_ms;
            prop_assert_eq!(whole.iter().find(also), None, "overlaps {:?}", span);
        }
    }

    /// `--at`: whatever came later, the journal tells what was to be seen at a moment.
    #[test]
    fn the_journal_tells_what_was_seen_at_each_moment(steps in steps()) {
        let mut herd = Herd::new();
        // Where agents sit is not recorded: a pane that is a hint is a guess, as where nobody sits.
        herd.input(Input::Seats(Vec::new()));
        let mut moments = Vec::new();
        for step in &steps {
            // What comes at the same millisecond is of the same moment.
            if matches!(step, Step::Wait(ms) if *ms > 0) && !herd.journal.is_empty() {
                herd.input(Input::Tick);
                moments.push((herd.now.wall_ms, seen(&herd)));
            }
            take(&mut herd, step);
        }
        herd.input(Input::Tick);
        if !herd.journal.is_empty() {
            moments.push((herd.now.wall_ms, seen(&herd)));
        }
        for (wall_ms, then) in moments {
            prop_assert_eq!(then, seen(&herd.past(wall_ms)));
        }
    }

    #[test]
    fn the_fold_of_a_beginning_and_then_the_rest_is_the_fold_of_all(steps in steps(), cut in any::<prop::sample::Index>()) {
        let mut whole = Herd::new();
        let cut = cut.index(steps.len());
        for step in &steps[..cut] {
            take(&mut whole, step);
        }
        // The journal holds what happened, and the clock goes on from there.
        whole.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
        let mut again = whole.restarted();
        again.now = whole.now;
        for herd in [&mut whole, &mut again] {
            herd.input(Input::Tick);
            for step in &steps[cut..] {
                take(herd, step);
            }
            herd.input(Input::Tick);
        }
        prop_assert_eq!(seen_without_ids(&whole), seen_without_ids(&again));
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

#[test]
fn a_session_that_is_forgotten_sets_free_whom_it_spoke_for_at_its_time() {
    let mut herd = Herd::new();
    herd.stuck("0", 1, "m");
    herd.wait(1);
    herd.claude("0", "UserPromptSubmit", r#""prompt":"x""#);
    let forgotten_ms = herd.now.wall_ms + 30 * 60_000 + 30 * 86_400_000 + 1;
    herd.wait(2_650_000_000);
    herd.input(Input::Daemon { what: "stop", version: "0".into(), boot: None });
    let spans = herd.engine.spans(herd.now, 0).spans;
    assert_eq!((spans.len(), spans[0].from_ms), (1, forgotten_ms));
    assert_eq!(herd.restarted().engine.spans(herd.now, 0).spans, spans);
}
