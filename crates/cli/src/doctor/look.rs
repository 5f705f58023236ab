//! The facts about the hosts: their programs and versions, their settings, what they sent.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;

use herdbook_api::Client;
use herdbook_api::v1::{Hooks, HostHooks};
use herdbook_hosts::HostTable;
use herdbook_hosts::settings::{self, Before};
use herdbook_wire::paths::state_dir;

use super::check::{Check, finding};
use super::hosts::{self, Facts, File, Ours, Trust};
use crate::clock::now_ms;
use crate::env::Env;
use crate::error::Problem;
use crate::setup::codex::Codex;
use crate::setup::limits::{self, Limits};
use crate::setup::needs::Waiting;
use crate::setup::program::{self, HookProgram, hook_program};
use crate::setup::receipt::Receipts;
use crate::setup::show::short;
use crate::setup::target::{Target, targets};

/// Checks the hooks of all hosts that are on this computer or have entries of ours.
///
/// # Errors
/// There is no home.
pub fn hosts(env: &Env, client: Option<&Client>) -> Result<Vec<Check>, Problem> {
    let all = match targets(env, &[], None, false) {
        Ok(all) => all,
        Err(Problem::NoHost) => return Ok(vec![hosts::nobody()]),
        Err(problem) => return Err(problem),
    };
    let program = match hook_program(env.path.as_deref()) {
        Ok(program) => program,
        Err(Problem::NoHook { path }) => {
            HookProgram { path: path.to_string_lossy().into_owned(), is_build: false }
        }
        Err(problem) => return Err(problem),
    };
    let look = Look {
        env,
        sent: client.and_then(|client| client.hooks().ok()),
        here: std::env::current_dir().ok(),
        // What cannot be read is told beside the hosts.
        waiting: Waiting::read(env).unwrap_or_default(),
        receipts: state_dir(&env.places).ok().map(|state| Receipts::of(&state)),
        program,
    };
    // The clients take up to a second each to tell their versions.
    let mut facts: Vec<Facts> = thread::scope(|scope| {
        let all: Vec<_> = all.iter().map(|target| scope.spawn(|| look.facts(target))).collect();
        all.into_iter().filter_map(|one| one.join().ok()).collect()
    });
    // Cursor also runs the hooks in Claude Code's settings (case F-035): its repeats are no second registration.
    if facts.iter().any(|facts| facts.table.host == "claude" && facts.has_ours()) {
        let cursor = facts.iter_mut().filter(|facts| facts.table.host == "cursor");
        cursor.filter_map(|facts| facts.sent.as_mut()).for_each(|sent| sent.repeats.clear());
    }
    let mut checks = hosts::all(&facts, now_ms());
    if look.program.is_build && facts.iter().any(Facts::has_ours) {
        checks.push(hosts::build_folder(&short(Path::new(&look.program.path), env.home())));
    }
    if let Some(state) = state_dir(&env.places).ok().filter(|state| state.is_dir()) {
        let told = fs::read_to_string(limits::file(&state)).ok();
        if told != Limits::standing(&Receipts::of(&state)).text() {
            let words = "the daemon does not know the time-outs in the settings as they are";
            checks.push(Check::warning("hooks", finding::UNFIT_ENTRIES, words).fix("herdbook install"));
        }
    }
    Ok(checks)
}

/// What is the same for all hosts.
struct Look<'a> {
    env: &'a Env,
    sent: Option<Hooks>,
    here: Option<PathBuf>,
    receipts: Option<Receipts>,
    waiting: Waiting,
    program: HookProgram,
}

