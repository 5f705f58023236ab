//! Small files: those that the human wrote for us are read whole, within a bound, and never waited for; our own are made
//! private, and no link is followed to write to another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// A longer file is none: more than ten times the longest that anybody needs.
const MAX_BYTES: u64 = 256 << 10;

/// Reads a file as text; one that is not there is `None`. A symlink is the file that it leads to.
///
/// # Errors
/// It is there and cannot be read, is no regular file, is longer than 256 kB, or no UTF-8.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let not_regular = || io::Error::other("it is not a regular file");
    match fs::metadata(path) {
        // Opening a pipe would wait for its writer, and opening a device does something.
        Ok(found) if !found.is_file() => return Err(not_regular()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    // What took its place in between is not waited for either.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is longer than {} kB", MAX_BYTES >> 10)));
    }
    Ok(Some(text))
}

/// Opens a file of ours, private where it is made.
///
/// # Errors
/// Whatever the system says; it is a link or no regular file.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_of_some_length_are_read_and_no_pipe_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let said = |name: &str| read(&at(name)).map_err(|error| error.to_string());
        assert_eq!(said("none"), Ok(None));
        fs::write(at("text"), "# mine\n").unwrap();
        symlink(at("text"), at("link")).unwrap();
        symlink(at("none"), at("dangling")).unwrap();
        assert_eq!((said("link"), said("dangling")), (Ok(Some("# mine\n".into())), Ok(None)));
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink(at("pipe"), at("link-to-pipe")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for name in ["pipe", "link-to-pipe", "folder"] {
            assert_eq!(said(name), Err("it is not a regular file".into()), "{name}");
        }
        let long = File::create(at("long")).unwrap();
        long.set_len(MAX_BYTES).unwrap();
        assert_eq!(said("long").map(|text| text.map(|text| text.len())), Ok(Some(256 << 10)));
        long.set_len(1 << 30).unwrap();
        assert_eq!(said("long"), Err("it is longer than 256 kB".into()));
    }

    #[test]
    fn our_own_files_are_private_and_no_link_is_followed_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let append = |name: &str| open(OpenOptions::new().append(true).create(true), &at(name));
        append("new").unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(at("new")).unwrap()) & 0o777, 0o600);
        fs::write(at("victim"), "theirs").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for name in ["link", "pipe"] {
            assert!(append(name).is_err(), "{name}");
        }
        let cut = open(OpenOptions::new().write(true).truncate(true), &at("link"));
        assert!(cut.is_err() && fs::read_to_string(at("victim")).unwrap() == "theirs");
    }
}
