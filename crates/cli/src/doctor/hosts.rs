//! The hooks of one host: registered whole and once, running a program that is there, switched on, and firing.

use std::path::{Path, PathBuf};

use herdbook_api::v1::{HookEvent, HostHooks};
use herdbook_hosts::settings::{self, Needs};
use herdbook_hosts::{Form, HostTable};

use super::check::{Check, Level, Mend, finding, some};
use crate::setup::program::is_program;
use crate::text::{age, counted};

/// So many different events must have come twice: a single one may be the agent's own doing (case F-006).
const TWICE: usize = 3;

/// One of our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The event it is registered for.
    pub event: String,
    /// The program it runs.
    pub program: PathBuf,
}

/// A settings file in which our entries may stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// The file, as a person would name it.
    pub path: String,
    /// Our entries in it.
    pub ours: Vec<Ours>,
    /// What `install` writes is not what stands there.
    pub is_stale: bool,
    /// Events whose entries do not fit what waits there.
    pub unfit: Vec<&'static str>,
    /// The setting in it that switches hooks off.
    pub disabled: Option<String>,
    /// Why it could not be read.
    pub error: Option<String>,
}

/// What the host says about trust in our entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// It runs what is registered.
    #[default]
    NotNeeded,
    /// It could not be asked: why.
    Unknown(String),
    /// It was asked and does not list our entries: what it says.
    NotListed(String),
    /// It was asked: our events it does not run yet.
    Missing(Vec<String>),
}

/// Everything the checks of one host look at.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The host.
    pub table: &'static HostTable,
    /// Its program is on `PATH`.
    pub is_there: bool,
    /// What its program says to `--version`.
    pub version: Option<String>,
    /// The user's settings.
    pub user: File,
    /// The settings of the project we are in, where there are any.
    pub project: Vec<File>,
    /// Trust in our entries.
    pub trust: Trust,
    /// What it sent, where the daemon could be asked.
    pub sent: Option<HostHooks>,
    /// When our entries were last written, Unix milliseconds.
    pub installed_at: Option<u64>,
    /// The hook program our entries should run.
    pub program: PathBuf,
}

impl Facts {
    fn files(&self) -> impl Iterator<Item = &File> {
        std::iter::once(&self.user).chain(&self.project)
    }

    /// Whether any of our entries is in its settings.
    pub fn has_ours(&self) -> bool {
        self.files().any(|file| !file.ours.is_empty())
    }

    fn install(&self) -> String {
        format!("herdbook install {}", self.table.host)
    }
}

/// Looks at the hooks of all hosts.
pub fn all(facts: &[Facts], now_ms: u64) -> Vec<Check> {
    let mut checks: Vec<Check> = facts.iter().flat_map(|facts| host(facts, now_ms)).collect();
    if !facts.iter().any(Facts::has_ours) {
        let words = "no agent has our hooks: nothing is seen of what they do";
        checks.push(Check::fault("hooks", finding::NOT_INSTALLED, words).fix("herdbook install"));
    }
    checks
}

/// No agent is here at all.
pub fn nobody() -> Check {
    let words = "no coding agent was found: none of their programs is on PATH";
    Check::warning("hooks", finding::NO_AGENT, words).fix("herdbook install HOST")
}

/// Our entries run a program that the next clean-up removes.
pub fn build_folder(program: &str) -> Check {
    let words = format!("their program lies in a build folder: {program}");
    Check::warning("hooks", finding::BUILD_FOLDER, words)
        .fix("install herdbook and herdbook-hook, then herdbook install")
}

/// Looks at the hooks of one host. A host that is not on this computer, and has none of ours, has no line.
pub fn host(facts: &Facts, now_ms: u64) -> Vec<Check> {
    let name = facts.table.host;
    let mut checks = Vec::new();
    for file in facts.files() {
        if let Some(error) = &file.error {
            let words = format!("{} cannot be read: {error}", file.path);
            checks.push(Check::fault(name, finding::UNREADABLE, words).fix("mend the file"));
        }
    }
    if !facts.has_ours() {
        // What cannot be read may hold ours.
        if facts.is_there && checks.is_empty() {
            checks.push(not_installed(facts));
        }
        return checks;
    }
    checks.extend(programs(facts));
    checks.extend(missing(facts));
    checks.extend(twice(facts));
    checks.extend(disabled(facts));
    checks.extend(trust(facts));
    checks.extend(unfit(facts));
    checks.extend(stale(facts, checks.is_empty()));
    if let Some(sent) = &facts.sent {
        checks.extend(super::drift::host(facts.table, sent, now_ms));
    }
    // Where hooks cannot run, it is said why nothing comes.
    if checks.iter().all(|check| check.level != Level::Fault) {
        checks.extend(never_fired(facts, now_ms));
    }
    if checks.is_empty() {
        checks.push(Check::ok(name, well(facts, now_ms)));
    }
    checks
}

