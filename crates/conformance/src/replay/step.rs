//! The steps of a replay file: one JSON object a line, ordered by time.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::node::Problem;
use crate::replay::check::CheckKey;

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Milliseconds since the start of the replay.
    pub t_ms: u64,
    /// What happens.
    pub act: Act,
}

/// What happens in a step.
#[derive(Clone, Debug)]
pub enum Act {
    /// An adapter is called.
    Hook(Box<HookStep>),
    /// What tmux answers.
    Tmux(TmuxStep),
    /// A process is alive or not.
    Process {
        /// Its pid.
        pid: u32,
        /// It is there.
        alive: bool,
        /// The machine, where it is not ours.
        machine: Option<String>,
    },
    /// The daemon loses its memory; log and spool stay.
    Daemon(DaemonAct),
    /// Both clocks at this moment, in milliseconds.
    Clock {
        /// Unix time.
        wall_ms: u64,
        /// Monotonic time.
        mono_ms: u64,
    },
    /// A sample of a pane.
    Pane(Box<PaneStep>),
    /// A transcript grows.
    Append(AppendStep),
    /// What was decided about a hook call while its host waited.
    Decided(DecidedStep),
    /// Expectations, one a key.
    Check(Vec<CheckKey>),
}

/// A hook call.
#[derive(Clone, Debug)]
pub struct HookStep {
    /// The host whose adapter is called.
    pub agent: String,
    /// The agent's process, if known.
    pub pid: Option<u32>,
    /// The hook's environment.
    pub env: Vec<(String, String)>,
    /// The payload as written in the file.
    pub payload: Box<RawValue>,
    /// When the hook process started, where that is not when it arrives.
    pub origin_ms: Option<u64>,
    /// The agent's terminal: not said, none, or its name.
    pub tty: Option<Option<String>>,
    /// Pids upwards from the agent's process.
    pub ancestors: Vec<u32>,
    /// The machine, where it is not ours.
    pub machine: Option<String>,
    /// The native event name, where the adapter is told it as an argument.
    pub event: Option<String>,
}

/// What is added to a transcript.
#[derive(Clone, Debug)]
pub struct AppendStep {
    /// `transcript`, `rollout`, or `subagent`.
    pub word: String,
    /// The session, where the step names one.
    pub id: Option<String>,
    /// The file, where the step names one.
    pub path: Option<String>,
    /// The text: a line with its newline, or a part of one.
    pub text: String,
}

/// What was decided about a hook call.
#[derive(Clone, Debug)]
pub struct DecidedStep {
    /// Which hook call of the replay, from 1.
    pub hook: usize,
    /// `continue`, `allow`, `ask` or `deny`.
    pub outcome: &'static str,
    /// The route that answered; none: the human did.
    pub route: Option<String>,
    /// The host was told.
    pub told: bool,
}

/// What tmux answers.
#[derive(Clone, Debug, Default)]
pub struct TmuxStep {
    /// Socket, pid and start time of the server.
    pub server: Option<(String, u32, u64)>,
    /// All panes.
    pub panes: Option<Vec<PaneRow>>,
    /// It failed, with these words.
    pub error: Option<String>,
    /// The pane with the human's focus.
    pub focus: Option<(String, u64)>,
}

/// A pane in a list. What else a case tells of it is for people: a folder, for one, names no session (case F-042).
#[derive(Clone, Debug, Deserialize)]
pub struct PaneRow {
    /// Its id.
    pub id: String,
}

/// A sample of a pane.
#[derive(Clone, Debug)]
pub struct PaneStep {
    /// Its id.
    pub pane: String,
    /// What it shows.
    pub text: String,
    /// Its title.
    pub title: String,
    /// Its foreground command, empty if not said.
    pub command: String,
}

/// What becomes of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonAct {
    /// It is stopped.
    Stop,
    /// It is started.
    Start,
    /// Both.
    Restart,
}

/// Reads a replay file.
///
/// # Errors
/// The first line that is no step, with its number; times that go backwards; a file without a check.
pub fn read(file: &str, text: &str, dir: &Path) -> Result<Vec<Step>, Problem> {
    let mut steps = Vec::new();
    let mut last_ms = 0;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = |what: String| format!("{file}:{}: {what}", index + 1);
        let step = Members::parse(line).and_then(|members| members.step(dir)).map_err(at)?;
        if step.t_ms < last_ms {
            return Err(at(format!("time goes backwards: {} after {last_ms}", step.t_ms)));
        }
        last_ms = step.t_ms;
        steps.push(step);
    }
    if steps.iter().any(|step| matches!(step.act, Act::Check(_))) {
        Ok(steps)
    } else {
        Err(format!("{file}: has no check: it expects nothing"))
    }
}

