//! A case folder as data: `case.json` and the inputs it names.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::expect::Expectation;
use crate::needs::NEEDS;
use crate::node::{Node, Problem};
use crate::real::hook_bytes::HookBytes;
use crate::real::http::HttpCheck;
use crate::real::script::Script;
use crate::real::settings::SettingsCheck;
use crate::replay::step::{self, Step};
use crate::screen_kind::ScreenCheck;
use crate::store_kind::StoreCheck;
use crate::table::Table;
use crate::transcript_kind::TranscriptCheck;

/// One case folder.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder.
    pub dir: PathBuf,
    /// Its id, for the report.
    pub id: String,
    /// The hosts it is about.
    pub hosts: Vec<String>,
    /// Its checks.
    pub checks: Vec<Check>,
}

/// One check of a case.
#[derive(Clone, Debug)]
pub struct Check {
    /// Unique in the case.
    pub name: String,
    /// What the product must be able to do.
    pub needs: Vec<String>,
    /// The hosts whose adapters it calls.
    pub hosts: Vec<String>,
    /// What is done and expected.
    pub body: Body,
}

/// What a check does, by kind.
#[derive(Clone, Debug)]
pub enum Body {
    /// The engine in virtual time.
    Replay {
        /// Stem of the step file, for result lines.
        stem: String,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// The real hook command, once per input.
    HookBytes(Box<HookBytes>),
    /// HTTP requests to a fresh daemon.
    Http(Box<HttpCheck>),
    /// Installing for one host in a scratch home.
    Settings(Box<SettingsCheck>),
    /// A script, with or without tmux.
    Script(Box<Script>),
    /// One pure function of the product.
    Table(Table),
    /// Our reader of a host's transcripts.
    Transcript(TranscriptCheck),
    /// Our own store under damage.
    Store(StoreCheck),
    /// The pane eye over samples of a pane.
    Screen(ScreenCheck),
    /// A kind whose source this product does not read yet: only its expectations are listed.
    Unread {
        /// The kind, which is the need that is missing as well.
        kind: String,
        /// Place and expected value of each expectation.
        expectations: Vec<(String, Value)>,
    },
    /// Cannot be decided by a command.
    Manual,
}

impl Case {
    /// Reads a case folder.
    ///
    /// # Errors
    /// Everything that is wrong with it, one text for each problem, with the file and the place in it.
    pub fn load(dir: &Path) -> Result<Case, Vec<Problem>> {
        let one = |problem: Problem| vec![problem];
        let text = fs::read_to_string(dir.join("case.json"))
            .map_err(|error| vec![format!("case.json: cannot be read: {error}")])?;
        let value: Value =
            serde_json::from_str(&text).map_err(|error| vec![format!("case.json: is not JSON: {error}")])?;
        let root = Node::root(&value, "case.json");
        let id = root.member("id").and_then(|node| node.text()).map_err(one)?;
        let kind = root.member("kind").and_then(|node| node.text()).map_err(one)?;
        let hosts = root.member("hosts").and_then(|node| node.texts()).map_err(one)?;
        let nodes = root.member("checks").and_then(|node| node.list()).map_err(one)?;
        if nodes.is_empty() {
            return Err(one(root.problem("has no checks: a case must expect something")));
        }
        let mut problems = Vec::new();
        let mut checks: Vec<Check> = Vec::new();
        for node in nodes {
            match Check::read(node.clone(), dir, kind, &hosts) {
                Ok(check) if checks.iter().any(|other| other.name == check.name) => {
                    problems.push(node.problem(format_args!("name '{}' is used twice", check.name)));
                }
                Ok(check) => checks.push(check),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            Ok(Case { dir: dir.to_owned(), id: id.to_owned(), hosts, checks })
        } else {
            Err(problems)
        }
    }
}

impl Check {
    fn read(node: Node<'_>, dir: &Path, case_kind: &str, case_hosts: &[String]) -> Result<Check, Problem> {
        let name = node.member("name")?.text()?.to_owned();
        let node = node.named(&name);
        let kind = node.maybe_text("kind")?.unwrap_or_else(|| case_kind.to_owned());
        let needs = node.maybe("needs")?.map_or(Ok(Vec::new()), |needs| needs.texts())?;
        if let Some(need) = needs.iter().find(|need| !NEEDS.contains(&need.as_str())) {
            return Err(
                node.problem(format_args!("need '{need}' is not known; use one of {}", NEEDS.join(", ")))
            );
        }
        let mut hosts = match node.maybe_text("host")? {
            Some(host) => vec![host],
            None => case_hosts.to_vec(),
        };
        let body = match kind.as_str() {
            "replay" => {
                let file = node.member("file")?.text()?;
                let text = read_input(&node, dir, file)?;
                let steps = step::read(file, &text, dir)?;
                hosts = step::agents(&steps);
                let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned();
                Body::Replay { stem, steps }
            }
            "hook-bytes" => Body::HookBytes(Box::new(HookBytes::read(&node, dir)?)),
            "http" => Body::Http(Box::new(HttpCheck::read(&node, dir)?)),
            "script" | "tmux" => Body::Script(Box::new(Script::read(&node)?)),
            "table" => Body::Table(Table::read(&node, dir)?),
            "log" => Body::Store(StoreCheck::read(&node)?),
            "screen" if hosts.iter().all(|host| herdbook_hosts::screen::manifest(host).is_some()) => {
                Body::Screen(ScreenCheck::read(&node, dir)?)
            }
            // Screens that nobody recorded.
            "screen" => Body::Unread {
                expectations: expectations(&node)?.map(|one| labelled("", one)).collect(),
                kind,
            },
            "settings" if hosts.iter().all(|host| herdbook_hosts::table(host).is_some()) => {
                Body::Settings(Box::new(SettingsCheck::read(&node, dir)?))
            }
            "transcript" => {
                let host = hosts.first().ok_or_else(|| node.problem("names no host"))?;
                Body::Transcript(TranscriptCheck::read(&node, dir, host)?)
            }
            // A host without a table is the need that is missing.
            "settings" => {
                let mut all = Vec::new();
                for (index, step) in node.member("steps")?.list()?.iter().enumerate() {
                    let word = step.member("do")?.text()?;
                    if step.maybe("expect")?.is_some() {
                        all.extend(
                            expectations(step)?
                                .map(|one| labelled(&format!("step {} {word} ", index + 1), one)),
                        );
                    }
                }
                if all.is_empty() {
                    return Err(node.problem("expects nothing"));
                }
                Body::Unread { kind, expectations: all }
            }
            "manual" => {
                node.member("reason")?.text()?;
                Body::Manual
            }
            other => return Err(node.problem(format_args!("kind '{other}' is not known"))),
        };
        Ok(Check { name, needs, hosts, body })
    }
}

/// Reads the `expect` object of a node.
///
/// # Errors
/// It is missing, empty, or not in the expected-value language.
pub fn expectations(node: &Node<'_>) -> Result<std::vec::IntoIter<Expectation>, Problem> {
    let expect = node.member("expect")?;
    let all = Expectation::parse_all(expect.value()).map_err(|error| expect.problem(error))?;
    Ok(all.into_iter())
}

/// Reads an input file of a case as text.
///
/// # Errors
/// It is not there, leaves the case folder, or is no UTF-8.
pub fn read_input(node: &Node<'_>, dir: &Path, file: &str) -> Result<String, Problem> {
    let bytes = read_input_bytes(node, dir, file)?;
    String::from_utf8(bytes).map_err(|_| node.problem(format_args!("file '{file}' is not UTF-8")))
}

/// Reads an input file of a case.
///
/// # Errors
/// It is not there, or its name leaves the case folder.
pub fn read_input_bytes(node: &Node<'_>, dir: &Path, file: &str) -> Result<Vec<u8>, Problem> {
    check_name(node, file)?;
    fs::read(dir.join(file))
        .map_err(|error| node.problem(format_args!("file '{file}' cannot be read: {error}")))
}

fn check_name(node: &Node<'_>, file: &str) -> Result<(), Problem> {
    let plain = Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if plain && !file.is_empty() {
        Ok(())
    } else {
        Err(node.problem(format_args!("file '{file}' must lie in the case folder")))
    }
}

fn labelled(prefix: &str, one: Expectation) -> (String, Value) {
    (format!("{prefix}{}", one.path), one.written)
}
