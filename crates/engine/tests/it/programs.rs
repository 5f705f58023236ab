//! Programs that report, over time: clocks that step, processes that end, parts that repeat, a machine that restarts.

use herdbook_engine::{HumanAct, Input};
use herdbook_events::{Process, SessionKey, StatusPlace};

use crate::Herd;
use crate::status::{pane, process};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
const BASH: &str = r#""tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t1""#;

impl Herd {
    fn gone(&mut self, pid: u32) {
        let process = Process { pid, start: Some(5) };
        self.input(Input::Process { process, machine: None, alive: false });
    }

    fn settle(&mut self, key: &str) {
        self.act(HumanAct::Settle(SessionKey::posted(key).unwrap()));
    }

    fn step_back(&mut self, ms: u64) {
        self.now.wall_ms -= ms;
    }
}

/// A program of a pane that runs in a process.
fn runs(id: &str, pid: u32) -> StatusPlace {
    StatusPlace { process: process(pid).process, ..pane(id) }
}

#[test]
fn a_clock_that_was_set_back_silences_no_program() {
    let mut herd = Herd::new();
    herd.says(pane("7"), "state=working:app=build");
    herd.step_back(HOUR_MS);
    herd.wait(1_000);
    herd.says(pane("7"), "state=blocked:app=build");
    assert_eq!(herd.state("status-pane:%7"), "stuck/dialog");
    herd.wait(1_000);
    herd.said_at(pane("7"), "state=done:app=build", Some(herd.now.wall_ms - 10));
    assert_eq!(herd.state("status-pane:%7"), "stuck/turn_end");
    assert_eq!(herd.restarted().state("status-pane:%7"), "stuck/turn_end");
    // And of a session that hooks tell of.
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.says(pane("1"), "state=working:app=claude-code");
    herd.claude("1", "PermissionRequest", BASH);
    herd.step_back(HOUR_MS);
    herd.wait(1_000);
    herd.says(pane("1"), "state=blocked:app=claude-code");
    herd.wait(1_000);
    herd.says(pane("1"), "state=working:app=claude-code");
    assert_eq!(herd.state("claude-1"), "working");
    assert_eq!(herd.restarted().state("claude-1"), "working");
}

#[test]
fn the_next_run_of_a_program_that_left_word_ends_with_its_own_process() {
    let mut herd = Herd::new();
    herd.says(runs("7", 70), "state=done:app=build");
    herd.gone(70);
    assert_eq!(herd.state("status-pane:%7"), "stuck/turn_end", "what it finished is still to be seen");
    herd.says(runs("7", 71), "state=blocked:app=build");
    assert_eq!(herd.state("status-pane:%7"), "stuck/dialog");
    herd.gone(71);
    assert_eq!(herd.state("status-pane:%7"), "ended");
    assert_eq!(herd.restarted().state("status-pane:%7"), "ended");
    // The last word of a program that had ended when it was read.
    let mut herd = Herd::new();
    herd.says(runs("7", 70), "state=working:app=build");
    let ended = StatusPlace { process: Some(Process { pid: 70, start: None }), ..pane("7") };
    herd.says(ended, "state=done:app=build");
    let word = ["registered status-pane:%7", "stuck status-pane:%7"];
    assert_eq!(herd.take_published(), word, "it is no other program");
    // One that names its process later than itself.
    herd.says(pane("8"), "state=working:app=build");
    herd.says(runs("8", 80), "state=working:app=build");
    herd.gone(80);
    assert_eq!(
        (herd.state("status-pane:%8"), herd.restarted().state("status-pane:%8")),
        ("ended".into(), "ended".into())
    );
}

#[test]
fn a_program_that_is_gone_and_settled_is_over() {
    let mut herd = Herd::new();
    herd.says(process(70), "state=done:app=build");
    herd.gone(70);
    herd.settle("status-pid:70");
    assert_eq!((herd.state("status-pid:70").as_str(), herd.queue().len()), ("ended", 0));
    assert_eq!(herd.restarted().state("status-pid:70"), "ended");
    herd.says(process(71), "state=error:app=build");
    herd.settle("status-pid:71");
    assert_eq!(herd.state("status-pid:71"), "registered");
    herd.gone(71);
    assert_eq!(herd.state("status-pid:71"), "ended");
}

#[test]
fn what_left_the_queue_for_age_is_forgotten_too() {
    let mut herd = Herd::new();
    let tty = |id: &str| StatusPlace { tty: Some(format!("/dev/pts/{id}")), ..StatusPlace::default() };
    herd.says(tty("1"), "state=done:app=build");
    herd.wait(DAY_MS + 1);
    assert_eq!(herd.state("status-tty:/dev/pts/1"), "unknown");
    herd.wait(40 * DAY_MS);
    assert_eq!(herd.state("status-tty:/dev/pts/1"), "absent");
    assert_eq!(herd.restarted().engine.sessions().len(), 1, "time passes with the next record");
}

