//! The model history as of a line.

use herdbook_log::is_scrubbed;
use herdbook_story::{History, Line, Templates};

use super::Args;
use crate::commands::Context;
use crate::commands::log::file::FileLine;
use crate::commands::log::target::Target;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line as PrintLine, Style};

/// Prints the text and a line feed.
///
/// # Errors
/// The log does not go so far, or a line up to there does not say what the model saw.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let mut templates = Templates::default();
    if let Some(text) = &args.template_checkpoint {
        templates.checkpoint.clone_from(text);
    }
    if let Some(text) = &args.template_nudge {
        templates.nudge.clone_from(text);
    }
    let mut history = History::new(templates);
    let target = Target::find(&args.target, &context.env)?;
    let (mut file, mut seals) = target.open()?;
    while args.at != Some(history.last_seq())
        && let Some(FileLine { number, bytes, .. }) = file.next()?
    {
        let wrong = |why: String| Problem::LogLine { number, why };
        if let Some(damage) = seals.push(bytes).first() {
            return Err(Problem::Log(damage.to_string()));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| wrong(format!("no UTF-8: {error}")))?;
        let line = Line::read(text).map_err(|error| wrong(error.to_string()))?;
        history.apply(&line).map_err(|error| wrong(error.to_string()))?;
    }
    if let Some(damage) = seals.finish().first() {
        return Err(Problem::Log(damage.to_string()));
    }
    if let Some(at) = args.at.filter(|at| *at != history.last_seq()) {
        let last = history.last_seq();
        return Err(Problem::Log(format!("the log ends at seq {last}, there is no seq {at}")));
    }
    let text = history.messages().map_err(|error| Problem::Log(error.to_string()))?;
    context.printer.json_text(&text)?;
    let folder = match &target {
        Target::File(path) => path.parent(),
        Target::Folder { path, .. } => Some(path.as_path()),
    };
    if folder.is_some_and(is_scrubbed) {
        let words = "inexact: a secret was taken out of this log, so a model saw other text than this";
        context.printer.say(&PrintLine::new().text(words, Style::Alarm));
    }
    Ok(Exit::Ok)
}
