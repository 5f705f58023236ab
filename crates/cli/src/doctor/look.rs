//! The facts about the hosts: their programs and versions, their settings, what they sent.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use herdbook_api::Client;
use herdbook_api::v1::{Hooks, HostHooks};
use herdbook_hosts::{HOSTS, HostTable, settings};
use herdbook_machine::Command;

use super::check::Check;
use super::hosts::{self, Facts, File, Ours, Trust};
use crate::clock::now_ms;
use crate::env::Env;

/// A client that does not tell its version in this time is taken to have none that is known.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);
/// Checks the hooks of all hosts that are on this computer or have entries of ours.
pub fn hosts(env: &Env, client: Option<&Client>) -> Vec<Check> {
    let sent = client.and_then(|client| client.hooks().ok());
    let here = std::env::current_dir().ok();
    let program = hook_program();
    // The clients take up to a second each to tell their versions.
    let mut facts: Vec<Facts> = thread::scope(|scope| {
        let look = |table: &'static HostTable| {
            let (sent, here, program) = (sent.as_ref(), here.as_deref(), program.clone());
            scope.spawn(move || facts(env, table, here, program, sent))
        };
        let all: Vec<_> = HOSTS.iter().map(|table| look(table)).collect();
        all.into_iter().filter_map(|one| one.join().ok()).collect()
    });
    // Cursor also runs the hooks in Claude Code's settings (case F-035): its repeats are no second registration.
    if facts.iter().any(|facts| facts.table.host == "claude" && facts.has_ours()) {
        let cursor = facts.iter_mut().filter(|facts| facts.table.host == "cursor");
        cursor.filter_map(|facts| facts.sent.as_mut()).for_each(|sent| sent.repeats.clear());
    }
    hosts::all(&facts, now_ms())
}

fn facts(
    env: &Env,
    table: &'static HostTable,
    here: Option<&Path>,
    program: PathBuf,
    sent: Option<&Hooks>,
) -> Facts {
    let client = find(table.setup.programs, env.path.as_deref());
    let version = client.as_deref().and_then(version);
    let user = user_file(env, table);
    let home = env.places.home.as_deref().map(Path::new);
    let project = match (here, &user) {
        (Some(here), Some(user)) => project_files(table, here, home, user),
        _ => Vec::new(),
    };
    let read = |path: &Path| read(table, version.as_deref(), &program, path);
    Facts {
        table,
        is_there: client.is_some(),
        user: user.as_deref().map(read).unwrap_or_default(),
        project: project.iter().map(|path| read(path)).collect(),
        trust: Trust::NotNeeded,
        sent: sent.map(|sent| of_host(sent, table.host)),
        version,
        program,
    }
}

/// What a host sent; nothing is an answer, too.
fn of_host(sent: &Hooks, host: &str) -> HostHooks {
    let found = sent.hosts.iter().find(|sent| sent.host == host).cloned();
    found.unwrap_or_else(|| HostHooks { host: host.to_owned(), ..HostHooks::default() })
}

/// Reads our entries in a file. A file that is not there has none.
fn read(table: &HostTable, version: Option<&str>, program: &Path, path: &Path) -> File {
    let mut file = File { path: path.to_owned(), ..File::default() };
    let bytes = match bytes(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return file,
        Err(error) => return File { error: Some(error.to_string()), ..file },
    };
    let command = |args: &[&str]| herdbook_machine::guarded_command(&program.to_string_lossy(), args);
    let found = settings::text(&bytes).and_then(|text| {
        let entries = settings::list(table, text)?;
        // What `install` would change is not as it should be.
        let is_stale = settings::install(table, version, &command, Some(text)).is_ok_and(|new| new != text);
        Ok((text, entries, is_stale))
    });
    match found {
        Ok((text, entries, is_stale)) => {
            file.disabled = settings::switched_off(table.host, text).map(str::to_owned);
            file.is_stale = is_stale && !entries.is_empty();
            let ours = |entry: settings::Entry| {
                let program = settings::program(&entry.command).unwrap_or_default().into();
                Ours { event: entry.event, program }
            };
            file.ours = entries.into_iter().map(ours).collect();
        }
        Err(error) => file.error = Some(error.to_string()),
    }
    file
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

/// The hook program that belongs to this command: it lies beside it.
fn hook_program() -> PathBuf {
    let this = std::env::current_exe().unwrap_or_default();
    this.with_file_name(settings::PROGRAM)
}

/// Finds a program along `PATH`.
pub fn find(names: &[&str], path: Option<&OsStr>) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(path?).filter(|folder| folder.is_absolute()).collect();
    let named = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.into_iter().find(|path| hosts::is_program(path))
}

/// Asks a client for its version. One that does not answer in time has none that is known.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").timeout(VERSION_PATIENCE).run().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    settings::find_version(&text).map(str::to_owned)
}

/// Where the user's settings of a host lie.
fn user_file(env: &Env, table: &HostTable) -> Option<PathBuf> {
    let home = &table.setup.home;
    let named = home.var.and_then(herdbook_machine::env::read).map(PathBuf::from);
    let folder = named.or_else(|| {
        let own = env.places.home.as_ref().map(PathBuf::from)?;
        let base = if home.xdg {
            env.places.xdg_config_home.as_ref().map_or_else(|| own.join(".config"), PathBuf::from)
        } else {
            own
        };
        Some(base.join(home.folder))
    })?;
    Some(folder.join(table.setup.user_file))
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
