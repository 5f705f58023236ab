//! Each form of the tables, told to its client by a hook that knows nothing else: does it do what the table says?
//!
//! Our own `install` registers the hooks; then a script takes the place of our hook program, that prints the form at
//! one event and nothing at any other.

use std::path::Path;

use herdbook_hosts::{Intent, Wording, table};
use serde_json::json;

use super::facts::{Facts, facts};
use super::scene::{self, Mode, OTHER, scenario};
use super::{write, write_program};
use crate::herd::Herd;
use crate::play::{Places, drive, install};

/// What the hook tells. It stands in nothing else that a client or its model reads.
pub const WORD: &str = "quagga";

/// The script: it keeps what it is given, and answers at one event, at most so often.
const SCRIPT: &str = r#"#!/usr/bin/python3 -ISs
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
answer = json.load(open(here + "/answer.json"))
text = sys.stdin.read()
try:
    native = json.loads(text)
except ValueError:
    native = {}
told = [word[6:] for word in sys.argv if word.startswith("event:")]
event = (told or [native.get("hook_event_name")])[0]
with open(here + "/called.ndjson", "a") as called:
    called.write(json.dumps({"ts": time.time(), "event": event, "native": native}) + "\n")
if event == answer["event"]:
    try:
        os.close(os.open(here + "/answered", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        sys.exit(0)
    sys.stdout.write(answer["stdout"])
    sys.stderr.write(answer["stderr"])
    sys.exit(answer["exit"])
"#;

/// What the hook answers.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// A form of the table: what, and which of its forms.
    Form(Intent, usize),
    /// A form that the table does not have, or says to be none.
    Other(Wording),
    /// Nothing, with this exit code.
    Exit(u8),
}

/// What must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The tool ran as the model called it.
    Ran,
    /// It did not.
    Blocked,
    /// It ran with the other input.
    Rewritten,
    /// The lock file was not written.
    Unwritten,
    /// The human was asked.
    Asked,
    /// He was not.
    NotAsked,
    /// The model reads the word.
    Read,
    /// It does not.
    Unread,
    /// The agent went on after its last words.
    WentOn,
    /// It did not.
    Rested,
    /// The model was asked nothing more after so many requests.
    Requests(usize),
}

impl Sees {
    pub(super) fn is_true(self, facts: &Facts) -> bool {
        match self {
            Sees::Ran => facts.ran && !facts.ran_other,
            Sees::Blocked => !facts.ran && !facts.ran_other,
            Sees::Rewritten => !facts.ran && facts.ran_other,
            Sees::Unwritten => !facts.wrote,
            Sees::Asked => facts.dialog,
            Sees::NotAsked => !facts.dialog,
            Sees::Read => !facts.read_as.is_empty(),
            Sees::Unread => facts.read_as.is_empty(),
            Sees::WentOn => facts.went_on,
            Sees::Rested => !facts.went_on,
            Sees::Requests(count) => facts.requests == count,
        }
    }
}

/// One form, told to one client.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The host.
    pub host: &'static str,
    /// Its event.
    pub event: &'static str,
    /// What it is told there.
    pub told: Told,
    /// How the client is run.
    pub mode: Mode,
    /// What must be seen.
    pub sees: &'static [Sees],
}

impl Probe {
    /// A name that no other probe has.
    pub fn name(&self) -> String {
        let told = match self.told {
            Told::Form(intent, index) => format!("{}-{index}", intent.as_str()),
            Told::Other(Wording::ExitTwo(_)) => "exit-2-too".to_owned(),
            Told::Other(Wording::Json(text) | Wording::Text(text)) => {
                let letters = text.chars().filter(|letter| letter.is_ascii_alphanumeric());
                letters.collect::<String>().replace("hookSpecificOutputhookEventNameevent", "")
            }
            Told::Other(wording) => {
                format!("{wording:?}").chars().filter(char::is_ascii_alphanumeric).collect()
            }
            Told::Exit(code) => format!("exit-{code}"),
        };
        format!("{}-{}-{told}-{:?}", self.host, self.event, self.mode)
    }
}

/// Plays one and returns what was to be seen.
///
/// # Errors
/// It could not be played.
pub fn play(probe: &Probe, places: &Places) -> Result<Facts, String> {
    let folder = places.anew("probe")?;
    let programs = folder.join("bin");
    crate::harm::copy_programs(&places.programs, &programs)?;
    let wording = wording(probe)?;
    let script = match probe.host {
        "opencode" => plugin(probe.event, wording)?,
        _ => SCRIPT.to_owned(),
    };
    let file = folder.join("hook");
    write_program(&file, &script)?;
    write(&programs.join("answer.json"), &answer(probe, wording).to_string())?;
    let herd = Herd::start(&folder, &programs, &places.path)?;
    let scenario_file = folder.join("scenario.json");
    write(&scenario_file, &scenario(probe.host, probe.mode).to_string())?;
    let before = before(probe, &programs, &file);
    let out = folder.join("run");
    crate::play::socket(&out)?;
    let driven = drive(
        &scenario_file.display().to_string(),
        places,
        &herd,
        &out,
        &before,
        &["--no-capture", "--dump"],
    );
    let facts = facts(&out, scene::dialog(probe.host), WORD);
    let was_called = programs.join("answered").exists();
    driven?;
    if !was_called && probe.host != "opencode" {
        return Err("the hook was not called at that event".to_owned());
    }
    Ok(facts)
}

