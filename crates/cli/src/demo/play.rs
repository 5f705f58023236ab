//! The story that the stand-ins play.

use std::collections::BTreeMap;
use std::time::Duration;

use herdbook_log::Reader;
use serde_json::json;

use super::payloads::{CLAUDE_SESSION, CODEX_SESSION, Cast, HARNESS_SESSION};
use super::stage::Stage;
use super::stand_in::{Act, Hello};
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::listing;
use crate::model::{Row, sort};
use crate::printer::{Line, Printer, Style};
use crate::text::counted;

/// How long a person is given to read, when a person reads.
const READING: Duration = Duration::from_millis(1_700);

/// The story.
pub struct Play<'a> {
    stage: Stage,
    daemon: Daemon,
    printer: &'a mut Printer,
    claude: Cast,
    codex: Cast,
    nightly: Cast,
    claude_pid: u32,
}

impl<'a> Play<'a> {
    /// Sets the stage: the daemon runs, the stand-ins are on it.
    ///
    /// # Errors
    /// Something could not be started.
    pub fn open(mut stage: Stage, printer: &'a mut Printer) -> Result<Play<'a>, Problem> {
        let folder = stage.folder().display().to_string();
        printer.line(&Line::new().styled("Herdbook, a demonstration", Style::Bold))?;
        printer.line(&Line::new().own("No agent, no model, no network: stand-ins send what agents send."))?;
        printer.line(&Line::new().own("A daemon of its own runs in ").text(&folder, Style::Dim))?;
        stage.start_daemon()?;
        let whereabouts = if stage.has_tmux() {
            "Three stand-ins play in the panes of a tmux server of its own: claude, codex, and a harness."
        } else {
            "tmux is not here, so three stand-ins play without panes: claude, codex, and a harness."
        };
        printer.line(&Line::new().own(whereabouts))?;
        let daemon = stage.daemon()?;
        let Hello { pid: claude_pid, .. } = stage.enter("claude")?;
        stage.enter("codex")?;
        stage.enter("nightly")?;
        let cast = |name, session, folder: &str| Cast { name, session, cwd: format!("{folder}/work") };
        let (claude, codex, nightly) = (
            cast("claude", CLAUDE_SESSION, &folder),
            cast("codex", CODEX_SESSION, &folder),
            cast("nightly", HARNESS_SESSION, &folder),
        );
        Ok(Play { stage, daemon, printer, claude, codex, nightly, claude_pid })
    }

    /// Plays it to its end.
    ///
    /// # Errors
    /// The daemon did not say what it should, or somebody interrupted.
    pub fn run(&mut self) -> Result<(), Problem> {
        self.fill()?;
        self.skip()?;
        self.answer()?;
        self.survive()?;
        self.drain()?;
        self.show_record()
    }

    fn fill(&mut self) -> Result<(), Problem> {
        self.scene("claude and codex are given work.")?;
        self.claude("SessionStart", json!({ "source": "startup" }), "claude starts")?;
        self.claude(
            "UserPromptSubmit",
            json!({ "prompt": "Make the shop's tests pass" }),
            "> Make the shop's tests pass",
        )?;
        self.codex("SessionStart", json!({ "source": "startup" }), "codex starts")?;
        self.codex("UserPromptSubmit", json!({ "prompt": "Explain the cache" }), "> Explain the cache")?;
        self.wait_for_states(&[("claude", "working"), ("codex", "working")])?;
        self.show()?;

        self.scene("claude wants to run a command, and needs your yes.")?;
        let tool = json!({ "tool_name": "Bash", "tool_input": { "command": "npm install" }, "tool_use_id": "toolu_01demo" });
        self.claude("PreToolUse", tool, "Bash: npm install")?;
        let ask = json!({ "tool_name": "Bash", "tool_input": { "command": "npm install" } });
        self.claude("PermissionRequest", ask, "Run npm install? (y/n)")?;
        self.wait_for_queue(&["claude"])?;
        self.show()?;

        self.scene("codex has answered; a harness posts that its build is red.")?;
        let last = json!({ "stop_hook_active": false, "last_assistant_message": "The cache keeps pages for an hour. Shall I shorten that?" });
        self.codex("Stop", last, "The cache keeps pages for an hour. Shall I shorten that?")?;
        self.post("registered", json!({}), "nightly checks start")?;
        let red = json!({ "reason": "stopped", "message": "Build is red: 3 tests failed. Which first?" });
        self.post("stuck", red, "Build is red: 3 tests failed. Which first?")?;
        self.wait_for_queue(&["claude", "codex", "nightly"])?;
        self.show()
    }

    fn skip(&mut self) -> Result<(), Problem> {
        self.scene("Not now: `herdbook skip` puts the first behind the others for 30 s.")?;
        self.daemon.ask(|client| client.skip(None))?;
        self.wait_for_queue(&["codex", "nightly", "claude"])?;
        self.show()
    }

    fn answer(&mut self) -> Result<(), Problem> {
        self.scene("You say yes to claude in its pane, and give codex its next prompt.")?;
        let ran = json!({
            "tool_name": "Bash", "tool_input": { "command": "npm install" }, "tool_use_id": "toolu_01demo",
            "tool_response": { "stdout": "added 12 packages", "stderr": "", "interrupted": false },
        });
        self.claude("PostToolUse", ran, "y\nadded 12 packages")?;
        self.codex("UserPromptSubmit", json!({ "prompt": "Yes, ten minutes" }), "> Yes, ten minutes")?;
        self.wait_for_queue(&["nightly"])?;
        self.show()
    }

    fn survive(&mut self) -> Result<(), Problem> {
        self.scene(
            "The daemon is ended. codex finishes all the same; its hook keeps the news in the spool.",
        )?;
        self.stage.stop_daemon();
        let last = json!({ "stop_hook_active": false, "last_assistant_message": "Done: pages are kept for ten minutes." });
        self.codex("Stop", last, "Done: pages are kept for ten minutes.")?;
        let waiting = self.daemon.spooled();
        let words = format!("daemon down · {waiting} waiting");
        self.printer.line(&Line::new().own("  status line: ").text(&words, Style::Alarm))?;
        self.stage.start_daemon()?;
        self.wait_for_queue(&["nightly", "codex"])?;
        self.printer
            .line(&Line::new().own("  The daemon is back: nothing was lost, and who waited still waits."))?;
        self.show()
    }

    fn drain(&mut self) -> Result<(), Problem> {
        self.scene("All are answered or end: the queue drains.")?;
        self.post("unstuck", json!({}), "retrying")?;
        self.post("ended", json!({}), "nightly checks end")?;
        self.codex("SessionEnd", json!({ "reason": "other" }), "codex ends")?;
        let last = json!({ "stop_hook_active": false, "last_assistant_message": "All tests pass." });
        self.claude("Stop", last, "All tests pass.")?;
        self.claude("SessionEnd", json!({ "reason": "prompt_input_exit" }), "claude ends")?;
        self.wait_for_states(&[("claude", "ended"), ("codex", "ended"), ("nightly", "ended")])?;
        self.wait_for_queue(&[])?;
        self.show()
    }

    fn show_record(&mut self) -> Result<(), Problem> {
        self.scene("What was recorded, for good, in the journal:")?;
        self.stage.stop_daemon();
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let mut damaged = 0u64;
        for line in Reader::open(&self.stage.state().join("journal")) {
            match line {
                Ok(line) => *kinds.entry(line.kind).or_default() += 1,
                Err(_) => damaged += 1,
            }
        }
        for (kind, count) in &kinds {
            let means = match kind.as_str() {
                "hook" => "calls of claude's and codex's hooks, as they came",
                "normalized" => "events that the harness posted",
                "transition" => "changes of who waits, each with its causes",
                "human" => "what you did through Herdbook",
                "daemon" => "starts and ends of the daemon",
                _ => "",
            };
            let line = Line::new().text(&format!("  {count:>4} {kind:<11} "), Style::Plain);
            self.printer.line(&line.own("  ").styled(means, Style::Dim))?;
        }
        let damage = match damaged {
            0 => "every line is whole".to_owned(),
            _ => format!("{} not whole", counted(damaged, "place")),
        };
        let total = format!("  {} in all; {damage}", counted(kinds.values().sum(), "line"));
        self.printer.line(&Line::new().text(&total, Style::Plain))?;
        self.printer.line(&Line::new())?;
        self.printer.line(&Line::new().own("Daemon, panes and folder of the demonstration go now. For your own agents: `herdbook up`, then the README."))?;
        self.printer.flush()?;
        Ok(())
    }

    fn scene(&mut self, words: &'static str) -> Result<(), Problem> {
        if self.printer.is_read() {
            self.stage.pause(READING)?;
        }
        self.printer.line(&Line::new())?;
        self.printer.line(&Line::new().styled(words, Style::Bold))?;
        self.printer.flush()?;
        Ok(())
    }

    fn show(&mut self) -> Result<(), Problem> {
        let mut rows = self.daemon.rows()?;
        sort(&mut rows);
        listing::print(self.printer, &rows, self.stage.folder().to_str(), now_ms())?;
        self.printer.flush()?;
        Ok(())
    }

    fn claude(&mut self, event: &'static str, more: serde_json::Value, say: &str) -> Result<(), Problem> {
        let vars = [
            ("CLAUDE_CODE_ENTRYPOINT", "cli".to_owned()),
            ("CLAUDE_CODE_SESSION_ATTENDED", "1".to_owned()),
            ("CLAUDE_PID", self.claude_pid.to_string()),
        ];
        let act = Act::Hook {
            words: self.stage.hook_words("claude"),
            vars: vars.map(|(name, value)| (name.to_owned(), value)).into(),
            payload: self.claude.claude(event, more),
        };
        self.stage.tell(self.claude.name, say, act)
    }

    fn codex(&mut self, event: &'static str, more: serde_json::Value, say: &str) -> Result<(), Problem> {
        let (words, payload) = (self.stage.hook_words("codex"), self.codex.codex(event, more));
        self.stage.tell(self.codex.name, say, Act::Hook { words, vars: Vec::new(), payload })
    }

    fn post(&mut self, kind: &'static str, more: serde_json::Value, say: &str) -> Result<(), Problem> {
        let event = self.nightly.posted(kind, now_ms(), more);
        let address = self.stage.address().to_owned();
        self.stage.tell(self.nightly.name, say, Act::Post { address, event })
    }

    /// Waits until exactly these stand-ins are in the queue, in this order.
    fn wait_for_queue(&mut self, names: &[&str]) -> Result<(), Problem> {
        let (daemon, wanted) = (&self.daemon, names.iter().map(|name| self.key(name)).collect::<Vec<_>>());
        let what = if names.is_empty() {
            "an empty queue".to_owned()
        } else {
            format!("the queue {}", names.join(", "))
        };
        self.stage.wait_for(&what, |_| {
            let queue = daemon.ask(|client| client.queue())?;
            Ok(queue
                .iter()
                .map(|item| item.session_id.as_str())
                .eq(wanted.iter().map(String::as_str))
                .then_some(()))
        })
    }

    /// Waits until these stand-ins are in these states.
    fn wait_for_states(&mut self, states: &[(&str, &str)]) -> Result<(), Problem> {
        let daemon = &self.daemon;
        for (name, state) in states {
            let key = self.key(name);
            self.stage.wait_for(&format!("{name} {state}"), |_| {
                let rows: Vec<Row> = daemon.rows()?;
                Ok(rows.iter().any(|row| row.key() == key && row.session.state == *state).then_some(()))
            })?;
        }
        Ok(())
    }

    fn key(&self, name: &str) -> String {
        match name {
            "claude" => format!("claude-{}", self.claude.session),
            "codex" => format!("codex-{}", self.codex.session),
            _ => self.nightly.session.to_owned(),
        }
    }
}
