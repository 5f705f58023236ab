//! Something of ours is broken while a client works: is the client harmed, and is anything lost?

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use herdbook_api::v1;
use serde_json::Value;

use crate::herd::Herd;
use crate::lines;
use crate::play::{Places, drive, install, socket};
use crate::traces;

/// How long a daemon that is back may take to take everything in and to see that the client is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often is looked.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// The most lines that are read of a file.
const MOST_LINES: usize = 100_000;

/// What is broken, from before the client starts until after it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The installed hook program is not there any more.
    HookRemoved,
    /// No daemon runs.
    DaemonStopped,
    /// The daemon is there, and its socket takes connections, but it does nothing (SIGSTOP).
    DaemonFrozen,
}

impl Fault {
    /// Each of them.
    pub const ALL: [Fault; 3] = [Fault::HookRemoved, Fault::DaemonStopped, Fault::DaemonFrozen];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Fault::HookRemoved => "hook program removed",
            Fault::DaemonStopped => "daemon stopped",
            Fault::DaemonFrozen => "daemon frozen",
        }
    }

    /// The shell command that breaks it.
    pub(crate) fn command(self, programs: &Path, herd: &Herd) -> String {
        match self {
            Fault::HookRemoved => format!("rm '{}'", programs.join("herdbook-hook").display()),
            Fault::DaemonStopped => format!("kill {}", herd.pid()),
            Fault::DaemonFrozen => format!("kill -STOP {}", herd.pid()),
        }
    }
}

/// A scenario, and what shows that the client did all of it.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// The host.
    pub host: &'static str,
    /// The scenario's name.
    pub name: &'static str,
    /// A file that the client's tool makes, below its home.
    makes: &'static str,
    /// The model's last words, which the human must read.
    says: &'static str,
}

const fn scene(host: &'static str, name: &'static str, makes: &'static str, says: &'static str) -> Scene {
    Scene { host, name, makes, says }
}

/// A permission in a pane, and tools in print mode, in each client that can be run here.
pub const SCENES: [Scene; 10] = [
    scene("claude", "claude-permission-allow", "outside.txt", "Touched."),
    scene("claude", "claude-tool-use-print", "proj/NOTES.md", "All done."),
    scene("codex", "codex-permission-allow", "outside.txt", "Touched."),
    scene("codex", "codex-tool-use-exec", "proj/NOTES.md", "All done."),
    scene("gemini", "gemini-permission-allow", "proj/made.txt", "Touched."),
    scene("gemini", "gemini-tool-use-print", "proj/made.txt", "Done."),
    scene("copilot", "copilot-permission-allow", "proj/made.txt", "Touched."),
    scene("copilot", "copilot-tool-use-print", "proj/made.txt", "Done."),
    scene("opencode", "opencode-permission-allow", "proj/made.txt", "Touched."),
    scene("opencode", "opencode-tool-use-print", "proj/made.txt", "Done."),
];

/// Plays a scenario with a fault. Returns what was harmed or lost, in words; nothing is as it should be.
///
/// # Errors
/// It could not be played: the daemon failed, or the fault did not hold. That shows nothing about the client.
pub fn play(scene: Scene, fault: Fault, places: &Places) -> Result<Vec<String>, String> {
    let folder = places.anew(&format!("{}-{}", scene.name, fault as u8))?;
    let out = folder.join("run");
    let socket = socket(&out)?;
    let programs = folder.join("bin");
    copy_programs(&places.programs, &programs)?;
    let mut herd = Herd::start(&folder, &programs, &places.path)?;
    let before = format!("{} && {}", install(&programs, scene.host), fault.command(&programs, &herd));
    let script = patient(scene.name, places, &folder)?;
    let quit = AtomicBool::new(false);
    let (driver, seen) = thread::scope(|scope| {
        let watcher = scope.spawn(|| traces::watch(&herd, &socket, &folder.join("drawn"), &quit));
        let driver = drive(&script, places, &herd, &out, &before, &["--dump"]);
        quit.store(true, Ordering::Relaxed);
        (driver, watcher.join().unwrap_or_default())
    });
    let mut harm: Vec<String> = driver.err().into_iter().collect();
    harm.extend(undone(scene, &out, &seen));
    harm.extend(traces::on_screen(scene.host, &out, &folder.join("drawn"), &seen));
    harm.extend(traces::in_context(&out));
    let held = match fault {
        Fault::HookRemoved => !programs.join("herdbook-hook").exists() && herd.client.status().is_ok(),
        Fault::DaemonStopped => herd.is_gone(),
        Fault::DaemonFrozen => herd.is_frozen(),
    };
    if !held {
        return Err(format!("the fault did not hold; {}", harm.join("; ")));
    }
    let due = match fault {
        Fault::HookRemoved => Due::default(),
        Fault::DaemonStopped => {
            herd.start_again()?;
            Due::read(scene.host, &out)?
        }
        Fault::DaemonFrozen => {
            herd.thaw()?;
            Due::read(scene.host, &out)?
        }
    };
    harm.extend(lost(&herd, scene.host, &due));
    Ok(harm)
}

