//! Asking `codex app-server` for its hooks: JSON-RPC, one message a line, over its standard streams.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use herdbook_machine::{Command, env};
use serde::Deserialize;
use serde_json::{Value, json};

/// How long the server has. It answers in 0.2 s; a slow disk or an account that is looked up takes longer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes that its answer may have: a hook is some 600 bytes.
const OUTPUT_LIMIT: usize = 4 << 20;
/// The id of our question; 0 is the greeting.
const QUESTION: u64 = 1;

/// A hook, as Codex lists it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// Its key in `[hooks.state]`.
    pub key: String,
    /// The file it stands in.
    pub source_path: String,
    /// Its command; `None` for a hook that is none.
    #[serde(default)]
    pub command: Option<String>,
    /// Whether the human has left it switched on.
    pub enabled: bool,
    /// The hash that a trusted hook of this text has.
    pub current_hash: String,
    /// `untrusted`, `trusted`, `modified` or `managed`.
    pub trust_status: String,
}

impl Hook {
    /// Whether Codex asks nobody about it.
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust_status.as_str(), "trusted" | "managed")
    }

    /// Whether Codex runs it.
    pub fn runs(&self) -> bool {
        self.enabled && self.is_trusted()
    }
}

/// The hooks that hold in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// What Codex could not read, in its words.
    pub warnings: Vec<String>,
}

/// Starts a server and asks for the hooks that hold in `folder`.
///
/// # Errors
/// Why there is no answer, in words.
pub fn list(program: &Path, home: &Path, folder: &Path, more: &[(&str, &OsStr)]) -> Result<Listing, String> {
    let folder = folder.to_str().ok_or_else(|| format!("{} is not UTF-8", folder.display()))?;
    let mut command = Command::new(program)
        .arg("app-server")
        .stdin(questions(folder))
        .stdin_open_until(has_answer)
        .timeout(TIMEOUT)
        .output_limit(OUTPUT_LIMIT);
    for name in [env::XDG_CONFIG_HOME, env::XDG_STATE_HOME, env::XDG_RUNTIME_DIR] {
        if let Some(value) = env::read(name) {
            command = command.env(name, value);
        }
    }
    for (name, value) in more {
        command = command.env(name, value);
    }
    let output = command.env("CODEX_HOME", home).run().map_err(|error| error.to_string())?;
    answer(&output.stdout)
}

fn questions(folder: &str) -> Vec<u8> {
    let client = json!({"name": "herdbook", "title": "Herdbook", "version": env!("CARGO_PKG_VERSION")});
    let messages = [
        json!({"id": 0, "method": "initialize", "params": {"clientInfo": client}}),
        json!({"method": "initialized"}),
        json!({"id": QUESTION, "method": "hooks/list", "params": {"cwds": [folder]}}),
    ];
    messages.iter().map(|message| format!("{message}\n")).collect::<String>().into_bytes()
}

/// The messages that came whole. The server also tells things that it was not asked.
fn messages(stdout: &[u8]) -> impl Iterator<Item = Value> {
    let whole = stdout.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &stdout[..end]);
    whole.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

fn is_answer(message: &Value) -> bool {
    message["id"] == QUESTION && message.get("method").is_none()
}

fn has_answer(stdout: &[u8]) -> bool {
    messages(stdout).any(|message| is_answer(&message))
}

/// Reads the list out of all that the server wrote.
///
/// # Errors
/// Why there is none, in words.
pub fn answer(stdout: &[u8]) -> Result<Listing, String> {
    #[derive(Deserialize)]
    struct Answer {
        data: Vec<Folder>,
    }
    #[derive(Deserialize)]
    struct Folder {
        hooks: Vec<Hook>,
        #[serde(default)]
        warnings: Vec<String>,
        #[serde(default)]
        errors: Vec<Error>,
    }
    #[derive(Deserialize)]
    struct Error {
        message: String,
    }
    let mut answer =
        messages(stdout).find(is_answer).ok_or("codex app-server did not tell its hooks; is it too old?")?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(format!("codex app-server did not tell its hooks: {message}"));
    }
    let answer: Answer = serde_json::from_value(answer["result"].take())
        .map_err(|error| format!("the answer of codex app-server is not understood: {error}"))?;
    let mut listing = Listing::default();
    for folder in answer.data {
        if let Some(error) = folder.errors.first() {
            return Err(format!("codex could not read its settings: {}", error.message));
        }
        listing.hooks.extend(folder.hooks);
        listing.warnings.extend(folder.warnings);
    }
    Ok(listing)
}
