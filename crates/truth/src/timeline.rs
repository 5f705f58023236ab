//! What happened in one run, on one clock: the driver's marks, the hooks that were captured, the requests to the model.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::lines;
use crate::truth::Anchor;

/// Marks and anchors carry no more of a text than this.
const TOLD_CHARACTERS: usize = 100;

/// One run.
#[derive(Debug, Default)]
pub struct Timeline {
    marks: Vec<Value>,
    hooks: Vec<Value>,
    requests: Vec<Value>,
    /// Native session ids in the order in which they appear.
    pub ids: Vec<String>,
}

impl Timeline {
    /// Reads what the driver left in its folder.
    pub fn read(out: &Path) -> Timeline {
        let sorted = |name: &str, member: &str| {
            let mut lines = lines::read(&out.join(name), usize::MAX);
            lines.retain(|line| member.is_empty() || line.get(member).is_some_and(|value| !value.is_null()));
            lines.sort_by(|a, b| lines::seconds(a).total_cmp(&lines::seconds(b)));
            lines
        };
        let mut timeline = Timeline {
            marks: sorted("marks.ndjson", ""),
            hooks: sorted("hooks.ndjson", "tag"),
            requests: sorted("mock.ndjson", "lane"),
            ids: Vec::new(),
        };
        let told: Vec<String> = timeline.hooks.iter().filter_map(session_of).collect();
        for id in told.into_iter().chain(transcript_sessions(&out.join("transcripts"))) {
            if !timeline.ids.contains(&id) {
                timeline.ids.push(id);
            }
        }
        timeline
    }

    fn all_seconds(&self) -> impl Iterator<Item = f64> {
        [&self.marks, &self.hooks, &self.requests].into_iter().flatten().map(lines::seconds)
    }

    /// When it began, in Unix seconds; nothing if nothing happened.
    pub fn start(&self) -> Option<f64> {
        self.all_seconds().min_by(f64::total_cmp)
    }

    /// When the last thing happened.
    pub fn end(&self) -> Option<f64> {
        self.all_seconds().max_by(f64::total_cmp)
    }

    /// When an anchor happened in this run, in Unix seconds; nothing if it did not.
    pub fn at(&self, anchor: &Anchor) -> Option<f64> {
        let later = anchor.plus_ms / 1_000.0;
        if anchor.end.is_some() {
            return self.end().map(|end| end + later);
        }
        let mark = |what: &str| -> Vec<&Value> {
            self.marks.iter().filter(|mark| lines::text(mark, "do") == what).collect()
        };
        let found: Vec<&Value> = if let Some(name) = &anchor.hook {
            self.hooks.iter().filter(|hook| name_of(hook) == *name).collect()
        } else if let Some(lane) = &anchor.api {
            self.requests.iter().filter(|request| lines::text(request, "lane") == lane).collect()
        } else if let Some(text) = &anchor.saw {
            mark("saw").into_iter().filter(|mark| head(lines::text(mark, "what")).contains(text)).collect()
        } else if let Some(key) = &anchor.key {
            mark("key").into_iter().filter(|mark| lines::text(mark, "key") == key).collect()
        } else if let Some(text) = &anchor.typed {
            mark("type").into_iter().filter(|mark| head(lines::text(mark, "text")) == *text).collect()
        } else if let Some(signal) = &anchor.signal {
            mark("signal").into_iter().filter(|mark| lines::text(mark, "signal") == signal).collect()
        } else if anchor.kill.is_some() {
            self.marks.iter().filter(|mark| is_kill(mark)).collect()
        } else if anchor.gone.is_some() {
            let is_gone = |mark: &&Value| matches!(lines::text(mark, "do"), "client-gone" | "exit");
            self.marks.iter().filter(is_gone).collect()
        } else if anchor.start.is_some() {
            mark("start")
        } else {
            Vec::new()
        };
        found.get(anchor.n.unwrap_or(1).checked_sub(1)?).map(|line| lines::seconds(line) + later)
    }
}

fn head(text: &str) -> String {
    text.chars().take(TOLD_CHARACTERS).collect()
}

fn is_kill(mark: &Value) -> bool {
    match lines::text(mark, "do") {
        "kill-pane" => true,
        "tmux" => {
            let words = mark.get("args").and_then(Value::as_array);
            words.is_some_and(|words| words.iter().any(|word| word == "kill-pane"))
        }
        _ => false,
    }
}

/// The native event name of a captured call: the argument where the payload does not say it.
pub(crate) fn name_of(hook: &Value) -> String {
    let words = hook.get("argv").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let told = words.into_iter().find_map(|word| word.strip_prefix("event:"));
    told.or_else(|| hook.get("native")?.get("hook_event_name")?.as_str()).unwrap_or("?").to_owned()
}

/// The native session id of a captured call, wherever the host puts it.
fn session_of(hook: &Value) -> Option<String> {
    const PLACES: [&str; 7] = [
        "/session_id",
        "/sessionId",
        "/thread-id",
        "/properties/sessionID",
        "/properties/info/sessionID",
        "/properties/part/sessionID",
        "/input/sessionID",
    ];
    let native = hook.get("native")?;
    let id = PLACES.iter().find_map(|place| native.pointer(place)?.as_str().filter(|id| !id.is_empty()));
    id.map(str::to_owned)
}

/// Sessions that no hook named: their transcripts do.
fn transcript_sessions(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.contains("subagents") || name.contains("history") {
            continue;
        }
        let rows = lines::read(&file, 6);
        let id = match rows.first().and_then(|row| row.get("payload")) {
            Some(payload) if payload.get("parent_thread_id").is_some_and(|id| !id.is_null()) => None,
            Some(payload) => payload.get("id").and_then(Value::as_str).map(str::to_owned),
            None => rows.iter().find_map(|row| row.get("sessionId")?.as_str().map(str::to_owned)),
        };
        found.extend(id);
    }
    found
}
