//! Finds cases and runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::case::{Body, Case, Check};
use crate::needs::Abilities;
use crate::real::tools::parts;
use crate::real::{Tools, process};
use crate::replay;
use crate::report::Line;

/// Runs cases with what this product can do.
pub struct Runner {
    abilities: Abilities,
    tools: Option<Tools>,
}

impl Runner {
    /// Makes a runner. Without binaries, checks against them are not run.
    pub fn new(abilities: Abilities, tools: Option<Tools>) -> Runner {
        Runner { abilities, tools }
    }

    /// Reads and runs the case in a folder. A case that cannot be read is a failed line for each problem.
    pub fn run_folder(&self, dir: &Path) -> Vec<Line> {
        match Case::load(dir) {
            Ok(case) => self.run_case(&case),
            Err(problems) => {
                let name = folder_name(dir);
                problems.into_iter().map(|problem| Line::broken(&name, "case.json", problem)).collect()
            }
        }
    }

    /// Runs all checks of a case.
    pub fn run_case(&self, case: &Case) -> Vec<Line> {
        case.checks.iter().flat_map(|check| self.run_check(case, check)).collect()
    }

    fn run_check(&self, case: &Case, check: &Check) -> Vec<Line> {
        let in_process = matches!(check.body, Body::Replay { .. } | Body::Table(_));
        if let Some(reason) = self.abilities.missing(&check.needs, &check.hosts, in_process) {
            return not_run(case, check, &reason);
        }
        match &check.body {
            Body::Replay { stem, steps } => replay::run(&case.id, stem, steps, &self.abilities),
            Body::Table(table) => table.run(&case.id, &check.name),
            Body::Unread { kind, .. } => not_run(case, check, kind),
            Body::Screen(screen) => screen.run(&case.id, &check.name),
            Body::Manual => not_run(case, check, "manual"),
            Body::Store(store) => store.run(&case.id, &check.name),
            Body::Transcript(reader) => match &self.tools {
                Some(tools) => apart(case, check, tools),
                None => here(reader.run(&case.id, &check.name, &case.dir)),
            },
            Body::HookBytes(_) | Body::Http(_) | Body::Script(_) | Body::Settings(_) => {
                let Some(tools) = &self.tools else { return not_run(case, check, "herdbook") };
                run_real(case, check, tools)
            }
        }
    }
}

/// In this process memory cannot be told apart from that of other cases, so what asks for it is not run.
fn here(lines: Vec<Line>) -> Vec<Line> {
    let of_memory = |line: &Line| line.check.ends_with(" peak_kib");
    let line = |line: Line| match of_memory(&line) {
        true => Line::not_run(&line.case, line.check, line.expected, "herdbook"),
        false => line,
    };
    lines.into_iter().map(line).collect()
}

/// Runs a transcript check in a process of its own: what this one holds of other cases is not the reader's memory.
fn apart(case: &Case, check: &Check, tools: &Tools) -> Vec<Line> {
    let mut command = process::command(&tools.this, &[("PATH".into(), tools.path.clone())]);
    command.arg(parts::TRANSCRIPT).arg(&case.dir).arg(&check.name);
    let lines = process::run(command, Duration::from_secs(300)).map_err(|error| error.to_string()).and_then(
        |finished| {
            serde_json::from_slice(&finished.stdout)
                .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&finished.stderr)))
        },
    );
    lines.unwrap_or_else(|problem| vec![Line::broken(&case.id, &check.name, problem)])
}

/// Runs one transcript check here and returns its lines as JSON.
///
/// # Errors
/// There is no such check.
pub fn transcript_check(dir: &Path, name: &str) -> Result<String, String> {
    let case = Case::load(dir).map_err(|problems| problems.join("; "))?;
    let check = case.checks.iter().find(|check| check.name == name);
    match check.map(|check| &check.body) {
        Some(Body::Transcript(reader)) => {
            serde_json::to_string(&reader.run(&case.id, name, dir)).map_err(|error| error.to_string())
        }
        _ => Err(format!("{name} is no transcript check of {}", case.id)),
    }
}