impl Look<'_> {
    fn facts(&self, target: &Target) -> Facts {
        let table = target.table;
        let version = target.program.as_deref().and_then(program::version);
        let home = self.env.places.home.as_deref().map(Path::new);
        let project = self.here.as_deref().map(|here| project_files(table, here, home, &target.file));
        let project = project.unwrap_or_default();
        let read = |path: &Path| self.read(table, version.as_deref(), path);
        let user = read(&target.file);
        let in_project: Vec<File> = project.iter().map(|path| read(path)).collect();
        let of_project = project.iter().zip(&in_project).find(|(_, file)| !file.ours.is_empty());
        let trust = match of_project {
            _ if !user.ours.is_empty() => trust(target, None),
            Some((path, _)) => {
                let depth = Path::new(table.setup.project_file).components().count();
                trust(target, path.ancestors().nth(depth))
            }
            None => Trust::NotNeeded,
        };
        let installed_at = self.receipts.as_ref().and_then(|receipts| receipts.written_at(&target.file));
        Facts {
            table,
            is_there: target.program.is_some(),
            trust,
            user,
            project: in_project,
            sent: self.sent.as_ref().map(|sent| of_host(sent, table.host)),
            installed_at,
            version,
            program: self.program.path.clone().into(),
        }
    }

    /// Reads our entries in a file. A file that is not there has none.
    fn read(&self, table: &'static HostTable, version: Option<&str>, path: &Path) -> File {
        let mut file = File { path: short(path, self.env.home()), ..File::default() };
        let bytes = match bytes(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return file,
            Err(error) => return File { error: Some(error.to_string()), ..file },
        };
        let found = settings::text(&bytes).and_then(|text| {
            let entries = settings::list(table, text)?;
            let written: Vec<String> =
                entries.iter().filter_map(|entry| settings::program(&entry.command)).collect();
            let program = self.program.path_beside(written.iter().map(String::as_str));
            let command = |args: &[&str]| herdbook_machine::guarded_command(program, args);
            // What `install` would change is not as it should be.
            let is_stale = settings::install(
                table,
                version,
                &self.waiting.at(table),
                &command,
                Some(text),
                Before::Unknown,
            )
            .is_ok_and(|new| new != text);
            let needs = self.waiting.at(table);
            let unfit = settings::unfit(table, &needs, &settings::granted(table, text)?)
                .map(|event| event.name)
                .collect();
            Ok((text, entries, is_stale, unfit))
        });
        match found {
            Ok((text, entries, is_stale, unfit)) => {
                let unfit: Vec<&'static str> = unfit;
                file.unfit = if entries.is_empty() { Vec::new() } else { unfit };
                file.disabled = settings::switched_off(table.host, text).map(str::to_owned);
                file.is_stale = is_stale && !entries.is_empty();
                let ours = |entry: settings::Entry| {
                    let program = settings::program(&entry.command).unwrap_or_default().into();
                    Ours { event: entry.event, program }
                };
                file.ours = entries.into_iter().map(ours).collect();
            }
            // A file in our place that is somebody else's has none of ours.
            Err(settings::SettingsError::Foreign) => {}
            Err(error) => file.error = Some(error.to_string()),
        }
        file
    }
}

/// Asks the host whether it runs our entries in the user's settings, or in a project's. Only Codex has to be asked (see
/// [`crate::setup::codex`]); it answers in a limited time.
fn trust(target: &Target, project: Option<&Path>) -> Trust {
    let (Some(program), "codex") = (&target.program, target.table.host) else { return Trust::NotNeeded };
    let codex = Codex { program, home: &target.home, project, env: &[] };
    let listing = match codex.list() {
        Ok(listing) => listing,
        Err(why) => return Trust::Unknown(why),
    };
    let is_ours = |command: Option<&String>| command.is_some_and(|command| settings::is_ours(command));
    let (mut count, mut missing) = (0, Vec::new());
    for hook in listing.hooks.iter().filter(|hook| is_ours(hook.command.as_ref())) {
        count += 1;
        if !hook.runs() {
            // The key ends in EVENT:GROUP:HOOK.
            missing.push(hook.key.rsplit(':').nth(2).unwrap_or(&hook.key).to_owned());
        }
    }
    match (count, listing.warnings.first()) {
        (0, Some(warning)) => Trust::NotListed(warning.clone()),
        (0, None) if project.is_some() => {
            Trust::NotListed("it does so for a project once it trusts its folder".to_owned())
        }
        (0, None) => Trust::NotListed("are hooks switched off there?".to_owned()),
        _ if missing.is_empty() => Trust::NotNeeded,
        _ => Trust::Missing(missing),
    }
}

/// What a host sent; nothing is an answer, too.
fn of_host(sent: &Hooks, host: &str) -> HostHooks {
    let found = sent.hosts.iter().find(|sent| sent.host == host).cloned();
    found.unwrap_or_else(|| HostHooks { host: host.to_owned(), ..HostHooks::default() })
}

/// A settings file longer than this is none.
const SETTINGS_BYTES: u64 = 16 << 20;

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe in its place would keep us waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(SETTINGS_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SETTINGS_BYTES {
        return Err(io::Error::other("it is too long"));
    }
    Ok(bytes)
}

/// Files beside a project's settings that the host reads, too.
const LOCAL: [(&str, &str); 1] = [("claude", ".claude/settings.local.json")];

/// The settings of the nearest project around a folder: those files that are there and are not the user's own. The
/// home folder is no project.
fn project_files(table: &HostTable, here: &Path, home: Option<&Path>, user: &Path) -> Vec<PathBuf> {
    let user = fs::canonicalize(user).unwrap_or_else(|_| user.to_owned());
    let local = LOCAL.iter().filter(|(host, _)| *host == table.host).map(|(_, file)| *file);
    let names: Vec<&str> = std::iter::once(table.setup.project_file).chain(local).collect();
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        let files = names.iter().map(|name| folder.join(name));
        files.filter(|file| fs::canonicalize(file).is_ok_and(|file| file != user)).collect()
    };
    let around = here.ancestors().take_while(|folder| Some(*folder) != home);
    around.map(in_folder).find(|files| !files.is_empty()).unwrap_or_default()
}
