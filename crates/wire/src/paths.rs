//! Where state and sockets lie, and whether a folder may be trusted (overview 5, case F-111).

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::env::{Env, HERDBOOK_SOCKET, HERDBOOK_STATE};

/// The folder under the state folder that takes what the daemon did not answer to.
pub const SPOOL: &str = "spool";
/// In the state folder, the routes that the human trusts. Where it lies, calls may be answered.
pub const TRUSTED_ROUTES: &str = "trusted-routes.json";
/// In the state folder, the hosts whose permission requests may be answered from elsewhere. Likewise.
pub const HOLDS: &str = "hold.json";
/// The socket's file name, in the runtime folder and in the state folder.
pub const SOCK: &str = "sock";

/// Longest path that fits into a unix socket address.
const SOCKET_PATH_BYTES: usize = 107;

/// Why there is no such place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    /// A variable of ours holds a relative path; hook and daemon would not mean the same place.
    Relative {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: OsString,
    },
    /// Neither `HERDBOOK_STATE` nor `XDG_STATE_HOME` nor `HOME` is set to an absolute path. There is no fall-back to
    /// a shared folder (case F-111).
    NoHome,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::Relative { name, value } => {
                write!(f, "{name} must be an absolute path, not {}", value.to_string_lossy())
            }
            PathError::NoHome => write!(f, "no place for state: set HOME, XDG_STATE_HOME or HERDBOOK_STATE"),
        }
    }
}

impl std::error::Error for PathError {}

/// A place where the daemon may listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPlace {
    /// The socket.
    pub path: PathBuf,
    /// Its folder is ours and must pass [`check_dir`]. False where the human named the socket: then the peer's uid
    /// alone decides.
    pub guarded: bool,
}

/// Returns the state folder: `HERDBOOK_STATE`, else `herdbook` under `XDG_STATE_HOME`, else under `~/.local/state`.
///
/// # Errors
/// See [`PathError`]. A relative XDG variable counts as not set, as the XDG specification asks.
pub fn state_dir(env: &Env) -> Result<PathBuf, PathError> {
    if let Some(value) = &env.herdbook_state {
        return absolute(HERDBOOK_STATE, value);
    }
    if let Some(dir) = absolute_or_unset(&env.xdg_state_home) {
        return Ok(dir.join("herdbook"));
    }
    let home = absolute_or_unset(&env.home).ok_or(PathError::NoHome)?;
    Ok(home.join(".local/state/herdbook"))
}

/// Returns the folder of the human's own settings: `herdbook` under `XDG_CONFIG_HOME`, else under `~/.config`.
///
/// # Errors
/// See [`PathError`]. A relative XDG variable counts as not set, as the XDG specification asks.
pub fn config_dir(env: &Env) -> Result<PathBuf, PathError> {
    if let Some(dir) = absolute_or_unset(&env.xdg_config_home) {
        return Ok(dir.join("herdbook"));
    }
    let home = absolute_or_unset(&env.home).ok_or(PathError::NoHome)?;
    Ok(home.join(".config/herdbook"))
}

/// Returns the sockets in the order a client tries them: `HERDBOOK_SOCKET` alone where it is set; else `sock` in
/// `HERDBOOK_STATE` alone where that is set; else `$XDG_RUNTIME_DIR/herdbook/sock` where that is set, then `sock` in
/// the state folder. The daemon listens on all.
///
/// A state folder that was named has a daemon of its own: another one's socket must not answer for it.
///
/// # Errors
/// See [`PathError`]; a missing state folder is no error while there is another place.
pub fn sockets(env: &Env) -> Result<Vec<SocketPlace>, PathError> {
    if let Some(value) = &env.herdbook_socket {
        return Ok(vec![SocketPlace { path: absolute(HERDBOOK_SOCKET, value)?, guarded: false }]);
    }
    let mut places = Vec::new();
    let shared = absolute_or_unset(&env.xdg_runtime_dir).filter(|_| env.herdbook_state.is_none());
    if let Some(dir) = shared {
        places.push(SocketPlace { path: dir.join("herdbook").join(SOCK), guarded: true });
    }
    match state_dir(env) {
        Ok(dir) => places.push(SocketPlace { path: dir.join(SOCK), guarded: true }),
        Err(error) if places.is_empty() => return Err(error),
        Err(_) => {}
    }
    Ok(places)
}

