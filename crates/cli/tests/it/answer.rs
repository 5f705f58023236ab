//! `approve` and `deny` against a real daemon and real hooks, which a stand-in for an agent runs: who may answer what,
//! once, and what ends a hold.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use herdbook_api::waits::{AnswerWait, Wait, input_hash};
use herdbook_api::{Client, ClientError};
use serde_json::{Value, json};

use crate::support::{Ran, TestDaemon, TestEnv};

/// How long anything may take that should take no time; only a fault waits so long.
const LONG: Duration = Duration::from_secs(30);
const ALLOWED: &str =
    r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#;

/// False where an agent runs this test: then nobody here may answer. Says by name which test is skipped.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn by_human(test: &str) -> bool {
    let above = herdbook_machine::Proc::system().agent_among_ancestors(std::process::id());
    let is_human = matches!(above, Ok(None));
    if !is_human {
        println!("skipped: {test}: an agent runs it");
    }
    is_human
}

/// A scratch home with a daemon, holding switched on, and a shell in the place of Claude Code.
struct Stage {
    env: TestEnv,
    daemon: Option<TestDaemon>,
    agent: Child,
}

impl Stage {
    fn new() -> Stage {
        let env = TestEnv::new();
        let daemon = Some(TestDaemon::start(&env));
        let mut agent = env.program("/bin/sh");
        agent.env("CLAUDE_CODE_SESSION_ATTENDED", "1").stdin(Stdio::piped()).stdout(Stdio::null());
        let agent = agent.spawn().unwrap();
        let mut stage = Stage { env, daemon, agent };
        stage.switch(true);
        stage.tell_agent("export CLAUDE_PID=$$");
        stage
    }

    fn state(&self) -> PathBuf {
        self.env.path().join("state/herdbook")
    }

