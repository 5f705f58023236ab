//! Answering from here what an agent asks for where it sits: what can be answered, what exactly is asked, and what came
//! of the answer.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::time::Duration;

use herdbook_api::waits::{AnswerWait, Wait, input_hash};
use herdbook_api::{ClientError, client::DEFAULT_TIMEOUT};
use herdbook_events::canonical::for_each_member;
use herdbook_hosts::HostTable;
use herdbook_wire::paths::state_dir;

use crate::clock::now_ms;
use crate::commands::Context;
use crate::daemon::Daemon;
use crate::error::Problem;
use crate::exit::Exit;
use crate::model::find;
use crate::printer::{Line, Printer, Style};
use crate::setup::holds::{Holds, holdable};
use crate::text::{age, brief, span};

/// The answer comes when it is written down and the hook has taken it.
const ANSWER_TIME: Duration = DEFAULT_TIMEOUT.saturating_mul(2);

/// What `approve` and `deny` are given.
#[derive(Debug, clap::Args)]
pub struct Answering {
    /// A queue number, a session's key, its native id, or the beginning of one; or the id of a wait
    wait: Option<String>,
    /// Why: it is written down, and where it is denied the model reads it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Without WAIT: one JSON object with the members `items` and `count`
    #[arg(long, conflicts_with = "wait")]
    json: bool,
}

/// Answers one wait, or lists what can be answered.
///
/// # Errors
/// There is no such session, nobody can be asked, or the daemon does not answer or refuses.
pub fn run(args: &Answering, outcome: &'static str, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let daemon = Daemon::of(&context.env)?.with_timeout(ANSWER_TIME);
    let waits = daemon.ask(|client| client.waits())?;
    let Some(asked) = &args.wait else { return list(waits, args.json, context) };
    let of_session: Vec<Wait> = match waits.iter().find(|wait| wait.id.eq_ignore_ascii_case(asked)) {
        Some(wait) => vec![wait.clone()],
        None => {
            let key = find(&daemon.rows()?, asked)?.key().to_owned();
            let waits: Vec<Wait> = waits.into_iter().filter(|wait| wait.session_id == key).collect();
            if waits.is_empty() {
                context.printer.say(&Line::new().text(&key, Style::Name).own(" does not wait"));
                return Ok(Exit::Nothing);
            }
            waits
        }
    };
    let held: Vec<&Wait> = of_session.iter().filter(|wait| wait.held_until.is_some()).collect();
    let wait = match held.as_slice() {
        [] => return Ok(not_held(&of_session, context)),
        [only] => only,
        several => {
            let line = Line::new().text(&several[0].session_id, Style::Name);
            context.printer.say(&line.own(" asks for more than one thing; name one by its id:"));
            for wait in several {
                context.printer.say(&row(wait));
            }
            return Ok(Exit::NoSession);
        }
    };
    let (Some(tool), Some(input)) = (&wait.tool, &wait.input) else {
        return Ok(not_held(&of_session, context));
    };
    show(wait, tool, input, context.printer);
    if !args.yes && !agrees(outcome, context.printer)? {
        context.printer.say(&Line::new().own("nothing was answered"));
        return Ok(Exit::Nothing);
    }
    let answer = AnswerWait {
        outcome: outcome.to_owned(),
        reason: args.reason.clone(),
        // Of what was shown, not of what the daemon says that it is.
        input_hash: input_hash(&wait.session_id, tool, input),
    };
    match daemon.ask(|client| client.answer(&wait.id, &answer)) {
        Ok(answered) => {
            let did = if outcome == "allow" { "allowed: " } else { "denied: " };
            let line = Line::new().own(did).text(&answered.session_id, Style::Name).own(" goes on");
            context.printer.say(&line);
            Ok(Exit::Ok)
        }
        // It is over, answered, or another one by now.
        Err(Problem::Answer(ClientError::Refused { status: 404 | 409, error })) => {
            context.printer.say(&Line::new().own("too late: ").text(&error, Style::Plain));
            Ok(Exit::Nothing)
        }
        Err(problem) => Err(problem),
    }
}

fn list(waits: Vec<Wait>, json: bool, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let held: Vec<Wait> = waits.into_iter().filter(|wait| wait.held_until.is_some()).collect();
    if json {
        context.printer.json(&herdbook_api::waits::Waits { count: held.len(), items: held })?;
        return Ok(Exit::Ok);
    }
    if held.is_empty() {
        let mut line = Line::new().own("nothing can be answered from here");
        if !is_on(context) {
            line = line.own(": hold is off, `herdbook hold on` switches it on");
        }
        context.printer.say(&line);
        return Ok(Exit::Nothing);
    }
    for wait in &held {
        context.printer.row(&row(wait))?;
    }
    context.printer.say(&Line::new().own("answer one by its id: `herdbook approve ID`, `herdbook deny ID`"));
    Ok(Exit::Ok)
}