fn absolute(name: &'static str, value: &OsString) -> Result<PathBuf, PathError> {
    let path = PathBuf::from(value);
    if path.is_absolute() { Ok(path) } else { Err(PathError::Relative { name, value: value.clone() }) }
}

fn absolute_or_unset(value: &Option<OsString>) -> Option<PathBuf> {
    value.as_ref().map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Why a folder is not used.
#[derive(Debug)]
pub enum DirError {
    /// It cannot be looked at, made or changed.
    Io(PathBuf, io::Error),
    /// It is a symlink: whoever made it decides where we write.
    Symlink(PathBuf),
    /// It is something else than a folder.
    NotDir(PathBuf),
    /// It belongs to another user.
    Foreign(PathBuf, u32),
    /// Others may write to it.
    Writable(PathBuf, u32),
}

impl fmt::Display for DirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirError::Io(path, _) => write!(f, "could not use the folder {}", path.display()),
            DirError::Symlink(path) => {
                write!(
                    f,
                    "{} is a symlink: name the real folder in {HERDBOOK_STATE} or remove it",
                    path.display()
                )
            }
            DirError::NotDir(path) => write!(f, "{} is not a folder: move it away", path.display()),
            DirError::Foreign(path, uid) => {
                write!(f, "{} belongs to uid {uid}, not to you: use another folder", path.display())
            }
            DirError::Writable(path, mode) => {
                write!(f, "{} is writable for others (mode {mode:04o}): chmod 0700 it", path.display())
            }
        }
    }
}

impl std::error::Error for DirError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DirError::Io(_, source) => Some(source),
            _ => None,
        }
    }
}

/// Looks whether a folder is one of ours that nobody else can change: no symlink, own uid, not writable for others.
///
/// # Errors
/// See [`DirError`]; a missing folder is `Io` with `NotFound`.
pub fn check_dir(dir: &Path) -> Result<Metadata, DirError> {
    let found = fs::symlink_metadata(dir).map_err(|error| DirError::Io(dir.to_owned(), error))?;
    let mode = found.mode() & 0o7777;
    if found.is_symlink() {
        Err(DirError::Symlink(dir.to_owned()))
    } else if !found.is_dir() {
        Err(DirError::NotDir(dir.to_owned()))
    } else if found.uid() != own_uid() {
        Err(DirError::Foreign(dir.to_owned(), found.uid()))
    } else if mode & 0o022 != 0 {
        Err(DirError::Writable(dir.to_owned(), mode))
    } else {
        Ok(found)
    }
}

/// Makes a folder (and its parents) with mode 0700, or checks the one that is there and takes from others what they may
/// only read.
///
/// # Errors
/// See [`DirError`].
pub fn private_dir(dir: &Path) -> Result<(), DirError> {
    let found = match check_dir(dir) {
        Err(DirError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(|error| DirError::Io(dir.to_owned(), error))?;
            // Another process may have made it in between, so look again rather than trust the mode.
            check_dir(dir)?
        }
        checked => checked?,
    };
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))
            .map_err(|error| DirError::Io(dir.to_owned(), error))?;
    }
    Ok(())
}

/// Returns the uid this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A socket path that fits into an address, to bind or connect to.
#[derive(Debug)]
pub struct SocketAddress {
    /// The path to use while this value lives.
    pub path: PathBuf,
    _dir: Option<OwnedFd>,
}

