//! The scripted agent as a process at a real daemon. Both are killed, again and again.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use herdbook_api::{Client, Producer};

use herdbook_conformance::agent::command::LEFT;
use herdbook_conformance::agent::http::FateKind;
use herdbook_conformance::real::daemon::Daemon;
use herdbook_conformance::real::process;
use herdbook_conformance::real::scratch::Scratch;
use herdbook_conformance::real::tools::{Tools, parts};
use herdbook_events::catalog::EventType;
use herdbook_log::Sessions;
use herdbook_story::{Checker, History, Line, Options, Templates};
use serde_json::Value;

use crate::agent::labels;

/// The steps of the tale are shared out among so many sessions, each of which dies at its part of them.
const WALKS: usize = 6;
/// So many of them at a time.
const AT_ONCE: usize = 2;
/// The daemon is killed so often.
const DAEMONS: usize = 8;

/// Sessions that are followed.
const WATCHED: [&str; 3] = ["outlives", "walk-0", "walk-1"];
/// Who follows a session sees its end so long after it was written, on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The longer tier: every step with both ways to die, and more daemons.
fn is_slow() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the longer tier is asked for by the environment")]
    let slow = std::env::var_os("HERDBOOK_TEST_SLOW").is_some();
    slow
}

/// A daemon of our own, and what agents need to find it.
struct Stage {
    tools: Tools,
    scratch: Scratch,
    env: Vec<(String, String)>,
    /// Nobody writes any more, or something failed.
    is_over: AtomicBool,
}

impl Stage {
    /// Nothing where the daemon is not built.
    fn new(test: &str) -> Option<Stage> {
        let this = PathBuf::from(env!("CARGO_BIN_EXE_herdbook-conformance"));
        let Ok(tools) = Tools::find(None, None, &this, "/usr/local/bin:/usr/bin:/bin") else {
            println!("skipped: {test}: build the workspace first");
            return None;
        };
        let scratch = Scratch::new().unwrap();
        let env = scratch.env(&tools, Path::new("/nonexistent"));
        Some(Stage { tools, scratch, env, is_over: AtomicBool::new(false) })
    }

    fn daemon(&self) -> Daemon {
        Daemon::start(&self.tools, &self.scratch, &self.env).unwrap()
    }

    /// Where the agents of a key write what they send.
    fn sent(&self, key: &str) -> PathBuf {
        self.scratch.own_file(&format!("sent-{key}.jsonl"))
    }