    /// What `herdbook hold on` and `off` write.
    #[expect(clippy::disallowed_methods, reason = "a test's own files")]
    fn switch(&self, on: bool) {
        let file = self.state().join("hold.json");
        if on {
            std::fs::write(file, r#"{"claude":{"hold_ms":600000}}"#).unwrap();
            let limits = r#"{"claude":{"PermissionRequest":600000}}"#;
            std::fs::write(self.state().join("entry-limits.json"), limits).unwrap();
        } else {
            std::fs::remove_file(file).unwrap();
        }
    }

    fn client(&self) -> Client {
        Client::new(vec![self.env.path().join("run/herdbook/sock")])
    }

    fn tell_agent(&mut self, line: &str) {
        writeln!(self.agent.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Lets the agent call its hook; what comes of it is in files of that name.
    #[expect(clippy::disallowed_methods, reason = "a test's own files")]
    fn hook(&mut self, name: &str, event: &str, more: &Value) {
        let mut body = json!({
            "session_id": "s1", "cwd": "/srv/demo", "hook_event_name": event,
            "transcript_path": "/home/dev/.claude/projects/-srv-demo/s1.jsonl",
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        std::fs::write(self.file(name, "json"), body.to_string()).unwrap();
        let (program, words) = hook_program();
        self.tell_agent(&format!(
            "(sh -c 'echo $$ > {name}.pid; exec \"{program}\" {words}' < {name}.json > {name}.out; echo $? > {name}.tmp; mv {name}.tmp {name}.rc) &"
        ));
    }

    /// A call that nothing holds, to its end.
    fn call(&mut self, name: &str, event: &str, more: &Value) {
        self.hook(name, event, more);
        assert_eq!(self.end_of(name), (0, String::new()));
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.env.path().join(format!("{name}.{kind}"))
    }

    fn text(&self, name: &str, kind: &str) -> Option<String> {
        std::fs::read_to_string(self.file(name, kind)).ok().filter(|text| !text.is_empty())
    }

    /// Waits for the end of a hook: exit code and what it printed.
    fn end_of(&self, name: &str) -> (i32, String) {
        let mut code = None;
        until(name, || {
            code = self.text(name, "rc");
            code.is_some()
        });
        (code.unwrap().trim().parse().unwrap(), self.text(name, "out").unwrap_or_default())
    }

    /// Lets the agent ask for leave to run a command, and waits until that is held.
    fn ask(&mut self, name: &str, command: &str) -> Wait {
        let input = json!({"tool_name": "Bash", "tool_input": {"command": command}});
        self.call(&format!("{name}-before"), "PreToolUse", &with(&input, "tool_use_id", name));
        self.request(name, command, &input)
    }

    /// Asks until that is held: on a busy machine a hook may miss its time, and its event is taken out of the spool.
    fn request(&mut self, name: &str, command: &str, input: &Value) -> Wait {
        let begun = Instant::now();
        loop {
            for kind in ["rc", "out", "pid"] {
                // What is not there need not go.
                let _ = std::fs::remove_file(self.file(name, kind));
            }
            let attempt = format!("{:?}", begun.elapsed());
            self.hook(name, "PermissionRequest", &with(input, "attempt", &attempt));
            let mut held = None;
            until("the hold or its end", || {
                held = self.held(command);
                held.is_some() || self.file(name, "rc").exists()
            });
            if let Some(wait) = held {
                return wait;
            }
            assert!(begun.elapsed() < LONG, "nothing was held");
        }
    }

    fn held(&self, command: &str) -> Option<Wait> {
        let waits = self.client().waits().unwrap().into_iter();
        let input = format!("{{\"command\":\"{command}\"}}");
        waits.filter(|wait| wait.held_until.is_some()).find(|wait| wait.input.as_ref() == Some(&input))
    }

    /// Lets the agent itself run `herdbook`.
    fn agent_runs(&mut self, name: &str, words: &str) -> Ran {
        let program = env!("CARGO_BIN_EXE_herdbook");
        self.tell_agent(&format!(
            "\"{program}\" {words} > {name}.out 2> {name}.err < /dev/null; echo $? > {name}.tmp; mv {name}.tmp {name}.rc"
        ));
        let (code, stdout) = self.end_of(name);
        Ran { code, stdout, stderr: self.text(name, "err").unwrap_or_default() }
    }

    /// All decisions of the journal.
    fn decisions(&self) -> Vec<Value> {
        let lines = herdbook_log::Reader::open(&self.state().join("journal")).map(Result::unwrap);
        let decisions = lines.filter(|line| line.kind == "decision");
        decisions.map(|line| serde_json::from_str(&line.payload).unwrap()).collect()
    }

    fn told(&self) -> Vec<Value> {
        self.decisions().into_iter().filter(|decision| !decision["told"].is_null()).collect()
    }

    fn state_of_session(&self) -> String {
        self.client().session("claude-s1").unwrap().state
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The hooks end with the daemon.
        self.daemon = None;
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// The hook that hosts run, where it was built; else the same code in `herdbook`.
fn hook_program() -> (String, &'static str) {
    let herdbook = PathBuf::from(env!("CARGO_BIN_EXE_herdbook"));
    let hook = herdbook.with_file_name("herdbook-hook");
    let is_built_with = |hook: &PathBuf| {
        let built = |path: &PathBuf| std::fs::metadata(path).and_then(|found| found.modified()).ok();
        built(hook).is_some_and(|at| Some(at + Duration::from_secs(86_400)) > built(&herdbook))
    };
    match is_built_with(&hook) {
        true => (hook.to_str().unwrap().to_owned(), "claude"),
        false => (herdbook.to_str().unwrap().to_owned(), "hook claude"),
    }
}

fn with(object: &Value, key: &str, value: &str) -> Value {
    let mut object = object.clone();
    object[key] = value.into();
    object
}

/// What a subagent asks.
fn sub_input() -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "make sub"}, "agent_id": "a1"})
}

fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < LONG, "{what} did not come");
        std::thread::yield_now();
    }
}

fn answer_to(wait: &Wait, outcome: &str) -> AnswerWait {
    AnswerWait {
        outcome: outcome.into(),
        reason: None,
        input_hash: input_hash(&wait.session_id, wait.tool.as_ref().unwrap(), wait.input.as_ref().unwrap()),
    }
}

fn refused(answer: Result<impl std::fmt::Debug, ClientError>) -> (u16, String) {
    match answer.unwrap_err() {
        ClientError::Refused { status, error } => (status, error),
        other => (0, other.to_string()),
    }
}

