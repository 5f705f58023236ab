//! A simulated disk: what was not synced may be lost in a power cut, in whole or by sectors; writes and syncs can be
//! made to fail.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use herdbook_log::{Health, LogFile, Storage};

const SECTOR: usize = 512;

/// Small random numbers from a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// What goes wrong next.
#[derive(Debug, Default)]
pub struct Faults {
    /// Bytes that still fit on the disk; nothing: as many as you like.
    pub room: Option<usize>,
    /// Writes that fail with EIO.
    pub failing_writes: u32,
    /// Writes that take only half of the bytes.
    pub short_writes: u32,
    /// Syncs that fail, and drop what they should have made durable …
    pub failing_syncs: u32,
    /// … or, with a seed here, keep some sectors of it.
    pub half_synced: Option<u64>,
    /// Cuts that fail with EIO.
    pub failing_cuts: u32,
    /// Folder syncs that fail with EIO.
    pub failing_folder_syncs: u32,
    /// Writes that panic after taking half of the bytes.
    pub panicking_writes: u32,
    /// Syncs that panic.
    pub panicking_syncs: u32,
    /// After so many more changes of the disk (creations, writes, syncs, renames, removals) the process is killed.
    pub steps: Option<u32>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

/// A change of names that no folder sync made durable yet.
enum Move {
    Renamed { from: String, to: String, was_named: bool, replaced: Option<File> },
    Removed { name: String, file: File },
}

#[derive(Clone, Debug, Default)]
struct File {
    /// As programs see it.
    content: Vec<u8>,
    /// As it is on the platter.
    durable: Vec<u8>,
    /// What the next sync makes durable.
    unsynced: Vec<Change>,
    /// Its name is durable.
    named: bool,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, File>,
    moves: Vec<Move>,
    faults: Faults,
    /// Handles of an earlier run are dead.
    run: u64,
    syncs: u64,
    bytes_read: u64,
}

impl State {
    fn step(&mut self) -> io::Result<()> {
        match &mut self.faults.steps {
            Some(0) => Err(io::Error::other("the process was killed here")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Takes back the last so many changes of names.
    fn undo(&mut self, count: u64) {
        for _ in 0..count {
            match self.moves.pop() {
                Some(Move::Renamed { from, to, was_named, replaced }) => {
                    if let Some(file) = self.files.remove(&to) {
                        self.files.insert(from, File { named: was_named, ..file });
                    }
                    if let Some(replaced) = replaced {
                        self.files.insert(to, replaced);
                    }
                }
                Some(Move::Removed { name, file }) => drop(self.files.insert(name, file)),
                None => {}
            }
        }
        self.moves.clear();
    }
}

/// The disk. Clones of a handle see the same files; handles from before a crash are dead.
#[derive(Clone)]
pub struct Disk {
    state: Arc<Mutex<State>>,
    run: u64,
    was_cut: bool,
}

impl Disk {
    pub fn new() -> Disk {
        Disk { state: Arc::default(), run: 0, was_cut: false }
    }

    /// A disk with one segment.
    pub fn with_segment(content: &[u8]) -> Disk {
        let disk = Disk::new();
        disk.put("0000000001.jsonl", content);
        disk
    }

    pub fn put(&self, name: &str, content: &[u8]) {
        let file =
            File { content: content.to_vec(), durable: content.to_vec(), unsynced: Vec::new(), named: true };
        self.lock().files.insert(name.to_owned(), file);
    }

    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        self.lock().files.get(name).map(|file| file.content.clone())
    }

    pub fn names(&self) -> Vec<String> {
        self.lock().files.keys().cloned().collect()
    }

    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// Prints all files, for a test that fails.
    pub fn show(&self) {
        for name in self.names() {
            let content = self.content(&name).unwrap_or_default();
            if name.ends_with(".idx") {
                println!("{name}: {content:?}");
            } else {
                println!("{name}: {}", String::from_utf8_lossy(&content).escape_debug());
            }
        }
    }

    /// How many bytes were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.lock().bytes_read
    }

    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.lock().faults);
    }

    /// Kills the process that has this handle: its files stay as programs saw them.
    pub fn kill(&self) -> Disk {
        let mut state = self.lock();
        state.run += 1;
        state.faults = Faults::default();
        Disk { state: Arc::clone(&self.state), run: state.run, was_cut: false }
    }

    /// Cuts the power: of what was not synced, any part is kept.
    pub fn crash(&self, random: &mut Random) -> Disk {
        let next = self.kill();
        let mut state = next.lock();
        let moves = state.moves.len() as u64;
        state.undo(random.below(moves + 1));
        state.files.retain(|_, file| file.named || random.one_in(2));
        for file in state.files.values_mut() {
            let kept = random.below(4);
            for change in std::mem::take(&mut file.unsynced) {
                match change {
                    Change::Cut(length) if kept > 0 => file.durable.truncate(length),
                    Change::Cut(_) => {}
                    Change::Write(offset, bytes) => match kept {
                        0 => {}
                        1 => write_at(&mut file.durable, offset, &bytes),
                        2 => {
                            let part = random.below(bytes.len() as u64 + 1) as usize;
                            write_at(&mut file.durable, offset, &bytes[..part]);
                        }
                        _ => write_sectors(&mut file.durable, offset, &bytes, random),
                    },
                }
            }
            file.content = file.durable.clone();
            file.named = true;
        }
        drop(state);
        Disk { was_cut: true, ..next }
    }

