//! The real thing: the daemon, our hook, a route that was trusted, and a client that knows nothing of it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::facts::{Facts, facts, read_as};
use super::forms::{Sees, WORD};
use super::scene::{self, Mode, scenario};
use super::{write, write_program};
use crate::herd::Herd;
use crate::play::{Places, drive, install};
use crate::{lines, traces};

/// A route of the human's.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// Its id, which is its place: `tool/before/x`.
    pub id: &'static str,
    /// The program.
    pub text: &'static str,
    /// What stands beside it.
    pub toml: &'static str,
    /// It fails whenever it is run.
    pub fails: bool,
}

/// A client, the routes that see it, and what must be seen of it.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    /// What is shown.
    pub name: &'static str,
    /// The host.
    pub host: &'static str,
    /// The routes.
    pub scripts: &'static [Script],
    /// How the client is run.
    pub mode: Mode,
    /// What must be seen.
    pub sees: &'static [Sees],
    /// What the model must read.
    pub reads: &'static [&'static str],
    /// No line of ours may be on the screen or in what the model reads.
    pub traceless: bool,
}

/// What was seen of an act.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// What became of the run.
    pub facts: Facts,
    /// How long the step with the tool took, in milliseconds: from the request that called it to the next.
    pub step_ms: Option<f64>,
    /// The dialog, where there was one: the lines of the screen from its question on.
    pub dialog: String,
    /// What is not as it should be.
    pub amiss: Vec<String>,
}

/// Plays it.
///
/// # Errors
/// It could not be played.
pub fn play(act: &Act, places: &Places) -> Result<Shown, String> {
    let folder = places.anew("act")?;
    let herd = Herd::start(&folder, &places.programs, &places.path)?;
    put(&herd, act.scripts)?;
    let out = folder.join("run");
    let socket = crate::play::socket(&out)?;
    let script = folder.join("scenario.json");
    write(&script, &scenario(act.host, act.mode).to_string())?;
    let quit = AtomicBool::new(false);
    let drawn = folder.join("drawn");
    let (driven, seen) = thread::scope(|scope| {
        let watcher = scope.spawn(|| traces::watch(&herd, &socket, &drawn, &quit));
        let before = before(&herd, &places.programs, act.host);
        let script = script.display().to_string();
        let driven = drive(&script, places, &herd, &out, &before, &["--no-capture", "--dump"]);
        quit.store(true, Ordering::Relaxed);
        (driven, watcher.join().unwrap_or_default())
    });
    driven?;
    let facts = facts(&out, scene::dialog(act.host), WORD);
    let missing = act.sees.iter().filter(|sees| !sees.is_true(&facts));
    let mut amiss: Vec<String> = missing.map(|sees| format!("not {sees:?}")).collect();
    let unread = act.reads.iter().filter(|words| read_as(&out, words).is_empty());
    amiss.extend(unread.map(|words| format!("the model does not read {words:?}")));
    if act.traceless {
        amiss.extend(traces::on_screen(act.host, &out, &drawn, &seen));
        amiss.extend(traces::in_context(&out));
    }
    amiss.extend(unheard(&herd, act)?);
    let requests = lines::read(&out.join("mock.ndjson"), usize::MAX);
    let step_ms = crate::latency::steps(&requests).first().copied();
    Ok(Shown { facts, step_ms, dialog: dialog(act.host, &out), amiss })
}

/// Puts routes where the daemon looks for them, and trusts them as the human does.
///
/// # Errors
/// They cannot be written, or are refused: the words.
pub fn put(herd: &Herd, scripts: &[Script]) -> Result<(), String> {
    let routes = config(herd).join("routes");
    for script in scripts {
        let file = routes.join(script.id);
        let folder = file.parent().unwrap_or(&routes);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        write_program(&file, script.text)?;
        if !script.toml.is_empty() {
            write(&routes.join(format!("{}.toml", script.id)), script.toml)?;
        }
    }
    if scripts.is_empty() {
        return Ok(());
    }
    let done = herd.herdbook(&["route", "trust", "--all", "--yes"], &[])?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    Err(format!("not trusted: {}", said.join(" ")))
}

/// The folder of the human's own settings.
fn config(herd: &Herd) -> std::path::PathBuf {
    Path::new(herd.var("HOME")).join(".config/herdbook")
}

/// The command that installs our hooks for a client. It finds the human's settings in its own home.
pub(super) fn before(herd: &Herd, programs: &Path, host: &str) -> String {
    let config = config(herd);
    format!(
        "mkdir -p ~/.config '{0}' && ln -sfn '{0}' ~/.config/herdbook && {1}",
        config.display(),
        install(programs, host)
    )
}

/// Says when no call of the client was heard, or a route was not run: what does nothing then shows nothing.
fn unheard(herd: &Herd, act: &Act) -> Result<Vec<String>, String> {
    let say = |error: herdbook_api::client::ClientError| error.to_string();
    let mut words = Vec::new();
    if !herd.client.hooks().map_err(say)?.hosts.iter().any(|sent| sent.host == act.host) {
        words.push("no hook of ours was called".to_owned());
    }
    let routes = herd.client.routes().map_err(say)?.items;
    for script in act.scripts {
        let ran = routes.iter().find(|route| route.id == script.id);
        match ran.map(|route| (route.runs, route.failed)) {
            Some((1.., failed)) if (failed > 0) == script.fails => {}
            ran => words.push(format!("{}: of its runs so many failed: {ran:?}", script.id)),
        }
    }
    Ok(words)
}

/// The lines of the screen from the dialog's question on, as the human sees it before he answers.
fn dialog(host: &str, out: &Path) -> String {
    let asks = |line: &str| scene::dialog(host).split('|').any(|words| line.contains(words));
    let screens = traces::screens(out);
    let asked = screens.iter().find(|(name, _)| name.contains("asked"));
    let lines: Vec<&str> = asked.map_or("", |(_, text)| text).lines().map(str::trim_end).collect();
    let from = lines.iter().position(|line| asks(line)).unwrap_or(lines.len());
    lines.get(from..).unwrap_or_default().join("\n").trim_end().to_owned()
}
