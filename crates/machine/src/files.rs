//! Private folders, and replacing files whole (field case F-111, overview D12).

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags};

/// How the name of a file begins that will replace another.
const TEMPORARY: &str = ".herdbook-";
/// So many letters and digits follow.
const TEMPORARY_LETTERS: usize = 6;

/// Why a folder is not used for private state. One line, with what to do.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Something else than a folder is there.
    #[error("{} is not a folder: move it away", .0.display())]
    NotFolder(PathBuf),
    /// Its last part is a symlink: whoever made it decides where we write.
    #[error("{} is a symlink: name the real folder instead", .0.display())]
    Symlink(PathBuf),
    /// It is another user's.
    #[error("{} belongs to uid {uid}, not to you: use another folder", .path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// Others can write to it, and may have.
    #[error("{} can be written by others (mode {mode:04o}): look through it, then chmod 0700 it", .path.display())]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It could not be looked at, made or changed.
    #[error("could not use the folder {}", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes a folder for private state, mode 0700, with its parents; or checks the one that is there. A folder that
/// others may only read is made 0700.
///
/// All is asked of one open folder and not of its name, so nobody can exchange it in between.
///
/// # Errors
/// It is a symlink, no folder, another's, or writable for others; or the system refuses.
pub fn private_dir(path: &Path) -> Result<(), FolderError> {
    let io = |source: io::Error| FolderError::Io { path: path.to_owned(), source };
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        // A dangling symlink or a file in its place; what it is, opening it tells.
        Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) => {
        }
        Err(error) => return Err(io(error)),
    }
    let found = fs::symlink_metadata(path).map_err(io)?;
    if found.is_symlink() {
        return Err(FolderError::Symlink(path.to_owned()));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::NOTDIR => FolderError::NotFolder(path.to_owned()),
        rustix::io::Errno::LOOP => FolderError::Symlink(path.to_owned()),
        other => io(other.into()),
    })?;
    let stat = rustix::fs::fstat(&folder).map_err(|error| io(error.into()))?;
    let mode = stat.st_mode & 0o7777;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(FolderError::NotFolder(path.to_owned()));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(FolderError::Foreign { path: path.to_owned(), uid: stat.st_uid });
    }
    if mode & 0o022 != 0 {
        return Err(FolderError::Writable { path: path.to_owned(), mode });
    }
    if mode & 0o077 != 0 {
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o700)).map_err(|error| io(error.into()))?;
    }
    Ok(())
}

/// Replaces a file whole: temporary file in the same folder, written, synced, renamed over it, folder synced. A reader
/// sees the old bytes or the new ones, also after a power cut.
///
/// A symlink is followed, so that a user's linked settings stay linked; an existing file keeps its mode, and its group
/// where we may give it; a new one gets `new_mode`.
///
/// # Errors
/// Whatever the system says; the file is then as it was.
pub fn replace_file(path: &Path, bytes: &[u8], new_mode: u32) -> io::Result<()> {
    replace(path, bytes, new_mode, |_| Ok(true)).map(|_| ())
}

/// Replaces a file as [`replace_file`] does, but only while it still holds `old`, or is still not there where that is
/// nothing; looked at last thing before the rename. Returns false where it does not: nothing is changed then.
///
/// # Errors
/// As [`replace_file`].
pub fn replace_unchanged(path: &Path, old: Option<&[u8]>, bytes: &[u8], new_mode: u32) -> io::Result<bool> {
    replace(path, bytes, new_mode, |target| match fs::read(target) {
        Ok(found) => Ok(old == Some(&found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(old.is_none()),
        Err(error) => Err(error),
    })
}

fn replace(
    path: &Path,
    bytes: &[u8],
    new_mode: u32,
    may: impl FnOnce(&Path) -> io::Result<bool>,
) -> io::Result<bool> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => dangling_target(path)?,
        Err(error) => return Err(error),
    };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (mode, group) = match fs::metadata(&target) {
        Ok(found) if found.is_file() => (found.permissions().mode() & 0o7777, Some(found.gid())),
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (new_mode, None),
        Err(error) => return Err(error),
    };
    let mut file =
        tempfile::Builder::new().prefix(TEMPORARY).rand_bytes(TEMPORARY_LETTERS).tempfile_in(folder)?;
    file.write_all(bytes)?;
    if group.is_some() {
        // One who is not in that group cannot; the file is no less theirs.
        let _ = fchown(file.as_file(), None, group);
    }
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    if !may(&target)? {
        return Ok(false);
    }
    file.persist(&target).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()?;
    Ok(true)
}