    fn agent(&self, key: &str, fates: &[(FateKind, String)]) -> Child {
        let mut command = process::command(&self.tools.this, &self.env);
        command.args([parts::AGENT, key, "--socket"]).arg(self.scratch.socket());
        command.arg("--sent").arg(self.sent(key));
        for (kind, at) in fates {
            command.args(["--fate", &format!("{}@{at}", kind.as_str())]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Lets agents of a key run, one after the other, until one dies of its fate; without one to the end of the tale.
    fn run_until(&self, key: &str, fate: Option<(FateKind, String)>) {
        let fates = fate.as_slice();
        let end = loop {
            let end = process::exit_number(self.agent(key, fates).wait().unwrap());
            if end != i64::from(LEFT) {
                break end;
            }
        };
        assert_eq!(end, if fate.is_some() { -9 } else { 0 }, "{key} {fate:?}");
    }

    /// The one file of a session's log.
    fn log(&self, key: &str) -> PathBuf {
        Sessions::new(&self.scratch.state()).folder(key).join("0000000001.jsonl")
    }
}

/// The part of the steps that a session dies at, in order. From the second round on the ways to die change places.
fn deaths(walk: usize) -> Vec<(FateKind, String)> {
    let (key, round) = (format!("walk-{walk}"), walk / WALKS);
    let mut deaths = Vec::new();
    for (at, label) in labels().into_iter().enumerate().filter(|(at, _)| at % WALKS == walk % WALKS) {
        let kind = if (at / WALKS + round).is_multiple_of(2) { FateKind::Die } else { FateKind::DieUnread };
        deaths.push((kind, in_session(&key, &label)));
        if at % 13 == 5 {
            deaths.push((kind, format!("{key} resume")));
        }
    }
    deaths
}

/// The label of a step of the plain run, whose session is `s`, as one of another session.
fn in_session(key: &str, label: &str) -> String {
    format!("{key}{}", &label[1..])
}

/// One session, killed at its part of the steps.
fn walk(stage: &Stage, walk: usize) -> usize {
    let (key, deaths) = (format!("walk-{walk}"), deaths(walk));
    let count = deaths.len();
    for death in deaths {
        stage.run_until(&key, Some(death));
    }
    stage.run_until(&key, None);
    count
}

/// One session whose agent lives, while its daemon is killed at steps all over the tale.
fn outlive(stage: &Stage, mut daemon: Daemon) -> (Daemon, usize) {
    let key = "outlives";
    let labels: Vec<String> = labels().iter().map(|label| in_session(key, label)).collect();
    let every = labels.len() / if is_slow() { DAEMONS * 6 } else { DAEMONS };
    let at = |(nth, label): (usize, &String)| {
        (if nth % 2 == 0 { FateKind::Wait } else { FateKind::WaitUnread }, label.clone())
    };
    let fates: Vec<_> = labels.iter().skip(every / 2).step_by(every).enumerate().map(at).collect();
    let mut killed = 0;
    loop {
        let mut agent = stage.agent(key, &fates);
        let mut input = agent.stdin.take().unwrap();
        for line in BufReader::new(agent.stdout.take().unwrap()).lines() {
            assert_eq!(line.unwrap(), "now");
            daemon.kill().unwrap();
            killed += 1;
            input.write_all(b"\n").unwrap();
            daemon = stage.daemon();
        }
        match process::exit_number(agent.wait().unwrap()) {
            0 => {
                assert_eq!(killed, fates.len());
                return (daemon, killed);
            }
            end => assert_eq!(end, i64::from(LEFT)),
        }
    }
}

/// What somebody saw who followed a session to the end of its tale.
#[derive(Default)]
struct Seen {
    /// The lines of its log.
    lines: Vec<String>,
    /// How many events of each type were only live.
    live: BTreeMap<String, u64>,
}

/// Follows a session from before its first line, over every restart of the daemon; or as far as it comes.
fn watch(stage: &Stage, key: &str) -> Seen {
    let producer = Producer::new(Client::new(vec![stage.scratch.socket()]), key);
    let (mut seen, mut last_id) = (Seen::default(), String::new());
    while !stage.is_over.load(Ordering::Relaxed) {
        let stream = if last_id.is_empty() { producer.follow(0) } else { producer.follow_from(&last_id) };
        let Ok(stream) = stream else {
            // There is no log yet, or no daemon.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        // A stream that breaks is taken up again.
        for event in stream.map_while(Result::ok) {
            assert!(!matches!(event.event.as_str(), "reset" | "damaged"), "{key}: {event:?}");
            if event.id.is_empty() {
                *seen.live.entry(event.event).or_default() += 1;
                continue;
            }
            last_id = event.id;
            let is_end = event.data.contains("user-abandoned");
            seen.lines.push(event.data);
            if is_end {
                return seen;
            }
        }
    }
    seen
}

/// The lines of a log, whose rules are kept.
fn checked(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut checker = Checker::new(Options { strict: true, ..Options::native() });
    let mut found: Vec<_> = text.lines().flat_map(|line| checker.push(line)).collect();
    found.extend(checker.finish());
    assert_eq!(found, [], "{}", path.display());
    text.lines().map(str::to_owned).collect()
}

/// What the agents of a key said they sent, by session and the seq before it.
fn sent(path: &Path) -> BTreeMap<(String, u64), String> {
    let mut sent = BTreeMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |member: &str| line[member].as_str().unwrap().to_owned();
        let place = (text("session"), line["seq"].as_u64().unwrap());
        let earlier = sent.insert(place, text("messages"));
        assert!(earlier.is_none_or(|earlier| earlier == text("messages")), "{line}");
    }
    sent
}

/// Compares at every request; at some also with what the command prints.
fn assert_told_the_same(stage: &Stage, key: &str, of: &str, lines: &[String]) -> usize {
    let sent = sent(&stage.sent(of));
    let mut history = History::new(Templates::default());
    let mut requests = 0;
    for line in lines {
        let line = Line::read(line).unwrap();
        if line.event_type == "model.request-started" {
            let live = &sent[&(key.to_owned(), line.seq - 1)];
            assert_eq!(*live, history.messages().unwrap(), "{key} seq {}", line.seq);
            if requests % 40 == 9 {
                let seq = (line.seq - 1).to_string();
                assert_eq!(
                    printed(stage, &["replay", "--as", "messages", "--at", &seq], key),
                    format!("{live}\n")
                );
            }
            requests += 1;
        }
        history.apply(&line).unwrap();
    }
    requests
}

/// What `herdbook log …` prints about a session's file.
fn printed(stage: &Stage, words: &[&str], key: &str) -> String {
    let mut command = process::command(&stage.tools.herdbook, &stage.env);
    let output = command.arg("log").args(words).arg(stage.log(key)).output().unwrap();
    assert!(output.status.success(), "{words:?} {key}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn agents_and_daemons_are_killed_and_every_log_is_whole() {
    let Some(stage) = Stage::new("agents_and_daemons_are_killed_and_every_log_is_whole") else { return };
    let daemon = stage.daemon();
    let count = if is_slow() { 2 * WALKS } else { WALKS };
    let walks: Mutex<VecDeque<usize>> = Mutex::new((0..count).collect());
    let next = || walks.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (sender, arrived) = mpsc::channel();
    let (walked, outlived, seen) = std::thread::scope(|scope| {
        for key in WATCHED {
            let (sender, stage) = (sender.clone(), &stage);
            scope.spawn(move || sender.send((key, watch(stage, key))));
        }
        let outlives = scope.spawn(|| outlive(&stage, daemon));
        let walkers = [(); AT_ONCE]
            .map(|()| scope.spawn(|| std::iter::from_fn(next).map(|nth| walk(&stage, nth)).sum::<usize>()));
        let walked = walkers.map(|walker| walker.join());
        // It holds the daemon, which lives as long as somebody reads.
        let outlived = outlives.join();
        let is_well = walked.iter().all(Result::is_ok) && outlived.is_ok();
        let patience = if is_well { LIMIT } else { Duration::ZERO };
        let seen: Vec<(&str, Seen)> =
            WATCHED.iter().map_while(|_| arrived.recv_timeout(patience).ok()).collect();
        stage.is_over.store(true, Ordering::Relaxed);
        (walked, outlived.map(|(_, killed)| killed), seen)
    });
    let died: usize = walked.into_iter().map(Result::unwrap).sum();
    let killed = outlived.unwrap();
    assert_eq!(seen.len(), WATCHED.len(), "who follows a session sees its end");
    assert!(died > 246, "every step once, and some resumptions: {died}");
    for (key, seen) in &seen {
        assert_eq!(seen.lines.join("\n") + "\n", fs::read_to_string(stage.log(key)).unwrap(), "{key}");
    }
    for event_type in EventType::EPHEMERAL {
        let live = seen.iter().filter_map(|(_, seen)| seen.live.get(event_type.as_str())).sum::<u64>();
        assert!(live > 0, "{event_type:?} was never seen");
    }

    let mut types: BTreeMap<String, u64> = BTreeMap::new();
    let (mut lines, mut requests) = (0, 0);
    for of in (0..count).map(|walk| format!("walk-{walk}")).chain(["outlives".to_owned()]) {
        for key in [of.clone(), format!("{of}.docs"), format!("{of}.spike")] {
            let log = checked(&stage.log(&key));
            assert!(printed(&stage, &["check", "--strict"], &key).ends_with("0 errors, 0 warnings\n"));
            requests += assert_told_the_same(&stage, &key, &of, &log);
            lines += log.len();
            for line in &log {
                *types.entry(Line::read(line).unwrap().event_type).or_default() += 1;
            }
            assert!(!log.iter().any(|line| line.contains("ghp_0123")), "the secret is marked");
        }
    }
    for event_type in EventType::DURABLE {
        assert!(types.get(event_type.as_str()).is_some_and(|count| *count > 0), "{event_type:?} is missing");
    }
    println!("{died} agents and {killed} daemons killed, {lines} lines, {requests} requests compared");
}
