//! Writing into the spool: temp file, then rename.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::entry::{Entry, TEMP_PREFIX};
use super::tally::check_size_limit;
use super::{lost, tally};
use crate::delivery::Delivery;
use crate::frame;
use crate::limits::{BODY_BYTES, CUT_BYTES};
use crate::paths::private_dir;

/// Bodies up to this size are written together with the head in one call.
const ONE_WRITE_BYTES: usize = 64 << 10;

/// Writes one delivery into the spool folder `dir`, making it (and the state folder around it) if need be.
///
/// # Errors
/// A folder that must not be used, a full spool, a full disk. What was not written is counted ([`super::lost`]), unless
/// the folder cannot be used at all.
pub fn write(dir: &Path, delivery: &Delivery) -> io::Result<()> {
    Writer::begin(dir, delivery)?.finish()
}

/// A delivery on its way into the spool whose body is not complete yet. Dropped without `finish` it is a lost event.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    name: String,
    file: File,
    body_at: u64,
    written: u64,
    admitted: u64,
    finished: bool,
}

impl Writer {
    /// Begins a file with what there is of the body in `delivery`.
    ///
    /// # Errors
    /// As [`write()`].
    pub fn begin(dir: &Path, delivery: &Delivery) -> io::Result<Writer> {
        if let Some(state) = dir.parent() {
            private_dir(state).map_err(io::Error::other)?;
        }
        private_dir(dir).map_err(io::Error::other)?;
        let begun = Writer::begin_in(dir, delivery);
        if begun.is_err() {
            lost::count_one(dir);
        }
        begun
    }

    fn begin_in(dir: &Path, delivery: &Delivery) -> io::Result<Writer> {
        let whole = delivery.body.len() <= ONE_WRITE_BYTES;
        let mut first = frame::encode_without_body(delivery, if whole { delivery.body.len() } else { 0 });
        let body_at = first.len() as u64;
        if whole {
            first.extend_from_slice(&delivery.body);
        }
        let admitted = body_at + delivery.body.len() as u64;
        if !tally::admit(dir, admitted) {
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, "the spool is full"));
        }
        let name = Entry::of(delivery).name();
        let file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(dir.join(temp_name(&name)))?;
        let (dir, written, finished) = (dir.to_owned(), body_at, false);
        let mut writer = Writer { dir, name, file, body_at, written, admitted, finished };
        let begun =
            writer.write(&first).and_then(|()| if whole { Ok(()) } else { writer.write(&delivery.body) });
        writer.written = admitted;
        if let Err(error) = begun {
            // The caller counts the loss; dropping the writer would count it twice.
            writer.finished = true;
            let _ = fs::remove_file(writer.temp());
            return Err(error);
        }
        Ok(writer)
    }

    /// Adds to the body.
    ///
    /// # Errors
    /// The disk is full, the body too long. The beginning can still be kept with [`Writer::finish_cut`].
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.written + bytes.len() as u64;
        if written - self.body_at > BODY_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        check_size_limit(written)?;
        self.file.write_all(bytes)?;
        self.written = written;
        Ok(())
    }

    /// Gives the file its name: from now on the daemon sees it.
    ///
    /// # Errors
    /// The length cannot be noted or the file not renamed: then the event is lost, and counted.
    pub fn finish(mut self) -> io::Result<()> {
        if self.written > self.admitted {
            self.note_body(self.written - self.body_at)?;
            tally::add(&self.dir, self.written - self.admitted);
        }
        self.rename()
    }

    /// Keeps only the first [`CUT_BYTES`] of the body and marks it as cut.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_cut(mut self) -> io::Result<()> {
        // A failed write may have left more behind than was counted; never keep less than was asked for.
        let body = CUT_BYTES.min(self.written - self.body_at);
        self.file.set_len(self.body_at + body)?;
        self.note_body(body)?;
        self.file.write_all_at(&[frame::cut_flag()], frame::FLAGS_AT)?;
        self.rename()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.file.metadata()?.len() + bytes.len() as u64;
        check_size_limit(end)?;
        self.file.write_all(bytes)
    }

    fn note_body(&mut self, len: u64) -> io::Result<()> {
        self.file.write_all_at(&len.to_le_bytes(), frame::BODY_LEN_AT)
    }

    fn rename(&mut self) -> io::Result<()> {
        fs::rename(self.temp(), self.dir.join(&self.name))?;
        self.finished = true;
        Ok(())
    }

    fn temp(&self) -> PathBuf {
        self.dir.join(temp_name(&self.name))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(self.temp());
            lost::count_one(&self.dir);
        }
    }
}

fn temp_name(name: &str) -> String {
    format!("{TEMP_PREFIX}{name}")
}