fn not_installed(facts: &Facts) -> Check {
    let words = format!("{} is here, without our hooks", facts.table.title);
    Check::warning(facts.table.host, finding::NOT_INSTALLED, words).fix(facts.install())
}

/// Our entries must run the hook program that belongs to this command.
fn programs(facts: &Facts) -> Option<Check> {
    let other: Vec<(&File, &Path)> = facts
        .files()
        .flat_map(|file| file.ours.iter().map(move |ours| (file, ours.program.as_path())))
        .filter(|(_, program)| !is_same(program, &facts.program))
        .collect();
    let gone = other.iter().find(|(_, program)| !is_program(program));
    let (check, file) = match (gone, other.first()) {
        (Some((file, program)), _) => {
            let words = format!("{} runs {}, which is not there", file.path, program.display());
            (Check::fault(facts.table.host, finding::PROGRAM_MISSING, words), file)
        }
        (None, Some((file, program))) => {
            let words = format!("{} runs {}, another copy of the hook", file.path, program.display());
            (Check::warning(facts.table.host, finding::STALE_PATH, words), file)
        }
        (None, None) => {
            let is_gone = !is_program(&facts.program);
            return is_gone.then(|| {
                let words = format!("the hook program {} is not there", facts.program.display());
                Check::fault(facts.table.host, finding::PROGRAM_MISSING, words)
                    .fix("install herdbook-hook beside herdbook")
            });
        }
    };
    Some(if std::ptr::eq(*file, &raw const facts.user) {
        check.fix(facts.install()).mend(Mend::Install(facts.table.host))
    } else {
        check.fix(format!("{} --project", facts.install()))
    })
}

/// True for two paths to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

/// Every event that the installed client knows must be registered in one of the files. A plugin forwards all.
fn missing(facts: &Facts) -> Option<Check> {
    if let Form::Plugin(_) = facts.table.setup.form {
        return None;
    }
    let has = |name: &str| facts.files().flat_map(|file| &file.ours).any(|ours| ours.event == name);
    let missing: Vec<&str> = settings::events(facts.table, facts.version.as_deref(), &Needs::NONE)
        .map(|event| event.name)
        .filter(|name| !has(name))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let words = format!("{} not registered: {}", counted(missing.len() as u64, "event"), some(&missing));
    let check = Check::warning(facts.table.host, finding::MISSING_EVENTS, words);
    Some(if facts.user.ours.is_empty() {
        check.fix(format!("{} --project", facts.install()))
    } else {
        check.fix(facts.install()).mend(Mend::Install(facts.table.host))
    })
}

/// Our hook must be registered in one place only, also as far as can be seen from what came (case F-034).
fn twice(facts: &Facts) -> Option<Check> {
    let with: Vec<&File> = facts.files().filter(|file| !file.ours.is_empty()).collect();
    let within = with.iter().find(|file| {
        let mut events: Vec<&str> = file.ours.iter().map(|ours| ours.event.as_str()).collect();
        events.sort_unstable();
        events.windows(2).any(|pair| pair[0] == pair[1])
    });
    let (words, fix) = match (within, with.as_slice()) {
        (_, [user, project, ..]) => (
            format!("registered in {} and in {}", user.path, project.path),
            format!("herdbook uninstall {} --project", facts.table.host),
        ),
        (Some(file), _) => (format!("registered more than once in {}", file.path), facts.install()),
        (None, _) => {
            let events = came_twice(facts.sent.as_ref()?);
            if events.len() < TWICE {
                return None;
            }
            let words = format!(
                "{} came twice: registered in another place, too, or sessions run in the home folder",
                names(&events, "event")
            );
            (words, "look for herdbook-hook in the project's settings and in plugins".to_owned())
        }
    };
    Some(Check::warning(facts.table.host, finding::REGISTERED_TWICE, words).fix(fix))
}

/// The events that came twice when they came last. So what was mended is forgotten with the next call.
fn came_twice(sent: &HostHooks) -> Vec<String> {
    let is_last = |repeat: &&HookEvent| {
        sent.events.iter().any(|one| one.event == repeat.event && one.last_at == repeat.last_at)
    };
    sent.repeats.iter().filter(is_last).map(|repeat| repeat.event.clone()).collect()
}

