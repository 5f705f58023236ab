//! Finding secrets: one pass of keywords over the text, then the rule of each keyword at its place.
//!
//! Linear time: a rule never looks twice at what it has looked at. Each rule keeps the position before which its
//! keywords are not tried again, and looks ahead only over the run of characters that it then steps past.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::context;
use crate::formats::{self, FORMATS};
use crate::pem;

/// The word in a mark, and which rule gives way where two meet: the higher rank names the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub name: &'static str,
    pub rank: u8,
}

impl Kind {
    /// A format that is recognised by itself.
    pub const fn format(name: &'static str) -> Self {
        Self { name, rank: 2 }
    }
    /// A value that is secret because of the words around it.
    pub const fn context(name: &'static str) -> Self {
        Self { name, rank: 1 }
    }
}

/// A secret in a text, by byte offsets on character boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

/// What a rule says about one keyword: perhaps a secret, and how far it has looked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub span: Option<Span>,
    /// The rule is not asked again about keywords that begin before this offset.
    pub resume: usize,
}

#[derive(Clone, Copy)]
enum Rule {
    Format(usize),
    Context(context::Rule),
    Pem,
}

struct Finder {
    keywords: AhoCorasick,
    /// For each keyword its rule, and the slot in which that rule keeps its position.
    rules: Vec<(Rule, usize)>,
    slots: usize,
}

/// Built once; `None` only if the automaton could not be built, which a test rules out.
static FINDER: LazyLock<Option<Finder>> = LazyLock::new(Finder::build);

impl Finder {
    fn build() -> Option<Self> {
        let mut words: Vec<&str> = Vec::new();
        let mut rules = Vec::new();
        for (index, format) in FORMATS.iter().enumerate() {
            for keyword in format.keywords {
                words.push(keyword);
                rules.push((Rule::Format(index), index));
            }
        }
        let mut slot = FORMATS.len();
        for (rule, keywords) in context::RULES {
            for keyword in *keywords {
                words.push(keyword);
                rules.push((Rule::Context(*rule), slot));
            }
            slot += 1;
        }
        words.push(pem::KEYWORD);
        rules.push((Rule::Pem, slot));
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words)
            .ok()?;
        Some(Self { keywords, rules, slots: slot + 1 })
    }
}

/// All secrets in `text`: in order, apart from each other, each named by the most telling rule that found it.
pub(crate) fn spans(text: &str) -> Vec<Span> {
    let Some(finder) = FINDER.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    let mut resume: Vec<usize> = Vec::new();
    for hit in finder.keywords.find_overlapping_iter(text) {
        if resume.is_empty() {
            resume.resize(finder.slots, 0);
        }
        let (rule, slot) = finder.rules[hit.pattern().as_usize()];
        if hit.start() < resume[slot] {
            continue;
        }
        let look = match rule {
            Rule::Format(index) => formats::look(index, text, hit.start()),
            Rule::Context(rule) => context::look(rule, text, hit.start(), hit.end()),
            Rule::Pem => pem::look(text, hit.start()),
        };
        resume[slot] = resume[slot].max(look.resume);
        found.extend(look.span);
    }
    merge(found)
}

/// Joins spans that overlap. The whole of both is marked: half a secret left standing is a secret told.
pub(crate) fn merge(mut found: Vec<Span>) -> Vec<Span> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by_key(|span| (span.start, span.end));
    let mut merged: Vec<Span> = Vec::with_capacity(found.len());
    for span in found {
        match merged.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if span.kind.rank > last.kind.rank {
                    last.kind = span.kind;
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// Whether a token may begin at `at`: the character before is not part of a longer word. An escape that the text
/// still carries (`\n` as two characters, `%3D`, the `m` of a colour code) ends in a letter or digit and is no word.
pub(crate) fn begins_token(text: &str, at: usize) -> bool {
    let bytes = &text.as_bytes()[at.saturating_sub(12)..at];
    let Some(&last) = bytes.last() else { return true };
    if !(last.is_ascii_alphanumeric() || last == b'_' || last == b'-') {
        return true;
    }
    let before = |count: usize| bytes.len().checked_sub(count).map(|index| bytes[index]);
    if matches!(last, b'n' | b'r' | b't') && before(2) == Some(b'\\') {
        return true;
    }
    if before(3) == Some(b'%') && bytes[bytes.len() - 2..].iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    if before(6) == Some(b'\\')
        && before(5) == Some(b'u')
        && bytes[bytes.len() - 4..].iter().all(u8::is_ascii_hexdigit)
    {
        return true;
    }
    if last == b'm' {
        let code =
            bytes[..bytes.len() - 1].iter().rposition(|byte| !(byte.is_ascii_digit() || *byte == b';'));
        return code.is_some_and(|index| bytes[index] == b'[');
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automaton_builds() {
        assert!(FINDER.is_some());
    }

    #[test]
    fn overlapping_spans_become_one_with_the_more_telling_name() {
        let (weak, strong) = (Kind::context("token"), Kind::format("jwt"));
        let found = vec![
            Span { start: 4, end: 9, kind: strong },
            Span { start: 0, end: 6, kind: weak },
            Span { start: 9, end: 12, kind: weak },
        ];
        let expected = vec![Span { start: 0, end: 9, kind: strong }, Span { start: 9, end: 12, kind: weak }];
        assert_eq!(merge(found), expected);
    }

    #[test]
    fn an_escape_before_a_token_is_not_a_word() {
        for (text, begins) in [
            ("x", false),
            ("=", true),
            ("\\n", true),
            ("an", false),
            ("%3D", true),
            ("3D", false),
            ("\\u000a", true),
            ("[1;32m", true),
            ("32m", false),
            ("-", false),
            ("", true),
        ] {
            assert_eq!(begins_token(text, text.len()), begins, "{text:?}");
        }
    }
}
