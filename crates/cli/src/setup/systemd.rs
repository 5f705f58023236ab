//! The daemon as a unit of the user's systemd: two files, written whole, and never over a file of somebody else.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_machine::{ManagerError, UserManager, replace_file};
use herdbook_wire::env::Env as Places;
use herdbook_wire::paths::{sockets, state_dir};

use super::config_folder;
use crate::env::MEMORY;

/// The unit that runs the daemon.
pub const SERVICE: &str = "herdbook.service";
/// The unit that listens for it, so that the first hook after a login starts it.
pub const SOCKET: &str = "herdbook.socket";

/// First line of a file that is ours.
const MARK: &str =
    "# Written by `herdbook up`, which also replaces it: put changes into a drop-in (systemctl --user edit).";
/// A daemon that starts reads its journal first.
const START_TIME: Duration = Duration::from_secs(60);
/// A daemon that ends writes down what it holds.
const STOP_TIME: Duration = Duration::from_secs(20);
/// Anything else is a matter of files.
const ORDER_TIME: Duration = Duration::from_secs(10);

/// Why the units could not be used.
#[derive(Debug, thiserror::Error)]
pub enum UnitsError {
    /// There is none, or it is not this environment's. The text completes "not by systemd: …".
    #[error("{0}")]
    Unfit(String),
    /// A file of that name is somebody else's.
    #[error("{} {what}, so it is left alone", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What tells so.
        what: &'static str,
    },
    /// A file could not be read, written or removed.
    #[error("could not {what} {}", .path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The manager did not do as asked.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

/// Our units in the user's systemd.
#[derive(Debug)]
pub struct Units {
    manager: UserManager,
}

/// How our units are.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnitsState {
    /// Process id of the daemon that the unit runs.
    pub pid: Option<u32>,
    /// systemd listens: a connection starts the daemon.
    pub listens: bool,
    /// It does so again after the next login.
    pub enabled: bool,
}

impl Units {
    /// Finds the user's systemd; whether it is this environment's is another question.
    pub fn find(places: &Places) -> Option<Units> {
        let runtime_dir = places.xdg_runtime_dir.as_ref().map(Path::new).filter(|dir| dir.is_absolute())?;
        Some(Units { manager: UserManager::find(runtime_dir)? })
    }

    /// Looks whether a unit would mean the same places as this environment does: a scratch daemon must never take the
    /// place of the user's.
    ///
    /// # Errors
    /// [`UnitsError::Unfit`] with the difference, or the manager does not answer.
    pub fn check_fit(&self, places: &Places) -> Result<(), UnitsError> {
        let unfit = |words: String| Err(UnitsError::Unfit(words));
        for (name, value) in
            [("HERDBOOK_STATE", &places.herdbook_state), ("HERDBOOK_SOCKET", &places.herdbook_socket)]
        {
            if value.is_some() {
                return unfit(format!("{name} is set"));
            }
        }
        let theirs = self.manager.environment()?;
        let find = |name: &str| theirs.iter().find(|(known, _)| known == name).map(|(_, value)| value.into());
        let theirs = Places::from_lookup(find);
        if theirs.herdbook_addr != places.herdbook_addr {
            return unfit("HERDBOOK_ADDR is set, and systemd does not know it".to_owned());
        }
        let is_same = state_dir(&theirs) == state_dir(places)
            && sockets(&theirs) == sockets(places)
            && theirs.herdbook_state.is_none()
            && theirs.herdbook_socket.is_none()
            && unit_folder(&theirs) == unit_folder(places);
        if is_same {
            Ok(())
        } else {
            unfit("HOME or the XDG folders are other ones than systemd's".to_owned())
        }
    }

    /// Asks how they are.
    ///
    /// # Errors
    /// The manager does not answer.
    pub fn state(&self) -> Result<UnitsState, UnitsError> {
        let (service, socket) = (self.manager.unit(SERVICE)?, self.manager.unit(SOCKET)?);
        Ok(UnitsState { pid: service.main_pid, listens: socket.active, enabled: socket.enabled })
    }

    /// Whether the daemon ends when the user logs out, though agents in tmux may go on.
    pub fn ends_at_logout(&self) -> bool {
        self.manager.lingers() == Some(false)
    }

