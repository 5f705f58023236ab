//! The `settings` kind: `herdbook install`, `uninstall` and `doctor` for one host in a scratch home.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_hosts::HostTable;
use serde_json::{Map, Value, json};

use crate::case::{expectations, read_input_bytes};
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::real::Tools;
use crate::real::bench::Bench;
use crate::real::daemon::drained;
use crate::real::entries::{ours, parsed};
use crate::real::process::{self, Finished};
use crate::report::Line;

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the stand-in of the host's program prints as its version: one that knows every event.
const VERSION: &str = "99.0.0";
/// The project's folder, below the scratch folder.
const PROJECT: &str = "project";

/// A settings check.
#[derive(Clone, Debug)]
pub struct SettingsCheck {
    table: &'static HostTable,
    /// Path in the scratch home or project, and what is in the file.
    files: Vec<(String, Vec<u8>)>,
    /// Symlinks and the files behind them.
    links: Vec<(String, String)>,
    steps: Vec<Step>,
}

/// One step with what is expected after it.
#[derive(Clone, Debug)]
struct Step {
    act: Act,
    /// Where it is done; the project where nothing is said.
    cwd: Option<String>,
    expect: Vec<Expectation>,
}

#[derive(Clone, Debug)]
enum Act {
    Install,
    Uninstall,
    Doctor,
    Copy { from: String, to: String },
    Fire { event: String },
}

impl Act {
    fn word(&self) -> &'static str {
        match self {
            Act::Install => "install",
            Act::Uninstall => "uninstall",
            Act::Doctor => "doctor",
            Act::Copy { .. } => "copy",
            Act::Fire { .. } => "fire",
        }
    }
}

impl SettingsCheck {
    /// Reads a settings check with its files.
    ///
    /// # Errors
    /// The host has no table, a step is not known or lacks a field, a file is not there, or nothing is expected.
    pub fn read(node: &Node<'_>, dir: &Path) -> Result<SettingsCheck, Problem> {
        let host = node.member("host")?;
        let table = herdbook_hosts::table(host.text()?).ok_or_else(|| {
            host.problem(format_args!("'{}' has no table", host.text().unwrap_or_default()))
        })?;
        let mut files = Vec::new();
        if let Some(given) = node.maybe("files")? {
            for path in given.members()?.keys() {
                let input = given.member(path)?;
                files.push((path.clone(), read_input_bytes(&input, dir, input.text()?)?));
            }
        }
        let mut steps = Vec::new();
        for step in node.member("steps")?.list()? {
            let text = |key: &str| Ok::<_, Problem>(step.member(key)?.text()?.to_owned());
            let act = match step.member("do")?.text()? {
                "install" => Act::Install,
                "uninstall" => Act::Uninstall,
                "doctor" => Act::Doctor,
                "copy" => Act::Copy { from: text("from")?, to: text("to")? },
                "fire" => Act::Fire { event: text("event")? },
                other => return Err(step.problem(format_args!("step '{other}' is not known"))),
            };
            let expect = match step.maybe("expect")? {
                Some(_) => expectations(&step)?.collect(),
                None => Vec::new(),
            };
            steps.push(Step { act, cwd: step.maybe_text("cwd")?, expect });
        }
        if steps.iter().all(|step| step.expect.is_empty()) {
            return Err(node.problem("expects nothing"));
        }
        let links = match node.maybe("symlink")? {
            Some(given) => links(&given, table)?,
            None => Vec::new(),
        };
        Ok(SettingsCheck { table, files, links, steps })
    }

    /// Place and expected value of each expectation.
    pub fn expectations(&self) -> impl Iterator<Item = (String, &Value)> {
        let of_step = |(index, step): (usize, &'static str), expect: &Expectation| {
            format!("step {} {step} {}", index + 1, expect.path)
        };
        self.steps.iter().enumerate().flat_map(move |(index, step)| {
            step.expect.iter().map(move |one| (of_step((index, step.act.word()), one), &one.written))
        })
    }

    /// Takes the steps in a scratch home and tests each.
    ///
    /// # Errors
    /// The scratch home cannot be made, or a command cannot be started.
    pub fn run(&self, case: &str, check: &str, case_dir: &Path, tools: &Tools) -> Result<Vec<Line>, String> {
        let mut home = Home::new(self, case_dir, tools)?;
        let before = home.user_bytes();
        let mut last = before.clone();
        let mut lines = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let word = step.act.word();
            let mut observed =
                home.take(step).map_err(|problem| format!("step {} {word}: {problem}", index + 1))?;
            let now = home.user_bytes();
            observed.insert("file".into(), home.file(&now, &before, &last));
            observed.insert("ours".into(), json!(ours(now.as_deref())));
            last = now;
            let observed = Value::Object(observed);
            for one in &step.expect {
                let (found, ok) = one.test(&observed);
                let place = format!("{check} step {} {word} {}", index + 1, one.path);
                lines.push(Line::tested(case, place, one.written.clone(), found, ok));
            }
        }
        Ok(lines)
    }
}

