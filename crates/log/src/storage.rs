//! The files of a log as a small trait: the real folder, and whatever a test puts in its place.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

/// A file takes no more than this beside its bytes: a part of a block, and where its blocks are.
const MAP_BYTES: u64 = 16 << 10;

/// A folder of files, as a log needs it. File names are plain names without a slash.
pub trait Storage: Send + Sync {
    /// Makes the folder if it is not there, private to this user, durably.
    ///
    /// # Errors
    /// When it cannot be made or is not safe to use: a link, a foreign owner, open to others (case F-111).
    fn prepare(&self) -> io::Result<()>;

    /// Lists the names of its files, in any order.
    ///
    /// # Errors
    /// When the folder cannot be read; `NotFound` when it is not there.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes a new file, mode 0600.
    ///
    /// # Errors
    /// `AlreadyExists` when there is one, and whatever the system says, such as no space.
    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>>;

    /// Opens an existing file; `write` asks for appending too.
    ///
    /// # Errors
    /// When it is not there, may not be opened, or is not a regular file of this user (case F-111).
    fn open(&self, name: &str, write: bool) -> io::Result<Box<dyn LogFile>>;

    /// Gives a file another name, in place of a file that has it, at once. Durable after [`Storage::sync_folder`].
    ///
    /// # Errors
    /// When it is not there, and whatever the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Durable after [`Storage::sync_folder`].
    ///
    /// # Errors
    /// `NotFound` when it is not there, and whatever the system says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable: fsync of the folder.
    ///
    /// # Errors
    /// When the system could not promise it.
    fn sync_folder(&self) -> io::Result<()>;
}

/// One open file of a [`Storage`].
pub trait LogFile: Send + Sync {
    /// Appends bytes at the end in one write and returns how many were taken.
    ///
    /// # Errors
    /// Nothing was taken then.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Reads at a place; 0 at the end of the file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Where reading can go on after [`LogFile::read_at`] failed at a place for good; nothing where it cannot.
    fn after_fault(&self, _offset: u64) -> Option<u64> {
        None
    }

    /// Returns the length in bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn length(&self) -> io::Result<u64>;

    /// Cuts the file to a length.
    ///
    /// # Errors
    /// Whatever the system says; the length is then unknown.
    fn cut(&self, length: u64) -> io::Result<()>;

    /// Reserves room on the disk for these bytes, without making the file longer.
    ///
    /// # Errors
    /// `Unsupported` where the disk has no such thing, and whatever the system says, such as no space. The file reads as before.
    fn reserve(&self, _bytes: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives back what is reserved behind the end of the file.
    ///
    /// # Errors
    /// Whatever the system says. The file reads as before.
    fn give_back(&self) -> io::Result<()> {
        Ok(())
    }

    /// When it was last written to; nothing where that is not known.
    fn modified(&self) -> Option<SystemTime> {
        None
    }

    /// Says when it was last written to, for a file that takes the place of an older one.
    ///
    /// # Errors
    /// Whatever the system says.
    fn set_modified(&self, _at: SystemTime) -> io::Result<()> {
        Ok(())
    }

    /// Makes the content durable: fdatasync.
    ///
    /// # Errors
    /// What was written since the last sync may then be lost for good, even if a later sync succeeds.
    fn sync(&self) -> io::Result<()>;
}

/// Appends all bytes; a short write is gone on with at once. Returns how many were written.
pub(crate) fn append_all(file: &dyn LogFile, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.append(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

/// Reads until the buffer is full or the file ends. Returns how many bytes were read.
pub(crate) fn read_full(file: &dyn LogFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Appends some bytes of a file to another one.
pub(crate) fn copy(from: &dyn LogFile, bytes: Range<u64>, to: &dyn LogFile) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    let mut offset = bytes.start;
    while offset < bytes.end {
        let size = (bytes.end - offset).min(buffer.len() as u64) as usize;
        let read = from.read_at(&mut buffer[..size], offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        append_all(to, &buffer[..read]).1?;
        offset += read as u64;
    }
    Ok(())
}

/// Removes a file, if it is there.
pub(crate) fn remove_if_there(storage: &dyn Storage, name: &str) -> io::Result<()> {
    match storage.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A real folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Names a folder; nothing is touched yet.
    pub fn new(path: &Path) -> Folder {
        Folder { path: path.to_owned() }
    }
}

impl Storage for Folder {
    fn prepare(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let missing: Vec<&Path> =
                    self.path.ancestors().take_while(|path| fs::symlink_metadata(path).is_err()).collect();
                DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
                // Each new folder's name lies in the one above it.
                let parents = missing.iter().filter_map(|made| made.parent());
                for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
                    File::open(parent)?.sync_all()?;
                }
                Ok(())
            }
            Err(error) => Err(error),
            Ok(found) if !found.is_dir() => Err(io::Error::other("it is not a folder")),
            Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => {
                Err(io::Error::other(format!("it belongs to user {}, not to this one", found.uid())))
            }
            Ok(found) if found.mode() & 0o022 != 0 => {
                Err(io::Error::other("others may write to it; take that right away with chmod 700"))
            }
            Ok(found) if found.mode() & 0o077 != 0 => {
                fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700))
            }
            Ok(_) => Ok(()),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        Ok(Box::new(RealFile { file: open_regular(&mut options, &self.path.join(name))? }))
    }

    fn open(&self, name: &str, write: bool) -> io::Result<Box<dyn LogFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(write);
        Ok(Box::new(RealFile { file: open_regular(&mut options, &self.path.join(name))? }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

/// Opens a file without following a link at its end and without waiting on a pipe that was planted in its place;
/// refuses what is not a regular file of this user (case F-111).
pub(crate) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("it belongs to user {}, not to this one", found.uid())));
    }
    Ok(file)
}

struct RealFile {
    file: File,
}

impl LogFile for RealFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &self.file, bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn reserve(&self, bytes: Range<u64>) -> io::Result<()> {
        Ok(fallocate(&self.file, FallocateFlags::KEEP_SIZE, bytes.start, bytes.end - bytes.start)?)
    }

    fn give_back(&self) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.blocks() * 512 <= found.len() + MAP_BYTES {
            return Ok(());
        }
        self.file.set_len(found.len())?;
        // No byte of it is another one: it was written to when it was.
        self.file.set_modified(found.modified()?)
    }

    fn modified(&self) -> Option<SystemTime> {
        self.file.metadata().and_then(|found| found.modified()).ok()
    }

    fn set_modified(&self, at: SystemTime) -> io::Result<()> {
        self.file.set_modified(at)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
