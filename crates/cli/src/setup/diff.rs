//! A change, shown as a unified diff.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;

use herdbook_redact::Redactor;
use similar::TextDiff;

use crate::printer::{Line, Printer, Style};

/// Prints the diff between two texts of a file; none is a file that is not there. The text is the user's: it is cleaned
/// for the terminal, and its secrets are marked: settings hold tokens, and a diff is soon pasted somewhere. So this is to
/// be read, not to be applied.
///
/// # Errors
/// stdout could not be written.
pub fn print(printer: &mut Printer, file: &Path, old: Option<&str>, new: Option<&str>) -> io::Result<()> {
    let name =
        |side: Option<&str>| side.map_or_else(|| "/dev/null".to_owned(), |_| file.display().to_string());
    let redactor = Redactor::new(&passing_key());
    // As JSON for the names that tell a secret, as text for what stands outside of strings (TOML, comments).
    let shown = |side: Option<&str>| redactor.text(&redactor.json(side.unwrap_or_default())).into_owned();
    let (old_text, new_text) = (shown(old), shown(new));
    let diff = TextDiff::from_lines(old_text.as_str(), new_text.as_str());
    let text = diff.unified_diff().context_radius(3).header(&name(old), &name(new)).to_string();
    for line in text.lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Alarm,
            Some(b'@') => Style::Name,
            _ => Style::Plain,
        };
        printer.line(&Line::new().text(&line.replace('\t', "    "), style))?;
    }
    Ok(())
}

/// A key for the marks of one diff: nobody can test a guess of a secret with it later.
fn passing_key() -> [u8; 32] {
    let random = RandomState::new();
    let mut key = [0; 32];
    for (number, part) in key.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&random.hash_one(number).to_ne_bytes());
    }
    key
}
