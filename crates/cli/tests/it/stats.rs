//! `stats` against a real daemon.

use herdbook_wire::clock::Start;
use herdbook_wire::{Delivery, Origin, Tty, spool};
use serde_json::{Value, json};

use crate::support::{TestDaemon, TestEnv};

/// Three permissions answered after 10, 20 and 90 s, a turn end of 5 min, and a session that ended while it waited, as
/// hooks left them in the spool while no daemon ran.
fn spooled(env: &TestEnv) {
    let start_ms = Start::now().unix_ms - 3_600_000;
    let mut delivery = 0;
    let mut hook = |at_s: u64, event: &str, more: Value| {
        delivery += 1;
        let mut body =
            json!({ "session_id": "one", "cwd": env.path().join("home/shop"), "hook_event_name": event });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let call = Delivery {
            host: "claude".into(),
            native_event: None,
            delivery: u128::from(delivery),
            stamp_ms: at_s * 1_000 + delivery,
            started_at_ms: start_ms + at_s * 1_000,
            origin: Origin { tty: Tty::Some, ..Origin::default() },
            body: body.to_string().into_bytes(),
            cut: false,
        };
        spool::write(&env.path().join("state/herdbook/spool"), &call).unwrap();
    };
    let call = |id: &str| json!({ "tool_name": "Bash", "tool_input": { "command": id }, "tool_use_id": id });
    hook(0, "UserPromptSubmit", json!({ "prompt": "x" }));
    for (id, asked_s, answered_s) in [("a", 5, 15), ("b", 20, 40), ("c", 45, 135)] {
        hook(asked_s, "PreToolUse", call(id));
        hook(asked_s, "PermissionRequest", call(id));
        hook(answered_s, "PostToolUse", call(id));
    }
    hook(140, "Stop", json!({}));
    hook(440, "UserPromptSubmit", json!({ "prompt": "y" }));
    hook(470, "PreToolUse", call("d"));
    hook(470, "PermissionRequest", call("d"));
    hook(510, "SessionEnd", json!({ "reason": "other" }));
}

#[test]
fn waits_are_printed_by_kind_and_project_and_as_json() {
    let env = TestEnv::new();
    std::fs::DirBuilder::new().create(env.path().join("state/herdbook")).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(env.path().join("state/herdbook"), private).unwrap();
    spooled(&env);
    let _daemon = TestDaemon::start(&env);
    let ran = |words: &[&str]| {
        let ran = env.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        ran.stdout
    };
    let by_kind = ran(&["stats", "--since", "2h"]);
    let lines: Vec<&str> = by_kind.lines().collect();
    assert!(lines[0].ends_with(": 1 session, 5 waits"), "{by_kind}");
    assert_eq!(
        lines[1..7],
        [
            "4 answered, 1 ended unanswered",
            "",
            "KIND        WAITS  P50    P90  LONGEST  WAITED  WORKED  █ wait ▒ work",
            "turn_end        1   5m     5m       5m      5m          ██████████████████████████████",
            "permission      4  20s  1m30s    1m30s   2m40s          ████████████████",
            "all             5  20s     5m       5m   7m40s     50s",
        ]
    );
    assert_eq!(lines[8].split_whitespace().collect::<Vec<_>>()[..4], ["LONGEST", "KIND", "OUTCOME", "SINCE"]);
    let words = |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let longest: Vec<Vec<String>> = lines[9..].iter().map(|line| words(line)).collect();
    let cells: Vec<String> =
        longest.iter().map(|wait| format!("{} {} {}", wait[0], wait[1], wait[2])).collect();
    assert_eq!(
        cells,
        [
            "5m turn_end answered",
            "1m30s permission answered",
            "40s permission ended",
            "20s permission answered",
            "10s permission answered"
        ]
    );
    assert_eq!(longest[0][5..], ["claude", "~/shop"]);
    let by_project = ran(&["stats", "--since", "2h", "--by", "project"]);
    assert!(by_project.contains("\n~/shop       5  20s   5m       5m   7m40s     50s  "), "{by_project}");
    let answer: Value = serde_json::from_str(&ran(&["stats", "--json", "--by", "host"])).unwrap();
    assert_eq!((&answer["by"], &answer["rows"][0]["name"]), (&json!("host"), &json!("claude")));
    assert_eq!((&answer["total"]["waits"], &answer["total"]["ended"]), (&json!(5), &json!(1)));
    let none = env.run(&["stats", "--since", "1m"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.starts_with("no session worked or waited since "), "{}", none.stderr);
    let bad = env.run(&["stats", "--since", "soon"]);
    assert!(bad.code == 2 && bad.stderr.contains("'soon' is no time"), "{}", bad.stderr);
}
