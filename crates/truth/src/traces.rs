//! Looks for lines of ours where none may be: on the client's screen, and in what its model reads.
//!
//! One thing is excused: Gemini CLI names in its status line the hooks that run at that moment, by the `name` of their
//! entries, and ours is `herdbook`. It does so for everybody's hooks, and they would be listed by their commands without
//! one; `hooksConfig.notifications: false` turns it off. Only such a list is excused, only on Gemini's screen, and not
//! the command. The scratch folder must not carry our name for this (see [`has_trace`]), or the client's own
//! path of its project would. What the client writes into its transcript for itself is no model's context: the requests
//! to the model are, and they are read whole.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::herd::Herd;

/// Our name, which is in each command and each file of ours; the rest of a guarded command; and what clients say of a
/// hook that went wrong. In small letters.
const TRACES: [&str; 9] = [
    "herdbook",
    "[ -x ",
    "hook failed",
    "hook error",
    "hook(s) failed",
    "hook execution failed",
    "hook timed out",
    "hook cancelled",
    "hook exited",
];
/// How often the screen is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Takes the names of running hooks out of what Gemini CLI shows. They stand in a list, whose beginning may be drawn over.
fn without_status(host: &str, text: &str) -> String {
    match host {
        "gemini" => text.replace(": herdbook", "").replace(", herdbook", ""),
        _ => text.to_owned(),
    }
}

/// Returns the trace of ours that a text holds, with what stands around it.
pub fn has_trace(text: &str) -> Option<String> {
    let small = text.to_lowercase();
    let at = TRACES.iter().filter_map(|trace| small.find(trace)).min()?;
    let before: String = small.get(..at)?.chars().rev().take(60).collect();
    let after: String = small.get(at..)?.chars().take(80).collect();
    Some(format!("{}{after}", before.chars().rev().collect::<String>()).replace(char::is_control, " "))
}

/// Keeps what the pane shows while the client runs: each screen that differs from the one before, and, in the file
/// `drawn`, every byte that is drawn. A line may stand shorter than we can look, and a client may draw only the letters
/// that change: so it takes both.
pub fn watch(herd: &Herd, socket: &str, drawn: &Path, quit: &AtomicBool) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let tmux = |words: &[&str]| herd.command("tmux", &[]).args(["-S", socket]).args(words).output();
    let pipe = format!("cat >> '{}'", drawn.display());
    while !quit.load(Ordering::Relaxed) {
        if let Some(shown) =
            tmux(&["capture-pane", "-p", "-t", "dev:"]).ok().filter(|shown| shown.status.success())
        {
            if seen.is_empty() {
                // It has no answer; that the file came to be is looked at later.
                let _ = tmux(&["pipe-pane", "-t", "dev:", &pipe]);
            }
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            if seen.last() != Some(&shown) {
                seen.push(shown);
            }
        }
        thread::sleep(LOOK_AGAIN);
    }
    seen
}

/// The screens that the driver kept, by name: with what a client in print mode printed.
pub fn screens(out: &Path) -> Vec<(String, String)> {
    files(&out.join("screens"))
}

/// Says where a trace of ours was to be seen.
pub fn on_screen(host: &str, out: &Path, drawn: &Path, seen: &[String]) -> Vec<String> {
    let kept = screens(out);
    let is_pane = kept.iter().any(|(name, _)| !name.starts_with("print-"));
    let drawn = without_escapes(&fs::read(drawn).unwrap_or_default());
    let mut words = Vec::new();
    if kept.is_empty() || (is_pane && (seen.is_empty() || drawn.is_empty())) {
        words.push("nothing was kept of the screen".to_owned());
    }
    for (name, text) in &kept {
        words
            .extend(has_trace(&without_status(host, text)).map(|trace| format!("on screen {name}: {trace}")));
    }
    words.extend(
        seen.iter()
            .find_map(|text| has_trace(&without_status(host, text)))
            .map(|trace| format!("on screen: {trace}")),
    );
    words.extend(has_trace(&without_status(host, &drawn)).map(|trace| format!("drawn: {trace}")));
    words
}

/// Says which request to the model held a trace of ours.
pub fn in_context(out: &Path) -> Vec<String> {
    let requests = files(&out.join("req"));
    if requests.is_empty() {
        return vec!["no request to the model was kept".to_owned()];
    }
    requests
        .iter()
        .filter_map(|(name, text)| Some(format!("in the model's context, {name}: {}", has_trace(text)?)))
        .collect()
}

/// The files of a folder with their texts, sorted by name.
fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let bytes = fs::read(entry.path()).ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, String::from_utf8_lossy(&bytes).into_owned()))
        })
        .collect();
    files.sort();
    files
}

/// What is left of drawn bytes without control sequences: a colour in the middle of a word hides it from no human.
fn without_escapes(drawn: &[u8]) -> String {
    let text = String::from_utf8_lossy(drawn);
    let mut left = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            left.push(character);
        } else if characters.next() == Some('[') {
            let _ = characters.find(|last| ('@'..='~').contains(last));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ours_is_found_in_any_letters() {
        let found = has_trace("ok\n Executing Hook: Herdbook \u{1b}");
        assert_eq!(found.as_deref(), Some("ok  executing hook: herdbook  "));
        assert!(has_trace("SessionStart hook error: exit 2").is_some());
        assert!(has_trace("sh: [ -x /x ] && exec /x claude: not found").is_some());
    }

    #[test]
    fn what_clients_say_of_themselves_is_no_trace() {
        assert_eq!(has_trace("Touched. the shepherd books a hook; hooks: 2"), None);
    }

    #[test]
    fn only_a_list_of_running_hooks_is_excused_and_only_in_gemini() {
        let list = "⠴ Executing Hooks: lint (1/2), herdbook (2/2)";
        assert_eq!(has_trace(&without_status("gemini", list)), None);
        assert!(has_trace(&without_status("codex", list)).is_some());
        let command = "Expanding hook command: [ -x /opt/herdbook-hook ]";
        assert!(has_trace(&without_status("gemini", command)).is_some());
    }

    #[test]
    fn colours_do_not_hide_a_word() {
        assert_eq!(without_escapes(b"her\x1b[1;31mdbook\x1b[0m!"), "herdbook!");
    }
}
