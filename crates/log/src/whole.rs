//! Files that are written whole under another name, and take their place when they are durable.

use std::io;

use crate::storage::{LogFile, Storage, append_all, remove_if_there};

/// How much is written at once, in bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// A file on its way. One that does not come to its place is removed: on a full disk, whatever is left of it would be in the
/// way. What a crash leaves of it has a name that nobody reads, and is removed when the next one begins.
pub(crate) struct Whole<'a> {
    storage: &'a dyn Storage,
    file: Box<dyn LogFile>,
    temp: String,
    buffer: Vec<u8>,
    length: u64,
    is_placed: bool,
}

impl<'a> Whole<'a> {
    /// Begins the file that is to be `name`.
    pub(crate) fn begin(storage: &'a dyn Storage, name: &str) -> io::Result<Whole<'a>> {
        let temp = format!("{name}.tmp");
        remove_if_there(storage, &temp)?;
        let file = storage.create(&temp)?;
        Ok(Whole { storage, file, temp, buffer: Vec::new(), length: 0, is_placed: false })
    }

    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.buffer.len() < CHUNK_BYTES { Ok(()) } else { self.flush() }
    }

    /// How many bytes were added.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Says that it was last written to when another file was, whose place it is to take: its lines are no newer.
    pub(crate) fn is_as_old_as(&mut self, other: &dyn LogFile) -> io::Result<()> {
        self.flush()?;
        other.modified().map_or(Ok(()), |at| self.file.set_modified(at))
    }

    /// Makes the bytes durable and returns the name under which they lie for now.
    pub(crate) fn sync(&mut self) -> io::Result<&str> {
        self.flush()?;
        self.file.sync()?;
        Ok(&self.temp)
    }

    /// Puts the file in its place, durably.
    pub(crate) fn place(mut self, name: &str) -> io::Result<()> {
        self.sync()?;
        self.storage.rename(&self.temp, name)?;
        self.is_placed = true;
        self.storage.sync_folder()
    }

    fn flush(&mut self) -> io::Result<()> {
        append_all(&*self.file, &self.buffer).1?;
        self.buffer.clear();
        Ok(())
    }
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            drop(self.storage.remove(&self.temp));
        }
    }
}

/// Writes a small file whole, durably.
pub(crate) fn replace(storage: &dyn Storage, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut whole = Whole::begin(storage, name)?;
    whole.push(bytes)?;
    whole.place(name)
}
