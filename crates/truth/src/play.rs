//! Plays one scenario with the reference's driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::herd::{Herd, command};
use crate::jump::{self, Jump};
use crate::score::{self, Score};
use crate::truth;

/// The longest path that fits into a unix socket's address, in bytes.
const SOCKET_BYTES: usize = 100;
/// How long the driver may take, in seconds: `timeout` ends it and what it started.
const DRIVER_LIMIT: &str = "180";

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Places {
    /// The reference: `tools/` and `real-cases/`.
    pub shared: PathBuf,
    /// The clients, as `real_clients.sh install` leaves them.
    pub clients: PathBuf,
    /// Scratch, made anew for each scenario.
    pub out: PathBuf,
    /// `herdbook` and `herdbook-hook`.
    pub programs: PathBuf,
    /// The search path.
    pub path: String,
}

/// What became of a scenario.
#[derive(Debug)]
pub struct Played {
    /// Right and wrong time.
    pub score: Score,
    /// Where `next` led, where it was tried.
    pub jump: Jump,
    /// Keys of the sessions that were still queued when everything had ended.
    pub left: Vec<String>,
    /// The reference's own scorer counts otherwise: both numbers, in words.
    pub second_opinion: Option<String>,
}

/// Returns the names of all scenarios that have a truth.
///
/// # Errors
/// The folder cannot be read.
pub fn scenarios(shared: &Path) -> Result<Vec<String>, String> {
    let folder = shared.join("tools/scenarios");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.path()).filter_map(|path| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        shared.join("real-cases").join(&name).join("truth.json").is_file().then_some(name)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// Plays a scenario. `try_next` also calls `herdbook next` while the client waits.
///
/// # Errors
/// It could not be played: the driver, the daemon or the installation failed. That shows nothing about the state.
pub fn play(scenario: &str, places: &Places, try_next: bool) -> Result<Played, String> {
    let folder = places.out.join(scenario);
    let say = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(say)?;
    }
    fs::create_dir_all(&folder).map_err(say)?;
    let out = folder.join("run");
    let socket = out.join("t.sock").display().to_string();
    if socket.len() > SOCKET_BYTES {
        return Err(format!("{socket} is too long a path for a socket: choose a shorter --out"));
    }
    let truth = truth::read(&places.shared.join("real-cases").join(scenario).join("truth.json"))?;
    let herd = Herd::start(&folder.join("herd"), &places.programs, &places.path)?;
    let quit = AtomicBool::new(false);
    let (driver, jump) = thread::scope(|scope| {
        let jumper = try_next.then(|| scope.spawn(|| jump::when_somebody_waits(&herd, &socket, &quit)));
        let driver = drive(scenario, places, &herd, &out);
        quit.store(true, Ordering::Relaxed);
        let jump = jumper.map(|jumper| jumper.join().unwrap_or(Jump::Wrong("the jump broke off".to_owned())));
        (driver, jump.unwrap_or(Jump::NobodyWaited))
    });
    driver?;
    let score = score::score(&truth, &out)?;
    let left = herd.client.queue().map_err(|error| error.to_string())?;
    let second_opinion = second_opinion(scenario, places, &out, &score)?;
    Ok(Played { score, jump, left: left.into_iter().map(|item| item.session_id).collect(), second_opinion })
}

/// Runs the driver: our own `install` writes the hooks into the client's settings before it starts.
fn drive(scenario: &str, places: &Places, herd: &Herd, out: &Path) -> Result<(), String> {
    let host = scenario.split('-').next().unwrap_or_default();
    let install = format!("'{}' install --yes {host}", places.programs.join("herdbook").display());
    let driver = places.shared.join("tools/real_clients.sh");
    let variable = |name: &str| format!("{name}={}", herd.var(name));
    // The driver's own environment: a search path and a home are all it needs.
    let env = ["PATH", "HOME", "LANG"].map(|name| (name.to_owned(), herd.var(name).to_owned()));
    let done = command("timeout", &env)
        .args(["--kill-after=10", DRIVER_LIMIT, "bash"])
        .arg(&driver)
        .args(["run", scenario, "--clients"])
        .arg(&places.clients)
        .arg("--out")
        .arg(out)
        .args(["--before", &install, "--sample", &herd.queue_url()])
        .args(["--env", &variable("XDG_RUNTIME_DIR"), "--env", &variable("XDG_STATE_HOME")])
        .output()
        .map_err(|error| format!("{}: {error}", driver.display()))?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    Err(format!("the driver could not play it: {}", said.join(" ")))
}

/// Asks the reference's own scorer about the same run; two that count alike are better believed than one.
fn second_opinion(
    scenario: &str,
    places: &Places,
    out: &Path,
    own: &Score,
) -> Result<Option<String>, String> {
    let env = [("PATH".to_owned(), places.path.clone())];
    let done = command("python3", &env)
        .arg(places.shared.join("tools/truth_score.py"))
        .arg("--truth")
        .arg(places.shared.join("real-cases").join(scenario).join("truth.json"))
        .arg("--run")
        .arg(out)
        .arg("--json")
        .output()
        .map_err(|error| format!("python3: {error}"))?;
    let answer: Value = serde_json::from_slice(&done.stdout)
        .map_err(|_| format!("truth_score.py: {}", String::from_utf8_lossy(&done.stdout).trim()))?;
    let sessions = answer.get("sessions").and_then(Value::as_object).into_iter().flatten();
    let theirs: f64 = sessions
        .flat_map(|(_, session)| {
            ["false_waiting", "missed_waiting"].map(|key| session.get(key).and_then(Value::as_f64))
        })
        .flatten()
        .sum();
    let ours = own.wrong_seconds();
    // Their figures are rounded, session by session.
    let differ = (theirs - ours).abs() > 0.1;
    Ok(differ.then(|| format!("we count {ours:.2} s wrong, truth_score.py {theirs:.2} s")))
}
