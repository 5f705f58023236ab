//! Whether files and folders are the human's alone: whoever can write them decides what is run.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use herdbook_machine::FileStamp;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Why a link is not used: who can write where it leads decides.
pub(super) const SYMLINK: &str = "is a symlink: put there what it leads to";

/// What may be opened under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    /// A file that can be run.
    Program,
}

/// Looks at a name in an open folder without following a link; nothing where nothing is there.
pub(super) fn look(folder: impl AsFd, name: &str) -> Result<Option<Stat>, String> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

/// Says in words why something is not used, and what mends it.
pub(super) fn check(path: &Path, stat: &Stat, kind: Kind) -> Result<(), String> {
    let shown = path.display();
    let mode = stat.st_mode & 0o7777;
    match (FileType::from_raw_mode(stat.st_mode), kind) {
        (FileType::Directory, Kind::Folder) | (FileType::RegularFile, Kind::File | Kind::Program) => {}
        (FileType::Symlink, _) => return Err(SYMLINK.to_owned()),
        (_, Kind::Folder) => return Err("is no folder: move it away".to_owned()),
        _ => return Err("is no regular file: move it away".to_owned()),
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(format!("belongs to uid {}, not to you: put a copy of your own there", stat.st_uid));
    }
    if mode & 0o022 != 0 {
        return Err(format!(
            "can be written by others (mode {mode:04o}): look through it, then chmod go-w {shown}"
        ));
    }
    if kind == Kind::Program && mode & 0o100 == 0 {
        return Err(format!(
            "is not executable: chmod u+x {shown}, or begin its name with a dot if it is no route"
        ));
    }
    Ok(())
}

/// Opens what was looked at, and looks at it again: it cannot be exchanged in between.
pub(super) fn open(
    folder: impl AsFd,
    name: &str,
    path: &Path,
    kind: Kind,
) -> Result<(File, FileStamp), String> {
    let access = if kind == Kind::Folder { OFlags::DIRECTORY } else { OFlags::NOCTTY };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | access;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(unreadable)?;
    let stat = rustix::fs::fstat(&file).map_err(unreadable)?;
    check(path, &stat, kind)?;
    Ok((File::from(file), FileStamp::of(&stat)))
}

pub(super) fn unreadable(error: impl Into<io::Error>) -> String {
    format!("cannot be read: {}", error.into())
}
