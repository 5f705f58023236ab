//! What one sample says.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use herdbook_events::WaitKind;

use super::manifest::{Boxed, Composer, Manifest, Sign, Zone};
use super::rows::{Live, boxed, composer, is_narrow, readings, rows};
use super::{Confidence, MIN_SIZE, Sample, Verdict};

/// The last rows of a box in which its end must stand; more in narrow panes.
const END_ROWS: usize = 3;
/// What a box offers stands so close together, words about each between them.
const OFFER_ROWS: usize = 3;
/// Rows of the box in which what it offers must stand, where no rule names it.
const CHOICE_ROWS: usize = 12;
/// A row below a composer is wrapped into so many at most.
const WRAPPED: usize = 3;
/// The rule of dialogs that no manifest names.
pub(super) const CHOICE: &str = "choice";
/// tmux writes this below what a client left behind (`remain-on-exit`).
const DEAD: &str = "Pane is dead";
/// Words that rows without a number begin with.
const OFFERS: [&str; 14] = [
    "Accept", "Allow", "Approve", "Cancel", "Continue", "Decline", "Deny", "Exit", "No", "Quit", "Reject",
    "Skip", "Trust", "Yes",
];
/// Signs before the chosen row of a dialog, over all hosts that were looked at.
const CHOSEN: [char; 6] = ['❯', '›', '▶', '→', '●', '▸'];

/// What one sample says, by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What the pane shows.
    pub verdict: Verdict,
    /// What for, where it shows a dialog; how the turn ended, where it is quiet.
    pub kind: Option<WaitKind>,
    /// How sure it is.
    pub confidence: Confidence,
    /// The rule that says so, in one word.
    pub rule: String,
    /// One line of the screen that tells the human what it is about; foreign text.
    pub message: String,
    /// There is text in the composer that was not sent: a human is at that pane.
    pub human_there: bool,
    /// Equal for two samples that show the same.
    pub(super) mark: u64,
}

impl Reading {
    fn unknown(rule: &str) -> Reading {
        Reading { rule: rule.to_owned(), ..Reading::default() }
    }
}

/// Reads one sample. What cannot be told is [`Verdict::Unknown`], never quiet.
pub fn read(manifest: &Manifest, sample: &Sample<'_>) -> Reading {
    let too_small = |(columns, rows)| columns < MIN_SIZE.0 || rows < MIN_SIZE.1;
    if sample.size.is_some_and(too_small) {
        return Reading::unknown("too-small");
    }
    let rows = rows(sample.text);
    if rows.is_empty() {
        return Reading::unknown("blank");
    }
    if rows.iter().rev().take(WRAPPED).any(|row| row.starts_with(DEAD)) {
        return Reading::unknown("dead");
    }
    let at_prompt = |wrapped: usize| {
        let rule = manifest.composer.as_ref()?;
        Some(at_composer(manifest, sample, &composer(&rows, rule, wrapped)?, rule))
    };
    if let Some(reading) = at_prompt(1) {
        return reading;
    }
    let reading = at_box(manifest, sample, &boxed(&rows));
    // The keys below a composer wrap, too: but what a rule knows comes first.
    let is_named = reading.verdict != Verdict::Unknown && reading.rule != CHOICE;
    if is_named || !is_narrow(sample.size) { reading } else { at_prompt(WRAPPED).unwrap_or(reading) }
}

fn at_composer(manifest: &Manifest, sample: &Sample<'_>, live: &Live<'_>, composer: &Composer) -> Reading {
    let human_there = is_typed(composer, live, sample);
    let message = live.status.last().map_or("", |row| row.trim()).to_owned();
    let of = |verdict, rule: &str, kind| Reading {
        verdict,
        kind,
        rule: rule.to_owned(),
        message: message.clone(),
        human_there,
        mark: mark(live.above),
        ..Reading::default()
    };
    let find = |signs: &'_ [Sign]| signs.iter().find(|sign| shows(sign, live, sample)).cloned();
    if let Some(sign) = find(&manifest.unsure) {
        return of(Verdict::Unknown, &sign.name, None);
    }
    if let Some(sign) = find(&manifest.busy) {
        return of(Verdict::Busy, &sign.name, None);
    }
    match find(&manifest.quiet) {
        Some(sign) => of(Verdict::Ready, &sign.name, Some(sign.kind)),
        None => of(Verdict::Ready, "composer", Some(WaitKind::TurnEnd)),
    }
}

fn shows(sign: &Sign, live: &Live<'_>, sample: &Sample<'_>) -> bool {
    let narrow = is_narrow(sample.size);
    match sign.zone {
        Zone::Title => sign.pattern.is_match(sample.title),
        Zone::Footer => (0..live.footer.len())
            .flat_map(|row| readings(live.footer, row, narrow))
            .any(|text| sign.pattern.is_match(&text)),
        Zone::Status => {
            let status = live.status;
            let first = status.len().saturating_sub(sign.within);
            (first..status.len()).any(|row| {
                readings(status, row, narrow).iter().enumerate().any(|(place, text)| {
                    // Two readings for each number of joined rows, after the row alone.
                    let joined = place.div_ceil(2) + 1;
                    // Rows below that are not part of it are newer.
                    let is_last =
                        || status[row + joined..].iter().all(|row| row.starts_with(char::is_whitespace));
                    sign.pattern.is_match(text) && is_last()
                })
            })
        }
    }
}

