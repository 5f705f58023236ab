//! Readers of a folder that changes while it is listed, and between that and the opening of what it named.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use herdbook_log::{
    Damage, Durability, LogFile, OldLine, Options, Reader, Storage, Store, compress_in, repair_in, rewrite_in,
};

use crate::disk::Disk;
use crate::support::{NOW_MS, append, read_all, seqs};

/// All files of a folder, by their names.
type Files = BTreeMap<String, Vec<u8>>;

fn files(disk: &Disk) -> Files {
    disk.names().into_iter().map(|name| (name.clone(), disk.content(&name).unwrap())).collect()
}

/// A log of `lines` lines in segments of three.
fn disk_with(lines: u64) -> Disk {
    let disk = Disk::new();
    let session_id = "journal".to_owned();
    let storage: Option<Arc<dyn Storage>> = Some(Arc::new(disk.clone()));
    let options = Options { segment_bytes: 450, storage, session_id, ..Options::of_session(NOW_MS) };
    let (store, _) = Store::open(Path::new(""), options).unwrap();
    for number in 1..=lines {
        append(&store, [number], Durability::Synced);
    }
    store.close();
    disk
}

/// A disk that notes what it holds after each change of a name.
struct Noted(Disk, Mutex<Vec<Files>>);

impl Noted {
    fn note<T>(&self, done: io::Result<T>) -> io::Result<T> {
        self.1.lock().unwrap().push(files(&self.0));
        done
    }
}

impl Storage for Noted {
    fn prepare(&self) -> io::Result<()> {
        self.0.prepare()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        self.note(self.0.create(name))
    }
    fn open(&self, name: &str, write: bool) -> io::Result<Box<dyn LogFile>> {
        self.0.open(name, write)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.note(self.0.rename(from, to))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.note(self.0.remove(name))
    }
    fn sync_folder(&self) -> io::Result<()> {
        self.0.sync_folder()
    }
}

/// What a folder holds before something is done to a log, and after each step of that.
fn steps(disk: &Disk, act: impl FnOnce(&Arc<dyn Storage>)) -> Vec<Files> {
    let noted = Arc::new(Noted(disk.clone(), Mutex::new(vec![files(disk)])));
    let storage: Arc<dyn Storage> = Arc::<Noted>::clone(&noted);
    act(&storage);
    noted.1.lock().unwrap().clone()
}

/// When a folder changes: at which listing or opening, over how many steps, and how much of a listing is older than that.
#[derive(Clone, Copy, Debug)]
struct Shift {
    at_call: usize,
    from: usize,
    to: usize,
    old_names: usize,
    backwards: bool,
}

/// A folder that is in one state and then in another.
struct Shifting {
    states: Arc<Vec<Files>>,
    shift: Shift,
    calls: Mutex<usize>,
    /// The change came during a listing.
    listed: AtomicBool,
}

impl Shifting {
    /// The state for a call, and the one before where the change comes during this very call.
    fn now(&self) -> (&Files, Option<&Files>) {
        let Shift { at_call, from, to, .. } = self.shift;
        let mut calls = self.calls.lock().unwrap();
        let call = *calls;
        *calls += 1;
        let state = |is_over: bool| &self.states[if is_over { to } else { from }];
        (state(call >= at_call), (call == at_call).then(|| state(false)))
    }
}

fn not_for_readers<T>() -> io::Result<T> {
    Err(io::Error::other("a reader changes nothing"))
}

impl Storage for Shifting {
    fn prepare(&self) -> io::Result<()> {
        not_for_readers()
    }
    /// A folder is read name by name; each is there or not at the moment at which its place is reached.
    fn list(&self) -> io::Result<Vec<String>> {
        let (new, old) = self.now();
        let Some(old) = old else { return Ok(new.keys().cloned().collect()) };
        self.listed.store(true, Ordering::Relaxed);
        let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
        names.sort_unstable();
        names.dedup();
        if self.shift.backwards {
            names.reverse();
        }
        let is_seen = |(place, name): (usize, &&String)| {
            let state = if place < self.shift.old_names { old } else { new };
            state.contains_key(*name)
        };
        Ok(names.iter().enumerate().filter(|at| is_seen(*at)).map(|(_, name)| (*name).clone()).collect())
    }
    fn create(&self, _: &str) -> io::Result<Box<dyn LogFile>> {
        not_for_readers()
    }
    /// Opens it before the change that comes with this call.
    fn open(&self, name: &str, write: bool) -> io::Result<Box<dyn LogFile>> {
        let (now, before) = self.now();
        let disk = Disk::new();
        if let Some(content) = before.unwrap_or(now).get(name) {
            disk.put(name, content);
        }
        disk.open(name, write)
    }
    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        not_for_readers()
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        not_for_readers()
    }
    fn sync_folder(&self) -> io::Result<()> {
        not_for_readers()
    }
}

/// Reads with a change of the folder, and says what was read, how often the folder was asked, and if the change came during
/// a listing.
fn read_with(states: &Arc<Vec<Files>>, shift: Shift, from_seq: u64) -> (Vec<u64>, Vec<Damage>, usize, bool) {
    let states = Arc::clone(states);
    let folder =
        Arc::new(Shifting { states, shift, calls: Mutex::default(), listed: AtomicBool::new(false) });
    let storage: Arc<dyn Storage> = Arc::<Shifting>::clone(&folder);
    let (lines, damage) = read_all(&mut Reader::with_storage(storage).from_seq(from_seq));
    let calls = *folder.calls.lock().unwrap();
    (seqs(&lines), damage, calls, folder.listed.load(Ordering::Relaxed))
}