/// What of the expected was not seen.
pub fn amiss(probe: &Probe, facts: &Facts) -> Vec<Sees> {
    probe.sees.iter().copied().filter(|sees| !sees.is_true(facts)).collect()
}

fn wording(probe: &Probe) -> Result<Wording, String> {
    match probe.told {
        Told::Other(wording) => Ok(wording),
        Told::Exit(_) => Ok(Wording::Text("")),
        Told::Form(intent, index) => {
            let table = table(probe.host).ok_or("no such host")?;
            let event = table.event(probe.event).ok_or("no such event")?;
            let detail = table.detail(event).ok_or("no such event")?;
            let can = detail.can.iter().find(|can| can.intent == intent);
            let wording = can.and_then(|can| can.wordings.get(index));
            wording.copied().ok_or_else(|| format!("{}: the table has no such form", probe.name()))
        }
    }
}

/// Fills the places of a form.
fn fill(text: &str, probe: &Probe) -> String {
    let input = scene::input("", OTHER, false).to_string();
    let mut text = text.replace("$event", probe.event).replace("\"$input\"", &input);
    for place in ["$reason", "$context", "$text", "$output", "$title"] {
        text = text.replace(place, &format!("The {WORD} says so."));
    }
    text
}

fn answer(probe: &Probe, wording: Wording) -> serde_json::Value {
    let (stdout, stderr, exit) = match (probe.told, wording) {
        (Told::Exit(code), _) => (String::new(), String::new(), code),
        (_, Wording::Json(text) | Wording::Text(text)) => (fill(text, probe), String::new(), 0),
        (_, Wording::ExitTwo(text)) => (String::new(), fill(text, probe), 2),
        _ => (String::new(), String::new(), 0),
    };
    json!({"event": probe.event, "stdout": stdout, "stderr": stderr, "exit": exit})
}

/// The command that registers hooks and puts the script where our program was.
fn before(probe: &Probe, programs: &Path, file: &Path) -> String {
    let file = file.display();
    if probe.host == "opencode" {
        return format!(
            "mkdir -p ~/.config/opencode/plugins && cp '{file}' ~/.config/opencode/plugins/probe.js"
        );
    }
    let hook = programs.join("herdbook-hook");
    let hook = hook.display();
    let mut command = format!("{} && cp '{file}' '{hook}'", install(programs, probe.host));
    // Registered only for a route.
    if (probe.host, probe.event) == ("copilot", "PermissionRequest") {
        let entry = json!({"type": "command", "bash": format!("'{hook}' copilot event:PermissionRequest")});
        let file = json!({"version": 1, "hooks": {"PermissionRequest": [entry]}}).to_string();
        command.push_str(&format!(
            " && printf %s '{}' > ~/.copilot/hooks/probe.json",
            file.replace('\'', "'\\''")
        ));
    }
    command
}

/// A plugin for OpenCode that does one thing.
fn plugin(event: &str, wording: Wording) -> Result<String, String> {
    let body = match wording {
        Wording::Throw(_) => format!("throw new Error('The {WORD} says so.')"),
        Wording::Set("output.args", _) => {
            // Another object in its place would not be read.
            format!("Object.assign(output.args, {})", scene::input("opencode", OTHER, false))
        }
        Wording::Set("output.parts", _) => format!(
            "output.parts.push({{ id: 'prt_' + Date.now(), sessionID: input.sessionID, messageID: output.message.id, \
             type: 'text', text: 'The {WORD} says so.' }})"
        ),
        Wording::Set(place, value) => {
            format!("{place} = {}", json!(value.replace("$output", &format!("The {WORD} says so."))))
        }
        Wording::Text(_) => String::new(),
        _ => return Err("a plugin cannot say that".to_owned()),
    };
    Ok(format!("export const Probe = async () => ({{ {event:?}: async (input, output) => {{ {body} }} }})\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::probes::PROBES;
    use super::*;

    #[test]
    fn each_probe_has_a_name_and_a_form_of_its_own() {
        let names: BTreeSet<String> = PROBES.iter().map(Probe::name).collect();
        assert_eq!(names.len(), PROBES.len());
        for probe in PROBES {
            let told = answer(probe, wording(probe).unwrap());
            let said = ["stdout", "stderr"].map(|key| told[key].as_str().unwrap_or_default());
            assert!(!said.iter().any(|text| text.contains('$')), "{}: {said:?}", probe.name());
        }
    }

    #[test]
    fn a_form_is_filled_with_the_word() {
        let deny = PROBES.iter().find(|probe| probe.name() == "claude-PreToolUse-deny-0-Print").unwrap();
        let told = answer(deny, wording(deny).unwrap());
        assert_eq!(
            told["stdout"],
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\
             \"permissionDecisionReason\":\"The quagga says so.\"}}"
        );
        assert_eq!(told["exit"], 0);
    }
}