/// Runs a check against the binaries. One whose surroundings break is a failed line.
fn run_real(case: &Case, check: &Check, tools: &Tools) -> Vec<Line> {
    let (id, name, dir) = (&case.id, &check.name, &case.dir);
    let lines = match &check.body {
        Body::HookBytes(hooks) => hooks.run(id, name, dir, tools),
        Body::Http(http) => http.run(id, name, dir, tools),
        Body::Settings(settings) => settings.run(id, name, dir, tools),
        Body::Script(script) => {
            let tmux = check.needs.iter().any(|need| need == "tmux");
            match script.missing_program(tools, tmux) {
                Some(program) => return not_run(case, check, &program),
                None => script.run(id, name, dir, tools),
            }
        }
        _ => Ok(Vec::new()),
    };
    lines.unwrap_or_else(|problem| vec![Line::broken(id, name, problem)])
}

/// Lists the case folders below a folder, sorted: the folder itself, or those in it.
///
/// # Errors
/// The folder cannot be read, or holds no case.
pub fn find_cases(dir: &Path) -> Result<Vec<PathBuf>, String> {
    if dir.join("case.json").is_file() {
        return Ok(vec![dir.to_owned()]);
    }
    let entries = fs::read_dir(dir).map_err(|error| format!("{} cannot be read: {error}", dir.display()))?;
    let mut cases = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{} cannot be read: {error}", dir.display()))?.path();
        // Folders that tools leave behind are no cases, and neither are the logs of released versions.
        let name = folder_name(&path);
        if path.is_dir() && !name.starts_with(['.', '_']) && name != "logs" {
            cases.push(path);
        }
    }
    if cases.is_empty() {
        return Err(format!("{} holds no case: no case.json in it or in a folder in it", dir.display()));
    }
    cases.sort();
    Ok(cases)
}

/// Returns the lines of a check that is not run: one for each of its expectations.
fn not_run(case: &Case, check: &Check, reason: &str) -> Vec<Line> {
    let line = |place: String, written: &Value| {
        Line::not_run(&case.id, format!("{} {place}", check.name), written.clone(), reason)
    };
    match &check.body {
        Body::Replay { stem, steps } => replay::not_run(&case.id, stem, steps, reason),
        Body::Table(table) => table.not_run(&case.id, &check.name, reason),
        Body::Store(store) => store.not_run(&case.id, &check.name, reason),
        Body::Screen(screen) => {
            screen.expectations().map(|(path, written)| line(path.to_owned(), written)).collect()
        }
        Body::Transcript(reader) => {
            reader.expectations().map(|(place, written)| line(place, written)).collect()
        }
        Body::Unread { expectations, .. } => {
            expectations.iter().map(|(place, written)| line(place.clone(), written)).collect()
        }
        Body::Manual => vec![Line::not_run(&case.id, check.name.clone(), Value::Null, reason)],
        Body::HookBytes(hooks) => {
            let each = hooks.each.iter().map(|one| line(format!("each {}", one.path), &one.written));
            each.chain(hooks.expect.iter().map(|one| line(one.path.clone(), &one.written))).collect()
        }
        Body::Http(http) => {
            let mut lines = Vec::new();
            for request in &http.requests {
                let place = |path: &str| format!("{} {path}", request.name);
                lines.extend(request.expect.iter().map(|one| line(place(&one.path), &one.written)));
            }
            lines.extend(http.expect.iter().map(|one| line(one.path.clone(), &one.written)));
            lines
        }
        Body::Settings(settings) => {
            settings.expectations().map(|(place, written)| line(place, written)).collect()
        }
        Body::Script(script) => {
            script.expect.iter().map(|one| line(one.path.clone(), &one.written)).collect()
        }
    }
}

fn folder_name(dir: &Path) -> String {
    let named = dir.file_name().map(|name| name.to_string_lossy().into_owned());
    named.unwrap_or_else(|| dir.display().to_string())
}