/// Reads nine lines from a seq on, with each change of the folder at each call of the reader, and at each place of a
/// listing.
fn read_with_each_shift(states: Vec<Files>, from_seq: u64, check: fn(&[u64], &[Damage], Shift)) {
    let states = Arc::new(states);
    let mut listings = 0;
    for (from, to) in (0..states.len()).flat_map(|from| (from..states.len()).map(move |to| (from, to))) {
        let names = states[from].len() + states[to].len();
        for at_call in 0.. {
            let shift = |old_names, backwards| Shift { at_call, from, to, old_names, backwards };
            let (read, damage, calls, is_listing) = read_with(&states, shift(0, false), from_seq);
            check(&read, &damage, shift(0, false));
            if is_listing {
                listings += 1;
                for (old_names, backwards) in (1..=names).flat_map(|names| [(names, false), (names, true)]) {
                    let (read, damage, ..) = read_with(&states, shift(old_names, backwards), from_seq);
                    check(&read, &damage, shift(old_names, backwards));
                }
            }
            if calls <= at_call {
                break;
            }
        }
    }
    assert!(listings >= 3 * states.len(), "{listings}");
}

/// All lines from the first that is asked for.
fn all_from<const FROM: u64>(read: &[u64], damage: &[Damage], shift: Shift) {
    assert_eq!((read, damage), (&(FROM..=9).collect::<Vec<u64>>()[..], &[][..]), "{shift:?}");
}

fn marked(old: &OldLine<'_>) -> Option<String> {
    (4..=8).contains(&old.seq).then(|| r#"{"mark":true}"#.to_owned())
}

#[test]
fn no_line_is_missed_while_a_log_is_compressed() {
    let states = || steps(&disk_with(9), |storage| assert_eq!(compress_in(storage).unwrap().segments, 3));
    read_with_each_shift(states(), 1, all_from::<1>);
    read_with_each_shift(states(), 5, all_from::<5>);
}

#[test]
fn no_line_is_missed_while_a_log_is_rewritten_plain_or_compressed() {
    for is_packed in [false, true] {
        let disk = disk_with(9);
        if is_packed {
            compress_in(&(Arc::new(disk.clone()) as Arc<dyn Storage>)).unwrap();
        }
        let states =
            steps(&disk, |storage| assert_eq!(rewrite_in(storage, &mut marked).unwrap().segments.len(), 2));
        read_with_each_shift(states, 1, all_from::<1>);
    }
}

/// Lines that can be read before a repair can be read at each moment of it.
#[test]
fn a_repair_hides_no_line_that_could_be_read() {
    let disk = disk_with(9);
    let plain = files(&disk);
    compress_in(&(Arc::new(disk.clone()) as Arc<dyn Storage>)).unwrap();
    for (name, content) in plain.iter().filter(|(name, _)| name.ends_with(".jsonl")) {
        disk.put(name, content);
    }
    let damaged = "0000000004.jsonl";
    let text = String::from_utf8(plain[damaged].clone()).unwrap();
    disk.put(damaged, text.replacen(r#""n":5"#, r#""n":6"#, 1).as_bytes());
    let states = steps(&disk, |storage| assert_eq!(repair_in(storage, 7).unwrap().left, []));
    read_with_each_shift(states, 1, |read, damage, shift| {
        let lost = damage.iter().map(|damage| damage.seq);
        let mut all: Vec<u64> = read.iter().copied().chain(lost.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=9).collect::<Vec<u64>>(), "{shift:?}: {damage:?}");
        assert!(lost.clone().all(|seq| seq == 5), "{shift:?}: {damage:?}");
    });
}

#[test]
fn a_log_of_many_segments_is_read_with_one_listing_and_two_at_its_end() {
    let files = files(&disk_with(300));
    // It never changes.
    let shift = Shift { at_call: usize::MAX, from: 0, to: 0, old_names: 0, backwards: false };
    let states = Arc::new(vec![files]);
    let folder = Shifting { states, shift, calls: Mutex::default(), listed: AtomicBool::new(false) };
    let counted = Arc::new(Counted(folder, Mutex::default()));
    let storage: Arc<dyn Storage> = Arc::<Counted>::clone(&counted);
    let mut reader = Reader::with_storage(storage);
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 300);
    assert_eq!(*counted.1.lock().unwrap(), 3);
    // Who follows asks once each time.
    assert_eq!(reader.next(), None);
    assert_eq!(*counted.1.lock().unwrap(), 4);
}

/// Counts listings.
struct Counted(Shifting, Mutex<u32>);

impl Storage for Counted {
    fn prepare(&self) -> io::Result<()> {
        self.0.prepare()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        *self.1.lock().unwrap() += 1;
        self.0.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        self.0.create(name)
    }
    fn open(&self, name: &str, write: bool) -> io::Result<Box<dyn LogFile>> {
        self.0.open(name, write)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn sync_folder(&self) -> io::Result<()> {
        self.0.sync_folder()
    }
}