#[test]
fn the_human_allows_and_denies_from_elsewhere() {
    if !by_human("the_human_allows_and_denies_from_elsewhere") {
        return;
    }
    let mut stage = Stage::new();
    assert_eq!(stage.env.run(&["approve"]).stderr, "nothing can be answered from here\n");
    let wait = stage.ask("one", "make test");
    assert_eq!(wait.input_hash, Some(answer_to(&wait, "allow").input_hash), "it names what is shown");
    let listing = stage.env.run(&["ls"]).stdout;
    assert!(listing.contains("stuck, held"), "{listing}");
    let listing = stage.env.run(&["approve"]).stdout;
    assert!(listing.starts_with(&wait.id) && listing.contains("claude-s1"), "{listing}");
    // Nobody is asked where there is no terminal.
    let unasked = stage.env.run(&["approve", "1"]);
    assert_eq!(unasked.code, 1);
    assert!(unasked.stderr.contains("\n  command: make test\n"), "{}", unasked.stderr);
    assert!(unasked.stderr.contains("hint: pass --yes"), "{}", unasked.stderr);

    let ran = stage.env.run(&["approve", "1", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        words[0].starts_with("claude-s1 asks for leave to use Bash; it can be answered from here for 9m")
    );
    assert_eq!(words[1..], ["  command: make test", "allowed: claude-s1 goes on"]);
    assert_eq!(stage.end_of("one"), (0, ALLOWED.to_owned()));
    assert_eq!(stage.state_of_session(), "working");
    let why = stage.env.run(&["why", "claude-s1"]).stdout;
    assert!(why.contains("the human allowed it by cli"), "{why}");

    let wait = stage.ask("two", "rm -r build");
    let ran = stage.env.run(&["deny", &wait.id, "--yes", "--reason", "not \"that\""]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let denied = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"not \"that\""}}}"#;
    assert_eq!(stage.end_of("two"), (0, denied.to_owned()));
    assert_eq!(stage.state_of_session(), "working");

    let decisions = stage.decisions();
    assert_eq!(decisions.len(), 2);
    assert_eq!((&decisions[0]["outcome"], &decisions[0]["told"]), (&json!("allow"), &json!(ALLOWED)));
    assert_eq!((&decisions[1]["outcome"], &decisions[1]["told"]), (&json!("deny"), &json!(denied)));
    assert_eq!(decisions[1]["reason"], "not \"that\"");
    assert_eq!(decisions[1]["hookId"].as_str().map(str::len), Some(wait.id.len()));
    assert!(decisions[1]["human"]["pid"].as_u64().unwrap() > 1 && decisions[1]["human"]["start"].is_u64());
}