/// Entries that are there and run the right program, but are not as this version writes them.
fn stale(facts: &Facts, is_well_so_far: bool) -> Option<Check> {
    if !is_well_so_far || !facts.user.is_stale {
        return None;
    }
    let words = format!("entries in {} are not as this version writes them", facts.user.path);
    let check = Check::warning(facts.table.host, finding::STALE_ENTRIES, words);
    Some(check.fix(facts.install()).mend(Mend::Install(facts.table.host)))
}

/// Entries that grant other time-outs than the routes and the hold need, or are for routes that are gone.
fn unfit(facts: &Facts) -> Option<Check> {
    let file = facts.files().find(|file| !file.unfit.is_empty())?;
    let words = format!("entries in {} do not fit your routes and hold: {}", file.path, some(&file.unfit));
    let check = Check::warning(facts.table.host, finding::UNFIT_ENTRIES, words);
    Some(if std::ptr::eq(file, &raw const facts.user) {
        check.fix(facts.install()).mend(Mend::Install(facts.table.host))
    } else {
        check.fix(format!("{} --project", facts.install()))
    })
}

fn disabled(facts: &Facts) -> Option<Check> {
    let (file, setting) = facts.files().find_map(|file| Some((file, file.disabled.as_ref()?)))?;
    let words = format!("hooks are switched off: {setting} in {}", file.path);
    Some(Check::fault(facts.table.host, finding::DISABLED, words).fix("remove that setting"))
}

fn trust(facts: &Facts) -> Option<Check> {
    let title = facts.table.title;
    let is_project = facts.user.ours.is_empty();
    match &facts.trust {
        Trust::Missing(events) => {
            let words = format!(
                "{} not trusted yet: {title} does not run them",
                counted(events.len() as u64, "event")
            );
            let check = Check::fault(facts.table.host, finding::UNTRUSTED, words);
            Some(if is_project {
                check.fix(format!("{} --project, or answer /hooks in {title}", facts.install()))
            } else {
                check
                    .fix(format!("{}, or answer /hooks in {title}", facts.install()))
                    .mend(Mend::Install(facts.table.host))
            })
        }
        Trust::NotListed(why) => {
            let words = format!("{title} does not list our hooks: {why}");
            let fix = if is_project {
                format!("start {title} in that folder and trust it, then look at /hooks there")
            } else {
                format!("look for `[features] hooks` in config.toml, and at /hooks in {title}")
            };
            Some(Check::fault(facts.table.host, finding::DISABLED, words).fix(fix))
        }
        Trust::NotNeeded | Trust::Unknown(_) => None,
    }
}

fn names(names: &[String], noun: &str) -> String {
    format!("{} ({})", counted(names.len() as u64, noun), some(names))
}

/// That a file is there proves nothing: an event must have come since it was written (case F-115).
fn never_fired(facts: &Facts, now_ms: u64) -> Option<Check> {
    let sent = facts.sent.as_ref()?;
    let is_older = |at: &u64| sent.last_at < *at;
    let since = match facts.installed_at {
        _ if sent.count == 0 => "nothing has come yet".to_owned(),
        Some(at) if is_older(&at) => {
            format!("nothing has come since they were written {} ago", age(now_ms.saturating_sub(at)))
        }
        _ => return None,
    };
    let words = format!("{}, but {since}", registered(facts));
    let fix = format!("start {}, or restart it where it runs", facts.table.title);
    Some(Check::warning(facts.table.host, finding::NEVER_FIRED, words).fix(fix))
}

fn well(facts: &Facts, now_ms: u64) -> String {
    let last = match &facts.sent {
        Some(sent) => format!(", last seen {} ago", age(now_ms.saturating_sub(sent.last_at))),
        None => String::new(),
    };
    let unasked = match &facts.trust {
        Trust::Unknown(why) => format!(" (trust unknown: {why})"),
        _ => String::new(),
    };
    format!("{}{last}{unasked}", registered(facts))
}

fn registered(facts: &Facts) -> String {
    let version = facts.version.as_ref().map(|version| format!("{version}, ")).unwrap_or_default();
    if let Form::Plugin(_) = facts.table.setup.form {
        return format!("{version}plugin in place");
    }
    let count = facts.files().map(|file| file.ours.len() as u64).max().unwrap_or(0);
    format!("{version}{} registered", counted(count, "event"))
}

#[cfg(test)]
mod tests;
