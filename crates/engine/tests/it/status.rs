//! What programs report of themselves (OSC 7501): below hooks, above transcripts.

use herdbook_engine::{HumanAct, Input};
use herdbook_events::observation::PaneRef;
use herdbook_events::status::Scanner;
use herdbook_events::{Origin, PostedStatus, Process, SessionKey, StatusPlace};

use crate::Herd;

const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1""#;
/// As Claude Code 2.1.332 wrote them.
const TRUST: &str = "state=blocked:app=claude-code:msg=ZGlhbG9nIG9wZW4=";
const IDLE: &str = "state=idle:app=claude-code";
const WORKING: &str = "state=working:app=claude-code";
const ASKS: &str =
    "state=blocked:app=claude-code:kind=permission:msg=YXBwcm92ZSBCYXNoOiB0b3VjaCAuLi9vdXRzaWRlLnR4dA==";
const DONE: &str = "state=done:app=claude-code";
const CLEAR: &str = "state=clear";

pub fn pane(id: &str) -> StatusPlace {
    let pane = PaneRef { socket: String::new(), server_pid: None, pane: format!("%{id}") };
    StatusPlace { pane: Some(pane), ..StatusPlace::default() }
}

pub fn process(pid: u32) -> StatusPlace {
    StatusPlace { process: Some(Process { pid, start: Some(5) }), ..StatusPlace::default() }
}

impl Herd {
    /// A program writes that body.
    pub fn says(&mut self, place: StatusPlace, body: &str) {
        self.said_at(place, body, None);
    }

    pub fn said_at(&mut self, place: StatusPlace, body: &str, written_ms: Option<u64>) {
        let found = Scanner::new().feed(format!("\x1b]7501;{body}\x1b\\").as_bytes());
        for report in found.into_iter().map(Result::unwrap) {
            self.input(Input::Status(PostedStatus { report, place: place.clone(), written_ms }));
        }
    }

    fn message(&self, key: &str) -> String {
        self.engine.session(&SessionKey::posted(key).unwrap()).unwrap().message
    }

    fn records(&self) -> usize {
        self.journal.iter().filter(|record| record.kind == "observation").count()
    }
}

/// One of many words of one of many programs, some of them late, for tests of any order.
pub fn any_word(herd: &mut Herd, place: u8, word: u8, late: u8) {
    let id = (place % 4).to_string();
    let place = match place / 4 % 4 {
        0 => process(u32::from(place % 4)),
        1 => StatusPlace { session: SessionKey::hooked("claude", &id), ..StatusPlace::default() },
        _ => pane(&id),
    };
    let state = ["idle", "working", "done", "blocked", "error", "clear"][usize::from(word % 6)];
    let app = ["", ":app=claude-code", ":app=build", ":app=claude-code"][usize::from(word / 6 % 4)];
    let part = ["", "", "", ":id=a", ":id=a/b"][usize::from(word / 24 % 5)];
    let kind = if late.is_multiple_of(2) { ":kind=permission" } else { "" };
    let written_ms = late.is_multiple_of(3).then_some(herd.now.wall_ms - u64::from(late) * 10);
    herd.said_at(place, &format!("state={state}{kind}{app}{part}"), written_ms);
}

/// A hook-fed session in pane `%1` that waits for a permission, and whose program has said so.
fn asking() -> Herd {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.says(pane("1"), WORKING);
    herd.claude("1", "PreToolUse", BASH);
    herd.claude("1", "PermissionRequest", BASH);
    herd.wait(200);
    herd.says(pane("1"), ASKS);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("stuck/permission", 1));
    herd
}

#[test]
fn a_program_that_goes_on_after_a_question_was_answered() {
    let mut herd = asking();
    assert_eq!(herd.message("claude-1"), "Tool: Bash | Command: make", "the hook knows it better");
    herd.wait(2_000);
    herd.says(pane("1"), WORKING);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("working", 0));
    let why = herd.engine.session(&SessionKey::posted("claude-1").unwrap()).unwrap().evidence;
    let last = why.last().unwrap();
    assert_eq!((last.source.as_str(), last.fact.as_str()), ("status", "claude-code says working"));
    assert_eq!(herd.restarted().state("claude-1"), "working");
    herd.claude("1", "PostToolUse", BASH);
    herd.claude("1", "Stop", "");
    assert_eq!(herd.state("claude-1"), "stuck/turn_end", "a hook's later word counts");
    herd.says(pane("1"), DONE);
    assert_eq!(herd.queue(), ["claude-1"]);
}