/// The scratch home of a check.
struct Home<'a> {
    bench: Bench<'a>,
    table: &'static HostTable,
    /// The host's user settings.
    user: PathBuf,
}

impl<'a> Home<'a> {
    fn new(check: &SettingsCheck, case_dir: &Path, tools: &'a Tools) -> Result<Home<'a>, String> {
        let io = |error: io::Error| format!("no scratch home: {error}");
        let mut bench = Bench::new(tools, case_dir, false)?;
        let dir = bench.scratch.dir();
        fs::create_dir_all(dir.join(PROJECT)).map_err(io)?;
        let programs = dir.join(".env/bin");
        stand_ins(&programs, check.table).map_err(io)?;
        let path = format!("{}:{}", programs.display(), tools.path);
        bench.env.retain(|(name, _)| name != "PATH");
        bench.env.push(("PATH".into(), path));
        let user = user_file(&bench, check.table);
        let home = Home { bench, table: check.table, user };
        for (path, bytes) in &check.files {
            write_file(&home.place(path), bytes).map_err(io)?;
        }
        for (path, target) in &check.links {
            home.link(path, target).map_err(io)?;
        }
        Ok(home)
    }

    /// Makes a symlink. A file in its place becomes the one behind it.
    fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let (path, target) = (self.place(path), self.place(target));
        for folder in [path.parent(), target.parent()].into_iter().flatten() {
            fs::create_dir_all(folder)?;
        }
        if path.exists() {
            fs::rename(&path, &target)?;
        }
        symlink(target, path)
    }

    /// Where a path of the case lies: `~/…`, `<project>/…`, or below the project.
    fn place(&self, path: &str) -> PathBuf {
        let dir = self.bench.scratch.dir();
        if let Some(rest) = path.strip_prefix('~') {
            return dir.join(".env/home").join(rest.trim_start_matches('/'));
        }
        let rest = path.strip_prefix("<project>").unwrap_or(path);
        dir.join(PROJECT).join(rest.trim_start_matches('/'))
    }

    fn user_bytes(&self) -> Option<Vec<u8>> {
        fs::read(&self.user).ok()
    }

    fn take(&mut self, step: &Step) -> Result<Map<String, Value>, String> {
        let cwd = self.place(step.cwd.as_deref().unwrap_or("<project>"));
        let host = self.table.host;
        match &step.act {
            Act::Install => self.herdbook(&cwd, &["install", host, "--yes"]).map(|done| facts(&done)),
            Act::Uninstall => self.herdbook(&cwd, &["uninstall", host, "--yes"]).map(|done| facts(&done)),
            Act::Doctor => {
                self.daemon()?;
                let mut observed = facts(&self.herdbook(&cwd, &["doctor"])?);
                let listed = self.herdbook(&cwd, &["doctor", "--json"])?;
                let checks: Vec<Value> = serde_json::from_slice(&listed.stdout)
                    .map_err(|error| format!("doctor --json printed no list: {error}"))?;
                let words: Vec<&Value> = checks.iter().filter_map(|check| check.get("finding")).collect();
                observed.insert("findings".into(), json!(words));
                Ok(observed)
            }
            Act::Copy { from, to } => {
                let bytes = fs::read(self.place(from)).map_err(|error| format!("{from}: {error}"))?;
                write_file(&self.place(to), &bytes).map_err(|error| format!("{to}: {error}"))?;
                Ok(Map::new())
            }
            Act::Fire { event } => self.fire(event, &cwd),
        }
    }

    fn herdbook(&self, cwd: &Path, words: &[&str]) -> Result<Finished, String> {
        let program = &self.bench.tools.herdbook;
        let mut command = process::command(program, &self.bench.env);
        command.args(words).current_dir(cwd);
        process::run(command, PATIENCE)
            .map_err(|error| format!("{} did not start: {error}", program.display()))
    }

    fn daemon(&mut self) -> Result<(), String> {
        if self.bench.daemon.is_none() { self.bench.start_daemon() } else { Ok(()) }
    }

