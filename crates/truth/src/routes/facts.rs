//! What became of a run: out of the files that the driver leaves.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::scene::{LAST, MADE, MORE, OTHER, PROTECTED};
use crate::{lines, traces};

/// What was to be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The tool made its file.
    pub ran: bool,
    /// The tool made the other file: its input was replaced.
    pub ran_other: bool,
    /// The tool wrote the lock file.
    pub wrote: bool,
    /// The client asked the human.
    pub dialog: bool,
    /// The model was asked again after its last words.
    pub went_on: bool,
    /// The screen shows the model's last words: the client works on.
    pub last_words: bool,
    /// The model reads this run's secret word, and in messages of these roles.
    pub read_as: Vec<String>,
    /// The screen shows the word.
    pub shown: bool,
    /// So many requests of the script reached the model.
    pub requests: usize,
}

/// Reads them. `word` is what the hook told.
pub fn facts(out: &Path, dialog: &str, word: &str) -> Facts {
    let exists = |file: &str| out.join("home/proj").join(file).is_file();
    let screens = traces::screens(out);
    let shows = |words: &str| screens.iter().any(|(_, text)| text.contains(words));
    let requests = lines::read(&out.join("mock.ndjson"), usize::MAX);
    let of_script = |request: &&Value| lines::text(request, "lane").starts_with("main#");
    Facts {
        ran: exists(MADE),
        ran_other: exists(OTHER),
        wrote: exists(PROTECTED),
        dialog: dialog.split('|').any(shows),
        went_on: shows(MORE),
        last_words: shows(LAST) || shows(MORE),
        read_as: read_as(out, word),
        shown: shows(word),
        requests: requests.iter().filter(of_script).count(),
    }
}

/// The roles of the messages to the model that hold a word, each once.
pub fn read_as(out: &Path, word: &str) -> Vec<String> {
    let mut roles = Vec::new();
    let entries = fs::read_dir(out.join("req")).into_iter().flatten().flatten();
    for entry in entries {
        let body: Value = fs::read(entry.path())
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let lists = ["messages", "input", "contents"].map(|key| body.get(key).and_then(Value::as_array));
        let messages = lists.into_iter().flatten().flatten();
        roles.extend(messages.filter(|message| message.to_string().contains(word)).map(|message| {
            let text = message.to_string();
            let results = ["tool_result", "functionResponse", "function_call_output"];
            match lines::text(message, "role") {
                _ if results.iter().any(|kind| text.contains(kind)) => "tool".to_owned(),
                "" => lines::text(message, "type").to_owned(),
                role => role.to_owned(),
            }
        }));
        let elsewhere = ["system", "instructions", "systemInstruction"];
        let system = elsewhere.iter().filter_map(|key| body.get(key));
        roles.extend(system.filter(|text| text.to_string().contains(word)).map(|_| "system".to_owned()));
    }
    roles.sort();
    roles.dedup();
    roles
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_word_is_read_where_a_request_holds_it() {
        let out = tempfile::tempdir().unwrap();
        let requests = out.path().join("req");
        fs::create_dir(&requests).unwrap();
        for (name, body) in [
            (
                "1",
                json!({"messages": [{"role": "tool", "content": "quagga"}, {"role": "user", "content": "go"}]}),
            ),
            ("2", json!({"input": [{"type": "function_call_output", "output": "a quagga"}]})),
            ("3", json!({"contents": [{"role": "user", "parts": [{"text": "quagga"}]}], "system": "zebra"})),
        ] {
            super::super::write(&requests.join(name), &body.to_string()).unwrap();
        }
        assert_eq!(read_as(out.path(), "quagga"), ["tool", "user"]);
        assert_eq!(read_as(out.path(), "zebra"), ["system"]);
        assert_eq!(read_as(out.path(), "okapi"), [""; 0]);
    }
}
