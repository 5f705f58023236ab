//! Amp by its documents: no client was run. Each row of its table reads a documented payload.

use herdbook_events::observation::{Signal, WaitKind};
use herdbook_events::{CanonicalEvent, Origin};
use herdbook_hosts::{Projected, installable, observe, project, table};

fn event(body: &str) -> CanonicalEvent {
    match project("amp", None, body.as_bytes()) {
        Projected::Event(event) => *event,
        Projected::Unreadable(salvage) => panic!("{}", salvage.error),
    }
}

fn read(body: &str) -> (Option<&'static str>, String, Signal) {
    let event = event(body);
    let payload = serde_json::to_string(&event.payload).unwrap();
    let mut observed = observe(&event, &Origin::default());
    assert_eq!(observed.len(), 1, "{body}");
    (event.event.map(|family| family.as_str()), payload, observed.remove(0).signal)
}

#[test]
fn each_documented_event_projects_and_says_what_it_means() {
    let (family, payload, signal) = read(r#"{"hook_event_name":"session.start","session_id":"T-1"}"#);
    assert_eq!(family, Some("session/start"));
    assert_eq!(payload, r#"{"sessionId":{"value":"T-1","nativeKey":"session_id"}}"#);
    assert_eq!(signal, Signal::SessionStarted { replaces: false, inside_turn: false });

    let body = r#"{"hook_event_name":"agent.start","session_id":"T-1","prompt":"Fix it"}"#;
    let (family, payload, signal) = read(body);
    assert_eq!(family, Some("prompt/submit"));
    assert!(payload.ends_with(r#","prompt":{"value":"Fix it","nativeKey":"prompt"}}"#), "{payload}");
    assert_eq!(signal, Signal::PromptSubmitted { human: true });

    let call = r#"{"hook_event_name":"tool.call","session_id":"T-1","tool_name":"Bash","tool_input":{"cmd":"ls"},"tool_use_id":"u-1"}"#;
    let (family, payload, signal) = read(call);
    assert_eq!(family, Some("tool/before"));
    assert!(payload.contains(r#""toolInput":{"value":{"cmd":"ls"},"nativeKey":"tool_input"}"#), "{payload}");
    let Signal::ToolStarting(tool) = signal else { panic!("{signal:?}") };
    assert_eq!((tool.name.as_str(), tool.id.as_deref()), ("Bash", Some("u-1")));

    let result = r#"{"hook_event_name":"tool.result","session_id":"T-1","tool_name":"Bash","tool_input":{"cmd":"ls"},"tool_use_id":"u-1","status":"done","tool_response":"a b"}"#;
    let (family, payload, signal) = read(result);
    assert_eq!(family, Some("tool/after"));
    assert!(payload.ends_with(r#""toolResponse":{"value":"a b","nativeKey":"tool_response"}}"#), "{payload}");
    assert!(matches!(signal, Signal::ToolOver(tool) if tool.id.as_deref() == Some("u-1")));
}

#[test]
fn the_three_ends_of_a_turn_are_told_apart_by_their_status() {
    let kind = |status: &str| {
        let body = format!(r#"{{"hook_event_name":"agent.end","session_id":"T-1","status":"{status}"}}"#);
        let (family, _, signal) = read(&body);
        assert_eq!(family, Some("stop"));
        let Signal::TurnEnded { kind, quiet, .. } = signal else { panic!("{signal:?}") };
        (kind, quiet)
    };
    assert_eq!(kind("done"), (WaitKind::TurnEnd, false));
    assert_eq!(kind("error"), (WaitKind::Error, false));
    assert_eq!(kind("cancelled"), (WaitKind::Interrupted, true));
}

#[test]
fn nothing_is_ever_registered_with_it() {
    let amp = table("amp").unwrap();
    assert!(!amp.is_installable());
    assert_eq!(
        herdbook_hosts::settings::events(amp, None, &herdbook_hosts::settings::Needs::NONE).count(),
        0
    );
    assert_eq!(installable().count(), 7);
}