/// Returns the hosts whose adapters a replay calls, each once.
pub fn agents(steps: &[Step]) -> Vec<String> {
    let mut agents: Vec<String> = Vec::new();
    for step in steps {
        if let Act::Hook(hook) = &step.act
            && !agents.contains(&hook.agent)
        {
            agents.push(hook.agent.clone());
        }
    }
    agents
}

/// The members of a line as raw text: payloads must reach the adapter byte for byte.
struct Members(BTreeMap<String, Box<RawValue>>);

impl Members {
    fn parse(line: &str) -> Result<Members, String> {
        serde_json::from_str(line).map(Members).map_err(|error| format!("is not a JSON object: {error}"))
    }

    fn maybe<T: for<'de> Deserialize<'de>>(&self, key: &str) -> Result<Option<T>, String> {
        let Some(raw) = self.0.get(key) else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|error| format!("field '{key}': {error}"))
    }

    fn get<T: for<'de> Deserialize<'de>>(&self, key: &str) -> Result<T, String> {
        self.maybe(key)?.ok_or_else(|| format!("field '{key}' is missing"))
    }

    fn step(&self, dir: &Path) -> Result<Step, String> {
        let t_ms = self.get("t_ms")?;
        let word: String = self.get("do")?;
        let act = match word.as_str() {
            "hook" => Act::Hook(Box::new(self.hook()?)),
            "append" => Act::Append(self.append()?),
            "decided" => Act::Decided(self.decided()?),
            "pane" => {
                let screen: String = self.get("screen")?;
                let text = std::fs::read_to_string(dir.join(&screen))
                    .map_err(|_| format!("file '{screen}' is not there"))?;
                Act::Pane(Box::new(PaneStep {
                    pane: self.get("pane")?,
                    text,
                    title: self.maybe("title")?.unwrap_or_default(),
                    command: self.maybe("command")?.unwrap_or_default(),
                }))
            }
            "proc" => Act::Process {
                pid: self.get("pid")?,
                alive: self.get("alive")?,
                machine: self.maybe("machine")?,
            },
            "tmux" => Act::Tmux(self.tmux()?),
            "daemon" => Act::Daemon(match self.get::<String>("action")?.as_str() {
                "stop" => DaemonAct::Stop,
                "start" => DaemonAct::Start,
                "restart" => DaemonAct::Restart,
                other => return Err(format!("action '{other}' is none of stop, start, restart")),
            }),
            "clock" => Act::Clock { wall_ms: self.get("wall_ms")?, mono_ms: self.get("mono_ms")? },
            "check" => Act::Check(self.check()?),
            other => return Err(format!("step '{other}' is not known")),
        };
        Ok(Step { t_ms, act })
    }

    fn hook(&self) -> Result<HookStep, String> {
        for key in ["agent", "pid", "env", "payload"] {
            if !self.0.contains_key(key) {
                return Err(format!("hook lacks '{key}'"));
            }
        }
        // Serde reads a null member as missing; here null says that there is no terminal.
        let tty = match self.0.get("tty").map(|raw| raw.get()) {
            None => None,
            Some("null") => Some(None),
            Some(_) => Some(Some(self.get("tty")?)),
        };
        let env: BTreeMap<String, String> = self.get("env")?;
        Ok(HookStep {
            agent: self.get("agent")?,
            pid: self.maybe::<Option<u32>>("pid")?.flatten(),
            env: env.into_iter().collect(),
            payload: self.0["payload"].clone(),
            origin_ms: self.maybe("origin_ms")?,
            tty,
            ancestors: self.maybe("ancestors")?.unwrap_or_default(),
            machine: self.maybe("machine")?,
            event: self.maybe("event")?,
        })
    }

    fn decided(&self) -> Result<DecidedStep, String> {
        const OUTCOMES: [&str; 4] = ["continue", "allow", "ask", "deny"];
        let word: String = self.get("outcome")?;
        let outcome = OUTCOMES.into_iter().find(|outcome| *outcome == word);
        Ok(DecidedStep {
            hook: self.get("hook")?,
            outcome: outcome.ok_or_else(|| format!("outcome '{word}' is none of {}", OUTCOMES.join(", ")))?,
            route: self.maybe("route")?,
            told: self.maybe("told")?.unwrap_or(true),
        })
    }

    fn append(&self) -> Result<AppendStep, String> {
        let file: String = self.get("file")?;
        let (word, id) = match file.split_once(':') {
            Some((word, id)) => (word.to_owned(), Some(id.to_owned())),
            None => (file, None),
        };
        let text = match (self.0.get("line"), self.maybe::<String>("raw")?) {
            (Some(line), None) => format!("{}\n", line.get()),
            (None, Some(raw)) => raw,
            _ => return Err("append needs 'line' or 'raw'".into()),
        };
        Ok(AppendStep { word, id, path: self.maybe("path")?, text })
    }

    fn tmux(&self) -> Result<TmuxStep, String> {
        #[derive(Deserialize)]
        struct FocusRow {
            pane: String,
            client_active_ms_ago: u64,
        }
        let focus: Option<FocusRow> = self.maybe("focus")?;
        Ok(TmuxStep {
            server: self.maybe("server")?,
            panes: self.maybe("panes")?,
            error: self.maybe("error")?,
            focus: focus.map(|row| (row.pane, row.client_active_ms_ago)),
        })
    }

    fn check(&self) -> Result<Vec<CheckKey>, String> {
        let mut keys = Vec::new();
        for (key, raw) in &self.0 {
            if !matches!(key.as_str(), "t_ms" | "do" | "note") {
                let written: Value =
                    serde_json::from_str(raw.get()).map_err(|error| format!("field '{key}': {error}"))?;
                keys.push(CheckKey::parse(key, written)?);
            }
        }
        if keys.is_empty() { Err("the check asserts nothing".into()) } else { Ok(keys) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        read("replay.jsonl", text, Path::new("/nonexistent")).unwrap_err()
    }

    #[test]
    fn a_payload_keeps_its_text() {
        let text = concat!(
            r#"{"t_ms": 5, "do": "hook", "agent": "claude", "pid": null, "env": {"A": "b"}, "tty": null, "#,
            r#""payload": {"b": 1.0, "a": "\ud83d" }}"#,
            "\n\n",
            r#"{"t_ms": 5, "do": "check", "queue": []}"#
        );
        let steps = read("replay.jsonl", text, Path::new("/nonexistent")).unwrap();
        let Act::Hook(hook) = &steps[0].act else { panic!("the first step is a hook") };
        assert_eq!(hook.payload.get(), r#"{"b": 1.0, "a": "\ud83d" }"#);
        assert_eq!((hook.pid, &hook.tty), (None, &Some(None)));
        assert_eq!(agents(&steps), ["claude"]);
    }

    #[test]
    fn bad_steps_are_named_with_their_line() {
        assert_eq!(problem("\n{\"t_ms\": 1}"), "replay.jsonl:2: field 'do' is missing");
        assert_eq!(problem(r#"{"t_ms": 1, "do": "dance"}"#), "replay.jsonl:1: step 'dance' is not known");
        assert_eq!(
            problem(r#"{"t_ms": 1, "do": "decided", "hook": 1, "outcome": "yes"}"#),
            "replay.jsonl:1: outcome 'yes' is none of continue, allow, ask, deny"
        );
        assert_eq!(problem(r#"{"t_ms": 1, "do": "hook", "agent": "x"}"#), "replay.jsonl:1: hook lacks 'pid'");
        assert_eq!(
            problem(r#"{"t_ms": 1, "do": "check", "quue": []}"#),
            "replay.jsonl:1: key 'quue' is not known"
        );
        assert_eq!(
            problem(r#"{"t_ms": 1, "do": "check", "note": "x"}"#),
            "replay.jsonl:1: the check asserts nothing"
        );
        assert_eq!(
            problem(
                "{\"t_ms\": 2, \"do\": \"check\", \"count\": 0}\n{\"t_ms\": 1, \"do\": \"check\", \"count\": 0}"
            ),
            "replay.jsonl:2: time goes backwards: 1 after 2"
        );
        assert_eq!(
            problem(r#"{"t_ms": 1, "do": "clock", "wall_ms": 1, "mono_ms": 1}"#),
            "replay.jsonl: has no check: it expects nothing"
        );
        assert_eq!(
            problem(r#"{"t_ms": 1, "do": "pane", "pane": "%1", "screen": "gone.txt"}"#),
            "replay.jsonl:1: file 'gone.txt' is not there"
        );
    }
}