#[test]
fn another_question_of_a_program_is_in_the_queue_however_old_the_one_before_is() {
    let mut herd = Herd::new();
    let tty = StatusPlace { tty: Some("/dev/pts/1".into()), ..StatusPlace::default() };
    herd.says(tty.clone(), "state=blocked:app=build:msg=T25lPw==");
    herd.wait(DAY_MS + 1);
    assert_eq!(herd.queue(), [] as [&str; 0]);
    herd.says(tty, "state=blocked:app=build:msg=VHdvPw==");
    assert_eq!(herd.queue(), ["status-tty:/dev/pts/1"]);
    assert_eq!(herd.restarted().queue(), ["status-tty:/dev/pts/1"]);
    herd.wait(DAY_MS - 1);
    assert_eq!(herd.queue(), ["status-tty:/dev/pts/1"]);
    herd.wait(2);
    assert_eq!(herd.queue(), [] as [&str; 0], "it ages from the last question");
    // Nor does one part that goes on leave another one that waits out of the queue.
    let mut herd = Herd::new();
    let tty = StatusPlace { tty: Some("/dev/pts/1".into()), ..StatusPlace::default() };
    herd.says(tty.clone(), "state=blocked:app=build:id=a1");
    herd.says(tty.clone(), "state=blocked:app=build:id=a2");
    herd.wait(DAY_MS + 1);
    assert_eq!(herd.queue(), [] as [&str; 0]);
    herd.take_published();
    herd.says(tty, "state=done:app=build:id=a1");
    assert_eq!(herd.queue(), ["status-tty:/dev/pts/1"]);
    assert_eq!(herd.take_published(), ["stuck status-tty:/dev/pts/1"]);
}

#[test]
fn a_part_that_repeats_what_was_settled_or_answered_is_nothing_new() {
    let blocked = "state=blocked:app=build:id=a1:kind=permission";
    let mut herd = Herd::new();
    herd.says(pane("7"), "state=working:app=build");
    herd.says(pane("7"), blocked);
    herd.settle("status-pane:%7");
    let records = herd.journal.len();
    herd.says(pane("7"), blocked);
    assert_eq!((herd.queue().len(), herd.journal.len()), (0, records));
    herd.says(pane("7"), "state=working:app=build:id=a1");
    herd.says(pane("7"), blocked);
    assert_eq!(herd.queue(), ["status-pane:%7"], "it asks anew");
    assert_eq!(herd.restarted().queue(), ["status-pane:%7"]);
    // Nor does a late word of a part open what hooks know better.
    let mut herd = Herd::new();
    herd.claude("1", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(60_000);
    herd.claude("1", "Stop", "");
    herd.said_at(pane("1"), "state=blocked:app=claude-code:id=a1", Some(herd.now.wall_ms - 30_000));
    assert_eq!(herd.state("claude-1"), "stuck/turn_end");
}

#[test]
fn programs_of_the_boot_before_are_over_wherever_they_ran() {
    let mut herd = Herd::new();
    let start = |boot| Input::Daemon { what: "start", version: "0".into(), boot: Some(boot) };
    herd.input(start(1));
    herd.says(StatusPlace { tty: Some("/dev/pts/1".into()), ..StatusPlace::default() }, "state=blocked");
    herd.says(process(70), "state=working:app=build");
    herd.says(pane("7"), "state=working:app=build");
    herd.tell("registered", "elsewhere");
    herd.input(start(2));
    let states = ["status-tty:/dev/pts/1", "status-pid:70", "status-pane:%7"].map(|key| herd.state(key));
    assert_eq!(states, ["ended", "ended", "ended"]);
}

#[test]
fn what_would_change_a_program_is_its_own_report_and_its_end() {
    let mut herd = Herd::new();
    herd.says(runs("7", 70), "state=blocked:app=build");
    let why =
        |herd: &Herd| herd.engine.why(herd.now, &SessionKey::posted("status-pane:%7").unwrap()).unwrap();
    let words = |list: &[herdbook_engine::view::FromSource]| -> Vec<String> {
        list.iter().map(|said| format!("{}: {}", said.source, said.words)).collect()
    };
    assert_eq!(
        words(&why(&herd).would_change),
        [
            "status: another state than blocked, or another question",
            "process: the end of process 70",
            "you: `herdbook settle`",
        ]
    );
    assert_eq!(
        words(&why(&herd).not_looked_at),
        ["transcript: its own reports alone tell of it", "pane: its own reports alone tell of it"]
    );
    herd.says(runs("7", 70), "state=done:app=build");
    let done = ["status: work, a question, or that it is no longer there", "you: `herdbook settle`"];
    assert_eq!(words(&why(&herd).would_change), done, "what it finished outlives its process");
    herd.says(runs("7", 70), "state=clear");
    assert_eq!(words(&why(&herd).would_change), ["status: a report of the next program there"]);
}