/// Makes a long socket path fit: addresses hold 107 bytes, so a longer path goes through `/proc/self/fd` of its open
/// folder.
///
/// # Errors
/// The folder cannot be opened, or the path has no file name.
pub fn socket_address(path: &Path) -> io::Result<SocketAddress> {
    if path.as_os_str().len() <= SOCKET_PATH_BYTES {
        return Ok(SocketAddress { path: path.to_owned(), _dir: None });
    }
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let opened = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())).join(name);
    Ok(SocketAddress { path, _dir: Some(opened) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        Env::from_lookup(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn places_follow_the_variables_in_order() {
        assert_eq!(
            state_dir(&env(&[("HOME", "/home/dev")])).unwrap(),
            Path::new("/home/dev/.local/state/herdbook")
        );
        let all = [("HOME", "/home/dev"), ("XDG_STATE_HOME", "/s"), ("XDG_RUNTIME_DIR", "/run/user/1")];
        assert_eq!(state_dir(&env(&all)).unwrap(), Path::new("/s/herdbook"));
        let paths: Vec<_> = sockets(&env(&all)).unwrap().into_iter().map(|place| place.path).collect();
        assert_eq!(paths, [Path::new("/run/user/1/herdbook/sock"), Path::new("/s/herdbook/sock")]);
        let named = [("HERDBOOK_STATE", "/t"), ("XDG_RUNTIME_DIR", "/r"), ("HOME", "/home/dev")];
        assert_eq!(sockets(&env(&named)).unwrap(), [SocketPlace { path: "/t/sock".into(), guarded: true }]);
        let ours = [("HERDBOOK_STATE", "/t"), ("HERDBOOK_SOCKET", "/u/s"), ("XDG_RUNTIME_DIR", "/r")];
        assert_eq!(state_dir(&env(&ours)).unwrap(), Path::new("/t"));
        assert_eq!(sockets(&env(&ours)).unwrap(), [SocketPlace { path: "/u/s".into(), guarded: false }]);
    }

    #[test]
    fn settings_of_the_human_lie_where_he_keeps_his() {
        let own = config_dir(&env(&[("HOME", "/home/dev")])).unwrap();
        assert_eq!(own, Path::new("/home/dev/.config/herdbook"));
        let moved = config_dir(&env(&[("HOME", "/home/dev"), ("XDG_CONFIG_HOME", "/c")])).unwrap();
        assert_eq!(moved, Path::new("/c/herdbook"));
        let relative = config_dir(&env(&[("HOME", "/home/dev"), ("XDG_CONFIG_HOME", "c")])).unwrap();
        assert_eq!(relative, own);
        assert_eq!(config_dir(&env(&[])), Err(PathError::NoHome));
    }

    #[test]
    fn nothing_falls_back_to_a_shared_folder() {
        assert_eq!(state_dir(&env(&[("XDG_STATE_HOME", "relative")])), Err(PathError::NoHome));
        assert_eq!(sockets(&env(&[])), Err(PathError::NoHome));
        let error = state_dir(&env(&[("HERDBOOK_STATE", "here")])).unwrap_err();
        let relative = [("HERDBOOK_STATE", "here"), ("XDG_RUNTIME_DIR", "/r")];
        assert_eq!(sockets(&env(&relative)).unwrap_err(), error);
        assert_eq!(error.to_string(), "HERDBOOK_STATE must be an absolute path, not here");
    }

    #[test]
    fn bad_folders_are_refused_and_readable_ones_tightened() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let with_mode = |name: &str, mode| {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
            at(name)
        };
        private_dir(&at("a/b/new")).unwrap();
        for made in ["a", "a/b", "a/b/new"] {
            assert_eq!(fs::metadata(at(made)).unwrap().mode() & 0o777, 0o700);
        }
        let readable = with_mode("readable", 0o755);
        private_dir(&readable).unwrap();
        assert_eq!(fs::metadata(&readable).unwrap().mode() & 0o777, 0o700);
        assert!(matches!(private_dir(&with_mode("group", 0o770)), Err(DirError::Writable(_, 0o770))));
        assert!(matches!(private_dir(&with_mode("world", 0o1777)), Err(DirError::Writable(..))));
        fs::File::create(at("file")).unwrap();
        assert!(matches!(private_dir(&at("file")), Err(DirError::NotDir(_))));
        symlink(&readable, at("link")).unwrap();
        assert!(matches!(private_dir(&at("link")), Err(DirError::Symlink(_))));
        symlink(at("nowhere"), at("dangling")).unwrap();
        assert!(matches!(private_dir(&at("dangling")), Err(DirError::Symlink(_))));
        assert!(!at("nowhere").exists());
        if own_uid() == 0 {
            std::os::unix::fs::chown(&readable, Some(12345), None).unwrap();
            assert!(matches!(private_dir(&readable), Err(DirError::Foreign(_, 12345))));
        }
    }

    #[test]
    fn a_long_socket_path_can_be_bound_and_reached() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("d".repeat(120));
        fs::create_dir(&dir).unwrap();
        let place = dir.join(SOCK);
        let address = socket_address(&place).unwrap();
        let _listener = UnixListener::bind(&address.path).unwrap();
        drop(address);
        assert!(place.exists());
        UnixStream::connect(&socket_address(&place).unwrap().path).unwrap();
    }
}
