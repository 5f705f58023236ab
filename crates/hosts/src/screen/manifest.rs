//! A host's screens as data.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use herdbook_events::WaitKind;
use herdbook_events::pane::DRAWN_MS;
use regex::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::{Confidence, wait_kind};

/// How a host's screens look: its composer, its signs of work, its dialogs and menus.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Another one for another text.
    pub(super) mark: u64,
    drawn_ms: u64,
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
    /// In the place of the manifest's own.
    drawn_ms: Option<u64>,
}

/// A box at the bottom, where there is no composer.
#[derive(Clone, Debug)]
pub(super) struct Boxed {
    pub name: String,
    pub kind: WaitKind,
    pub confidence: Confidence,
    /// Each must stand in the box.
    pub all: Vec<Regex>,
    /// Must not stand in it.
    pub not: Option<Regex>,
    /// Must stand in its last rows: so nothing below it is newer.
    pub end: Regex,
}

/// What is wrong with a manifest, and where: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct ManifestError {
    /// The file, as the caller names it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The fault, or the place and what to write there.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    drawn_ms: Option<u64>,
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

/// A text that knows where it stands.
type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenComposer {
    prompt: Text,
    not: Option<Text>,
    body: Option<Text>,
    open: Option<Text>,
    #[serde(default)]
    gap: usize,
    close: Option<Text>,
    below: usize,
    #[serde(default)]
    placeholders: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSign {
    name: String,
    #[serde(rename = "in")]
    zone: Zone,
    #[serde(rename = "match")]
    pattern: Text,
    kind: Option<Text>,
    within: Option<usize>,
    drawn_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBox {
    name: String,
    kind: Option<Text>,
    #[serde(default)]
    unsure: bool,
    all: Spanned<Vec<Text>>,
    not: Option<Text>,
    end: Text,
}

/// A fault with the byte at which it stands.
struct Fault {
    at: usize,
    what: String,
}

impl Manifest {
    /// Reads a manifest. `file` names it in errors.
    ///
    /// # Errors
    /// It is not TOML of this form, a pattern is no regular expression, or a kind is not known: with the line.
    pub fn parse(file: &str, text: &str) -> Result<Manifest, ManifestError> {
        let at = |fault: Fault| {
            let before = text.as_bytes().get(..fault.at).unwrap_or(text.as_bytes());
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            ManifestError { file: file.to_owned(), line, what: fault.what }
        };
        let written: Written = toml::from_str(text).map_err(|error| {
            let what = error.message().lines().collect::<Vec<_>>().join("; ");
            at(Fault { at: error.span().map_or(0, |span| span.start), what })
        })?;
        let signs = |list: &str, written: Vec<WrittenSign>| {
            let all = written.into_iter().map(|sign| Sign::compile(list, sign));
            all.collect::<Result<Vec<_>, Fault>>().map_err(at)
        };
        let boxes = |list: &str, written: Vec<WrittenBox>| {
            let all = written.into_iter().map(|one| Boxed::compile(list, one));
            all.collect::<Result<Vec<_>, Fault>>().map_err(at)
        };
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok(Manifest {
            mark: hasher.finish(),
            drawn_ms: written.drawn_ms.unwrap_or(DRAWN_MS),
            composer: written.composer.map(Composer::compile).transpose().map_err(at)?,
            unsure: signs("unsure", written.unsure)?,
            busy: signs("busy", written.busy)?,
            quiet: signs("quiet", written.quiet)?,
            dialogs: boxes("dialog", written.dialog)?,
            menus: boxes("menu", written.menu)?,
        })
    }
}

impl Manifest {
    /// How long after its request a dialog may be drawn yet, as a rule, in milliseconds: while the pane shows what that
    /// rule names, work is an answer only from then on.
    pub(super) fn drawn_ms(&self, rule: &str) -> u64 {
        let sign = self.busy.iter().find(|sign| sign.name == rule);
        sign.and_then(|sign| sign.drawn_ms).unwrap_or(self.drawn_ms)
    }
}

impl Composer {
    fn compile(written: WrittenComposer) -> Result<Composer, Fault> {
        let maybe = |key: &str, pattern: Option<Text>| {
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
    fn compile(list: &str, written: WrittenSign) -> Result<Sign, Fault> {
        let place = format!("[[{list}]] '{}'", written.name);
        Ok(Sign {
            zone: written.zone,
            pattern: compile(format_args!("{place} match"), &written.pattern)?,
            kind: kind(&place, written.kind.as_ref(), WaitKind::TurnEnd)?,
            within: written.within.unwrap_or(usize::MAX),
            drawn_ms: written.drawn_ms,
            name: written.name,
        })
    }
}

impl Boxed {
    fn compile(list: &str, written: WrittenBox) -> Result<Boxed, Fault> {
        let place = format!("[[{list}]] '{}'", written.name);
        let all = written.all.get_ref();
        if all.is_empty() {
            let what = format!("{place} all: is empty; name at least one text that only this box shows");
            return Err(Fault { at: written.all.span().start, what });
        }
        Ok(Boxed {
            kind: kind(&place, written.kind.as_ref(), WaitKind::Dialog)?,
            confidence: if written.unsure { Confidence::Low } else { Confidence::High },
            all: all
                .iter()
                .map(|pattern| compile(format_args!("{place} all"), pattern))
                .collect::<Result<_, _>>()?,
            not: written.not.map(|not| compile(format_args!("{place} not"), &not)).transpose()?,
            end: compile(format_args!("{place} end"), &written.end)?,
            name: written.name,
        })
    }
}

fn kind(place: &str, word: Option<&Text>, default: WaitKind) -> Result<WaitKind, Fault> {
    let Some(text) = word else { return Ok(default) };
    let word = text.get_ref();
    wait_kind(word).ok_or_else(|| Fault {
        at: text.span().start,
        what: format!(
            "{place} kind: '{word}' is none of permission, question, plan, elicitation, dialog, turn_end, error, \
             interrupted"
        ),
    })
}

fn compile(place: impl fmt::Display, pattern: &Text) -> Result<Regex, Fault> {
    let text = pattern.get_ref();
    Regex::new(text).map_err(|error| {
        // The reason stands in the last line, below a drawing of the place.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        Fault {
            at: pattern.span().start,
            what: format!("{place}: '{text}' is no regular expression: {reason}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_with_their_line() {
        let dialog = "[[dialog]]\nname = \"x\"\n";
        for (text, fault) in [
            (
                "\n[[busy]]\nname = \"x\"\nin = \"roof\"\nmatch = \"a\"\n".to_owned(),
                "4: unknown variant `roof`, expected",
            ),
            (
                "[[busy]]\nname = \"x\"\nin = \"status\"\nmatch = \"(\"\n".to_owned(),
                "4: [[busy]] 'x' match: '(' is no regular expression: unclosed group",
            ),
            (
                format!("{dialog}all = [\"a\",\n  \"(\"]\nend = \"b\"\n"),
                "4: [[dialog]] 'x' all: '(' is no regular expression",
            ),
            (
                format!("{dialog}kind = \"tea\"\nall = [\"a\"]\nend = \"b\"\n"),
                "3: [[dialog]] 'x' kind: 'tea' is none of permission,",
            ),
            (format!("{dialog}all = []\nend = \"b\"\n"), "3: [[dialog]] 'x' all: is empty;"),
            (
                format!("{dialog}all = [\"a\"]\nend = \"b\"\nsince = \"1.0\"\n"),
                "5: unknown field `since`, expected one of",
            ),
            ("# x\n[composer]\nprompt = \"a\"\n".to_owned(), "2: missing field `below`"),
            ("[composer\n".to_owned(), "1: "),
        ] {
            let error = Manifest::parse("claude.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("claude.toml:{fault}")), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