/// Removes what a [`replace_file`] that was killed has left beside a file: a copy of the whole of it. Those of the last
/// minute may be somebody's who is at it.
pub fn sweep_beside(path: &Path) {
    const AGE: Duration = Duration::from_mins(1);
    let folder = fs::canonicalize(path).ok().and_then(|target| Some(target.parent()?.to_owned()));
    let own = rustix::process::geteuid().as_raw();
    for entry in folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)).is_some_and(|rest| {
            rest.len() == TEMPORARY_LETTERS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        let is_left = || {
            let found = fs::symlink_metadata(entry.path()).ok()?;
            let age = found.modified().ok()?.elapsed().ok()?;
            Some(found.is_file() && found.uid() == own && age > AGE)
        };
        if is_named && is_left() == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Where a symlink to nothing points, or the path itself.
fn dangling_target(path: &Path) -> io::Result<PathBuf> {
    match fs::read_link(path) {
        Ok(link) => Ok(path.parent().unwrap_or(Path::new("")).join(link)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
            Ok(path.to_owned())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_private_folder_is_made_and_narrowed() {
        let scratch = tempfile::tempdir().unwrap();
        let made = scratch.path().join("a/b");
        private_dir(&made).unwrap();
        private_dir(&made).unwrap();
        assert_eq!((mode(&made), mode(&scratch.path().join("a"))), (0o700, 0o700));
        fs::set_permissions(&made, Permissions::from_mode(0o755)).unwrap();
        private_dir(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
    }

    #[test]
    fn layouts_of_an_attack_are_refused_and_nothing_is_changed() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("real")).unwrap();
        symlink(at("real"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        File::create(at("file")).unwrap();
        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(private_dir(&at("link")), Err(FolderError::Symlink(_))));
        assert!(matches!(private_dir(&at("dangling")), Err(FolderError::Symlink(_))));
        assert!(matches!(private_dir(&at("file")), Err(FolderError::NotFolder(_))));
        assert!(matches!(private_dir(&at("open")), Err(FolderError::Writable { mode: 0o777, .. })));
        assert_eq!(mode(&at("open")), 0o777);
        assert!(!at("nowhere").exists());
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_its_link() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        replace_file(&at("new"), b"one", 0o600).unwrap();
        assert_eq!((fs::read(at("new")).unwrap(), mode(&at("new"))), (b"one".to_vec(), 0o600));
        fs::set_permissions(at("new"), Permissions::from_mode(0o644)).unwrap();
        symlink(at("new"), at("link")).unwrap();
        replace_file(&at("link"), b"two", 0o600).unwrap();
        assert_eq!((fs::read(at("new")).unwrap(), mode(&at("new"))), (b"two".to_vec(), 0o644));
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        symlink("later", at("dangling")).unwrap();
        replace_file(&at("dangling"), b"three", 0o600).unwrap();
        assert_eq!(fs::read(at("later")).unwrap(), b"three");
        assert!(replace_file(scratch.path(), b"x", 0o600).is_err());
        let left = fs::read_dir(scratch.path()).unwrap().count();
        assert_eq!(left, 4, "no temporary file is left");
    }

    #[test]
    fn what_a_killed_replacement_left_is_swept_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let old = std::time::UNIX_EPOCH;
        for (name, is_old) in [
            (".herdbook-aB3x9Z", true),
            (".herdbook-new123", false),
            (".herdbook-notes.md", true),
            ("file", true),
        ] {
            let file = File::create(at(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        sweep_beside(&at("file"));
        let mut left: Vec<_> =
            fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort_unstable();
        assert_eq!(left, [".herdbook-new123", ".herdbook-notes.md", "file"]);
    }

    #[test]
    fn a_replaced_file_keeps_its_group() {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path().join("file");
        replace_file(&at, b"one", 0o660).unwrap();
        // Only root is in every group.
        let group =
            if rustix::process::geteuid().is_root() { 4242 } else { fs::metadata(&at).unwrap().gid() };
        std::os::unix::fs::chown(&at, None, Some(group)).unwrap();
        replace_file(&at, b"two", 0o600).unwrap();
        assert_eq!((fs::metadata(&at).unwrap().gid(), mode(&at)), (group, 0o660));
    }

    #[test]
    fn a_file_that_others_changed_is_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path().join("file");
        assert!(replace_unchanged(&at, None, b"one", 0o600).unwrap());
        assert!(!replace_unchanged(&at, None, b"two", 0o600).unwrap());
        assert!(!replace_unchanged(&at, Some(b"other"), b"two", 0o600).unwrap());
        assert_eq!(fs::read(&at).unwrap(), b"one");
        assert!(replace_unchanged(&at, Some(b"one"), b"two", 0o600).unwrap());
        assert_eq!(fs::read(&at).unwrap(), b"two");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "no temporary file is left");
    }
}
