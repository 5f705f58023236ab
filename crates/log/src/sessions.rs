//! The logs of sessions: a folder each, under one folder, each with its one writer.
//!
//! A session's log is a [`Store`] that refuses to go on after damage, and that knows which ids it has. Ids make an append
//! that is sent again harmless: what is there already is answered with its place and not written a second time.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::cold;
use crate::line::{Head, MAX_SESSION_ID_BYTES, NewRecord};
use crate::reader::Reader;
use crate::refused::{AppendError, OpenError};
use crate::segment::segments_of;
use crate::storage::{Folder, Storage};
use crate::store::{Ack, Durability, Health, Opened, Options, Store};

/// More than the head of a line can have: a session id of 1 KiB in escapes, and its other members.
const HEAD_BYTES: usize = 8 << 10;

/// The folder with the logs of all sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    root: PathBuf,
}

impl Sessions {
    /// Names it: `sessions` in the state folder. Nothing is touched yet.
    pub fn new(state_dir: &Path) -> Sessions {
        Sessions { root: state_dir.join("sessions") }
    }

    /// Returns the folder of a session, there or not: the first 16 hex digits of the SHA-256 of its key (overview D6).
    pub fn folder(&self, key: &str) -> PathBuf {
        let digest = Sha256::digest(key.as_bytes());
        let name: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.root.join(name)
    }

    /// True where a session has a log.
    pub fn has(&self, key: &str) -> bool {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        is_folder(&self.root) && is_folder(&self.folder(key))
    }

    /// Says why no log can be read or written: where the logs should lie there is a link, which is not followed, or
    /// something else that is no folder. Nothing is there yet: that is well.
    ///
    /// # Errors
    /// It is no folder, or cannot be looked at.
    pub fn check(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(found) if found.is_symlink() => Err(io::Error::other(
                "it is a link, and links are not followed here; to keep logs on another disk mount that here, or lay the \
                 whole state folder there",
            )),
            Ok(found) if !found.is_dir() => Err(io::Error::other("it is not a folder")),
            Ok(_) => Ok(()),
        }
    }

    /// Lists the folders of sessions that are there, in no order. None where there is none yet.
    ///
    /// # Errors
    /// The folder cannot be read, or [`Sessions::check`] says why not.
    pub fn folders(&self) -> io::Result<Vec<PathBuf>> {
        self.check()?;
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry?;
            // What begins with a dot is on its way out.
            if entry.file_type()?.is_dir() && !entry.file_name().as_encoded_bytes().starts_with(b".") {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    }

    /// Reads whose log is in a folder, from the head of its first line. Nothing where it has no line yet.
    ///
    /// # Errors
    /// The folder cannot be read, or its first line is not one of a session whose folder has this name.
    pub fn key_of_folder(&self, folder: &Path) -> io::Result<Option<String>> {
        let storage = Folder::new(folder);
        let names = segments_of(&storage.list()?);
        let Some(first) = names.first() else { return Ok(None) };
        let file = cold::open_segment(&storage, *first)?.file;
        let mut head = vec![0; HEAD_BYTES];
        let read = file.read_at(&mut head, 0)?;
        let head = &head[..read];
        if head.is_empty() {
            return Ok(None);
        }
        let key = Head::read(head).and_then(|found| found.session_id(head));
        match key.filter(|key| self.folder(key).file_name() == folder.file_name()) {
            Some(key) => Ok(Some(key)),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its first line is not one of a session whose folder has this name",
            )),
        }
    }

    /// Opens a session's log to append to it, and makes its folder if it is not there. `options` says the rest:
    /// [`Options::of_session`]. While it is open, nobody else can open it: the file `LOCK` in its folder is locked.
    ///
    /// # Errors
    /// As [`Store::open`]; another process has this session open, and [`OpenError::Locked`] names it.
    pub fn open(&self, key: &str, mut options: Options) -> Result<(SessionLog, Opened), OpenError> {
        let bytes = key.len();
        if !(1..=MAX_SESSION_ID_BYTES).contains(&bytes) {
            return Err(OpenError::SessionId { bytes });
        }
        let folder = self.folder(key);
        options.session_id = key.to_owned();
        options.lock = None;
        let storage = match &options.storage {
            Some(storage) => Arc::clone(storage),
            None => {
                let at = |path: &Path| {
                    let path = path.to_owned();
                    move |source| OpenError::Io { path, source }
                };
                self.check().map_err(at(&self.root))?;
                for made in [&self.root, &folder] {
                    Folder::new(made).prepare().map_err(at(made))?;
                }
                options.lock = Some(folder.join("LOCK"));
                Arc::new(Folder::new(&folder))
            }
        };
        options.storage = Some(Arc::clone(&storage));
        let (store, opened) = Store::open(&folder, options)?;
        let next_seq = opened.last_seq + 1;
        let found_seq = opened.last_seq;
        Ok((
            SessionLog {
                folder,
                storage,
                store,
                next_seq,
                found_seq,
                last_id: None,
                ids: None,
                early_ids: Vec::new(),
            },
            opened,
        ))
    }
}

