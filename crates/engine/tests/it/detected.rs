//! What the detector says of panes: the reference's events, with evidence, and its sessions over a restart.

use herdbook_engine::view::FromSource;
use herdbook_engine::{HumanAct, Input};
use herdbook_events::{Detected, NormalizedEvent, PaneProgram, Reason, SessionKey};

use crate::{Herd, START_MS};

const ID: &str = "tmux-%446-1735689600000";

fn program() -> PaneProgram {
    PaneProgram {
        socket: "/tmp/t/default".into(),
        server_pid: 42,
        server_start: 1_735_680_000,
        pane: "%446".into(),
        pid: 77,
    }
}

fn registered() -> NormalizedEvent {
    NormalizedEvent::Registered {
        session_id: ID.into(),
        pane_id: "%446".into(),
        cwd: "/home/dev/project".into(),
        transcript_path: String::new(),
        timestamp: 1_735_689_600_000,
    }
}

fn stuck(message: &str) -> NormalizedEvent {
    NormalizedEvent::Stuck {
        session_id: ID.into(),
        pane_id: "%446".into(),
        cwd: "/home/dev/project".into(),
        transcript_path: String::new(),
        reason: Reason::Stopped,
        message: message.into(),
        timestamp: 1_735_689_630_000,
    }
}

fn unstuck() -> NormalizedEvent {
    NormalizedEvent::Unstuck { session_id: ID.into(), timestamp: 1_735_689_660_000 }
}

fn ended() -> NormalizedEvent {
    NormalizedEvent::Ended { session_id: ID.into(), timestamp: 1_735_689_700_000 }
}

/// Says the nth of the four events of a program in pane `%n`, where hooks may speak, too.
pub fn say(herd: &mut Herd, pane: u8, nth: u8) {
    let (id, pane) = (format!("tmux-%{pane}-1"), format!("%{pane}"));
    let text = |event: NormalizedEvent| serde_json::to_string(&event).unwrap();
    let event = [registered(), stuck("Quiet at prompt: $ "), unstuck(), ended()].map(text)[usize::from(nth)]
        .replace(ID, &id)
        .replace("%446\"", &format!("{pane}\""));
    let event = NormalizedEvent::parse(event.as_bytes()).unwrap();
    let program = PaneProgram { pane, ..program() };
    herd.input(Input::Detected(Detected { program, event, fact: "seen".into() }));
}

impl Herd {
    fn detect(&mut self, event: NormalizedEvent, fact: &str) {
        self.input(Input::Detected(Detected { program: program(), event, fact: fact.into() }));
    }

    fn waiting() -> Herd {
        let mut herd = Herd::new();
        herd.detect(registered(), "pane %446 is titled '@hb-aider'");
        herd.detect(stuck("Quiet at prompt: $ "), "pane %446 was quiet for 30 s at a prompt");
        herd
    }
}

#[test]
fn why_tells_that_the_detector_alone_looks_at_it() {
    let herd = Herd::waiting();
    let why = herd.engine.why(herd.now, &SessionKey::posted(ID).unwrap()).unwrap();
    let words = |list: &[FromSource]| -> Vec<String> {
        list.iter().map(|said| format!("{}: {}", said.source, said.words)).collect()
    };
    let change = "detector: a change on its screen, the end of its program";
    assert_eq!(words(&why.would_change), [change, "you: `herdbook settle`"]);
    assert_eq!(words(&why.not_looked_at)[1], "pane: the detector alone tells of it");
}

#[test]
fn it_says_what_the_reference_says_and_names_its_evidence() {
    let mut herd = Herd::waiting();
    // The published events are the detector's own, member for member; the times of `registered` and `unstuck` are ours.
    let written = serde_json::to_string(&herd.published[1]).unwrap();
    assert_eq!(
        written,
        r#"{"type":"stuck","sessionId":"tmux-%446-1735689600000","paneId":"%446","cwd":"/home/dev/project","transcriptPath":"","reason":"stopped","message":"Quiet at prompt: $ ","timestamp":1735689630000}"#
    );
    herd.detect(unstuck(), "pane %446 shows something new");
    herd.detect(ended(), "pane %446 is closed");
    let said =
        [format!("registered {ID}"), format!("stuck {ID}"), format!("unstuck {ID}"), format!("ended {ID}")];
    assert_eq!(herd.take_published(), said);
    let view = herd.engine.session(&SessionKey::posted(ID).unwrap()).unwrap();
    assert_eq!((view.host.as_str(), view.pane), ("detected", Some(program().pane_ref())));
    let why = view.evidence.iter().map(|one| format!("{}: {}", one.source, one.fact)).collect::<Vec<_>>();
    assert_eq!(
        why,
        [
            "detector: pane %446 is titled '@hb-aider'",
            "detector: pane %446 was quiet for 30 s at a prompt",
            "detector: pane %446 shows something new",
            "detector: pane %446 is closed",
        ]
    );
}

