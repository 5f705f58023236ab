//! `herdbook log scrub`: a secret that was found in a session's log later is taken out of it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use herdbook_daemon::retention::{Entry, note, redactor};
use herdbook_log::{ClosedLogError, OldLine, Sessions, has_bytes, link_of, scrub};
use herdbook_redact::Scrub;
use herdbook_wire::paths::state_dir;

use super::target::{Target, sessions};
use crate::clock::now_ms;
use crate::commands::Context;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::printer::{Line, Style};
use crate::text::{counted, shell_word};

/// Take a secret out of a session's log
///
/// Each place where the text stands in an event gets a mark, however JSON escapes it there. The touched segments are
/// written anew; events keep seq, id, time and type. What a model saw cannot be told from such a log exactly any more, and
/// `replay --as messages` says so. A damaged log is repaired first. A session that was gone on with under another key has a
/// log of its own: the exit code is 1, and it is named, while that has the text. The text is never an argument of the
/// command: other programs could see it there.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session, by its key or how that begins
    session: PathBuf,
    /// The file with the text, without the line feed at its end; - for stdin
    #[arg(long, value_name = "FILE")]
    text_from: PathBuf,
}

/// The longest text, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Scrubs it.
///
/// # Errors
/// No session has that key, the text cannot be used, the log is damaged or open, or the system refuses.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let Target::Folder { name, path } = Target::find(&args.session, &context.env)? else {
        return Err(Problem::Log("only the log of a session is scrubbed: name it by its key".to_owned()));
    };
    let secret = read(&args.text_from)?;
    let (state, now_ms) = (state_dir(&context.env.places)?, now_ms());
    let redactor = redactor(&state, now_ms)?;
    let Some(text) = Scrub::new(&redactor, &secret) else {
        return Err(Problem::Log(
            "the text must have 6 bytes or more: a shorter one is in too much".to_owned(),
        ));
    };
    let relatives = relatives(&sessions(&context.env)?, &name, &path);
    let mut left = 0;
    let mut change = |old: &OldLine<'_>| match text.json(old.payload) {
        Cow::Owned(new) => Some(new),
        Cow::Borrowed(_) => None,
    };
    let done = scrub(&path, now_ms, &mut change, &|bytes| text.bytes(bytes))
        .map_err(|error| refused(&error, (&name, &path), &relatives))?;
    for line in herdbook_log::Reader::open(&path).flatten() {
        left += u64::from(text.is_left(&line.payload));
    }
    if done.lines.lines == 0 && done.kept.is_empty() && left == 0 {
        context.printer.line(&Line::new().text(&format!("{name} does not have that text"), Style::Plain))?;
    }
    if done.lines.lines > 0 || !done.kept.is_empty() {
        let (segments, lines, kept) = (&*done.lines.segments, done.lines.lines, &*done.kept);
        let entry = Entry::Scrubbed { at: now_ms, session: &name, mark: text.mark(), segments, lines, kept };
        let file = state.join("retention.jsonl");
        note(&state, &entry).map_err(|source| Problem::File { what: "write", path: file, source })?;
        let mut words = format!("{name}: {} in ", text.mark());
        words.push_str(&counted(lines, "event"));
        if !kept.is_empty() {
            words.push_str(&format!(" and {}", kept.join(", ")));
        }
        context.printer.line(&Line::new().text(&words, Style::Plain))?;
    }
    if left > 0 {
        let words =
            format!("{name} still has it where no text stands, as a number: in {}", counted(left, "event"));
        context.printer.say(&Line::new().text(&words, Style::Alarm));
    }
    let mut is_elsewhere = false;
    for Relative { key, folder, what } in &relatives {
        let unread = |source| Problem::File { what: "read", path: folder.clone(), source };
        if has_bytes(folder, &|bytes| text.bytes(bytes).is_some()).map_err(unread)? {
            is_elsewhere = true;
            let words = format!(
                "{key}, which {what}, has that text: `herdbook log scrub {} --text-from FILE`",
                shell_word(key)
            );
            context.printer.say(&Line::new().text(&words, Style::Alarm));
        }
    }
    Ok(if left > 0 || is_elsewhere { Exit::Failed } else { Exit::Ok })
}

/// A session that has lines of another one.
struct Relative {
    key: String,
    folder: PathBuf,
    what: &'static str,
}

/// Finds the damaged session that this one continues, and those that continue this one.
fn relatives(sessions: &Sessions, name: &str, folder: &Path) -> Vec<Relative> {
    let continues = |folder: &Path| {
        let link: serde_json::Value = serde_json::from_str(&link_of(folder)?).ok()?;
        Some(link["continues"].as_str()?.to_owned())
    };
    let mut found = Vec::new();
    if let Some(key) = continues(folder) {
        found.push(Relative { folder: sessions.folder(&key), key, what: "it continues" });
    }
    for other in sessions.folders().unwrap_or_default() {
        if continues(&other).as_deref() == Some(name)
            && let Ok(Some(key)) = sessions.key_of_folder(&other)
        {
            found.push(Relative { key, folder: other, what: "continues it" });
        }
    }
    found.retain(|relative| sessions.has(&relative.key));
    found
}

/// Says why a log was not scrubbed, and what to do about a damaged one.
fn refused(error: &ClosedLogError, (name, folder): (&str, &Path), relatives: &[Relative]) -> Problem {
    let mut words = whole(error);
    if matches!(error, ClosedLogError::Damaged(_)) {
        let goes_on = relatives.iter().find(|relative| relative.what == "continues it");
        words.push_str(&match goes_on {
            None => format!("; mend it first: `herdbook log repair {}`", shell_word(name)),
            Some(Relative { key, .. }) => format!(
                "; {key} goes on with what can be read of it: scrub that, and remove {} to be rid of the rest",
                folder.display()
            ),
        });
    }
    Problem::Log(words)
}

fn read(path: &Path) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Problem::Input)?;
    } else {
        let unread = |source| Problem::File { what: "read", path: path.to_owned(), source };
        let file = File::open(path).map_err(unread)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unread)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Problem::Log(format!("the text is longer than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| Problem::Log("the text is no UTF-8".to_owned()))?;
    let without = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    Ok(without.unwrap_or(&text).to_owned())
}