pub(crate) fn copy_programs(from: &Path, to: &Path) -> Result<(), String> {
    let say = |error: std::io::Error| format!("{}: {error}", to.display());
    fs::create_dir(to).map_err(say)?;
    for program in ["herdbook", "herdbook-hook"] {
        fs::copy(from.join(program), to.join(program)).map_err(say)?;
    }
    Ok(())
}

/// Copies a scenario with three times as long for each wait: a client that is slow on a busy machine is not harmed.
fn patient(name: &str, places: &Places, folder: &Path) -> Result<String, String> {
    let from = places.shared.join("tools/scenarios").join(name).with_extension("json");
    let text = fs::read_to_string(&from).map_err(|error| format!("{}: {error}", from.display()))?;
    let mut scenario: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", from.display()))?;
    let sessions = scenario.get_mut("sessions").and_then(Value::as_array_mut).into_iter().flatten();
    let steps = sessions.filter_map(|session| session.get_mut("steps")?.as_array_mut()).flatten();
    for timeout in steps.filter_map(|step| step.get_mut("timeout")) {
        *timeout = (timeout.as_u64().unwrap_or_default() * 3).into();
    }
    let to = folder.join("scenario.json");
    File::create(&to)
        .and_then(|mut file| file.write_all(scenario.to_string().as_bytes()))
        .map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to.display().to_string())
}

/// What the client did not do: turns of the script it did not ask for, the tool's file, the last words, the exit code.
fn undone(scene: Scene, out: &Path, seen: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let script = lines::read(&out.join("model.json"), 1);
    let turns = script.first().and_then(|script| script.get("turns")?.as_array()).map_or(0, Vec::len);
    let requests = lines::read(&out.join("mock.ndjson"), MOST_LINES);
    let answered =
        requests.iter().filter(|request| lines::text(request, "lane").starts_with("main#")).count();
    if turns == 0 || answered != turns {
        words.push(format!("the client went through {answered} of {turns} turns"));
    }
    if !out.join("home").join(scene.makes).is_file() {
        words.push(format!("the client's tool did not make {}", scene.makes));
    }
    let screens: String = traces::screens(out).into_iter().map(|(_, text)| text).collect();
    if !screens.contains(scene.says) && !seen.iter().any(|screen| screen.contains(scene.says)) {
        words.push(format!("no screen shows the model's last words, {:?}", scene.says));
    }
    if let Some(line) = screens.lines().find(|line| line.starts_with("rc=") && *line != "rc=0") {
        words.push(format!("the client's exit code: {line}"));
    }
    words
}

/// What the daemon must know: the captured calls of the events that are installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Due {
    /// How often each event came, sorted by name.
    events: BTreeMap<String, u64>,
    /// The host's own ids of the sessions.
    sessions: BTreeSet<String>,
}