#[test]
fn a_restart_knows_its_live_sessions_with_their_programs() {
    let mut herd = Herd::waiting();
    let after = herd.restarted();
    let known = after.engine.detected();
    assert_eq!(known, herd.engine.detected());
    assert_eq!((known[0].session_id.as_str(), &known[0].program), (ID, &program()));
    assert_eq!(known[0].waits.as_deref(), Some("Quiet at prompt: $ "));
    assert_eq!(after.queue(), [ID]);
    herd.detect(unstuck(), "pane %446 shows something new");
    assert_eq!(herd.restarted().engine.detected()[0].waits, None);
    herd.detect(ended(), "pane %446 is closed");
    assert_eq!(herd.restarted().engine.detected(), []);
}

#[test]
fn a_row_of_a_screen_is_cleaned_and_its_secrets_are_marked() {
    let mut herd = Herd::new();
    herd.detect(registered(), "pane %446 is titled '@hb-\u{1b}]0;x\u{7}aider'");
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    herd.detect(stuck(&format!("Quiet at prompt: \u{1b}[31mtoken {secret}? ")), "quiet");
    let journal: String = herd.journal.iter().map(|record| record.payload.get().to_owned()).collect();
    assert!(!journal.contains(&secret) && !journal.contains("\\u001b"), "{journal}");
    assert!(journal.contains("is titled '@hb-aider'"), "{journal}");
    let message = herd.engine.queue(herd.now)[0].message.clone();
    assert!(message.starts_with("Quiet at prompt: token ") && !message.contains(&secret), "{message}");
}

#[test]
fn a_session_with_hooks_in_the_pane_speaks_for_it_and_one_on_another_server_does_not() {
    let mut herd = Herd::waiting();
    // The hooks of a Claude in pane %446 of the server 42, and of one in %446 of another server.
    let more = r#""source":"startup""#;
    let at = |tmux: &str| {
        let vars = vec![("TMUX_PANE".into(), "%446".into()), ("TMUX".into(), tmux.into())];
        herdbook_events::Origin { vars, ..Default::default() }
    };
    let start = format!(r#"{{"session_id":"c","cwd":"/srv/demo","hook_event_name":"SessionStart",{more}}}"#);
    herd.hook("claude", &start.replace("\"c\"", "\"other\""), at("/tmp/t/work,43,0"));
    assert_eq!(herd.queue(), [ID], "another server's");
    herd.take_published();
    herd.hook("claude", &start, at("/tmp/t/default,42,0"));
    assert_eq!(herd.queue(), Vec::<String>::new());
    assert!(herd.take_published().contains(&format!("unstuck {ID}")));
    let panes = herd.engine.panes_with_hooks();
    assert_eq!(panes.iter().filter(|pane| pane.may_be(&program().pane_ref())).count(), 1);
}

#[test]
fn it_is_looked_after_and_never_becomes_unknown_by_time_alone() {
    let mut herd = Herd::waiting();
    herd.detect(unstuck(), "pane %446 shows something new");
    herd.wait(24 * 60 * 60_000);
    assert_eq!(herd.state(ID), "working");
    herd.detect(stuck("Quiet at prompt: > "), "pane %446 was quiet for 30 s at a prompt");
    herd.wait(3 * 24 * 60 * 60_000);
    assert_eq!((herd.state(ID), herd.queue()), ("stuck/turn_end".into(), vec![ID.to_owned()]));
}

#[test]
fn a_producer_that_names_its_session_moves_it_to_no_other_pane() {
    let mut herd = Herd::waiting();
    let body = format!(
        r#"{{"type":"registered","sessionId":"{ID}","paneId":"%9","cwd":"/x","transcriptPath":"","timestamp":{START_MS}}}"#
    );
    herd.post(&body);
    let view = herd.engine.session(&SessionKey::posted(ID).unwrap()).unwrap();
    assert_eq!(view.pane, Some(program().pane_ref()));
    assert_eq!(herd.engine.detected().len(), 1);
}

#[test]
fn what_the_human_settled_stays_settled_over_a_restart_and_goes_on_when_it_does() {
    let mut herd = Herd::new();
    for event in 0..2 {
        say(&mut herd, 2, event);
    }
    herd.act(HumanAct::Settle(SessionKey::posted("tmux-%2-1").unwrap()));
    assert_eq!((herd.queue().len(), herd.state("tmux-%2-1").as_str()), (0, "registered"));
    // The detector goes on at the same prompt, and does not say it anew.
    let mut after = herd.restarted();
    assert_eq!(after.engine.detected()[0].waits.as_deref(), Some("Quiet at prompt: $ "));
    say(&mut after, 2, 2);
    assert_eq!(
        (after.state("tmux-%2-1").as_str(), after.engine.detected()[0].waits.as_deref()),
        ("working", None)
    );
    say(&mut after, 2, 1);
    assert_eq!(after.queue(), ["tmux-%2-1"]);
    // So does what others post. Nobody begins to work by what it never waited for.
    herd.stuck("p", 1, "m");
    herd.act(HumanAct::Settle(SessionKey::posted("p").unwrap()));
    herd.tell("registered", "q");
    herd.tell("unstuck", "p");
    herd.tell("unstuck", "q");
    assert_eq!([herd.state("p"), herd.state("q")], ["working", "registered"]);
}
