//! The binaries under test and the programs the checks need.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The binaries under test.
#[derive(Clone, Debug)]
pub struct Tools {
    /// `herdbook`.
    pub herdbook: PathBuf,
    /// The hook's command words, to which the host is appended.
    pub hook: Vec<String>,
    /// This program: it plays the stand-in agent and the client of another uid.
    pub this: PathBuf,
    /// `PATH`, the one variable that checks inherit.
    pub path: String,
}

/// The command words this program answers to when it plays another part.
pub mod parts {
    /// A stand-in agent: `stand-in JOB`.
    pub const STAND_IN: &str = "stand-in";
    /// The agent of the tale: `agent KEY --socket PATH …`.
    pub const AGENT: &str = "agent";
    /// Leaves its terminal and becomes the command that follows.
    pub const LAUNCH: &str = "launch";
    /// Sends the bytes of its stdin to a port and prints the answer: `request PORT READ_MS`.
    pub const REQUEST: &str = "request";
    /// Runs one transcript check in a process of its own, whose memory is the reader's alone: `transcript CASE CHECK`.
    pub const TRANSCRIPT: &str = "transcript";
}

impl Tools {
    /// Finds the binaries: `HERDBOOK` and `HERDBOOK_HOOK` where they are set, else beside this program.
    ///
    /// # Errors
    /// Says which file is missing and what to do.
    pub fn find(
        herdbook: Option<&str>,
        hook: Option<&str>,
        this: &Path,
        path: &str,
    ) -> Result<Tools, String> {
        let beside = |name: &str| this.parent().unwrap_or(Path::new(".")).join(name);
        let herdbook = match herdbook.filter(|path| !path.is_empty()) {
            Some(path) => absolute(Path::new(path)),
            None => beside("herdbook"),
        };
        if !herdbook.is_file() {
            return Err(format!("{} is not there; build it, or name it in HERDBOOK", herdbook.display()));
        }
        let hook = match hook.map(split_words).filter(|words| !words.is_empty()) {
            Some(words) => words,
            None if beside("herdbook-hook").is_file() => vec![text_of(&beside("herdbook-hook"))],
            None => vec![text_of(&herdbook), "hook".to_owned()],
        };
        Ok(Tools { herdbook, hook, this: this.to_owned(), path: path.to_owned() })
    }

    /// Tells whether a program can be found on `PATH` (or is there, for a path).
    pub fn has_program(&self, name: &str) -> bool {
        if name.contains('/') {
            return Path::new(name).is_file();
        }
        std::env::split_paths(OsStr::new(&self.path)).any(|dir| dir.join(name).is_file())
    }
}

/// Quotes words for a shell, and for `shlex` in Python.
pub fn join_words(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    quoted.join(" ")
}

/// Splits command words as a shell does: blanks, quotes and backslashes, nothing else.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_split_again() {
        let words = vec!["/opt/it's here/hook".to_owned(), String::new(), "a b\"c\\".to_owned()];
        assert_eq!(split_words(&join_words(&words)), words);
        assert_eq!(split_words("  /x/herdbook hook  "), ["/x/herdbook", "hook"]);
        assert_eq!(split_words(r#""a b" c\ d"#), ["a b", "c d"]);
    }

    #[test]
    fn binaries_come_from_the_environment_or_from_beside_this_program() {
        let dir = tempfile::tempdir().unwrap();
        let this = dir.path().join("herdbook-conformance");
        let problem = Tools::find(None, None, &this, "/usr/bin").unwrap_err();
        assert!(problem.ends_with("herdbook is not there; build it, or name it in HERDBOOK"), "{problem}");
        std::fs::File::create(dir.path().join("herdbook")).unwrap();
        let tools = Tools::find(None, None, &this, "/usr/bin").unwrap();
        assert_eq!(tools.hook, [text_of(&dir.path().join("herdbook")), "hook".into()]);
        std::fs::File::create(dir.path().join("herdbook-hook")).unwrap();
        let tools = Tools::find(Some(""), Some("'/a b/hook' --x"), &this, "/usr/bin").unwrap();
        assert_eq!(tools.hook, ["/a b/hook", "--x"]);
        let tools = Tools::find(None, None, &this, "/usr/bin").unwrap();
        assert_eq!(tools.hook, [text_of(&dir.path().join("herdbook-hook"))]);
        assert!(tools.has_program("env") && !tools.has_program("no-such-program-here"));
    }
}
