//! What `install` and `uninstall` tell about each host.

use std::ffi::OsStr;
use std::path::Path;

use herdbook_hosts::Form;

use super::change::{Change, Edit};
use super::diff;
use super::refusal::Refusal;
use crate::error::Problem;
use crate::printer::{Line, Printer, Style};
use crate::text::counted;

/// Columns for a host's name.
const HOST_COLUMNS: usize = 10;

/// Tells one thing about one host.
pub fn host(printer: &mut Printer, host: &'static str, words: &str) {
    printer.say(&begin(host).text(words, Style::Plain));
}

/// Tells why a host is left out.
pub fn refusal(printer: &mut Printer, host: &'static str, refusal: &Refusal) {
    printer
        .say(&begin(host).styled("error:", Style::Alarm).own(" ").text(&refusal.to_string(), Style::Plain));
}

/// Tells where a file lies as it was before.
pub fn kept(printer: &mut Printer, host_name: &'static str, copy: &Path, home: Option<&str>) {
    host(printer, host_name, &format!("copy of the file as it was: {}", short(copy, home)));
}

/// Tells what to look out for.
pub fn warning(printer: &mut Printer, words: &str) {
    printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(words, Style::Plain));
}

/// Tells what is worth knowing.
pub fn note(printer: &mut Printer, words: &str) {
    printer.say(&Line::new().styled("note:", Style::Name).own(" ").text(words, Style::Plain));
}

/// Tells what a change will do, or shows it as a diff.
///
/// # Errors
/// stdout could not be written.
pub fn change(
    printer: &mut Printer,
    change: &Change,
    home: Option<&str>,
    as_diff: bool,
) -> Result<(), Problem> {
    let file = short(&change.target.file, home);
    host(printer, change.target.table.host, &format!("{file}: {}", summary(change)));
    if !change.unsure.is_empty() {
        let without = change.unsure.join(", ");
        let name = change.target.program.as_deref().and_then(Path::file_name).map(OsStr::to_string_lossy);
        let how = name.map_or_else(|| "put it on PATH".to_owned(), |name| format!("mend `{name} --version`"));
        let words = format!("its version is not known, so without {without}; {how} and install again");
        host(printer, change.target.table.host, &words);
    }
    if as_diff && change.edit != Edit::Nothing {
        diff::print(printer, &change.target.file, change.text().ok().flatten(), change.text_after())?;
    }
    Ok(())
}

/// Says in words what a change does.
fn summary(change: &Change) -> String {
    let counts = change.counts();
    let count =
        |count: usize, verb: &str| (count > 0).then(|| format!("{verb} {}", counted(count as u64, "hook")));
    let parts: Vec<String> =
        [count(counts.added, "add"), count(counts.mended, "mend"), count(counts.removed, "remove")]
            .into_iter()
            .flatten()
            .collect();
    let is_plugin = matches!(change.target.table.setup.form, Form::Plugin(_));
    match &change.edit {
        Edit::Write(_) if is_plugin && change.file.bytes.is_none() => "new file, our plugin".to_owned(),
        Edit::Write(_) if is_plugin => "write our plugin anew".to_owned(),
        Edit::Nothing => "nothing to do".to_owned(),
        Edit::Remove => "remove the file, which is ours".to_owned(),
        Edit::Write(_) if change.file.bytes.is_none() => format!("new file, {}", parts.join(", ")),
        Edit::Write(_) if parts.is_empty() => "tidy up".to_owned(),
        Edit::Write(_) => parts.join(", "),
    }
}

/// Writes a path below the home with `~`.
pub fn short(path: &Path, home: Option<&str>) -> String {
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}

fn begin(host: &'static str) -> Line {
    Line::new().styled(host, Style::Name).spaces(HOST_COLUMNS.saturating_sub(host.len()).max(1))
}