    /// Writes both files where they are not as they should be, and has them read. `path` is our `PATH`: where tmux is
    /// found there and not by systemd, the unit is told its folder.
    ///
    /// # Errors
    /// A file is somebody else's, the program's path cannot stand in a unit, or something failed.
    pub fn write(&self, places: &Places, program: &Path, path: Option<&OsStr>) -> Result<(), UnitsError> {
        let folder = unit_folder(places)
            .ok_or_else(|| UnitsError::Unfit("there is no place for units: HOME is not set".to_owned()))?;
        let theirs = self.manager.environment()?.into_iter().find(|(name, _)| name == "PATH");
        let search = path.zip(theirs).and_then(|(ours, (_, theirs))| search_path(ours, &theirs));
        let texts = [(SERVICE, service_text(program, search.as_deref())?), (SOCKET, socket_text())];
        // Look at both before either is changed.
        let mut changed = Vec::new();
        for (name, text) in texts {
            let path = folder.join(name);
            if read_ours(&path)?.as_deref() != Some(text.as_str()) {
                changed.push((path, text));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| UnitsError::File { what, path, source }
        };
        fs::create_dir_all(&folder).map_err(failed("make", &folder))?;
        for (path, text) in changed {
            replace_file(&path, text.as_bytes(), 0o644).map_err(failed("write", &path))?;
        }
        Ok(self.manager.order(&["daemon-reload"], ORDER_TIME)?)
    }

    /// Starts both, and has systemd listen after each login.
    ///
    /// # Errors
    /// The daemon did not get ready, or systemd refuses.
    pub fn start(&self) -> Result<(), UnitsError> {
        // Having failed too often is forgotten when a human asks; it is no fault when there is nothing to forget.
        drop(self.manager.order(&["reset-failed", SERVICE, SOCKET], ORDER_TIME));
        self.manager.order(&["enable", "--now", SOCKET], ORDER_TIME)?;
        Ok(self.manager.order(&["start", SERVICE], START_TIME)?)
    }

    /// Ends the daemon and starts it again; systemd listens meanwhile.
    ///
    /// # Errors
    /// As [`Units::start`].
    pub fn restart(&self) -> Result<(), UnitsError> {
        self.manager.order(&["enable", "--now", SOCKET], ORDER_TIME)?;
        Ok(self.manager.order(&["restart", SERVICE], STOP_TIME + START_TIME)?)
    }

    /// Ends the daemon and the listening for it, else the next connection would bring it back.
    ///
    /// # Errors
    /// systemd refuses, or it takes too long.
    pub fn stop(&self) -> Result<(), UnitsError> {
        Ok(self.manager.order(&["stop", SOCKET, SERVICE], STOP_TIME)?)
    }
}

/// Returns those files of our units that are there.
pub fn files(places: &Places) -> Vec<PathBuf> {
    let Some(folder) = unit_folder(places) else { return Vec::new() };
    let ours = |path: &PathBuf| matches!(read_ours(path), Ok(Some(_)));
    [SOCKET, SERVICE].into_iter().map(|name| folder.join(name)).filter(ours).collect()
}

/// Ends our units and removes their files; returns the files that are gone. Files that are not ours stay.
///
/// # Errors
/// systemd refuses, or a file cannot be removed.
pub fn remove(places: &Places) -> Result<Vec<PathBuf>, UnitsError> {
    let files = files(places);
    let names: Vec<&str> =
        [SOCKET, SERVICE].into_iter().filter(|name| files.iter().any(|file| file.ends_with(name))).collect();
    // Files of a scratch home are no reason to end the user's own units.
    let units = Units::find(places).filter(|units| !files.is_empty() && units.check_fit(places).is_ok());
    if let Some(units) = &units {
        // One that was never read could not be stopped.
        units.manager.order(&["daemon-reload"], ORDER_TIME)?;
        units.manager.order(&[&["stop"], names.as_slice()].concat(), STOP_TIME)?;
        if names.contains(&SOCKET) {
            units.manager.order(&["disable", SOCKET], ORDER_TIME)?;
        }
    }
    let is_socket = |file: &&PathBuf| file.ends_with(SOCKET);
    let link =
        files.iter().find(is_socket).map(|file| file.with_file_name("sockets.target.wants").join(SOCKET));
    for path in link.iter().filter(|link| link.is_symlink()).chain(&files) {
        fs::remove_file(path).map_err(|source| UnitsError::File {
            what: "remove",
            path: path.clone(),
            source,
        })?;
    }
    if let Some(units) = &units {
        units.manager.order(&["daemon-reload"], ORDER_TIME)?;
    }
    Ok(files)
}

/// Returns where the user's units lie (systemd.unit(5)).
fn unit_folder(places: &Places) -> Option<PathBuf> {
    Some(config_folder(places)?.join("systemd/user"))
}

/// Returns the text of a file of ours; nothing where there is no file.
fn read_ours(path: &Path) -> Result<Option<String>, UnitsError> {
    let foreign = |what| Err(UnitsError::Foreign { path: path.to_owned(), what });
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(UnitsError::File { what: "look at", path: path.to_owned(), source }),
        // Somebody's dotfiles, or a unit that was masked.
        Ok(found) if found.is_symlink() => return foreign("is a symlink"),
        Ok(found) if !found.is_file() => return foreign("is no file"),
        Ok(_) => {}
    }
    match fs::read(path) {
        Ok(bytes) if !bytes.starts_with(MARK.as_bytes()) => foreign("was not written by herdbook"),
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(source) => Err(UnitsError::File { what: "read", path: path.to_owned(), source }),
    }
}

/// Returns systemd's search path with the folder of our tmux, where it would not find one.
fn search_path(ours: &OsStr, theirs: &str) -> Option<String> {
    let with_tmux = |path: &OsStr| std::env::split_paths(path).find(|folder| folder.join("tmux").is_file());
    let folder = with_tmux(ours).filter(|folder| folder.is_absolute())?;
    match with_tmux(OsStr::new(theirs)) {
        Some(_) => None,
        None => Some(format!("{theirs}:{}", folder.to_str()?)),
    }
}