#[test]
fn a_repeat_of_what_was_said_before_the_hook_ends_nothing() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.says(pane("1"), WORKING);
    herd.claude("1", "PermissionRequest", BASH);
    herd.wait(3_000);
    let records = herd.records();
    herd.says(pane("1"), WORKING);
    herd.says(pane("1"), "state=working:app=claude-code:msg=TG9uZyBvbmU=");
    assert_eq!(herd.state("claude-1"), "stuck/permission", "the dialog may not be drawn yet");
    assert_eq!(herd.records(), records, "no news is not kept");
}

#[test]
fn the_first_word_of_a_program_ends_nothing_that_a_hook_opened() {
    for body in [IDLE, WORKING, DONE] {
        let mut herd = Herd::new();
        herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
        herd.claude("1", "PermissionRequest", BASH);
        herd.wait(3_000);
        herd.says(pane("1"), body);
        assert_eq!(herd.state("claude-1"), "stuck/permission", "{body}");
    }
}

#[test]
fn what_was_said_before_the_session_moved_says_nothing() {
    let mut herd = asking();
    herd.wait(2_000);
    let before_the_question = herd.now.wall_ms - 2_201;
    herd.said_at(pane("1"), WORKING, Some(before_the_question));
    assert_eq!(herd.state("claude-1"), "stuck/permission");
    herd.said_at(pane("1"), WORKING, Some(herd.now.wall_ms - 500));
    assert_eq!(herd.state("claude-1"), "working");
    // A hook that started before the answer and comes after it is late.
    herd.late("1", "PermissionRequest", BASH, herd.now.wall_ms - 700);
    assert_eq!(herd.state("claude-1"), "working");
}

#[test]
fn a_refusal_or_escape_that_no_hook_tells_is_at_rest() {
    let mut herd = asking();
    herd.wait(8_000);
    herd.says(pane("1"), IDLE);
    assert_eq!(herd.state("claude-1"), "stuck/turn_end");
    let calls = herd.calls.len();
    herd.wait(5_000);
    assert_eq!(herd.calls.len(), calls, "whoever said no sits there");
    herd.says(pane("1"), WORKING);
    assert_eq!(herd.state("claude-1"), "working", "the next prompt");
    herd.says(pane("1"), IDLE);
    assert_eq!(herd.state("claude-1"), "stuck/turn_end", "escape");
    assert_eq!(herd.restarted().state("claude-1"), "stuck/turn_end");
}

#[test]
fn a_dialog_that_no_hook_tells_waits_and_a_hook_that_tells_it_takes_it_over() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.claude("1", "PreToolUse", BASH);
    herd.wait(300);
    herd.says(pane("1"), ASKS);
    assert_eq!(herd.message("claude-1"), "approve Bash: touch ../outside.txt");
    herd.claude("1", "PermissionRequest", BASH);
    assert_eq!(herd.message("claude-1"), "Tool: Bash | Command: make");
    assert_eq!(herd.queue(), ["claude-1"]);
    herd.claude("1", "PostToolUse", BASH);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("working", 0), "it was one wait");
}

#[test]
fn a_program_without_hooks_is_a_session_of_its_own() {
    let mut herd = Herd::new();
    herd.says(pane("7"), IDLE);
    assert_eq!(herd.state("status-pane:%7"), "registered", "it has just started");
    herd.says(pane("7"), WORKING);
    assert_eq!(herd.state("status-pane:%7"), "working");
    herd.says(pane("7"), ASKS);
    assert_eq!(herd.state("status-pane:%7"), "stuck/permission");
    herd.says(pane("7"), "state=blocked:app=claude-code:kind=question:msg=TmFtZT8=");
    assert_eq!(herd.message("status-pane:%7"), "Name?", "another question in its place");
    herd.wait(2_000);
    assert_eq!(herd.calls, [["status-pane:%7"]]);
    herd.says(pane("7"), WORKING);
    herd.says(pane("7"), DONE);
    assert_eq!(herd.state("status-pane:%7"), "stuck/turn_end");
    herd.says(pane("7"), IDLE);
    assert_eq!(herd.state("status-pane:%7"), "stuck/turn_end", "nobody has given it work yet");
    assert_eq!(herd.restarted().queue(), ["status-pane:%7"]);
    herd.says(pane("7"), CLEAR);
    assert_eq!((herd.state("status-pane:%7").as_str(), herd.queue().len()), ("ended", 0));
    let records = herd.journal.len();
    herd.says(pane("7"), CLEAR);
    assert_eq!(herd.journal.len(), records);
    herd.says(pane("7"), WORKING);
    assert_eq!(herd.state("status-pane:%7"), "working", "the next program there");
}