impl Due {
    fn read(host: &str, out: &Path) -> Result<Due, String> {
        let place = match host {
            "claude" => ".claude/settings.json",
            "codex" => ".codex/hooks.json",
            "gemini" => ".gemini/settings.json",
            "copilot" => ".copilot/hooks/herdbook.json",
            _ => ".config/opencode/plugins/herdbook.js",
        };
        let place = out.join("home").join(place);
        let settings = fs::read_to_string(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let due = Due::of(host, &lines::read(&out.join("hooks.ndjson"), MOST_LINES), &settings);
        if due.events.is_empty() {
            return Err("the driver captured no call of an event that is installed".to_owned());
        }
        Ok(due)
    }

    /// Counts the captured calls of events that these settings, or this plugin, install for us.
    fn of(host: &str, captured: &[Value], settings: &str) -> Due {
        let object: Option<Value> = serde_json::from_str(settings).ok();
        let is_installed = |event: &str| match &object {
            Some(object) => object
                .pointer(&format!("/hooks/{event}"))
                .is_some_and(|entries| entries.to_string().contains("herdbook-hook")),
            None => settings.contains(&format!("\"{event}\"")),
        };
        let mut due = Due::default();
        for call in captured {
            let native = call.get("native").unwrap_or(&Value::Null);
            let event = crate::timeline::name_of(call);
            let event = if host == "copilot" { copilot_name(&event) } else { event };
            // Lines without a tag are the capture's own notes.
            if call.get("tag").is_none() || !is_installed(&event) {
                continue;
            }
            *due.events.entry(event).or_default() += 1;
            let ids = ["/session_id", "/sessionId", "/properties/sessionID", "/input/sessionID"];
            let id = ids.iter().find_map(|place| native.pointer(place)?.as_str());
            due.sessions.extend(id.map(str::to_owned));
        }
        due
    }
}

/// The name under which we register an event that the driver registered in Copilot's other spelling.
fn copilot_name(event: &str) -> String {
    match event {
        "userPromptSubmitted" => "UserPromptSubmit".to_owned(),
        "agentStop" => "Stop".to_owned(),
        "subagentStart" => event.to_owned(),
        _ => {
            let mut letters = event.chars();
            letters
                .next()
                .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
        }
    }
}

/// Waits until the daemon knows exactly what is due and nobody is queued, and says what is still amiss when it should.
fn lost(herd: &Herd, host: &str, due: &Due) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let amiss = amiss(herd, host, due).unwrap_or_else(|error| vec![error]);
        if amiss.is_empty() || Instant::now() > end {
            return amiss;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn amiss(herd: &Herd, host: &str, due: &Due) -> Result<Vec<String>, String> {
    let say = |error: herdbook_api::client::ClientError| error.to_string();
    let mut words = Vec::new();
    let hooks = herd.client.hooks().map_err(say)?;
    let came = hooks.hosts.into_iter().find(|sent| sent.host == host).unwrap_or_default();
    let events: BTreeMap<String, u64> =
        came.events.iter().map(|event| (event.event.clone(), event.count)).collect();
    let names: BTreeSet<&String> = events.keys().chain(due.events.keys()).collect();
    for name in names {
        let (came, due) = (events.get(name), due.events.get(name));
        if came != due {
            let count = |count: Option<&u64>| count.copied().unwrap_or_default();
            words.push(format!("{name}: {} calls were made, {} are known", count(due), count(came)));
        }
    }
    if came.unreadable_count > 0 {
        words.push(format!("{} calls could not be read", came.unreadable_count));
    }
    let known = herd.client.sessions().map_err(say)?;
    let known: BTreeSet<String> = known.into_iter().map(|session| session.native_id).collect();
    if known != due.sessions {
        words.push(format!("the sessions {:?} are known, not {:?}", known, due.sessions));
    }
    for v1::Item { session_id, kind, .. } in herd.client.queue().map_err(say)? {
        words.push(format!("still queued when all was over: {session_id}, {kind}"));
    }
    let status = herd.client.status().map_err(say)?;
    if status.spool_count + status.spool_lost > 0 {
        words.push(format!("spool: {} left, {} lost", status.spool_count, status.spool_lost));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_installed_events_are_due_and_no_others() {
        let captured = [
            json!({"tag": "claude", "argv": [], "native": {"hook_event_name": "Stop", "session_id": "a"}}),
            json!({"tag": "claude", "argv": [], "native": {"hook_event_name": "Stop", "session_id": "b"}}),
            json!({"tag": "claude", "argv": [], "native": {"hook_event_name": "FileChanged", "session_id": "c"}}),
            json!({"signal": "SIGTERM", "event": "Stop"}),
            json!({"tag": "copilot", "argv": ["event:agentStop"], "native": {"sessionId": "d"}}),
        ];
        let ours = json!([{"bash": "[ -x /b/herdbook-hook ] && exec /b/herdbook-hook copilot; exit 0"}]);
        let settings = json!({"hooks": {"Stop": ours, "FileChanged": [{"hooks": []}]}});
        let due = Due::of("copilot", &captured, &settings.to_string());
        assert_eq!(due.events, BTreeMap::from([("Stop".to_owned(), 3)]));
        assert_eq!(due.sessions, BTreeSet::from(["a", "b", "d"].map(str::to_owned)));
    }

    #[test]
    fn a_plugin_names_its_events_as_texts() {
        let call = |event: &str| json!({"tag": "opencode", "argv": [], "native": {"hook_event_name": event}});
        let due = Due::of(
            "opencode",
            &[call("permission.asked"), call("permission.ask")],
            "// plugin\n[\"permission.asked\"]",
        );
        assert_eq!(due.events, BTreeMap::from([("permission.asked".to_owned(), 1)]));
    }
}
