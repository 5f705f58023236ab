//! Whose pane it is where one Codex server serves several (overview D11).

use herdbook_engine::{Input, TmuxFacts};
use herdbook_events::observation::{PaneRef, Seat};
use herdbook_events::origin::Terminal;
use herdbook_events::{Origin, Process, SessionKey};

use crate::Herd;

const SOCKET: &str = "/tmp/tmux-1000/default";

fn codex(herd: &mut Herd, id: &str, pid: u32, tty: Terminal, pane: &str, mode: &str) {
    let vars = match pane {
        "" => Vec::new(),
        pane => vec![("TMUX".into(), format!("{SOCKET},42,0")), ("TMUX_PANE".into(), pane.into())],
    };
    let ancestors = vec![Process { pid, start: Some(1) }];
    for event in ["UserPromptSubmit", "Stop"] {
        let body = format!(
            r#"{{"session_id":"{id}","turn_id":"t","cwd":"/srv/demo","hook_event_name":"{event}","permission_mode":"{mode}"}}"#
        );
        let origin = Origin {
            ancestors: ancestors.clone(),
            tty: tty.clone(),
            vars: vars.clone(),
            ..Origin::default()
        };
        herd.hook("codex", &body, origin);
    }
}

/// Agents with their pid and pane.
fn seats(panes: &[(&str, u32, Option<&str>)]) -> Input {
    let pane = |pane: &str| PaneRef { socket: SOCKET.into(), server_pid: Some(42), pane: pane.into() };
    let seat = |(host, pid, id): &(&str, u32, Option<&str>)| Seat {
        host: (*host).into(),
        processes: vec![Process { pid: *pid, start: Some(1) }],
        pane: id.map(pane),
    };
    Input::Seats(panes.iter().map(seat).collect())
}

fn is_uncertain(herd: &Herd, id: &str) -> bool {
    let key = SessionKey::posted(&format!("codex-{id}")).unwrap();
    let view = herd.engine.session(&key).unwrap();
    let entry = herd.engine.queue(herd.now).into_iter().find(|entry| entry.session == key);
    assert_eq!(entry.map(|entry| entry.pane_uncertain), Some(view.pane_uncertain), "both listings agree");
    view.pane_uncertain
}

#[test]
fn the_pane_of_a_shared_server_is_sure_while_only_one_agent_can_be_meant() {
    let mut herd = Herd::new();
    codex(&mut herd, "a", 700, Terminal::None, "%0", "default");
    assert!(!is_uncertain(&herd, "a"), "nobody looked yet");
    for (told, expected) in [
        (vec![("codex", 600, Some("%0"))], false),
        (vec![("claude", 500, Some("%1")), ("codex", 600, Some("%0")), ("claude", 501, None)], false),
        // It runs the session itself, wherever it sits.
        (vec![("codex", 700, None), ("codex", 600, Some("%1"))], false),
        // The one that started the server has gone; another pane, or none that is known, has the prompt.
        (vec![("codex", 600, Some("%1"))], true),
        (vec![("codex", 600, None)], true),
        (vec![], true),
        (vec![("codex", 600, Some("%0")), ("codex", 601, Some("%1"))], true),
        (vec![("codex", 600, Some("%0")), ("codex", 601, None)], true),
    ] {
        herd.input(seats(&told));
        assert_eq!(is_uncertain(&herd, "a"), expected, "{told:?}");
    }
    // Nothing of this is recorded.
    let records = herd.journal.len();
    herd.input(seats(&[]));
    assert_eq!(herd.journal.len(), records);
}

#[test]
fn an_agent_that_runs_its_session_itself_is_not_served_by_another() {
    let mut herd = Herd::new();
    codex(&mut herd, "served", 700, Terminal::None, "%0", "default");
    codex(&mut herd, "own", 800, Terminal::Named("/dev/pts/1".into()), "%1", "default");
    herd.input(seats(&[("codex", 600, Some("%0")), ("codex", 800, Some("%1"))]));
    assert!(!is_uncertain(&herd, "served") && !is_uncertain(&herd, "own"));
    herd.input(seats(&[("codex", 800, Some("%1"))]));
    assert!(is_uncertain(&herd, "served") && !is_uncertain(&herd, "own"));
}

#[test]
fn a_human_sits_at_a_shared_server_and_none_at_a_run_without_a_terminal() {
    let mut herd = Herd::new();
    for (number, (id, pane, mode, is_queued)) in [
        ("pane", "%0", "default", true),
        ("plain", "", "default", true),
        ("bypassing", "%0", "bypassPermissions", true),
        ("exec", "", "bypassPermissions", false),
    ]
    .into_iter()
    .enumerate()
    {
        codex(&mut herd, id, 700 + u32::try_from(number).unwrap(), Terminal::None, pane, mode);
        assert_eq!(herd.queue().contains(&format!("codex-{id}")), is_queued, "{id}");
    }
}

/// What tmux lists: the panes of a server at the socket.
fn listed(socket: &str, server_pid: u32, panes: &[&str]) -> Input {
    Input::Tmux(TmuxFacts {
        server: Some((socket.into(), server_pid)),
        panes: Some(panes.iter().map(|id| (*id).to_owned()).collect()),
        focus: None,
    })
}