#[test]
fn a_dialog_before_any_hook_gives_way_to_the_session_that_hooks_tell() {
    let mut herd = Herd::new();
    herd.says(pane("1"), TRUST);
    assert_eq!(herd.state("status-pane:%1"), "stuck/dialog");
    herd.says(pane("1"), IDLE);
    assert_eq!(herd.state("status-pane:%1"), "registered", "it was put away, and no turn has been");
    herd.claude("1", "SessionStart", r#""source":"startup""#);
    assert_eq!(herd.state("status-pane:%1"), "absent");
    assert_eq!(herd.state("claude-1"), "registered");
    herd.says(pane("1"), WORKING);
    assert_eq!(herd.state("claude-1"), "working", "what it said before is known");
    assert_eq!(herd.restarted().state("claude-1"), "working");
}

#[test]
fn another_program_in_the_pane_of_a_session_says_nothing_of_it() {
    let mut herd = asking();
    for body in
        ["state=working:app=terraform", "state=error:app=terraform:msg=Tm8=", "state=working:app=codex"]
    {
        herd.says(pane("1"), body);
        assert_eq!(herd.state("claude-1"), "stuck/permission", "{body}");
    }
    herd.says(pane("1"), "state=error:app=terraform:msg=Tm8=");
    assert_eq!(herd.queue(), ["claude-1"], "the session with hooks speaks for the pane");
    herd.claude("1", "SessionEnd", r#""reason":"exit""#);
    assert_eq!(herd.queue(), ["status-pane:%1"]);
    assert_eq!(herd.message("status-pane:%1"), "No");
}

#[test]
fn a_report_names_its_session_by_process_too() {
    let mut herd = Herd::new();
    let body = |event: &str| format!(r#"{{"session_id":"s","cwd":"/srv","hook_event_name":"{event}"}}"#);
    let origin = || Origin { ancestors: vec![Process { pid: 77, start: Some(5) }], ..Origin::default() };
    herd.hook("claude", &body("UserPromptSubmit"), origin());
    herd.says(process(77), WORKING);
    herd.wait(1_000);
    herd.says(process(77), ASKS);
    assert_eq!(herd.state("claude-s"), "stuck/permission");
    herd.says(process(78), ASKS);
    assert_eq!(herd.queue(), ["claude-s", "status-pid:78"]);
}

#[test]
fn what_a_program_finished_outlives_it_and_what_it_worked_on_does_not() {
    let mut herd = Herd::new();
    herd.says(process(70), "state=working:app=build");
    herd.says(process(71), "state=blocked:app=build");
    herd.says(process(72), "state=done:app=build:msg=QnVpbHQ=");
    for pid in [70, 71, 72] {
        herd.input(Input::Process { process: Process { pid, start: Some(5) }, machine: None, alive: false });
    }
    let states = ["70", "71", "72"].map(|pid| herd.state(&format!("status-pid:{pid}")));
    assert_eq!(states, ["ended", "ended", "stuck/turn_end"]);
    herd.act(HumanAct::Settle(SessionKey::posted("status-pid:72").unwrap()));
    assert_eq!(herd.queue().len(), 0);
    assert_eq!(herd.restarted().state("status-pid:72"), herd.state("status-pid:72"));
}

#[test]
fn what_nobody_looked_at_for_a_day_leaves_the_queue() {
    let mut herd = Herd::new();
    herd.says(StatusPlace { tty: Some("/dev/pts/9".into()), ..StatusPlace::default() }, DONE);
    assert_eq!(herd.queue(), ["status-tty:/dev/pts/9"]);
    herd.wait(24 * 60 * 60 * 1_000 + 1);
    assert_eq!((herd.queue().len(), herd.state("status-tty:/dev/pts/9").as_str()), (0, "unknown"));
}

#[test]
fn a_part_of_a_program_counts_while_it_is_blocked() {
    let mut herd = Herd::new();
    herd.says(pane("1"), WORKING);
    herd.says(pane("1"), "state=working:app=claude-code:id=a1:title=Q291bnQgZmlsZXM=");
    assert_eq!(herd.state("status-pane:%1"), "working");
    herd.says(pane("1"), "state=blocked:app=claude-code:id=a1/b:kind=permission");
    herd.says(pane("1"), "state=blocked:app=claude-code:id=a2:kind=question");
    assert_eq!(herd.state("status-pane:%1"), "stuck/permission");
    herd.says(pane("1"), "state=done:app=claude-code:id=a2");
    assert_eq!(herd.state("status-pane:%1"), "stuck/permission");
    herd.says(pane("1"), "state=clear:id=a");
    assert_eq!(herd.state("status-pane:%1"), "stuck/permission", "a is not above a1");
    herd.says(pane("1"), "state=clear:id=a1");
    assert_eq!((herd.state("status-pane:%1").as_str(), herd.queue().len()), ("working", 0));
    for part in 0..100 {
        herd.says(pane("1"), &format!("state=blocked:id=p{part}"));
    }
    let parts = herd.engine.session(&SessionKey::posted("status-pane:%1").unwrap()).unwrap().pending;
    assert_eq!(parts, 64);
}

#[test]
fn what_makes_a_session_is_kept_and_what_changes_nothing_is_not() {
    let mut herd = Herd::new();
    let same = |herd: &Herd| {
        let again = herd.restarted();
        assert_eq!(herd.engine.sessions(), again.engine.sessions());
        herd.records()
    };
    herd.says(pane("1"), "state=done:id=a1");
    assert_eq!((herd.state("status-pane:%1").as_str(), same(&herd)), ("registered", 1));
    herd.says(pane("1"), "state=done:id=a1");
    herd.says(pane("1"), "state=clear:id=a2");
    assert_eq!(same(&herd), 1);
    herd.says(pane("1"), "state=working");
    herd.says(pane("1"), "state=working:app=build");
    herd.says(pane("1"), "state=working:app=build");
    assert_eq!(same(&herd), 3, "it has a name now");
    herd.says(pane("1"), "state=working:app=test");
    assert_eq!(same(&herd), 4, "another program");
    herd.said_at(pane("1"), "state=done:app=build", Some(herd.now.wall_ms - 1));
    assert_eq!((herd.state("status-pane:%1").as_str(), same(&herd)), ("working", 4));
    herd.claude("1", "PermissionRequest", BASH);
    for _ in 0..3 {
        herd.says(pane("1"), "state=blocked:id=a1:app=claude-code");
    }
    assert_eq!(same(&herd), 4, "the hook has told of it");
}

#[test]
fn the_human_settles_a_finished_program_for_good() {
    let mut herd = asking();
    herd.act(HumanAct::Settle(SessionKey::posted("claude-1").unwrap()));
    herd.says(pane("1"), ASKS);
    assert_eq!(herd.queue().len(), 0, "a repeat is nothing new");
}

/// The host answered when it was asked about session `1`.
fn answered(herd: &mut Herd, body: &str) {
    let place = StatusPlace { session: SessionKey::hooked("claude", "1"), ..StatusPlace::default() };
    let asked_ms = Some(herd.now.wall_ms);
    herd.said_at(place, body, asked_ms);
}

#[test]
fn an_answer_of_the_host_counts_only_after_one_that_knew_of_the_question() {
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    answered(&mut herd, WORKING);
    answered(&mut herd, ASKS);
    herd.wait(1_000);
    herd.claude("1", "PreToolUse", BASH);
    herd.claude("1", "PermissionRequest", BASH);
    herd.wait(1_000);
    answered(&mut herd, WORKING);
    assert_eq!(herd.state("claude-1"), "stuck/permission", "the answer before is older than the question");
    herd.wait(1_000);
    answered(&mut herd, ASKS);
    let records = herd.records();
    answered(&mut herd, ASKS);
    assert_eq!(herd.records(), records, "no news is not kept");
    herd.wait(1_000);
    answered(&mut herd, WORKING);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("working", 0));
    assert_eq!(herd.restarted().state("claude-1"), "working");
    answered(&mut herd, CLEAR);
    herd.claude("1", "SessionEnd", r#""reason":"exit""#);
    answered(&mut herd, ASKS);
    assert_eq!((herd.state("claude-1").as_str(), herd.queue().len()), ("ended", 0));
}

#[test]
fn a_session_is_in_doubt_while_it_is_blocked_or_lost() {
    let mut herd = Herd::new();
    let body = |event: &str| {
        format!(
            r#"{{"session_id":"s","cwd":"/srv","hook_event_name":"{event}","transcript_path":"/home/dev/.claude/projects/-srv/s.jsonl",{BASH}}}"#
        )
    };
    let origin = || Origin {
        ancestors: vec![Process { pid: 77, start: Some(5) }],
        vars: vec![("HOME".into(), "/home/dev".into())],
        ..Origin::default()
    };
    let doubted = |herd: &Herd| {
        let doubted = herd.engine.doubted("claude").into_iter();
        doubted
            .map(|one| (one.native_id, one.process.pid, one.root.display().to_string()))
            .collect::<Vec<_>>()
    };
    herd.hook("claude", &body("PreToolUse"), origin());
    assert_eq!(doubted(&herd), []);
    herd.hook("claude", &body("PermissionRequest"), origin());
    let one = [("s".to_owned(), 77, "/home/dev/.claude/projects".to_owned())];
    assert_eq!(doubted(&herd), one);
    assert_eq!(herd.engine.doubted("codex"), []);
    herd.hook("claude", &body("PostToolUse"), origin());
    assert_eq!(doubted(&herd), []);
}
