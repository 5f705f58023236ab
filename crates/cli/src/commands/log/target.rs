//! Which log is meant: a file, or the log of a session in the state folder.

use std::path::{Path, PathBuf};

use herdbook_log::{Reader, Sessions, glance};
use herdbook_wire::paths::state_dir;

use super::lines::{Lines, Seal};
use crate::env::Env;
use crate::error::Problem;

/// A log that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file.
    File(PathBuf),
    /// A folder of segments.
    Folder {
        /// What it is called in messages: the session's key, or the folder as it was named.
        name: String,
        /// The folder.
        path: PathBuf,
    },
}

impl Target {
    /// Finds it: a file or folder of that name, else what has a slash or ends in `.jsonl`, else the session whose key it
    /// is or begins with.
    ///
    /// # Errors
    /// No session's log, or more than one, has that name.
    pub fn find(word: &Path, env: &Env) -> Result<Target, Problem> {
        let text = word.to_str().unwrap_or_default();
        let sessions = if text.is_empty() { None } else { sessions(env).ok() };
        let by_key = |key: &str| {
            let folder = sessions.as_ref().filter(|sessions| sessions.has(key))?.folder(key);
            Some(Target::Folder { name: key.to_owned(), path: folder })
        };
        if word.is_dir() {
            if let Some(found) = by_key(text) {
                return Ok(found);
            }
            let (name, path) = (word.to_string_lossy().into_owned(), word.to_owned());
            let is_empty = glance(word).is_ok_and(|found| found.first.is_none() && !found.is_damaged);
            return if is_empty {
                Err(Problem::NoSegments { path })
            } else {
                Ok(Target::Folder { name, path })
            };
        }
        if word.exists() {
            return Ok(Target::File(word.to_owned()));
        }
        if let Some(found) = by_key(text) {
            return Ok(found);
        }
        if text.is_empty() || text.contains('/') || text.ends_with(".jsonl") {
            return Ok(Target::File(word.to_owned()));
        }
        let keys = sessions.as_ref().map(keys_of).transpose()?.unwrap_or_default();
        match named(&keys, text) {
            Named::One(key) => by_key(key).ok_or_else(|| no_log(text, &[])),
            Named::Many(keys) => Err(Problem::ManyLogs { asked: text.to_owned(), keys }),
            Named::None { near } => Err(no_log(text, &near)),
        }
    }

    /// Opens it at its first line.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<(Lines, Seal), Problem> {
        match self {
            Target::File(path) => Lines::of_file(path),
            Target::Folder { path, .. } => Ok(Lines::of_log(Reader::open(path))),
        }
    }

    /// Returns the last seq of a session's log, nothing for a file.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn last_seq(&self) -> Result<Option<u64>, Problem> {
        match self {
            Target::File(_) => Ok(None),
            Target::Folder { path, .. } => {
                let unread = |source| Problem::File { what: "read", path: path.clone(), source };
                Ok(Some(glance(path).map_err(unread)?.last_seq))
            }
        }
    }
}

/// Returns the sessions of this environment's state folder.
///
/// # Errors
/// The place of the folder cannot be told.
pub fn sessions(env: &Env) -> Result<Sessions, Problem> {
    Ok(Sessions::new(&state_dir(&env.places)?))
}

/// The keys of all sessions that have a log, sorted. One whose first line cannot be read has none.
fn keys_of(sessions: &Sessions) -> Result<Vec<String>, Problem> {
    let folders = folders(sessions)?;
    let key = |folder: &PathBuf| sessions.key_of_folder(folder).ok().flatten();
    let mut keys: Vec<String> = folders.iter().filter_map(key).collect();
    keys.sort_unstable();
    Ok(keys)
}

/// The folders of all sessions.
///
/// # Errors
/// They cannot be read.
pub fn folders(sessions: &Sessions) -> Result<Vec<PathBuf>, Problem> {
    let path = sessions.folder("").with_file_name("");
    sessions.folders().map_err(|source| Problem::File { what: "read", path, source })
}

fn no_log(asked: &str, near: &[String]) -> Problem {
    Problem::NoLog { asked: asked.to_owned(), near: near.to_vec() }
}

/// Which key a word stands for.
#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    One(&'a str),
    /// Those that begin so, at most [`SHOWN`] of them.
    Many(Vec<String>),
    /// Keys that look alike.
    None {
        near: Vec<String>,
    },
}

/// How many keys a message names.
const SHOWN: usize = 5;

/// The key that begins with the word, if it is one alone.
fn named<'a>(keys: &'a [String], word: &str) -> Named<'a> {
    // A listing shows that it has cut a key.
    let start = word.strip_suffix('…').unwrap_or(word);
    let fitting: Vec<&String> =
        keys.iter().filter(|key| !start.is_empty() && key.starts_with(start)).collect();
    match fitting.as_slice() {
        [key] => Named::One(key),
        [] => Named::None { near: near(keys, word) },
        many => Named::Many(many.iter().take(SHOWN).map(|key| (*key).clone()).collect()),
    }
}

/// Keys that a word was perhaps meant for: they hold it, it holds them, or a third of its letters, rounded up, is wrong at most.
fn near(keys: &[String], word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    let mut near: Vec<(usize, &String)> = keys
        .iter()
        .filter_map(|key| {
            let lower = key.to_lowercase();
            let wrong = edits(&word, &lower);
            let allowed = word.chars().count().div_ceil(3);
            let is_part = word.len() > 2 && (lower.contains(&word) || word.contains(&lower));
            (wrong <= allowed || is_part).then_some((wrong, key))
        })
        .collect();
    near.sort();
    near.into_iter().take(SHOWN).map(|(_, key)| key.clone()).collect()
}

/// How many letters must be put in, taken out or changed to make one word of the other.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.chars().enumerate() {
        let mut above_left = std::mem::replace(&mut row[0], at + 1);
        for place in 1..=right.len() {
            let changed = above_left + usize::from(right[place - 1] != letter);
            above_left = row[place];
            row[place] = changed.min(row[place] + 1).min(row[place - 1] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_its_unique_beginning() {
        let keys = ["build-1", "build-12", "docs"].map(str::to_owned);
        assert_eq!(named(&keys, "d"), Named::One("docs"));
        assert_eq!(named(&keys, "do…"), Named::One("docs"));
        assert_eq!(named(&keys, "build-12"), Named::One("build-12"));
        assert_eq!(named(&keys, "buil"), Named::Many(vec!["build-1".to_owned(), "build-12".to_owned()]));
        assert_eq!(named(&keys, "…"), Named::None { near: Vec::new() });
    }

    #[test]
    fn a_mistyped_key_is_told_its_neighbours() {
        let keys = ["build-1", "build-12", "docs", "nightly-docs-2"].map(str::to_owned);
        assert_eq!(near(&keys, "biuld-1"), ["build-1", "build-12"]);
        assert_eq!(near(&keys, "Docs"), ["docs", "nightly-docs-2"]);
        assert_eq!(near(&keys, "x"), [""; 0]);
        assert_eq!(near(&keys, "the-build-12"), ["build-12", "build-1"]);
    }

    #[test]
    fn edits_are_counted_in_letters() {
        assert_eq!((edits("", "abc"), edits("abc", "abc"), edits("kitten", "sitting")), (3, 0, 3));
        assert_eq!(edits("é", "e"), 1);
    }
}
