//! Where hosts keep their transcripts (overview D13: below the folders that a hook's origin names).

use std::path::{Path, PathBuf};

use herdbook_events::Origin;

/// Returns the folder below which a host keeps its transcripts, as the origin of a hook names it.
pub fn root(host: &str, origin: &Origin) -> Option<PathBuf> {
    let home = || origin.var("HOME").map(PathBuf::from);
    let of = |var: &str, folder: &str| match origin.var(var) {
        Some(own) => Some(PathBuf::from(own)),
        None => Some(home()?.join(folder)),
    };
    let root = match host {
        "claude" => of("CLAUDE_CONFIG_DIR", ".claude")?.join("projects"),
        "codex" => of("CODEX_HOME", ".codex")?.join("sessions"),
        "copilot" => home()?.join(".copilot/session-state"),
        "gemini" => home()?.join(".gemini/tmp"),
        _ => return None,
    };
    root.is_absolute().then_some(root)
}

/// Returns the transcript of a session whose hooks do not name it, where its place follows from its id.
pub fn place(host: &str, session: &str, root: &Path) -> Option<PathBuf> {
    (host == "copilot" && is_plain(session)).then(|| root.join(session).join("events.jsonl"))
}

/// Returns the file of a session's subagent, where its place follows from the session's own file.
pub fn child_place(host: &str, transcript: &Path, agent: &str) -> Option<PathBuf> {
    let folder = transcript.with_extension("").join("subagents");
    (host == "claude" && is_plain(agent)).then(|| folder.join(format!("agent-{agent}.jsonl")))
}

/// True for an id that can be a part of a file's name: it is foreign text.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the folder of transcripts that a rollout lies in (`sessions/YYYY/MM/DD/rollout-….jsonl`), where a running
/// Codex has it open; nothing for other files.
pub fn rollout_root(path: &Path) -> Option<&Path> {
    let name = path.file_name()?.to_str()?;
    let is_rollout = name.starts_with("rollout-") && name.ends_with(".jsonl");
    let root = path.ancestors().nth(4)?;
    (is_rollout && root.file_name()? == "sessions").then_some(root)
}

/// True when the place of a file says that it is a subagent's (case F-058).
pub fn is_child_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("agent-") || path.components().any(|part| part.as_os_str() == "subagents")
}
