//! A host's screens as data.

use std::fmt;

use herdbook_events::WaitKind;
use regex::Regex;
use serde::Deserialize;

use super::{Confidence, wait_kind};

/// How a host's screens look: its composer, its signs of work, its dialogs and menus.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub(super) composer: Option<Composer>,
    pub(super) unsure: Vec<Sign>,
    pub(super) busy: Vec<Sign>,
    pub(super) quiet: Vec<Sign>,
    pub(super) dialogs: Vec<Boxed>,
    pub(super) menus: Vec<Boxed>,
}

/// Where the human writes.
#[derive(Clone, Debug)]
pub(super) struct Composer {
    /// The row with the prompt sign; what group 1 holds was typed.
    pub prompt: Regex,
    /// Rows that only look like it (the chosen row of a dialog).
    pub not: Option<Regex>,
    /// Rows of it above the prompt row.
    pub body: Option<Regex>,
    /// The row above it.
    pub open: Option<Regex>,
    /// So many rows may stand between.
    pub gap: usize,
    /// The row below it.
    pub close: Option<Regex>,
    /// So many rows may stand below it.
    pub below: usize,
    /// Texts in it that nobody typed.
    pub placeholders: Vec<Regex>,
}

/// Where a sign must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Zone {
    /// The block of rows right above the composer, in its last entry.
    Status,
    /// The rows below the composer.
    Footer,
    /// The pane's title.
    Title,
}

/// A sign in one zone.
#[derive(Clone, Debug)]
pub(super) struct Sign {
    pub name: String,
    pub zone: Zone,
    pub pattern: Regex,
    pub kind: WaitKind,
    /// Only in so many rows above the composer.
    pub within: usize,
}

/// A box at the bottom, where there is no composer.
#[derive(Clone, Debug)]
pub(super) struct Boxed {
    pub name: String,
    pub kind: WaitKind,
    pub confidence: Confidence,
    /// Each must stand in the box.
    pub all: Vec<Regex>,
    /// Must stand in its last rows: so nothing below it is newer.
    pub end: Regex,
}

