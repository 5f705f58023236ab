//! `herdbook screens`: what a host's screens are known by, and how one of them is read.

use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;

use herdbook_daemon::{own_manifest, screens_dir};
use herdbook_hosts::screen::{Confidence, Reading, Sample, manifest, manifest_text, read};
use herdbook_wire::paths::config_dir;
use serde::Serialize;

use super::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Style};

/// Print the rules by which a host's screens are read, or try them
///
/// Without `--check` it prints the built-in rules of the host, to be put into `screens/HOST.toml` in your settings folder
/// and changed there: that file takes the place of all of them. With `--check` it reads captured panes by the rules in
/// use, yours if there are any:
///
///     tmux capture-pane -p | herdbook screens claude --check
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The host: claude, codex, copilot, cursor, gemini or opencode
    host: String,
    /// Read captured panes instead: these files, or stdin
    #[arg(long, value_name = "FILE", num_args = 0..)]
    check: Option<Vec<PathBuf>>,
    /// Columns of the captured pane: rows that it cut are read as one
    #[arg(long, value_name = "N", requires = "check")]
    columns: Option<u32>,
    /// One JSON object for each pane
    #[arg(long, requires = "check")]
    json: bool,
}

/// What one pane shows, for scripts.
#[derive(Serialize)]
struct Shown<'a> {
    file: &'a str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    rule: &'a str,
    sure: bool,
    human_there: bool,
    message: &'a str,
}

/// Prints it.
///
/// # Errors
/// The host's screens are not known, its own rules are broken, a file cannot be read, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let host = args.host.as_str();
    let Some(files) = &args.check else {
        let text = manifest_text(host).ok_or_else(|| Problem::NoScreens { host: host.to_owned() })?;
        for row in text.lines() {
            context.printer.line(&Line::new().own(row))?;
        }
        return Ok(Exit::Ok);
    };
    let own = match config_dir(&context.env.places) {
        Ok(folder) => own_manifest(&screens_dir(&folder), host)?,
        Err(_) => None,
    };
    let rules = own.as_ref().or_else(|| manifest(host));
    let rules = rules.ok_or_else(|| Problem::NoScreens { host: host.to_owned() })?;
    // Rows are known only where columns are; a capture without them is as tall as any.
    let size = args.columns.map(|columns| (columns, u32::MAX));
    let mut show = |file: &str, text: &str| {
        let reading = read(rules, &Sample { text, size, ..Sample::default() });
        if args.json {
            context.printer.json(&shown(file, &reading))
        } else {
            context.printer.line(&line(file, &reading))
        }
    };
    if files.is_empty() {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(Problem::Input)?;
        show("", &String::from_utf8_lossy(&bytes))?;
    }
    for path in files {
        let bytes =
            fs::read(path).map_err(|source| Problem::File { what: "read", path: path.clone(), source })?;
        show(&path.display().to_string(), &String::from_utf8_lossy(&bytes))?;
    }
    Ok(Exit::Ok)
}

fn shown<'a>(file: &'a str, reading: &'a Reading) -> Shown<'a> {
    Shown {
        file,
        verdict: reading.verdict.as_str(),
        kind: reading.kind.map(|kind| kind.as_str()),
        rule: &reading.rule,
        sure: reading.confidence == Confidence::High,
        human_there: reading.human_there,
        message: &reading.message,
    }
}

/// `FILE: dialog (permission), by the rule 'permission': Do you want to proceed?`
fn line(file: &str, reading: &Reading) -> Line {
    let mut line = Line::new();
    if !file.is_empty() {
        line = line.text(file, Style::Plain).own(": ");
    }
    line = line.styled(reading.verdict.as_str(), Style::Bold);
    if let Some(kind) = reading.kind.filter(|kind| kind.as_str() != reading.verdict.as_str()) {
        line = line.own(" (").styled(kind.as_str(), Style::Plain).own(")");
    }
    line = line.text(&format!(", by the rule '{}'", reading.rule), Style::Dim);
    if reading.confidence == Confidence::Low {
        line = line.styled(", which is a guess", Style::Dim);
    }
    if reading.human_there {
        line = line.styled(", and a human is there", Style::Dim);
    }
    if !reading.message.is_empty() {
        line = line.own(": ").text(&reading.message, Style::Plain);
    }
    line
}