/// Where an append is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Wherever the log ends.
    Any,
    /// Right after this seq, one behind the other; 0 for an empty log.
    After(u64),
}

/// Where each record of an append stands, or will stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The seqs, in the order of the records.
    pub seqs: Vec<u64>,
    /// How many records, by their places in the append, are there already.
    pub duplicates: Vec<usize>,
    /// The last seq of the log before the append.
    pub last_seq: u64,
}

/// Why an append has no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// The log goes on from another seq.
    #[error("the log ends at seq {last_seq}")]
    WrongSeq {
        /// Its last seq.
        last_seq: u64,
    },
    /// A record with this id is there, and it is another one.
    #[error("record {index} of the append: id {id} already belongs to another event, at seq {seq}")]
    OtherContent {
        /// The record's place in the append, from 0.
        index: usize,
        /// The id.
        id: String,
        /// Where it stands.
        seq: u64,
    },
    /// The log could not be read to look for the ids.
    #[error("the log could not be read: {0}")]
    Unread(String),
}

/// A session's log, open for appending. One caller at a time: places are given in the order of the calls.
pub struct SessionLog {
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    store: Store,
    next_seq: u64,
    /// The last seq that was there when it was opened.
    found_seq: u64,
    /// The highest id, where that was told.
    last_id: Option<String>,
    /// The seq of each id; read when the first record comes that may be there already.
    ids: Option<HashMap<u128, u64>>,
    /// Of records that were appended before that, and may not be in the file when it is read.
    early_ids: Vec<(u128, u64)>,
}

impl SessionLog {
    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The last seq that was given.
    pub fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    /// Says which id is the highest, as text: who has just read the log knows. Records with an id above it are new, so that
    /// the log need not be read for them.
    pub fn ids_end_at(&mut self, last_id: String) {
        self.last_id = Some(last_id);
    }

    /// Tells how its store is doing.
    pub fn health(&self) -> Health {
        self.store.health()
    }

    /// Finds the places of records, of which some or all may be there already from an append that was sent before.
    /// With `Expected::After(seq)` the records stand, or are to stand, at `seq + 1` and on without a gap.
    ///
    /// # Errors
    /// The append cannot be made; nothing has changed.
    pub fn place(&mut self, records: &[NewRecord], expected: Expected) -> Result<Placed, Misplaced> {
        let last_seq = self.last_seq();
        let mut placed = Placed { seqs: Vec::with_capacity(records.len()), duplicates: Vec::new(), last_seq };
        let mut next_seq = self.next_seq;
        let mut given: HashMap<&str, usize> = HashMap::new();
        let mut reader = None;
        for (index, record) in records.iter().enumerate() {
            let is_new = self.last_id.as_ref().is_some_and(|last| record.id > *last);
            if !is_new && let Some(seq) = self.ids()?.get(&key_of(&record.id)).copied() {
                self.same(&mut reader, index, record, seq)?;
                placed.duplicates.push(index);
                placed.seqs.push(seq);
                continue;
            }
            if let Some(earlier) = given.insert(&record.id, index) {
                let (id, seq) = (record.id.clone(), placed.seqs[earlier]);
                return Err(Misplaced::OtherContent { index, id, seq });
            }
            placed.seqs.push(next_seq);
            next_seq += 1;
        }
        let Expected::After(after) = expected else { return Ok(placed) };
        // One behind the other: a part that is there and then something else is not what was expected either.
        let first = placed.seqs.first().copied().unwrap_or(self.next_seq);
        let is_next = placed.seqs.iter().zip(first..).all(|(seq, next)| *seq == next);
        if is_next && after.checked_add(1) == Some(first) {
            Ok(placed)
        } else {
            Err(Misplaced::WrongSeq { last_seq })
        }
    }

