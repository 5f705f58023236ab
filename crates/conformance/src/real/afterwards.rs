//! What the product says after a check: its journal, its routes, its listings, its files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::journal::Journal;
use crate::real::answer::{fetch, fetch_json};
use crate::real::bench::Bench;
use crate::real::process;

const LISTING_LIMIT: Duration = Duration::from_secs(20);
/// A listing of more pages than this goes round in circles.
const MAX_PAGES: usize = 1_000;

/// Reads each thing once, when it is asked for.
pub struct Afterwards<'a, 'b> {
    bench: &'a mut Bench<'b>,
    journal: Option<Journal>,
    sessions: Option<Vec<Value>>,
}

impl<'a, 'b> Afterwards<'a, 'b> {
    /// Makes a reader for a place of work.
    pub fn new(bench: &'a mut Bench<'b>) -> Afterwards<'a, 'b> {
        Afterwards { bench, journal: None, sessions: None }
    }

    /// Returns what was observed under a name, or nothing for a name that means nothing here.
    pub fn observe(&mut self, key: &str) -> Option<Value> {
        Some(match key {
            "recorded" => json!(self.journal().recorded()),
            "recorded_unreadable" => json!(self.journal().unreadable()),
            "recorded_or_gap" => json!(self.journal().recorded_or_gap()),
            "damaged_lines" => json!(self.journal().damaged_lines()),
            "seq_gaps" => json!(self.journal().seq_gaps()),
            "sessions" => self.session_states(),
            "queue" => self.queue(),
            "store" => {
                let text =
                    |file: &PathBuf| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                let texts: Vec<String> = self.store_files().iter().flat_map(text).collect();
                json!(texts.join("\n"))
            }
            "store_modes" => {
                let mode = |file: &PathBuf| {
                    fs::symlink_metadata(file).map(|facts| facts.permissions().mode() & 0o7777)
                };
                let modes = self
                    .store_files()
                    .iter()
                    .flat_map(mode)
                    .map(|mode| format!("{mode:04o}"))
                    .collect::<Vec<_>>();
                json!(modes)
            }
            "http_text" => json!(self.http_text()),
            "cli_text" => json!(self.cli_text()),
            "daemon_alive" => {
                let scratch = &self.bench.scratch;
                json!(self.bench.daemon.as_mut().is_some_and(|daemon| daemon.is_alive(scratch)))
            }
            _ => return None,
        })
    }

    fn journal(&mut self) -> &Journal {
        let dir = self.bench.scratch.state().join("journal");
        self.journal.get_or_insert_with(|| Journal::read(&dir))
    }

    /// The sessions as the product lists them, by the hosts' own ids.
    fn session_states(&mut self) -> Value {
        let mut states = Map::new();
        for session in self.sessions() {
            let mut said = Map::new();
            for key in ["state", "kind", "message"] {
                said.insert(key.to_owned(), session.get(key).cloned().unwrap_or(Value::Null));
            }
            states.insert(text_of(session, "native_id"), Value::Object(said));
        }
        Value::Object(states)
    }

    /// The queue in order, by the hosts' own ids.
    fn queue(&mut self) -> Value {
        let natives: BTreeMap<String, String> = self
            .sessions()
            .iter()
            .map(|one| (text_of(one, "session_id"), text_of(one, "native_id")))
            .collect();
        let items = pages(self.bench.scratch.port(), "/v1/queue");
        let native = |item: &Value| {
            let key = text_of(item, "session_id");
            natives.get(&key).cloned().unwrap_or(key)
        };
        json!(items.iter().map(native).collect::<Vec<_>>())
    }

    fn sessions(&mut self) -> &[Value] {
        let port = self.bench.scratch.port();
        self.sessions.get_or_insert_with(|| pages(port, "/v1/sessions"))
    }

    fn store_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        walk(&self.bench.scratch.state(), &mut files);
        files.sort();
        files
    }

    fn http_text(&mut self) -> String {
        let port = self.bench.scratch.port();
        let mut routes: Vec<String> =
            ["/queue", "/next", "/status", "/v1/queue", "/v1/sessions", "/v1/status", "/metrics"]
                .map(str::to_owned)
                .into();
        for session in self.sessions() {
            routes.push(format!("/v1/sessions/{}/why", percent_encoded(&text_of(session, "session_id"))));
        }
        let texts: Vec<String> =
            routes.iter().filter_map(|route| fetch(port, route)).map(|answer| answer.text).collect();
        texts.join("\n")
    }

    fn cli_text(&self) -> String {
        let mut texts = Vec::new();
        for words in [&["ls"][..], &["ls", "--json"], &["status"], &["status", "--format", "tmux"]] {
            let mut command = process::command(&self.bench.tools.herdbook, &self.bench.env);
            command.args(words).current_dir(self.bench.scratch.dir());
            if let Ok(finished) = process::run(command, LISTING_LIMIT) {
                texts.push(String::from_utf8_lossy(&finished.stdout).into_owned());
                texts.push(String::from_utf8_lossy(&finished.stderr).into_owned());
            }
        }
        texts.join("\n")
    }
}

/// Reads all pages of a listing.
fn pages(port: u16, route: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut path = route.to_owned();
    for _ in 0..MAX_PAGES {
        let Some(Value::Object(mut page)) = fetch_json(port, &path) else { break };
        if let Some(Value::Array(more)) = page.remove("items") {
            items.extend(more);
        }
        match page.get("next").and_then(Value::as_str) {
            Some(next) => path = format!("{route}?after={}", percent_encoded(next)),
            None => break,
        }
    }
    items
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// Lists all files below a folder without following links.
fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_paths_are_encoded() {
        assert_eq!(percent_encoded("a/b é.."), "a%2Fb%20%C3%A9..");
    }

    #[test]
    fn files_are_listed_without_following_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::File::create(dir.path().join("sub/a")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("link")).unwrap();
        let mut files = Vec::new();
        walk(dir.path(), &mut files);
        assert_eq!(files, [dir.path().join("sub/a")]);
    }
}