#[test]
fn what_is_stale_changed_repeated_unknown_or_not_the_humans_is_refused() {
    if !by_human("what_is_stale_changed_repeated_unknown_or_not_the_humans_is_refused") {
        return;
    }
    let mut stage = Stage::new();
    let client = stage.client();
    let wait = stage.ask("one", "make");
    let answer = answer_to(&wait, "allow");
    assert_eq!(refused(client.answer("01ARZ3NDEKTSV4RRFFQ69G5FAV", &answer)).0, 404);
    let changed = AnswerWait { input_hash: input_hash("claude-s1", "Bash", "{}"), ..answer.clone() };
    let words = "claude-s1: it asks for something else than what was shown";
    assert_eq!(refused(client.answer(&wait.id, &changed)), (409, words.into()));
    let odd = AnswerWait { outcome: "yes".into(), ..answer.clone() };
    assert_eq!(refused(client.answer(&wait.id, &odd)).0, 400);

    // Over TCP nobody tells who asks.
    for (request, body) in [
        ("GET /v1/waits", String::new()),
        (&*format!("POST /v1/waits/{}/answer", wait.id), serde_json::to_string(&answer).unwrap()),
    ] {
        let address = &stage.daemon.as_ref().unwrap().address;
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 403 ") && text.contains("over the unix socket alone"), "{text}");
    }

    // The agent that asks, and what it starts, say yes to themselves.
    let agent = stage.agent.id();
    let forged = stage.agent_runs("forged", "approve 1 --yes");
    assert_eq!(forged.code, 1, "{}", forged.stderr);
    assert!(forged.stderr.contains(&format!("runs below an agent (process {agent})")), "{}", forged.stderr);
    assert!(stage.text("one", "rc").is_none() && stage.told().is_empty(), "nothing of that was told");

    assert_eq!(client.answer(&wait.id, &answer).unwrap().told, ALLOWED);
    assert_eq!(stage.end_of("one"), (0, ALLOWED.to_owned()));
    let words = "claude-s1: it was answered already";
    assert_eq!(refused(client.answer(&wait.id, &answer)), (409, words.into()));

    let stale = stage.ask("two", "make all");
    stage.call("two-over", "PostToolUse", &json!({
        "tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_use_id": "two", "tool_response": "ok",
    }));
    assert_eq!(stage.end_of("two"), (0, String::new()));
    let words = "claude-s1: it does not wait any more";
    assert_eq!(refused(client.answer(&stale.id, &answer_to(&stale, "allow"))), (409, words.into()));

    // Who was refused, and why, is written down.
    assert_eq!(stage.told().len(), 1);
    let refusals: Vec<(String, Option<u64>)> = stage
        .decisions()
        .iter()
        .filter_map(|decision| {
            let human = &decision["human"];
            Some((human["refused"].as_str()?.to_owned(), human["pid"].as_u64()))
        })
        .collect();
    let us = Some(u64::from(std::process::id()));
    let words: Vec<&str> = refusals.iter().map(|(words, _)| words.as_str()).collect();
    assert_eq!(words.len(), 5, "{words:?}");
    assert_eq!(refusals[0], ("it asks for something else than what was shown".into(), us));
    assert_eq!(refusals[1], ("answers are taken over the unix socket alone".into(), None));
    assert!(refusals[2].0.contains("runs below an agent") && refusals[2].1 != us, "{words:?}");
    assert_eq!(refusals[3], ("it was answered already".into(), us));
    assert_eq!(refusals[4], ("it does not wait any more".into(), us));
}

#[test]
fn of_a_thousand_answers_one_wins() {
    if !by_human("of_a_thousand_answers_one_wins") {
        return;
    }
    let mut stage = Stage::new();
    let wait = stage.ask("one", "make");
    let (won, late, wins) = (AtomicUsize::new(0), AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    let together = Barrier::new(40);
    std::thread::scope(|scope| {
        for thread in 0..40 {
            let (wait, client) = (&wait, stage.client().with_timeout(LONG));
            let (won, late, wins, together) = (&won, &late, &wins, &together);
            scope.spawn(move || {
                let outcome = if thread % 2 == 0 { "allow" } else { "deny" };
                let answer = answer_to(wait, outcome);
                together.wait();
                for _ in 0..25 {
                    match client.answer(&wait.id, &answer) {
                        Ok(answered) => {
                            won.fetch_add(1, Ordering::Relaxed);
                            wins.lock().unwrap().push(answered.told);
                        }
                        Err(ClientError::Refused { status: 409, .. }) => {
                            late.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(other) => assert_eq!(other.to_string(), ""),
                    }
                }
            });
        }
    });
    assert_eq!((won.into_inner(), late.into_inner()), (1, 999));
    let wins = wins.into_inner().unwrap();
    assert_eq!(stage.end_of("one"), (0, wins[0].clone()), "the hook printed the one that won");
    let told = stage.told();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["told"], wins[0]);
    assert_eq!(stage.decisions().len(), 2, "who tried again is told of once");
}

#[test]
fn a_hold_ends_at_once_with_its_wait() {
    let mut stage = Stage::new();
    let call = |command: &str, id: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id, "tool_response": "ok"});
    let mut slowest = Duration::ZERO;
    for (round, (event, more)) in [
        ("PostToolUse", call("make", "t0")),
        ("UserPromptSubmit", json!({"prompt": "no"})),
        ("Stop", json!({})),
        ("SessionEnd", json!({"reason": "exit"})),
    ]
    .into_iter()
    .enumerate()
    {
        stage.call(&format!("p{round}"), "UserPromptSubmit", &json!({"prompt": "go on"}));
        stage.ask(&format!("t{round}"), "make");
        stage.hook(&format!("over{round}"), event, &more);
        until("the event", || stage.file(&format!("over{round}"), "rc").exists());
        let begun = Instant::now();
        assert_eq!(stage.end_of(&format!("t{round}")), (0, String::new()), "{event}");
        slowest = slowest.max(begun.elapsed());
    }
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    assert!(stage.decisions().is_empty());
}