/// The service. It needs /proc of other processes, tmux's sockets below /tmp and the network's loopback, so none of
/// these is hidden from it; what it runs shall stay able to do what the user's programs do.
fn service_text(program: &Path, search: Option<&str>) -> Result<String, UnitsError> {
    let unnameable = || UnitsError::Unfit(format!("a unit cannot name the program {}", program.display()));
    let absolute = program.to_str().filter(|path| path.starts_with('/'));
    let program = absolute.and_then(quoted).ok_or_else(unnameable)?;
    // Without tmux the daemon does all but to see which pane is looked at.
    let search = search.and_then(|path| quoted(&format!("PATH={path}")));
    let search = search.map(|path| format!("Environment={path}\n")).unwrap_or_default();
    let (name, value) = MEMORY;
    Ok(format!(
        "{MARK}
[Unit]
Description=Herdbook, the record book for a herd of coding agents
Requires={SOCKET}
After={SOCKET}

[Service]
Type=notify
ExecStart={program} daemon --systemd
Environment={name}={value}
{search}# The sign of life is given by the thread that does the work.
WatchdogSec=60
Restart=on-failure
RestartSec=1
# Another daemon has the state folder: trying again does not help.
RestartPreventExitStatus=7
TimeoutStartSec=300
TimeoutStopSec=15
KillMode=mixed
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
"
    ))
}

fn socket_text() -> String {
    format!(
        "{MARK}
[Unit]
Description=Herdbook's socket for hooks and commands

[Socket]
ListenStream=%t/herdbook/sock
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
"
    )
}

/// Writes a word as systemd reads it (systemd.syntax(7), systemd.service(5)); nothing where it has characters that mean
/// something there, besides the `%` that is doubled.
fn quoted(word: &str) -> Option<String> {
    let odd = |letter: char| letter.is_control() || matches!(letter, '"' | '\'' | '\\' | '$');
    (!word.contains(odd)).then(|| format!("\"{}\"", word.replace('%', "%%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_so_that_systemd_reads_the_same() {
        let text = service_text(Path::new("/home/dev/my tools/100%/herdbook"), None).unwrap();
        let line = text.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(line, "ExecStart=\"/home/dev/my tools/100%%/herdbook\" daemon --systemd");
        for odd in ["/a\"b", "/a$b", "/a\\b", "/a\nb", "herdbook"] {
            assert!(matches!(service_text(Path::new(odd), None), Err(UnitsError::Unfit(_))), "{odd:?}");
        }
    }

    #[test]
    fn the_folder_of_tmux_is_told_where_systemd_would_not_find_it() {
        let scratch = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| scratch.path().join(name));
        for folder in [&ours, &theirs] {
            fs::create_dir(folder).unwrap();
        }
        let theirs_path = theirs.to_str().unwrap();
        let search = || search_path(ours.as_os_str(), theirs_path);
        assert_eq!(search(), None, "there is no tmux at all");
        fs::File::create(ours.join("tmux")).unwrap();
        let expected = format!("{theirs_path}:{}", ours.display());
        assert_eq!(search(), Some(expected.clone()));
        let text = service_text(Path::new("/usr/bin/herdbook"), Some(&expected)).unwrap();
        assert!(text.contains(&format!("\nEnvironment=\"PATH={expected}\"\n")), "{text}");
        fs::File::create(theirs.join("tmux")).unwrap();
        assert_eq!(search(), None);
    }

    #[test]
    fn files_of_others_and_links_are_not_ours() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        replace_file(&at("ours"), socket_text().as_bytes(), 0o644).unwrap();
        replace_file(&at("theirs"), b"[Unit]\n", 0o644).unwrap();
        std::os::unix::fs::symlink("ours", at("link")).unwrap();
        assert_eq!(read_ours(&at("ours")).unwrap(), Some(socket_text()));
        assert_eq!(read_ours(&at("missing")).unwrap(), None);
        for (name, words) in [("theirs", "was not written by herdbook"), ("link", "is a symlink")] {
            let error = read_ours(&at(name)).unwrap_err().to_string();
            assert_eq!(error, format!("{} {words}, so it is left alone", at(name).display()));
        }
    }

    #[test]
    fn removing_takes_our_files_and_leaves_the_others() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().as_os_str().to_owned();
        let places = Places { home: Some(home), ..Places::default() };
        let folder = unit_folder(&places).unwrap();
        assert_eq!(remove(&places).unwrap(), Vec::<PathBuf>::new());
        fs::create_dir_all(folder.join("sockets.target.wants")).unwrap();
        let (service, socket) = (folder.join(SERVICE), folder.join(SOCKET));
        replace_file(&service, b"[Unit]\nDescription=mine\n", 0o644).unwrap();
        replace_file(&socket, socket_text().as_bytes(), 0o644).unwrap();
        let link = folder.join("sockets.target.wants").join(SOCKET);
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        assert_eq!(remove(&places).unwrap(), std::slice::from_ref(&socket));
        assert!(service.exists() && !socket.exists() && !link.is_symlink());
    }
}
