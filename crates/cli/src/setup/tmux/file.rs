//! The configuration file: which one is in use, and whether we may change it.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::bindings::{Bound, of_config, sources};
use super::block::{Damage, find};
use super::servers::Running;
use crate::env::Env;
use crate::setup::config_folder;

/// A configuration is not longer.
const LONGEST: u64 = 4 << 20;

/// So many files are read for their bindings.
const MOST_FILES: usize = 64;

/// Why a configuration is not changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no home folder to look in.
    #[error("no place for a tmux configuration: set HOME")]
    NoHome,
    /// A symlink to nothing.
    #[error("{} is a symlink to nothing: make the file it points to, or remove it", .0.display())]
    Dangling(PathBuf),
    /// A folder, a pipe.
    #[error("{} is not a regular file", .0.display())]
    NotFile(PathBuf),
    /// Another user's.
    #[error("{} belongs to uid {uid}, not to you: it is left as it is", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// Write protected.
    #[error("{} is write-protected: chmod u+w it, or add the lines of --dry-run where it is made", .0.display())]
    ReadOnly(PathBuf),
    /// Much too long.
    #[error("{} is larger than {} MiB: that is no tmux configuration", .0.display(), LONGEST >> 20)]
    Long(PathBuf),
    /// Its blocks are not as we write them.
    #[error("{}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Damage,
    },
    /// The path of this program cannot stand in a configuration.
    #[error("the path of this program cannot be written into a tmux configuration: {0}")]
    Program(String),
    /// Nobody can be asked.
    #[error("{} would be changed: say yes to it in a terminal, or with --yes", .0.display())]
    NeedsYes(PathBuf),
}

/// A configuration as it is.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its path, as it is named.
    pub path: PathBuf,
    /// Its bytes; nothing when there is no such file.
    pub bytes: Option<Vec<u8>>,
}

impl ConfigFile {
    /// Reads it, if it is one that may be changed.
    ///
    /// # Errors
    /// See [`Refusal`]; or it cannot be read.
    pub fn read(path: &Path) -> Result<ConfigFile, crate::error::Problem> {
        let cannot = |source| crate::error::Problem::File { what: "read", path: path.to_owned(), source };
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(_) => Err(Refusal::Dangling(path.to_owned()).into()),
                    Err(_) => Ok(ConfigFile { path: path.to_owned(), bytes: None }),
                };
            }
            Err(error) => return Err(cannot(error)),
        };
        let refusal = if !found.is_file() {
            Refusal::NotFile(path.to_owned())
        } else if found.uid() != herdbook_wire::paths::own_uid() {
            Refusal::Foreign { path: path.to_owned(), uid: found.uid() }
        } else if found.mode() & 0o200 == 0 {
            Refusal::ReadOnly(path.to_owned())
        } else if found.len() > LONGEST {
            Refusal::Long(path.to_owned())
        } else {
            let mut bytes = Vec::new();
            fs::File::open(path)
                .and_then(|file| file.take(LONGEST).read_to_end(&mut bytes))
                .map_err(cannot)?;
            return Ok(ConfigFile { path: path.to_owned(), bytes: Some(bytes) });
        };
        Err(refusal.into())
    }

    /// Returns what it binds, with the file of each: itself, and the files that it reads in.
    pub fn bindings(&self, home: Option<&str>) -> Vec<(Bound, PathBuf)> {
        let (mut bound, mut known) = (Vec::new(), vec![self.path.clone()]);
        let mut files = vec![(self.path.clone(), self.bytes.clone().unwrap_or_default())];
        while let Some((path, bytes)) = files.pop() {
            for named in sources(&bytes) {
                let short = named.strip_prefix("~/").or_else(|| named.strip_prefix("$HOME/"));
                let file = match (short, home) {
                    (Some(short), Some(home)) => Path::new(home).join(short),
                    _ => PathBuf::from(named),
                };
                if file.is_absolute() && known.len() < MOST_FILES && !known.contains(&file) {
                    known.push(file.clone());
                    if let Ok(ConfigFile { bytes: Some(bytes), .. }) = ConfigFile::read(&file) {
                        files.push((file, bytes));
                    }
                }
            }
            bound.extend(of_config(&bytes).into_iter().map(|bound| (bound, path.clone())));
        }
        bound
    }

    /// Names its damage.
    pub fn damaged(&self, source: Damage) -> Refusal {
        Refusal::Damaged { path: self.path.clone(), source }
    }
}

/// Returns the configurations that may be in use, the likeliest first: what the server we run in has read, tmux's usual
/// places, what the other servers have read.
///
/// # Errors
/// There is no home.
pub fn candidates(env: &Env, servers: &[Running]) -> Result<Vec<PathBuf>, Refusal> {
    let home = env.places.home.as_ref().map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.ok_or(Refusal::NoHome)?;
    let settings = config_folder(&env.places).unwrap_or_else(|| home.join(".config"));
    let usual = [home.join(".tmux.conf"), settings.join("tmux/tmux.conf")];
    // The administrator's is for everybody.
    let read_by = |servers: &[Running]| -> Vec<PathBuf> {
        let files = servers.iter().flat_map(Running::config_files);
        files.filter(|file| file.is_file() && !file.starts_with("/etc")).collect()
    };
    let (own, others) = servers.split_at(usize::from(env.tmux.is_some()).min(servers.len()));
    let mut places = Vec::new();
    for place in read_by(own).into_iter().chain(usual).chain(read_by(others)) {
        let place = local_of(&place).unwrap_or(place);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// Returns the file beside a configuration that runs its own lines as a shell script (as "Oh my tmux!" does): it reads
/// that one, too, and there the user's own lines belong. In the script, ours would be run by the shell.
fn local_of(place: &Path) -> Option<PathBuf> {
    fs::metadata(place).ok().filter(|found| found.is_file() && found.len() <= LONGEST)?;
    let bytes = fs::read(place).ok()?;
    let is_script = bytes.split(|byte| *byte == b'\n').any(|line| {
        let line = String::from_utf8_lossy(line);
        line.contains("cut -c3- ") && line.contains("| sh -s ") && line.contains("TMUX_CONF")
    });
    let mut name = place.as_os_str().to_owned();
    name.push(".local");
    is_script.then(|| name.into())
}

/// True when the file has our block, or what is left of one.
pub fn has_block(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LONGEST)
        && fs::read(path).is_ok_and(|bytes| !matches!(find(&bytes), Ok(None)))
}

/// Returns the one to write to: the one with our block, else the first that is there, else `~/.tmux.conf`.
///
/// # Errors
/// There is no home.
pub fn in_use(env: &Env, servers: &[Running]) -> Result<PathBuf, Refusal> {
    let places = candidates(env, servers)?;
    let is_local = |place: &PathBuf| {
        place.extension().is_some_and(|end| end == "local") && local_of(&place.with_extension("")).is_some()
    };
    let is_there = |place: &&PathBuf| fs::symlink_metadata(place).is_ok() || is_local(place);
    let chosen = places.iter().find(|place| has_block(place)).or_else(|| places.iter().find(is_there));
    let home = env.places.home.as_ref().map(PathBuf::from).ok_or(Refusal::NoHome)?;
    Ok(chosen.cloned().unwrap_or_else(|| home.join(".tmux.conf")))
}
