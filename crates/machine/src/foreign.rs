//! The one place where files that a payload names are opened (overview D13): a payload can name any file.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

/// A foreign file, open for reading, and what it was at that moment.
#[derive(Debug)]
pub struct ForeignFile {
    /// The file.
    pub file: File,
    /// What it was when it was opened.
    pub stamp: FileStamp,
}

/// What a file is and whether it changed, by one `stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of the inode, nanoseconds since 1970: a writer cannot set it back.
    pub changed_ns: i128,
}

/// Why a foreign file is not opened.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// It lies outside the folders where the host keeps such files, or a link on the way leads out of them.
    #[error("{} lies outside the folders of its host", .0.display())]
    Outside(PathBuf),
    /// Its last part is a symlink.
    #[error("{} is a symlink", .0.display())]
    Symlink(PathBuf),
    /// It is a folder, a pipe, a device.
    #[error("{} is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// It is another user's.
    #[error("{} belongs to uid {uid}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// It is not there, or cannot be read.
    #[error("could not read {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ForeignError {
    /// True when there is no such file (yet).
    pub fn is_missing(&self) -> bool {
        matches!(self, ForeignError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens a file that a payload named, for reading.
///
/// `roots` are the folders of its host; a root may be a user's own symlink, below it no link leads out and the last
/// part is none. A pipe is not waited for.
///
/// # Errors
/// It is not below a root, no regular file, another's, or not there.
pub fn open_foreign(path: &Path, roots: &[PathBuf]) -> Result<ForeignFile, ForeignError> {
    // What it is is looked at before it is opened: opening a pipe or a device does something.
    stat_foreign(path, roots)?;
    let (root, below) = split(path, roots).ok_or_else(|| ForeignError::Outside(path.to_owned()))?;
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, folder, Mode::empty()).map_err(|error| failed(path, error))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // The kernel holds the walk below the root, so nothing can be exchanged in between.
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(&root, below, flags, Mode::empty(), resolve)
        .map(File::from)
        .map_err(|error| failed(path, error))?;
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(path, error))?;
    check(path, &stat)?;
    Ok(ForeignFile { stamp: FileStamp::of(&stat), file })
}

/// Looks at a file that a payload named without opening it: one `stat`, no link followed at the end. Only whether a
/// file that was opened before is still the same is read from it.
///
/// # Errors
/// As [`open_foreign`], as far as a `stat` can tell.
pub fn stat_foreign(path: &Path, roots: &[PathBuf]) -> Result<FileStamp, ForeignError> {
    split(path, roots).ok_or_else(|| ForeignError::Outside(path.to_owned()))?;
    let stat = rustix::fs::lstat(path).map_err(|error| failed(path, error))?;
    check(path, &stat)?;
    Ok(FileStamp::of(&stat))
}

impl FileStamp {
    /// Reads one out of a `stat`.
    pub fn of(stat: &rustix::fs::Stat) -> FileStamp {
        let ns = |seconds: i64, ns: i128| i128::from(seconds) * 1_000_000_000 + ns;
        FileStamp {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified_ns: ns(stat.st_mtime, i128::from(stat.st_mtime_nsec)),
            changed_ns: ns(stat.st_ctime, i128::from(stat.st_ctime_nsec)),
        }
    }

    /// True when both are the same file, changed or not.
    pub fn is_same_file(&self, other: &FileStamp) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// Finds the root a path lies below, and the rest. Dots are not walked: who names them means elsewhere.
fn split<'a>(path: &'a Path, roots: &'a [PathBuf]) -> Option<(&'a Path, &'a Path)> {
    roots.iter().filter(|root| root.is_absolute()).find_map(|root| {
        let below = path.strip_prefix(root).ok()?;
        let mut parts = below.components().peekable();
        parts.peek()?;
        parts.all(|part| matches!(part, Component::Normal(_))).then_some((root.as_path(), below))
    })
}

fn check(path: &Path, stat: &rustix::fs::Stat) -> Result<(), ForeignError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(ForeignError::Symlink(path.to_owned())),
        _ => return Err(ForeignError::NotRegular(path.to_owned())),
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(ForeignError::Foreign { path: path.to_owned(), uid: stat.st_uid });
    }
    Ok(())
}

fn failed(path: &Path, error: rustix::io::Errno) -> ForeignError {
    match error {
        rustix::io::Errno::LOOP => ForeignError::Symlink(path.to_owned()),
        rustix::io::Errno::XDEV => ForeignError::Outside(path.to_owned()),
        // A socket, or a device without a driver.
        rustix::io::Errno::NXIO => ForeignError::NotRegular(path.to_owned()),
        other => ForeignError::Io { path: path.to_owned(), source: other.into() },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: impl AsRef<Path>, text: &str) {
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn only_regular_files_below_a_root_are_opened() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir_all(at("real/sub")).unwrap();
        put(at("secret"), "s");
        put(at("real/sub/a.jsonl"), "one\n");
        symlink(at("real"), at("root")).unwrap();
        symlink(at("secret"), at("real/link")).unwrap();
        symlink(scratch.path(), at("real/out")).unwrap();
        symlink("sub", at("real/in")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("real/pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        let roots = [at("root")];
        let open = |name: &str| open_foreign(&at(name), &roots);
        assert_eq!(open("root/sub/a.jsonl").unwrap().stamp.size, 4);
        assert_eq!(open("root/in/a.jsonl").unwrap().stamp.size, 4);
        assert!(matches!(open("root/link"), Err(ForeignError::Symlink(_))));
        assert!(matches!(open("root/out/secret"), Err(ForeignError::Outside(_))));
        assert!(matches!(open("root/../secret"), Err(ForeignError::Outside(_))));
        assert!(matches!(open("real/sub/a.jsonl"), Err(ForeignError::Outside(_))));
        assert!(matches!(open("root"), Err(ForeignError::Outside(_))));
        assert!(matches!(open("root/sub"), Err(ForeignError::NotRegular(_))));
        assert!(matches!(open("root/pipe"), Err(ForeignError::NotRegular(_))));
        assert!(open("root/none").unwrap_err().is_missing());
        assert!(matches!(
            open_foreign(Path::new("/proc/self/stat"), &[PathBuf::from("proc"), PathBuf::new()]),
            Err(ForeignError::Outside(_))
        ));
    }

    #[test]
    fn one_stat_tells_whether_a_file_changed() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, roots) = (scratch.path().join("a"), [scratch.path().to_owned()]);
        put(&path, "one\n");
        let before = stat_foreign(&path, &roots).unwrap();
        assert_eq!(before, open_foreign(&path, &roots).unwrap().stamp);
        put(&path, "one\ntwo\n");
        let after = stat_foreign(&path, &roots).unwrap();
        assert!(after.is_same_file(&before) && after != before);
    }
}
