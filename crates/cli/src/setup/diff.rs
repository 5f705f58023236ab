//! A change, shown as a unified diff.

use std::io;
use std::path::Path;

use similar::TextDiff;

use crate::printer::{Line, Printer, Style};

/// Prints the diff between two texts of a file; none is a file that is not there. The text is the user's: it is cleaned
/// for the terminal, so this is to be read, not to be applied.
///
/// # Errors
/// stdout could not be written.
pub fn print(printer: &mut Printer, file: &Path, old: Option<&str>, new: Option<&str>) -> io::Result<()> {
    let name =
        |side: Option<&str>| side.map_or_else(|| "/dev/null".to_owned(), |_| file.display().to_string());
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
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