/// A Claude at the end of its turn, in a pane of the server 42.
fn claude(herd: &mut Herd, id: &str, pid: u32, pane: &str) {
    let vars = vec![("TMUX".into(), format!("{SOCKET},42,0")), ("TMUX_PANE".into(), pane.to_owned())];
    let ancestors = vec![Process { pid, start: Some(1) }];
    let origin = Origin { ancestors, vars, tty: Terminal::Some, ..Origin::default() };
    herd.hook("claude", &format!(r#"{{"session_id":"{id}","hook_event_name":"Stop"}}"#), origin);
}

fn is_detached(herd: &Herd, id: &str) -> bool {
    herd.engine.session(&SessionKey::posted(id).unwrap()).unwrap().detached
}

#[test]
fn who_lost_his_pane_is_listed_and_not_queued_also_after_a_restart() {
    let mut herd = Herd::new();
    claude(&mut herd, "a", 500, "%3");
    herd.wait(1_000);
    claude(&mut herd, "b", 501, "%4");
    assert_eq!(herd.queue(), ["claude-a", "claude-b"]);
    herd.wait(60_000);
    herd.input(listed(SOCKET, 42, &["%0", "%4"]));
    assert_eq!(herd.queue(), ["claude-b"]);
    assert!(is_detached(&herd, "claude-a") && !is_detached(&herd, "claude-b"));
    assert_eq!(herd.state("claude-a"), "stuck/turn_end", "it waits all the same");
    let view = herd.engine.session(&SessionKey::posted("claude-a").unwrap()).unwrap();
    let last = view.evidence.last().unwrap();
    assert_eq!((last.source.as_str(), last.fact.as_str()), ("pane", "pane %3 is closed"));
    assert!(herd.journal.iter().any(|record| record.id == last.id), "its evidence is in the journal");

    // Told once.
    let records = herd.journal.len();
    herd.input(listed(SOCKET, 42, &["%0", "%4"]));
    assert_eq!(herd.journal.len(), records);

    assert_eq!(herd.restarted().queue(), ["claude-b"]);
    // Nobody is called to a pane that is not there.
    let calls = herd.calls.len();
    let vars = vec![("TMUX".into(), format!("{SOCKET},42,0")), ("TMUX_PANE".into(), "%3".into())];
    let ancestors = vec![Process { pid: 500, start: Some(1) }];
    let origin = Origin { ancestors, vars, tty: Terminal::Some, ..Origin::default() };
    herd.hook(
        "claude",
        r#"{"session_id":"a","hook_event_name":"UserPromptSubmit","prompt":"x"}"#,
        origin.clone(),
    );
    herd.hook("claude", r#"{"session_id":"a","hook_event_name":"Stop"}"#, origin.clone());
    herd.wait(5_000);
    assert_eq!((herd.queue(), herd.calls.len()), (vec!["claude-b".to_owned()], calls));
    // Its conversation goes on elsewhere.
    let resumed = Origin {
        ancestors: vec![Process { pid: 600, start: Some(1) }],
        vars: vec![("TMUX".into(), format!("{SOCKET},42,0")), ("TMUX_PANE".into(), "%4".into())],
        ..origin
    };
    herd.hook(
        "claude",
        r#"{"session_id":"a","hook_event_name":"SessionStart","source":"resume"}"#,
        resumed.clone(),
    );
    herd.hook("claude", r#"{"session_id":"a","hook_event_name":"Stop"}"#, resumed);
    assert!(!is_detached(&herd, "claude-a"));
    assert_eq!(herd.queue(), ["claude-b", "claude-a"]);
}

#[test]
fn a_list_says_nothing_of_panes_that_may_not_be_in_it() {
    let mut herd = Herd::new();
    claude(&mut herd, "a", 500, "%3");
    // The pane may be younger than the list.
    herd.input(listed(SOCKET, 42, &["%0"]));
    assert_eq!(herd.queue(), ["claude-a"]);
    herd.wait(60_000);
    herd.input(listed("/tmp/tmux-1000/work", 42, &["%0"]));
    herd.input(listed(SOCKET, 43, &["%0"]));
    assert_eq!(herd.queue(), ["claude-a"], "other servers");
    // The agent sits in another terminal: an editor's, which was started from a pane.
    herd.input(seats(&[("claude", 500, None)]));
    herd.input(listed(SOCKET, 42, &["%0"]));
    assert_eq!(herd.queue(), ["claude-a"]);
    herd.input(seats(&[]));
    herd.input(listed(SOCKET, 42, &["%0"]));
    assert!(herd.queue().is_empty());
    // The pane that a hook of Codex names may be another's; whoever posts says himself when it is over.
    codex(&mut herd, "c", 700, Terminal::Some, "%7", "default");
    herd.stuck("1", crate::START_MS, "m");
    herd.wait(60_000);
    herd.input(listed(SOCKET, 42, &["%0"]));
    herd.input(Input::Tmux(TmuxFacts { panes: Some(Vec::new()), ..TmuxFacts::default() }));
    assert_eq!(herd.queue().len(), 2);
}
