//! Finding routes, and which of them are trusted as they are now.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use herdbook_events::Family;
use herdbook_hosts::route::Route;
use herdbook_machine::FileStamp;
use herdbook_redact::clean_line;
use rustix::fs::{CWD, Dir, FileType, Stat};
use sha2::{Digest as _, Sha256};

use super::safe::{self, Kind};
use super::trust::{TrustFile, trust_path};
use crate::clock;

/// Settings of a route may be so long.
const TOML_BYTES: u64 = 64 << 10;
/// A longer file is no route.
const ROUTE_BYTES: u64 = 256 << 20;
/// File systems tell the time in steps: what was written just now may be written again within the same one, and nothing
/// but its bytes would tell.
const STEP_NS: i128 = 100_000_000;

/// The routes of a settings folder.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The routes, by id.
    pub routes: Vec<LoadedRoute>,
    /// What lies there and is no route, though it looks like one.
    pub refused: Vec<NotRoute>,
}

/// A route, and whether it is run.
#[derive(Clone, Debug)]
pub struct LoadedRoute {
    /// What its settings say.
    pub route: Route,
    /// The program.
    pub path: PathBuf,
    /// SHA-256 over the program and its settings with the length of each, in hex.
    pub sha256: String,
    /// Whether it is run.
    pub state: RouteState,
}

/// Whether a route is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteState {
    /// The human trusts it as it is: it is run.
    Active,
    /// The human was not asked yet.
    New,
    /// It, or its settings, are others than those he trusted.
    Changed,
    /// It asks for what cannot be: why, in words.
    Refused(String),
}

impl RouteState {
    /// Returns the word: `active`, `new`, `changed` or `refused`.
    pub fn as_str(&self) -> &'static str {
        match self {
            RouteState::Active => "active",
            RouteState::New => "new",
            RouteState::Changed => "changed",
            RouteState::Refused(_) => "refused",
        }
    }
}

/// Something in the folder of routes that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRoute {
    /// What it is.
    pub path: PathBuf,
    /// Why not, in words that go on after the path, and what mends it.
    pub why: String,
}

/// Returns the folder of routes in a settings folder.
pub fn routes_dir(config_dir: &Path) -> PathBuf {
    config_dir.join("routes")
}

/// Finds all routes: executable files `routes/<family>/NAME` that are the human's alone, each with `NAME.toml` beside it
/// or none. No such folder: no routes.
pub fn load(config_dir: &Path, state_dir: &Path) -> Loaded {
    Cache::default().load(config_dir, state_dir)
}

/// Remembers what was read, for as long as a `stat` says that it is the same.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// When the last look began, where somebody asks for that.
    pub begun: Option<Instant>,
    routes: HashMap<PathBuf, Known>,
    trust: TrustFile,
}

/// What was read of one route.
#[derive(Clone, Debug)]
struct Known {
    program: FileStamp,
    settings: Option<FileStamp>,
    sha256: String,
    route: Route,
    /// Why it is refused, where it is.
    faults: Option<String>,
}

impl Cache {
    /// As [`load`], but reads only what is not known.
    pub(super) fn load(&mut self, config_dir: &Path, state_dir: &Path) -> Loaded {
        let mut loaded = Loaded::default();
        let trusted = self.trust.read(state_dir).unwrap_or_else(|why| {
            loaded.refused.push(NotRoute { path: trust_path(state_dir), why });
            Arc::default()
        });
        let path = routes_dir(config_dir);
        let mut walk =
            Walk { trusted, known: std::mem::take(&mut self.routes), read: HashMap::new(), loaded };
        match path.to_str() {
            None => walk.refuse(&path, "has a name that is no text"),
            Some(name) => match safe::look(CWD, name) {
                Ok(None) => {}
                Ok(Some(stat)) => walk.folder(CWD, name, &stat, path.clone(), ""),
                Err(why) => walk.refuse(&path, why),
            },
        }
        let Walk { read, mut loaded, .. } = walk;
        self.routes = read;
        loaded.routes.sort_by(|a, b| a.route.id.cmp(&b.route.id));
        loaded.refused.sort_by(|a, b| a.path.cmp(&b.path));
        loaded
    }
}

struct Walk {
    trusted: Arc<BTreeMap<String, String>>,
    known: HashMap<PathBuf, Known>,
    read: HashMap<PathBuf, Known>,
    loaded: Loaded,
}

impl Walk {
    fn refuse(&mut self, path: &Path, why: impl Into<String>) {
        self.loaded.refused.push(NotRoute { path: path.to_owned(), why: why.into() });
    }