/// True when a human wrote something and did not send it. A cursor at the start of it says that the client put it there.
fn is_typed(composer: &Composer, live: &Live<'_>, sample: &Sample<'_>) -> bool {
    let prompt = live.inside.len().saturating_sub(1);
    live.inside.iter().enumerate().any(|(place, row)| {
        let pattern = match &composer.body {
            Some(body) if place < prompt => body,
            _ => &composer.prompt,
        };
        let Some(typed) = pattern.captures(row).and_then(|found| found.get(1)) else { return false };
        let text = typed.as_str().trim();
        if text.is_empty() || composer.placeholders.iter().any(|known| known.is_match(text)) {
            return false;
        }
        let start = row.get(..typed.start()).map_or(0, |before| before.chars().count());
        let at = u32::try_from(live.prompt + place).unwrap_or(u32::MAX).saturating_sub(prompt as u32);
        !sample.cursor.is_some_and(|(column, row)| row == at && column as usize <= start)
    })
}

fn at_box(manifest: &Manifest, sample: &Sample<'_>, rows: &[&str]) -> Reading {
    let narrow = is_narrow(sample.size);
    let titled =
        manifest.busy.iter().find(|sign| sign.zone == Zone::Title && sign.pattern.is_match(sample.title));
    let rules = manifest
        .dialogs
        .iter()
        .map(|rule| (Verdict::Dialog, rule))
        .chain(manifest.menus.iter().map(|rule| (Verdict::Menu, rule)));
    for (verdict, rule) in rules {
        if let Some(message) = fits(rule, rows, narrow) {
            return Reading {
                verdict,
                kind: (verdict == Verdict::Dialog).then_some(rule.kind),
                confidence: rule.confidence,
                rule: rule.name.clone(),
                message,
                human_there: verdict == Verdict::Menu,
                mark: 0,
            };
        }
    }
    if let Some(sign) = titled {
        return Reading { verdict: Verdict::Busy, rule: sign.name.clone(), ..Reading::default() };
    }
    match choice(rows) {
        Some(message) => Reading {
            verdict: Verdict::Dialog,
            kind: Some(WaitKind::Dialog),
            confidence: Confidence::Low,
            rule: CHOICE.into(),
            message,
            human_there: false,
            mark: mark(rows),
        },
        None => Reading::unknown("nothing-known"),
    }
}

/// Returns the row that a rule knows its box by, if all of it is there and its end stands at the end.
fn fits(rule: &Boxed, rows: &[&str], narrow: bool) -> Option<String> {
    let found = |pattern: &regex::Regex, from: usize| {
        (from..rows.len())
            .rev()
            .flat_map(|row| readings(rows, row, narrow))
            .find(|text| pattern.is_match(text))
    };
    let last = END_ROWS * if narrow { 3 } else { 1 };
    found(&rule.end, rows.len().saturating_sub(last))?;
    if rule.not.as_ref().is_some_and(|not| found(not, 0).is_some()) {
        return None;
    }
    let mut known = None;
    for pattern in &rule.all {
        let row = found(pattern, 0)?;
        known.get_or_insert(row);
    }
    known.map(Cow::into_owned)
}

/// A dialog that nobody has seen before: at the bottom rows that offer something, one of them chosen. Returns the row
/// above them.
fn choice(rows: &[&str]) -> Option<String> {
    let offers = |row: &str| {
        let row = row.trim_start();
        let word = row.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        if OFFERS.contains(&word) {
            return Some(());
        }
        let (sign, rest) = row.split_once(' ')?;
        let is_number = sign.strip_suffix(['.', ')']).is_some_and(|sign| {
            !sign.is_empty() && sign.len() <= 2 && sign.bytes().all(|byte| byte.is_ascii_digit())
        });
        let is_letter = sign.len() == 3 && sign.starts_with('[') && sign.ends_with(']');
        ((is_number || is_letter) && !rest.trim().is_empty()).then_some(())
    };
    let chosen = |row: &str| row.strip_prefix(CHOSEN).is_some_and(|rest| offers(rest).is_some());
    // Old rows that look like it have something newer below them.
    let last = rows.iter().rposition(|row| chosen(row) || offers(row).is_some())?;
    if rows.len() - last > END_ROWS {
        return None;
    }
    let first = rows.len().saturating_sub(CHOICE_ROWS);
    let place = first + rows[first..].iter().position(|row| chosen(row))?;
    // Sentences begin with such words, too: but not two so close, one of them chosen.
    let near = place.saturating_sub(OFFER_ROWS).max(first)..rows.len().min(place + OFFER_ROWS + 1);
    let others = rows[near].iter().filter(|row| offers(row).is_some()).count();
    let above = rows[..place].iter().rev().find(|row| offers(row).is_none());
    (others > 0).then(|| above.copied().unwrap_or_default().to_owned())
}

fn mark(rows: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    rows.hash(&mut hasher);
    hasher.finish()
}
