//! Where hosts keep their transcripts (overview D13: below the folders that a hook's origin names).

use std::path::{Path, PathBuf};

use herdbook_events::Origin;

use crate::table::Home;

/// Returns the folder below which a host keeps its transcripts, as the origin of a hook names it.
pub fn root(host: &str, origin: &Origin) -> Option<PathBuf> {
    let table = crate::table(host)?;
    let Home { var, folder, .. } = table.setup.home;
    let own = var.and_then(|var| origin.var(var)).map(PathBuf::from);
    let settings = own.or_else(|| Some(Path::new(origin.var("HOME")?).join(folder)))?;
    let root = settings.join(table.transcripts?.folder);
    root.is_absolute().then_some(root)
}

/// Returns the transcript of a session whose hooks do not name it, where its place follows from its id.
pub fn place(host: &str, session: &str, root: &Path) -> Option<PathBuf> {
    named(root, crate::table(host)?.transcripts?.session?, session)
}

/// Returns the file of a session's subagent, where its place follows from the session's own file.
pub fn child_place(host: &str, transcript: &Path, agent: &str) -> Option<PathBuf> {
    named(&transcript.with_extension(""), crate::table(host)?.transcripts?.child?, agent)
}

/// The file of an id. The id is foreign text: one that cannot be a part of a file's name has none.
fn named(folder: &Path, file: &str, id: &str) -> Option<PathBuf> {
    let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain.then(|| folder.join(file.replace('@', id)))
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