    /// Walks one folder. `below` is its path under `routes/`: a family, or the first part of some.
    fn folder(
        &mut self,
        parent: impl std::os::fd::AsFd,
        name: &str,
        stat: &Stat,
        path: PathBuf,
        below: &str,
    ) {
        let opened = safe::check(&path, stat, Kind::Folder)
            .and_then(|()| safe::open(parent, name, &path, Kind::Folder))
            .and_then(|(folder, _)| Ok((Dir::read_from(&folder).map_err(safe::unreadable)?, folder)));
        let (entries, folder) = match opened {
            Ok(opened) => opened,
            Err(why) => return self.refuse(&path, why),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.refuse(&path, safe::unreadable(error)),
            };
            match entry.file_name().to_str() {
                Ok(name) if name.starts_with('.') || name.ends_with('~') || name.ends_with(".md") => {}
                Ok(name) if clean_line(name) != name => {
                    self.refuse(
                        &path.join(name),
                        "has characters in its name that do not show: give it another",
                    );
                }
                Ok(name) => self.entry(&folder, name, path.join(name), below),
                Err(_) => {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    self.refuse(&path.join(name), "has a name that is no text: give it another");
                }
            }
        }
    }

    fn entry(&mut self, folder: &File, name: &str, path: PathBuf, below: &str) {
        let stat = match safe::look(folder, name) {
            Ok(Some(stat)) => stat,
            // It went away meanwhile.
            Ok(None) => return,
            Err(why) => return self.refuse(&path, why),
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let below = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            if Family::ALL.iter().any(|family| leads_to(&below, family.as_str())) {
                self.folder(folder, name, &stat, path, &below);
            } else {
                self.refuse(
                    &path,
                    format!("is no folder of routes: no family is called '{below}', see herdbook reference"),
                );
            }
            return;
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return self.refuse(&path, safe::SYMLINK);
        }
        if let Some(owner) = name.strip_suffix(".toml") {
            if matches!(safe::look(folder, owner), Ok(None)) {
                self.refuse(&path, format!("belongs to no route: there is no '{owner}' beside it"));
            }
            return;
        }
        let Some(family) = Family::parse(below) else {
            return self.refuse(&path, "lies in no family's folder, such as tool/before: move it into one");
        };
        if let Err(why) = self.route(folder, name, &path, &stat, family) {
            self.refuse(&path, why);
        }
    }

    fn route(
        &mut self,
        folder: &File,
        name: &str,
        path: &Path,
        stat: &Stat,
        family: Family,
    ) -> Result<(), String> {
        safe::check(path, stat, Kind::Program)?;
        let toml_name = format!("{name}.toml");
        let toml_path = path.with_file_name(&toml_name);
        let of_toml = |why: String| format!("is not run: {toml_name} {why}");
        let settings = safe::look(folder, &toml_name).map_err(of_toml)?;
        if let Some(stat) = &settings {
            safe::check(&toml_path, stat, Kind::File).map_err(of_toml)?;
        }
        let (program, settings) = (FileStamp::of(stat), settings.as_ref().map(FileStamp::of));
        let known = self.known.remove(path);
        let read = match known.filter(|known| known.program == program && known.settings == settings) {
            Some(known) => known,
            None => {
                let toml = settings.map(|_| read_toml(folder, &toml_name, &toml_path)).transpose();
                let toml = toml.map_err(of_toml)?;
                let sha256 = digest(folder, name, path, toml.as_deref())?;
                let id = format!("{}/{name}", family.as_str());
                let route =
                    Route::parse(&id, family, toml.as_deref()).map_err(|error| of_toml(error.to_string()))?;
                let faults = route.refusal();
                Known { program, settings, sha256, route, faults }
            }
        };
        let state = match (&read.faults, self.trusted.get(&read.route.id)) {
            (Some(faults), _) => RouteState::Refused(faults.clone()),
            (None, None) => RouteState::New,
            (None, Some(trusted)) if *trusted == read.sha256 => RouteState::Active,
            (None, Some(_)) => RouteState::Changed,
        };
        let (route, sha256) = (read.route.clone(), read.sha256.clone());
        self.loaded.routes.push(LoadedRoute { route, path: path.to_owned(), sha256, state });
        if !is_fresh(read.program) && !read.settings.is_some_and(is_fresh) {
            self.read.insert(path.to_owned(), read);
        }
        Ok(())
    }
}

/// Whether a folder is a family's, or one on the way to it.
fn leads_to(below: &str, family: &str) -> bool {
    family.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether it may have changed since without another time on it.
pub(super) fn is_fresh(stamp: FileStamp) -> bool {
    stamp.changed_ns + STEP_NS > i128::from(clock::wall_ms()) * 1_000_000
}

fn read_toml(folder: &File, name: &str, path: &Path) -> Result<String, String> {
    let (file, _) = safe::open(folder, name, path, Kind::File)?;
    let mut text = String::new();
    file.take(TOML_BYTES + 1).read_to_string(&mut text).map_err(safe::unreadable)?;
    if text.len() as u64 > TOML_BYTES {
        return Err(format!("is longer than {} kB", TOML_BYTES >> 10));
    }
    Ok(text)
}

/// The digest of what would be run: the length of the program, the program, the length of its settings, its settings.
fn digest(folder: &File, name: &str, path: &Path, toml: Option<&str>) -> Result<String, String> {
    let (mut file, stamp) = safe::open(folder, name, path, Kind::Program)?;
    if stamp.size > ROUTE_BYTES {
        return Err(format!("is longer than {} MB", ROUTE_BYTES >> 20));
    }
    let mut hash = Sha256::new();
    hash.update(stamp.size.to_le_bytes());
    let copied = io::copy(&mut file.by_ref().take(ROUTE_BYTES), &mut hash).map_err(safe::unreadable)?;
    if copied != stamp.size {
        return Err("is being written: it is looked at again".to_owned());
    }
    let toml = toml.unwrap_or_default();
    hash.update((toml.len() as u64).to_le_bytes());
    hash.update(toml);
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