    /// Appends records that were placed, without those that are there already. The answer comes through `reply`, as of
    /// [`Store::append`]. After an error the log must be opened again before anything else is placed: seqs that were
    /// given may be free again, and what was appended behind them is refused with [`AppendError::Moved`].
    pub fn append(
        &mut self,
        records: Vec<NewRecord>,
        durability: Durability,
        reply: impl FnOnce(Result<Ack, AppendError>) + Send + 'static,
    ) {
        let first_seq = self.next_seq;
        for record in &records {
            let id = (key_of(&record.id), self.next_seq);
            match &mut self.ids {
                Some(ids) => drop(ids.insert(id.0, id.1)),
                None => self.early_ids.push(id),
            }
            self.next_seq += 1;
            if self.last_id.as_ref().is_some_and(|last| record.id > *last) {
                self.last_id = Some(record.id.clone());
            }
        }
        self.store.append_at(Some(first_seq), records, durability, reply);
    }

    /// Writes and syncs what was appended, and gives the log back.
    pub fn close(&self) -> Health {
        self.store.close()
    }

    fn ids(&mut self) -> Result<&HashMap<u128, u64>, Misplaced> {
        if self.ids.is_none() {
            // Room for all at once: a table that grows is there twice for a moment.
            let mut ids = HashMap::with_capacity(self.next_seq as usize);
            let (mut unread, mut found) = (None, 0);
            for line in Reader::with_storage(Arc::clone(&self.storage)) {
                match line {
                    Ok(line) => {
                        ids.insert(key_of(&line.id), line.seq);
                        found += u64::from(line.seq <= self.found_seq);
                    }
                    Err(damage) => unread = unread.or(Some(damage)),
                }
            }
            // Those that were appended since are known. Half a line that is left behind in an earlier segment is no
            // record; one that is not read is missed, also where a file could not be opened and nothing was said.
            if found < self.found_seq {
                let words = unread.map(|damage| damage.to_string());
                let short = || format!("{found} of its {} lines could be read", self.found_seq);
                return Err(Misplaced::Unread(words.unwrap_or_else(short)));
            }
            ids.extend(self.early_ids.iter().copied());
            self.ids = Some(ids);
            self.early_ids = Vec::new();
        }
        Ok(self.ids.get_or_insert_default())
    }

    /// The record that stands at a seq must be the same: type and payload; its time is the log's.
    /// `reader` stays for the next record, which mostly stands behind this one.
    fn same(
        &self,
        reader: &mut Option<Reader>,
        index: usize,
        record: &NewRecord,
        seq: u64,
    ) -> Result<(), Misplaced> {
        let there = reader.take().filter(|reader| reader.last_seq() + 1 == seq);
        let there = there.unwrap_or_else(|| Reader::with_storage(Arc::clone(&self.storage)).from_seq(seq));
        let line = match reader.insert(there).next() {
            Some(Ok(line)) if line.seq == seq => line,
            Some(Err(damage)) => return Err(Misplaced::Unread(damage.to_string())),
            _ => return Err(Misplaced::Unread(format!("seq {seq} is not written yet"))),
        };
        if line.id == record.id && line.kind == record.kind && line.payload == record.payload {
            return Ok(());
        }
        Err(Misplaced::OtherContent { index, id: record.id.clone(), seq })
    }
}

/// 128 bits of an id.
fn key_of(id: &str) -> u128 {
    let digest = Sha256::digest(id.as_bytes());
    digest[..16].iter().fold(0, |key, byte| (key << 8) | u128::from(*byte))
}

#[cfg(test)]
mod tests;
