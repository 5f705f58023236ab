//! What stands beside a route: read, held against the hosts, and matched with events.

use herdbook_events::{CanonicalEvent, Family};
use herdbook_hosts::{Answer, Decision, Projected, Route, project, table};

fn route(family: Family, toml: &str) -> Route {
    Route::parse("some/route", family, Some(toml)).unwrap()
}

fn faults(family: Family, toml: &str) -> Vec<String> {
    route(family, toml).faults().iter().map(ToString::to_string).collect()
}

#[test]
fn without_a_file_a_route_runs_at_every_host_and_may_deny_ask_and_tell() {
    let route = Route::parse("tool/before/x", Family::ToolBefore, None).unwrap();
    assert_eq!((route.id.as_str(), route.timeout_ms, route.closed), ("tool/before/x", 3_000, false));
    assert_eq!((&route.hosts, &route.tools, &route.may), (&None, &Vec::new(), &None));
    let hosts = ["claude", "codex", "cursor", "gemini", "copilot", "opencode", "droid"];
    assert!(hosts.iter().all(|host| route.is_for(host)));
    // Nothing is registered in Amp.
    assert!(!route.is_for("amp") && !route.is_for("nobody"));
    assert_eq!(Route::parse("tool/before/x", Family::ToolBefore, Some("# nothing\n")), Ok(route));
    // Only Claude Code says that a permission was denied.
    let denied = Route::parse("x", Family::PermissionDenied, None).unwrap();
    assert_eq!(hosts.iter().filter(|host| denied.is_for(host)).count(), 1);
}

#[test]
fn all_that_may_be_said_is_read() {
    let text = "hosts = ['claude', 'codex']\ntools = ['Bash', 'mcp__*']\nmay = ['deny', 'updatedInput', 'allow']\n\
                timeout_ms = 10_000\nfail = 'closed'\n";
    let route = route(Family::ToolBefore, text);
    assert_eq!(route.hosts.as_deref().unwrap(), ["claude", "codex"]);
    assert_eq!(route.tools, ["Bash", "mcp__*"]);
    assert_eq!(route.may.as_deref().unwrap(), [Answer::Deny, Answer::UpdatedInput, Answer::Allow]);
    assert_eq!((route.timeout_ms, route.closed), (10_000, true));
    assert!(route.is_for("codex") && !route.is_for("droid"));
    assert_eq!(route.faults(), []);
}