/// One wait in a line.
fn row(wait: &Wait) -> Line {
    let line = Line::new().text(&wait.id, Style::Bold).own("  ");
    let line = line.text(&age(now_ms().saturating_sub(wait.since_at)), Style::Plain);
    // What is asked before who asks: in a narrow terminal the end is cut.
    let line = line.own("  ").text(&brief(&wait.message), Style::Plain);
    line.own("  ").text(&wait.session_id, Style::Name)
}

/// True where holding is switched on for any host.
fn is_on(context: &Context<'_>) -> bool {
    let state = state_dir(&context.env.places).ok();
    state.is_some_and(|state| {
        Holds::read(&state).is_ok_and(|holds| holdable().any(|table| holds.of(table.host).is_some()))
    })
}

/// Says why none of a session's waits can be answered from here.
fn not_held(waits: &[Wait], context: &mut Context<'_>) -> Exit {
    let is_permission = |wait: &&Wait| wait.kind == "permission";
    let Some(wait) = waits.iter().find(is_permission).or(waits.first()) else { return Exit::Nothing };
    let table = herdbook_hosts::table(&wait.host);
    let is_holdable = |table: &&HostTable| holdable().any(|other| other.host == table.host);
    let name = Line::new().text(&wait.session_id, Style::Name);
    let mut hint = None;
    let line = match table {
        _ if wait.kind != "permission" => {
            name.own(" waits for something else than a permission: it is answered where it asks")
        }
        Some(table) if is_holdable(&table) && !is_on(context) => {
            hint = Some(" `herdbook hold on` lets its next request wait for an answer from here");
            name.own(" is not held: hold is off")
        }
        Some(table) if is_holdable(&table) => name.own(" is not held any more: it is answered where it asks"),
        _ => {
            name.own(" cannot be answered from here: only Claude Code shows its dialog while its hook waits")
        }
    };
    context.printer.say(&line);
    hint = hint.or(Some(" `herdbook next` goes there"));
    if let Some(hint) = hint {
        context.printer.say(&Line::new().styled("hint:", Style::Name).own(hint));
    }
    Exit::Nothing
}

/// Shows what exactly is asked, whole.
fn show(wait: &Wait, tool: &str, input: &str, printer: &mut Printer) {
    let mut head = Line::new().text(&wait.session_id, Style::Name).own(" asks for leave to use ");
    head = head.text(&visible(tool), Style::Bold);
    if let Some(agent) = &wait.agent_id {
        head = head.own(", subagent ").text(agent, Style::Plain);
    }
    let left_ms = wait.held_until.unwrap_or_default().saturating_sub(now_ms());
    head = head.own("; it can be answered from here for ").text(&span(left_ms), Style::Plain);
    printer.say(&head);
    for line in lines(input) {
        printer.say(&Line::new().own("  ").text(&line, Style::Plain));
    }
}

/// A tool's input in lines: of an object each member, of a text each of its lines, all of them whole.
fn lines(input: &str) -> Vec<String> {
    let mut out = Vec::new();
    if serde_json::from_str::<serde::de::IgnoredAny>(input).is_err() {
        return vec![visible(input)];
    }
    for_each_member(input, |key, value| {
        let text: Result<String, _> = serde_json::from_str(value.get());
        match text {
            Ok(text) if text.contains('\n') => {
                out.push(format!("{}:", visible(&key)));
                out.extend(text.split('\n').map(|line| format!("  {}", visible(line))));
            }
            Ok(text) => out.push(format!("{}: {}", visible(&key), visible(&text))),
            Err(_) => out.push(format!("{}: {}", visible(&key), visible(value.get()))),
        }
    });
    if out.is_empty() { vec![visible(input)] } else { out }
}

/// What acts on a terminal, or is not seen there, as an escape: whoever says yes must see that it is there.
fn visible(text: &str) -> String {
    let is_plain = |letter: char| {
        let kept = herdbook_redact::clean_line(letter.encode_utf8(&mut [0; 4]));
        kept.chars().eq([letter]) || letter == ' '
    };
    text.chars()
        .map(|letter| if is_plain(letter) { letter.to_string() } else { letter.escape_unicode().to_string() })
        .collect()
}

/// Asks whether to say that. Only `y` and `yes` are a yes.
fn agrees(outcome: &str, printer: &mut Printer) -> Result<bool, Problem> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Problem::CannotAskAnswer);
    }
    printer.ask(&Line::new().own(if outcome == "allow" { "Allow it? [y/N]" } else { "Deny it? [y/N]" }));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Problem::Input)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_input_is_shown_and_nothing_hides_in_it() {
        let input = "{\"command\":\"make \\u001b[2K\\u202eevil\\ttest\",\"n\":1.50,\"text\":\"a\\n\\u0000b\",\"list\":[\"\u{200b}\"]}";
        assert_eq!(
            lines(input),
            [
                "command: make \\u{1b}[2K\\u{202e}evil\\u{9}test",
                "n: 1.50",
                "text:",
                "  a",
                "  \\u{0}b",
                "list: [\"\\u{200b}\"]"
            ]
        );
        assert_eq!(lines("[1]"), ["[1]"]);
        assert_eq!(lines("{}"), ["{}"]);
    }
}