/// What is wrong with a manifest, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct ManifestError {
    /// The file, as the caller names it.
    pub file: String,
    /// Line and fault, or the place and what to write there.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    composer: Option<WrittenComposer>,
    #[serde(default)]
    unsure: Vec<WrittenSign>,
    #[serde(default)]
    busy: Vec<WrittenSign>,
    #[serde(default)]
    quiet: Vec<WrittenSign>,
    #[serde(default)]
    dialog: Vec<WrittenBox>,
    #[serde(default)]
    menu: Vec<WrittenBox>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenComposer {
    prompt: String,
    not: Option<String>,
    body: Option<String>,
    open: Option<String>,
    #[serde(default)]
    gap: usize,
    close: Option<String>,
    below: usize,
    #[serde(default)]
    placeholders: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSign {
    name: String,
    #[serde(rename = "in")]
    zone: Zone,
    #[serde(rename = "match")]
    pattern: String,
    kind: Option<String>,
    within: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBox {
    name: String,
    kind: Option<String>,
    #[serde(default)]
    unsure: bool,
    all: Vec<String>,
    end: String,
}

impl Manifest {
    /// Reads a manifest. `file` names it in errors.
    ///
    /// # Errors
    /// It is not TOML of this form, a pattern is no regular expression, or a kind is not known: with the place.
    pub fn parse(file: &str, text: &str) -> Result<Manifest, ManifestError> {
        let at = |what: String| ManifestError { file: file.to_owned(), what };
        // The reader's own words name line and column.
        let written: Written =
            toml::from_str(text).map_err(|error| at(error.to_string().trim_end().to_owned()))?;
        let composer = written.composer.map(Composer::compile).transpose().map_err(at)?;
        let signs = |list: &str, written: Vec<WrittenSign>, default| {
            written
                .into_iter()
                .map(|sign| Sign::compile(list, sign, default))
                .collect::<Result<Vec<_>, String>>()
                .map_err(at)
        };
        let boxes = |list: &str, written: Vec<WrittenBox>| {
            written
                .into_iter()
                .map(|one| Boxed::compile(list, one))
                .collect::<Result<Vec<_>, String>>()
                .map_err(at)
        };
        Ok(Manifest {
            composer,
            unsure: signs("unsure", written.unsure, WaitKind::TurnEnd)?,
            busy: signs("busy", written.busy, WaitKind::TurnEnd)?,
            quiet: signs("quiet", written.quiet, WaitKind::TurnEnd)?,
            dialogs: boxes("dialog", written.dialog)?,
            menus: boxes("menu", written.menu)?,
        })
    }
}

impl Composer {
    fn compile(written: WrittenComposer) -> Result<Composer, String> {
        let maybe = |key: &str, pattern: Option<String>| {
            pattern.map(|pattern| compile(format_args!("[composer] {key}"), &pattern)).transpose()
        };
        Ok(Composer {
            prompt: compile("[composer] prompt", &written.prompt)?,
            not: maybe("not", written.not)?,
            body: maybe("body", written.body)?,
            open: maybe("open", written.open)?,
            gap: written.gap,
            close: maybe("close", written.close)?,
            below: written.below,
            placeholders: written
                .placeholders
                .iter()
                .map(|pattern| compile("[composer] placeholders", pattern))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Sign {
    fn compile(list: &str, written: WrittenSign, default: WaitKind) -> Result<Sign, String> {
        let place = format!("[[{list}]] '{}'", written.name);
        Ok(Sign {
            zone: written.zone,
            pattern: compile(format_args!("{place} match"), &written.pattern)?,
            kind: kind(&place, written.kind.as_deref(), default)?,
            within: written.within.unwrap_or(usize::MAX),
            name: written.name,
        })
    }
}

impl Boxed {
    fn compile(list: &str, written: WrittenBox) -> Result<Boxed, String> {
        let place = format!("[[{list}]] '{}'", written.name);
        if written.all.is_empty() {
            return Err(format!("{place} all: is empty; name at least one text that only this box shows"));
        }
        Ok(Boxed {
            kind: kind(&place, written.kind.as_deref(), WaitKind::Dialog)?,
            confidence: if written.unsure { Confidence::Low } else { Confidence::High },
            all: written
                .all
                .iter()
                .map(|pattern| compile(format_args!("{place} all"), pattern))
                .collect::<Result<_, _>>()?,
            end: compile(format_args!("{place} end"), &written.end)?,
            name: written.name,
        })
    }
}

fn kind(place: &str, word: Option<&str>, default: WaitKind) -> Result<WaitKind, String> {
    let Some(word) = word else { return Ok(default) };
    wait_kind(word).ok_or_else(|| {
        format!(
            "{place} kind: '{word}' is none of permission, question, plan, elicitation, dialog, turn_end, error, \
             interrupted"
        )
    })
}

fn compile(place: impl fmt::Display, pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| format!("{place}: '{pattern}' is no regular expression: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Manifest::parse("screen.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn faults_are_named_with_their_place() {
        let wrong = "[[busy]]\nname = \"x\"\nin = \"roof\"\nmatch = \"a\"\n";
        assert!(fault(wrong).starts_with("screen.toml: TOML parse error at line 3"), "{}", fault(wrong));
        let wrong = "[[busy]]\nname = \"x\"\nin = \"status\"\nmatch = \"(\"\n";
        assert!(fault(wrong).starts_with("screen.toml: [[busy]] 'x' match: '(' is no regular expression"));
        let wrong = "[[dialog]]\nname = \"x\"\nkind = \"tea\"\nall = [\"a\"]\nend = \"b\"\n";
        assert!(fault(wrong).starts_with("screen.toml: [[dialog]] 'x' kind: 'tea' is none of permission,"));
        let wrong = "[[dialog]]\nname = \"x\"\nall = []\nend = \"b\"\n";
        assert!(fault(wrong).starts_with("screen.toml: [[dialog]] 'x' all: is empty;"));
        assert!(fault("[composer]\nprompt = \"a\"\n").contains("below"));
    }
}
