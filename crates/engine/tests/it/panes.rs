//! Whose pane it is where one Codex server serves several (overview D11).

use herdbook_engine::Input;
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
