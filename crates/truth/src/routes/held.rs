//! Permission requests of Claude Code that are answered from elsewhere, while its own dialog is open.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::facts::{Facts, facts, read_as};
use super::forms::WORD;
use super::live;
use super::scene::{self, Mode, scenario};
use super::write;
use crate::herd::Herd;
use crate::lines;
use crate::play::{Places, drive};

/// How often is looked.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long an answer may take to come back, and the dialog to go.
const SOON: Duration = Duration::from_secs(3);

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Nobody from elsewhere, and nothing is held: how it is without us.
    NobodyElse,
    /// `herdbook approve`.
    Approve,
    /// `herdbook deny`, with a reason.
    Deny,
    /// The human at the terminal; `herdbook approve` comes later.
    TerminalFirst,
}

impl By {
    /// Each of them.
    pub const ALL: [By; 4] = [By::NobodyElse, By::Approve, By::Deny, By::TerminalFirst];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            By::NobodyElse => "dialog, nothing held",
            By::Approve => "held, approve",
            By::Deny => "held, deny",
            By::TerminalFirst => "held, terminal first",
        }
    }
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// What became of the run.
    pub facts: Facts,
    /// The dialog as it was shown.
    pub dialog: String,
    /// How long after the request that called the tool the dialog was there, in milliseconds.
    pub shown_ms: f64,
    /// How long after our answer the dialog was gone, in milliseconds.
    pub gone_ms: Option<f64>,
    /// How long after the answer at the terminal the hold was over, in milliseconds.
    pub let_go_ms: Option<f64>,
    /// What is not as it should be.
    pub amiss: Vec<String>,
}

/// What the one beside the terminal saw.
#[derive(Default)]
struct Beside {
    dialog: String,
    said: String,
    code: Option<i32>,
    gone_ms: Option<f64>,
    let_go_ms: Option<f64>,
}

/// Plays it.
///
/// # Errors
/// It could not be played.
pub fn play(by: By, places: &Places) -> Result<Held, String> {
    let folder = places.anew("held")?;
    let herd = Herd::start(&folder, &places.programs, &places.path)?;
    let out = folder.join("run");
    let socket = crate::play::socket(&out)?;
    let script = folder.join("scenario.json");
    let mode = if matches!(by, By::Approve | By::Deny) { Mode::Held } else { Mode::Asked };
    write(&script, &scenario("claude", mode).to_string())?;
    let quit = AtomicBool::new(false);
    let (driven, beside) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(by, &herd, &socket, &quit));
        let mut before = live::before(&herd, &places.programs, "claude");
        if by != By::NobodyElse {
            let herdbook = places.programs.join("herdbook");
            before.push_str(&format!(" && '{}' hold on claude --for 60s --yes", herdbook.display()));
        }
        let script = script.display().to_string();
        let driven = drive(&script, places, &herd, &out, &before, &["--no-capture", "--dump"]);
        quit.store(true, Ordering::Relaxed);
        (driven, watcher.join().unwrap_or_default())
    });
    driven?;
    let facts = facts(&out, scene::dialog("claude"), WORD);
    let mut amiss = Vec::new();
    let mut must = |holds: bool, words: &str| {
        if !holds {
            amiss.push(words.to_owned());
        }
    };
    must(!beside.dialog.is_empty(), "no dialog was shown");
    must(facts.ran == (by != By::Deny), "the tool ran, or did not, against the answer");
    must(facts.last_words, "the client did not go on");
    match by {
        By::NobodyElse => {}
        By::Approve => must(beside.code == Some(0), &format!("approve said: {}", beside.said)),
        By::Deny => {
            must(beside.code == Some(0), &format!("deny said: {}", beside.said));
            must(!read_as(&out, WORD).is_empty(), "the model does not read the reason");
        }
        By::TerminalFirst => {
            must(beside.code != Some(0), &format!("approve was not too late: {}", beside.said));
        }
    }
    if matches!(by, By::Approve | By::Deny) {
        must(beside.gone_ms.is_some(), "the dialog did not close");
    }
    Ok(Held {
        facts,
        dialog: beside.dialog,
        shown_ms: shown_ms(&out),
        gone_ms: beside.gone_ms,
        let_go_ms: beside.let_go_ms,
        amiss,
    })
}

/// Waits for the dialog, and answers.
fn watch(by: By, herd: &Herd, socket: &str, quit: &AtomicBool) -> Beside {
    let mut beside = Beside::default();
    let screen = || {
        let shown =
            herd.command("tmux", &[]).args(["-S", socket, "capture-pane", "-p", "-t", "dev:"]).output();
        shown.map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned()).unwrap_or_default()
    };
    let asks = |text: &str| text.contains(scene::dialog("claude"));
    while !quit.load(Ordering::Relaxed) {
        let text = screen();
        if asks(&text) {
            beside.dialog = from_question(&text);
            break;
        }
        thread::sleep(LOOK_AGAIN);
    }
    if beside.dialog.is_empty() || by == By::NobodyElse {
        return beside;
    }
    let waits = || -> Value {
        let done = herd.herdbook(&["approve", "--json"], &[]);
        done.ok().and_then(|done| serde_json::from_slice(&done.stdout).ok()).unwrap_or_default()
    };
    let is_held = |waits: &Value| waits.pointer("/items/0").is_some();
    let waiting = waits();
    let Some(wait) = waiting.pointer("/items/0/id").and_then(Value::as_str) else {
        beside.said = format!("nothing can be answered: {waiting}");
        return beside;
    };
    if by == By::TerminalFirst {
        while !quit.load(Ordering::Relaxed) && asks(&screen()) {
            thread::sleep(LOOK_AGAIN);
        }
        let began = Instant::now();
        while began.elapsed() < SOON && is_held(&waits()) {
            thread::sleep(LOOK_AGAIN);
        }
        beside.let_go_ms = Some(began.elapsed().as_secs_f64() * 1000.0);
    }
    let reason = format!("The {WORD} says so.");
    let words: &[&str] = match by {
        By::Deny => &["deny", wait, "--yes", "--reason", &reason],
        _ => &["approve", wait, "--yes"],
    };
    let began = Instant::now();
    match herd.herdbook(words, &[]) {
        Ok(done) => {
            beside.code = done.status.code();
            let said =
                [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).trim().to_owned());
            beside.said = said.join(" ");
        }
        Err(problem) => beside.said = problem,
    }
    while began.elapsed() < SOON {
        if !asks(&screen()) {
            beside.gone_ms = Some(began.elapsed().as_secs_f64() * 1000.0);
            break;
        }
        thread::sleep(LOOK_AGAIN);
    }
    beside
}

fn from_question(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let from = lines.iter().position(|line| line.contains(scene::dialog("claude"))).unwrap_or_default();
    lines.get(from..).unwrap_or_default().join("\n").trim_end().to_owned()
}

/// Milliseconds from the request that called the tool until the driver saw the dialog.
fn shown_ms(out: &Path) -> f64 {
    let requests = lines::read(&out.join("mock.ndjson"), usize::MAX);
    let called = requests.iter().find(|request| lines::text(request, "lane") == "main#0");
    let marks = lines::read(&out.join("marks.ndjson"), usize::MAX);
    let saw = marks.iter().find(|mark| lines::text(mark, "what").contains(scene::dialog("claude")));
    let at = |line: Option<&Value>| line.map_or(0.0, lines::seconds);
    (at(saw) - at(called)) * 1000.0
}