    /// Runs the written command of an event as the host would, with a sample payload.
    fn fire(&mut self, event: &str, cwd: &Path) -> Result<Map<String, Value>, String> {
        self.daemon()?;
        let entries = ours(self.user_bytes().as_deref());
        let entry = entries.iter().find(|entry| entry["event"] == event);
        let command = entry.and_then(|entry| entry["command"].as_str());
        let command = command.ok_or_else(|| format!("no entry of ours for {event}"))?;
        let mut shell = process::command("/bin/sh", &self.bench.env);
        let io = |error: io::Error| format!("the command did not start: {error}");
        let payload = self.bench.scratch.own_file("payload.json");
        write_file(&payload, sample(self.table, event, cwd).to_string().as_bytes()).map_err(io)?;
        shell.args(["-c", command]).current_dir(cwd).stdin(fs::File::open(payload).map_err(io)?);
        let finished = process::run(shell, PATIENCE).map_err(io)?;
        drained(&self.bench.scratch);
        Ok(facts(&finished))
    }

    /// What is observed of the user's settings.
    fn file(&self, now: &Option<Vec<u8>>, before: &Option<Vec<u8>>, last: &Option<Vec<u8>>) -> Value {
        let mut file = Map::new();
        file.insert("same_as_before".into(), json!(now == before));
        file.insert("same_as_last_step".into(), json!(now == last));
        let is_link = fs::symlink_metadata(&self.user).is_ok_and(|found| found.is_symlink());
        file.insert("symlink".into(), json!(is_link));
        if let Some(bytes) = now {
            let text = String::from_utf8_lossy(bytes);
            file.insert("bom".into(), json!(text.starts_with('\u{feff}')));
            let ends = text.matches('\n').count();
            file.insert("crlf".into(), json!(ends > 0 && text.matches("\r\n").count() == ends));
            if let Some(value) = parsed(&text) {
                file.insert("json".into(), value);
            }
            file.insert("text".into(), json!(text));
        }
        Value::Object(file)
    }
}

/// Reads `symlink`: an object of links and the files behind them, or only the file behind the user's settings.
fn links(given: &Node<'_>, table: &HostTable) -> Result<Vec<(String, String)>, Problem> {
    let user = || format!("~/{}/{}", table.setup.home.folder, table.setup.user_file);
    if given.value().is_string() {
        return Ok(vec![(user(), given.text()?.to_owned())]);
    }
    let members = given.members()?.keys();
    members.map(|path| Ok((path.clone(), given.member(path)?.text()?.to_owned()))).collect()
}

/// Programs with the host's names that tell a version and do nothing else.
fn stand_ins(folder: &Path, table: &HostTable) -> io::Result<()> {
    let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {VERSION}\n");
    for name in table.setup.programs {
        let path = folder.join(name);
        write_file(&path, script.as_bytes())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Where the host's user settings lie in the scratch home.
fn user_file(bench: &Bench<'_>, table: &HostTable) -> PathBuf {
    let base = if table.setup.home.xdg { ".env/config" } else { ".env/home" };
    bench.scratch.dir().join(base).join(table.setup.home.folder).join(table.setup.user_file)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::create(path)?.write_all(bytes)
}

fn facts(finished: &Finished) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("exit".into(), json!(finished.exit));
    facts.insert("stdout".into(), json!(String::from_utf8_lossy(&finished.stdout)));
    facts.insert("stderr".into(), json!(String::from_utf8_lossy(&finished.stderr)));
    facts
}

/// A payload as the host would send it.
fn sample(table: &HostTable, event: &str, cwd: &Path) -> Value {
    let mut payload = Map::new();
    let identity = &table.identity;
    let members = [
        (identity.session, json!("5e55f1ed-0000-4000-8000-000000000001")),
        (identity.event, json!(event)),
        (&["cwd"][..], json!(cwd)),
    ];
    for (keys, value) in members {
        if let Some(key) = keys.first() {
            payload.insert((*key).to_owned(), value);
        }
    }
    Value::Object(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_expects_nothing_or_names_an_unknown_step_is_refused() {
        let read = |steps: Value| {
            let value = json!({ "host": "claude", "steps": steps });
            SettingsCheck::read(&Node::root(&value, "case.json"), Path::new("/nonexistent")).map(|_| ())
        };
        assert_eq!(read(json!([{ "do": "install" }])), Err("case.json: expects nothing".to_owned()));
        let unknown = read(json!([{ "do": "dance", "expect": { "exit": 0 } }])).unwrap_err();
        assert!(unknown.ends_with("step 'dance' is not known"), "{unknown}");
        assert_eq!(read(json!([{ "do": "install", "expect": { "exit": 0 } }])), Ok(()));
    }
}