    /// Ends a run as chance has it: all is well and its log is closed, or it is killed, or the power is cut.
    pub fn end(&self, random: &mut Random, close: impl Fn() -> Health) -> Disk {
        let next = match random.below(3) {
            0 => {
                self.set(|now| *now = Faults::default());
                close();
                self.kill()
            }
            1 => self.kill(),
            _ => self.crash(random),
        };
        let read_only = close().error.filter(|error| error.starts_with("read-only"));
        if read_only.is_some_and(|error| !error.contains(": a sync failed: the machine is off;")) {
            // After two failed syncs a file may be readable and yet not be on the disk, and nobody can tell: only
            // starting the machine again shows what is there.
            return next.crash(random);
        }
        next
    }

    /// This run began after a power cut, not after a kill.
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn live(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.run == self.run { Ok(state) } else { Err(io::Error::other("the machine is off")) }
    }
}

fn write_at(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// Each sector of the disk gets its part of the bytes, or is left as it was (zero, where it is new).
fn write_sectors(content: &mut Vec<u8>, offset: usize, bytes: &[u8], random: &mut Random) {
    let mut at = offset;
    while at < offset + bytes.len() {
        let end = (at / SECTOR * SECTOR + SECTOR).min(offset + bytes.len());
        if !random.one_in(3) {
            write_at(content, at, &bytes[at - offset..end - offset]);
        }
        at = end;
    }
}

fn take(count: &mut u32) -> bool {
    let some = *count > 0;
    *count = count.saturating_sub(1);
    some
}

fn broken() -> io::Error {
    io::Error::from_raw_os_error(5)
}

impl Storage for Disk {
    fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        let mut state = self.live()?;
        if state.files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.step()?;
        if state.faults.room == Some(0) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.files.insert(name.to_owned(), File::default());
        Ok(Box::new(Handle { disk: self.clone(), name: name.to_owned() }))
    }

    fn open(&self, name: &str, _write: bool) -> io::Result<Box<dyn LogFile>> {
        if !self.lock().files.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(Handle { disk: self.clone(), name: name.to_owned() }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.live()?;
        state.step()?;
        let mut file = state.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        // A name that is known to be another one is known.
        let was_named = std::mem::replace(&mut file.named, true);
        let replaced = state.files.insert(to.to_owned(), file);
        state.moves.push(Move::Renamed { from: from.to_owned(), to: to.to_owned(), was_named, replaced });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.live()?;
        state.step()?;
        let file = state.files.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.moves.push(Move::Removed { name: name.to_owned(), file });
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.live()?;
        if take(&mut state.faults.failing_folder_syncs) {
            return Err(broken());
        }
        state.step()?;
        state.files.values_mut().for_each(|file| file.named = true);
        state.moves.clear();
        Ok(())
    }
}

struct Handle {
    disk: Disk,
    name: String,
}

impl Handle {
    fn with<T>(&self, act: impl FnOnce(&mut File, &mut Faults) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.live()?;
        state.step()?;
        let State { files, faults, .. } = &mut *state;
        act(files.get_mut(&self.name).ok_or(io::ErrorKind::NotFound)?, faults)
    }
}

impl LogFile for Handle {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut panics = false;
        let written = self.with(|file, faults| {
            if take(&mut faults.failing_writes) {
                return Err(broken());
            }
            panics = take(&mut faults.panicking_writes);
            let mut count = bytes.len();
            if panics || take(&mut faults.short_writes) {
                count = count.div_ceil(2);
            }
            if let Some(room) = &mut faults.room {
                count = count.min(*room);
                *room -= count;
                if count == 0 {
                    return Err(io::ErrorKind::StorageFull.into());
                }
            }
            let offset = file.content.len();
            file.content.extend_from_slice(&bytes[..count]);
            file.unsynced.push(Change::Write(offset, bytes[..count].to_vec()));
            Ok(count)
        });
        assert!(!panics, "the test makes this write panic");
        written
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let file = state.files.get(&self.name).ok_or(io::ErrorKind::NotFound)?;
        let rest = file.content.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        state.bytes_read += count as u64;
        Ok(count)
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.disk.lock();
        Ok(state.files.get(&self.name).ok_or(io::ErrorKind::NotFound)?.content.len() as u64)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.with(|file, faults| {
            if take(&mut faults.failing_cuts) {
                return Err(broken());
            }
            if let Some(room) = &mut faults.room {
                *room += file.content.len().saturating_sub(length as usize);
            }
            file.content.truncate(length as usize);
            file.unsynced.push(Change::Cut(length as usize));
            Ok(())
        })
    }

    /// Fails always, and nobody minds.
    fn reserve(&self, _: Range<u64>) -> io::Result<()> {
        Err(broken())
    }

    fn sync(&self) -> io::Result<()> {
        let mut panics = false;
        let synced = self.with(|file, faults| {
            panics = take(&mut faults.panicking_syncs);
            if panics {
                return Ok(());
            }
            let changes = std::mem::take(&mut file.unsynced);
            if take(&mut faults.failing_syncs) {
                // As Linux does: the pages are clean now, and the next sync succeeds without them.
                let mut random = faults.half_synced.map(Random);
                for change in changes {
                    if let (Change::Write(offset, bytes), Some(random)) = (change, &mut random) {
                        write_sectors(&mut file.durable, offset, &bytes, random);
                    }
                }
                return Err(broken());
            }
            for change in changes {
                match change {
                    Change::Write(offset, bytes) => write_at(&mut file.durable, offset, &bytes),
                    Change::Cut(length) => file.durable.truncate(length),
                }
            }
            Ok(())
        });
        assert!(!panics, "the test makes this sync panic");
        self.disk.lock().syncs += 1;
        synced
    }
}