#[test]
fn the_daemons_end_lets_hooks_go_and_a_hook_that_is_killed_cannot_be_answered() {
    let mut stage = Stage::new();
    let wait = stage.ask("one", "make");
    let pid: i32 = stage.text("one", "pid").unwrap().trim().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    until("the end of the hold", || {
        stage.client().waits().unwrap().iter().all(|wait| wait.held_until.is_none())
    });
    if by_human("an_answer_to_a_killed_hook") {
        let words = "claude-s1: its hook does not wait for an answer from here: answer it where it asks";
        assert_eq!(refused(stage.client().answer(&wait.id, &answer_to(&wait, "allow"))), (409, words.into()));
        let ran = stage.env.run(&["approve", "1", "--yes"]);
        assert_eq!(ran.code, 5);
        assert!(ran.stderr.starts_with("claude-s1 is not held any more"), "{}", ran.stderr);
    }
    assert_eq!(stage.state_of_session(), "stuck", "it still asks where it sits");

    stage.request("sub", "make sub", &sub_input());
    let begun = Instant::now();
    stage.daemon = None;
    assert_eq!(stage.end_of("sub"), (0, String::new()));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let spooled = herdbook_wire::spool::count(&stage.state().join("spool")).unwrap();
    assert_eq!(spooled, 0, "it was kept");
}

#[test]
fn two_waits_of_a_session_are_answered_one_by_one() {
    if !by_human("two_waits_of_a_session_are_answered_one_by_one") {
        return;
    }
    let mut stage = Stage::new();
    let main = stage.ask("main", "make");
    let sub = stage.request("sub", "make sub", &sub_input());
    assert_eq!((&sub.agent_id, &main.agent_id), (&Some("a1".to_owned()), &None));
    let which = stage.env.run(&["approve", "1", "--yes"]);
    assert_eq!(which.code, 4);
    assert!(
        which.stderr.contains("name one by its id") && which.stderr.contains(&sub.id),
        "{}",
        which.stderr
    );
    assert_eq!(stage.env.run(&["approve", &sub.id, "--yes"]).code, 0);
    assert_eq!(stage.end_of("sub"), (0, ALLOWED.to_owned()));
    assert_eq!(stage.state_of_session(), "stuck");
    assert!(stage.text("main", "rc").is_none(), "the other one still waits");
    assert_eq!(stage.env.run(&["deny", "1", "--yes"]).code, 0);
    assert!(stage.end_of("main").1.contains(r#""behavior":"deny""#));
    assert_eq!(stage.state_of_session(), "working");
}

#[test]
fn without_the_switch_or_a_longer_entry_nothing_is_held() {
    let mut stage = Stage::new();
    stage.switch(false);
    let input = json!({"tool_name": "Bash", "tool_input": {"command": "make"}});
    stage.call("off", "PermissionRequest", &input);
    let ran = stage.env.run(&["approve", "1", "--yes"]);
    assert_eq!(ran.code, 5);
    assert!(
        ran.stderr.starts_with("claude-s1 is not held: hold is off\nhint: `herdbook hold on`"),
        "{}",
        ran.stderr
    );
    assert!(stage.env.run(&["deny"]).stderr.contains("hold is off"));
    // On again, but the entry grants no time.
    stage.switch(true);
    std::fs::remove_file(stage.state().join("entry-limits.json")).unwrap();
    stage.call("prompt", "UserPromptSubmit", &json!({"prompt": "x"}));
    stage.call("short", "PermissionRequest", &with(&input, "permission_mode", "default"));
    // A question wants words, and is answered where it is asked.
    stage.switch(true);
    stage.call(
        "question",
        "PermissionRequest",
        &json!({
            "tool_name": "AskUserQuestion", "tool_input": {"questions": []},
        }),
    );
    assert!(stage.client().waits().unwrap().iter().all(|wait| wait.held_until.is_none()));
}
