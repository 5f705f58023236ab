//! The human's own rules for screens.

use std::fs;
use std::path::Path;

use herdbook_daemon::own_manifest;

use super::check::{Check, finding};
use crate::error::whole;

/// Reads all of them. `folder` is where they lie; nothing is said where there are none.
pub fn own(folder: &Path) -> Vec<Check> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().filter_map(|path| one(folder, path)).collect()
}

fn one(folder: &Path, path: &Path) -> Option<Check> {
    let host = path.file_stem()?.to_string_lossy();
    let file = path.display();
    let Some(table) = herdbook_hosts::table(&host) else {
        let words = format!("{file} is not used: no host is called '{host}'");
        return Some(Check::warning("screens", finding::UNUSED_SCREENS, words).fix("give it a host's name"));
    };
    match own_manifest(folder, table.host) {
        Ok(None) => None,
        Ok(Some(_)) => Some(Check::ok("screens", format!("those of {host} are read by {file}"))),
        Err(error) => {
            let words = format!("{}; the built-in ones of {host} are used", whole(&error));
            Some(Check::fault("screens", finding::UNREADABLE, words).fix("mend it, or remove the file"))
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use super::super::check::Level;
    use super::*;

    #[test]
    fn rules_that_are_broken_or_that_nobody_reads_are_named() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        assert_eq!(own(&folder.join("none")), []);
        for (name, text) in [
            ("claude.toml", "[[dialog]]\nname = 'x'\nall = ['(']\nend = 'x'\n"),
            ("claud.toml", ""),
            ("codex.toml", "[[busy]]\nname = 'x'\nin = 'title'\nmatch = 'x'\n"),
            ("notes.md", "x"),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        let found: Vec<_> = own(folder).into_iter().map(|check| (check.level, check.message)).collect();
        let place = folder.display();
        assert_eq!(
            found,
            [
                (Level::Warning, format!("{place}/claud.toml is not used: no host is called 'claud'")),
                (
                    Level::Fault,
                    format!(
                        "{place}/claude.toml:3: [[dialog]] 'x' all: '(' is no regular expression: unclosed group; \
                         the built-in ones of claude are used"
                    )
                ),
                (Level::Ok, format!("those of codex are read by {place}/codex.toml")),
            ]
        );
    }
}