#[test]
fn faults_are_named_with_their_line_and_what_may_stand_there() {
    for (family, text, expected) in [
        (
            Family::Stop,
            "\nhost = ['claude']\n",
            "line 2: unknown field `host`, expected one of `hosts`, `tools`, `may`, `timeout_ms`, `fail`",
        ),
        (
            Family::Stop,
            "hosts = [\n'claude',\n'clod']\n",
            "line 3: hosts: 'clod' is no host that is known; those with hooks for stop are claude, codex, cursor, gemini, copilot, opencode, droid",
        ),
        (
            Family::Stop,
            "hosts = ['amp']",
            "line 1: hosts: 'amp' is a host for which there are no hooks; those",
        ),
        (
            Family::TaskCreate,
            "hosts = ['codex']",
            "line 1: hosts: 'codex' has no such event; those with hooks for task/create are claude",
        ),
        (Family::Stop, "hosts = []", "line 1: hosts: names none; those with hooks"),
        (Family::Stop, "# x\ntools = ['Bash']", "line 2: tools: events of stop are of no tool; leave it out"),
        (Family::ToolBefore, "tools = []", "line 1: tools: names none; leave it out for all tools"),
        (
            Family::ToolBefore,
            "tools = ['']",
            "line 1: tools: '' is no name; write a tool's name, or one with *",
        ),
        (
            Family::Stop,
            "may = ['deny',\n'block']",
            "line 2: may: 'block' is none of allow, ask, deny, context, updatedInput",
        ),
        (Family::Stop, "\n\ntimeout_ms = 99", "line 3: timeout_ms: must be from 100 to 600000"),
        (Family::Stop, "timeout_ms = '3'", "line 1: invalid type: string \"3\", expected a whole number"),
        (Family::Stop, "timeout_ms = -1", "line 1: timeout_ms: must be from 100 to 600000"),
        (Family::Stop, "timeout_ms = 9223372036854775808", "line 1: "),
        (Family::Stop, "hosts = 'claude'", "line 1: invalid type: string \"claude\", expected a list in [ ]"),
        (Family::Stop, "may = ['deny']\nfail = 'open'\nmay = ['ask']", "line 3: duplicate key"),
        (Family::ToolBefore, "[tools]\nname = 'Bash'", "line 1: invalid type: map, expected a list in [ ]"),
        (Family::Stop, "fail = 'ajar'", "line 1: unknown variant `ajar`, expected `open` or `closed`"),
        (Family::Stop, "may = [", "line 1: "),
    ] {
        let error = Route::parse("x", family, Some(text)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn what_a_host_cannot_do_is_refused_with_the_nearest_thing() {
    let codex = "hosts = ['codex']\n";
    assert_eq!(
        faults(Family::ToolBefore, &format!("{codex}may = ['ask', 'deny']")),
        [
            "may = [\"ask\"]: codex cannot be told that at PreToolUse: it is an error: the hook counts as failed, and the \
          call runs; the nearest is deny"
        ]
    );
    // To allow, Codex wants another input.
    assert_eq!(faults(Family::ToolBefore, &format!("{codex}may = ['allow']")).len(), 1);
    assert_eq!(faults(Family::ToolBefore, &format!("{codex}may = ['allow', 'updatedInput']")), [""; 0]);
    assert_eq!(
        faults(Family::ToolBefore, &format!("{codex}may = ['updatedInput']")),
        [
            "may = [\"updatedInput\"]: codex cannot be told that at PreToolUse: its form allows what it changes, which only \
          the outcome allow may; the nearest is continue"
        ]
    );
    // Claude Code's form goes with ask, too; Gemini's and OpenCode's leaves the call to their rules.
    assert_eq!(faults(Family::ToolBefore, "hosts = ['claude']\nmay = ['ask', 'updatedInput']"), [""; 0]);
    assert_eq!(faults(Family::ToolBefore, "hosts = ['gemini', 'opencode']\nmay = ['updatedInput']"), [""; 0]);
    // All hosts that can be told nothing else than what they are told are meant where none is named.
    let of = |toml: &str, family| {
        let faults = route(family, toml).faults();
        faults.iter().map(|fault| (fault.host, fault.event)).collect::<Vec<_>>()
    };
    assert_eq!(
        of("may = ['ask']", Family::ToolBefore),
        [
            ("codex", "PreToolUse"),
            ("cursor", "preToolUse"),
            ("gemini", "BeforeTool"),
            ("opencode", "tool.execute.before")
        ]
    );
    assert_eq!(of("may = ['deny']", Family::ToolBefore), []);
    assert_eq!(of("fail = 'closed'", Family::PromptSubmit), []);
    assert_eq!(
        of("may = ['allow']", Family::ToolBefore),
        [("codex", "PreToolUse"), ("gemini", "BeforeTool"), ("opencode", "tool.execute.before")]
    );
    assert_eq!(of("may = ['deny']", Family::PermissionRequest), [("opencode", "permission.asked")]);
}

#[test]
fn notes_say_what_becomes_of_the_usual_answers() {
    assert_eq!(
        route(Family::ToolBefore, "hosts = ['codex', 'claude', 'opencode']").notes(),
        [
            "codex PreToolUse: ask becomes deny: it is an error: the hook counts as failed, and the call runs",
            "opencode tool.execute.before: ask becomes deny: the hook that it declares for that, permission.ask, is never called",
            "opencode tool.execute.before: context is left out: it has no form for that",
        ]
    );
    assert_eq!(
        route(Family::ToolAfter, "hosts = ['claude']").notes(),
        [
            "claude PostToolUse: deny becomes context: the tool has run",
            "claude PostToolUse: ask is left out: it has no form for that"
        ]
    );
}

#[test]
fn notes_in_brief_name_the_hosts_together() {
    assert_eq!(
        route(Family::ToolBefore, "").brief_notes(),
        [
            "ask becomes deny at codex, cursor, gemini, opencode",
            "context is left out at cursor, gemini, opencode, droid",
        ]
    );
    assert_eq!(route(Family::ToolBefore, "may = ['deny']").brief_notes(), [] as [&str; 0]);
}

#[test]
fn a_refusal_names_the_hosts_at_which_all_of_it_works() {
    let refusal = |toml| route(Family::ToolBefore, toml).refusal();
    assert_eq!(refusal("may = ['deny']"), None);
    let words = refusal("may = ['ask']").unwrap();
    assert!(words.starts_with("may = [\"ask\"]: codex cannot be told that at PreToolUse: "), "{words}");
    let able = "; all of it works with hosts = [\"claude\", \"copilot\", \"droid\"]";
    assert!(words.ends_with(able), "{words}");
    assert!(!refusal("may = ['ask']\nhosts = ['codex']").unwrap().contains("works"));
}

fn event(host: &str, native: &str) -> CanonicalEvent {
    match project(host, None, native.as_bytes()) {
        Projected::Event(event) => *event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_route_runs_at_its_family_its_hosts_and_its_tools() {
    let native = |tool: &str| {
        event(
            "claude",
            &format!(r#"{{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"{tool}"}}"#),
        )
    };
    let all = route(Family::ToolBefore, "");
    assert!(all.matches(&native("Bash")));
    assert!(!route(Family::ToolAfter, "").matches(&native("Bash")));
    assert!(!route(Family::ToolBefore, "hosts = ['codex']").matches(&native("Bash")));
    for (pattern, covered, not) in [
        ("Bash", &["Bash"][..], &["bash", "BashOutput", ""][..]),
        ("mcp__*", &["mcp__", "mcp__git__push"], &["Bash", "xmcp__a"]),
        ("*__push", &["mcp__git__push", "__push"], &["mcp__git__push_all"]),
        ("mcp__*__*h", &["mcp__git__push", "mcp____h"], &["mcp__h", "mcp__git_push"]),
        ("*", &["Bash", ""], &[]),
        ("a*a", &["aa", "aba"], &["a", "ab"]),
        ("**", &["Bash", ""], &[]),
        ("a**b*", &["ab", "a*b c"], &["ba", "a"]),
        ("Run a command", &["Run a command"], &["Run", "Run a command "]),
    ] {
        let route = route(Family::ToolBefore, &format!("tools = ['{pattern}']"));
        assert!(covered.iter().all(|tool| route.matches(&native(tool))), "{pattern}");
        assert!(!not.iter().any(|tool| route.matches(&native(tool))), "{pattern}");
    }
    // A call whose tool is not said may be of that tool.
    let untold = event("claude", r#"{"hook_event_name":"PreToolUse","session_id":"s"}"#);
    assert!(route(Family::ToolBefore, "tools = ['Bash']").matches(&untold));
    assert!(!all.matches(&event("claude", r#"{"hook_event_name":"Notification","session_id":"s"}"#)));
}

#[test]
fn what_a_route_may_not_answer_is_not_admitted() {
    let claude = table("claude").unwrap();
    let before = claude.event("PreToolUse").unwrap();
    let admit = |toml: &str, printed: &str| {
        let decision = Decision::read(printed.as_bytes()).unwrap();
        route(Family::ToolBefore, toml)
            .admit(claude, before, decision)
            .map(|decision| decision.outcome.as_str())
    };
    assert_eq!(admit("", ""), Ok("continue"));
    assert_eq!(admit("", r#"{"outcome":"deny","reason":"no","context":"c"}"#), Ok("deny"));
    assert_eq!(
        admit("", r#"{"outcome":"allow"}"#).unwrap_err(),
        "answered allow, which it may not: may of its toml has no \"allow\""
    );
    assert!(admit("may = ['allow']", r#"{"outcome":"allow"}"#).is_ok());
    assert!(admit("may = ['allow']", r#"{"outcome":"deny"}"#).is_err());
    assert!(admit("may = ['allow']", r#"{"context":"c"}"#).is_err());
    assert!(admit("", r#"{"outcome":"ask","updatedInput":{}}"#).is_err());
    let both = "may = ['ask', 'updatedInput']";
    assert!(admit(both, r#"{"outcome":"ask","updatedInput":{}}"#).is_ok());
    assert_eq!(admit(both, r#"{"updatedInput":"ls"}"#).unwrap_err(), "updatedInput: it must be an object");
}
