//! Whatever is done to a log later, in any order and with crashes in between: every way of reading it tells the same lines.

use std::path::Path;
use std::sync::Arc;

use herdbook_log::{
    ClosedLogError, Durability, OldLine, Options, Reader, Storage, Store, compress_in, repair_in, rewrite_in,
};

use crate::disk::{Disk, Random};
use crate::support::{NOW_MS, append, read_all, seeds};

/// Opens the log, in the way of sessions or of the journal.
fn open(disk: &Disk, as_session: bool) -> Store {
    let normal = if as_session {
        Options { session_id: "journal".to_owned(), ..Options::of_session(NOW_MS) }
    } else {
        Options { lock: None, ..Options::new("journal", Path::new(""), NOW_MS) }
    };
    let options = Options { segment_bytes: 450, storage: Some(Arc::new(disk.clone())), ..normal };
    let (store, opened) = Store::open(Path::new(""), options).unwrap();
    assert_eq!((opened.damage, opened.torn), (vec![], vec![]));
    store
}

fn payloads(disk: &Disk, from: u64) -> Vec<String> {
    let mut reader = Reader::with_storage(Arc::new(disk.clone())).from_seq(from);
    let (lines, damage) = read_all(&mut reader);
    assert_eq!(damage, [], "from {from}");
    lines.into_iter().map(|line| line.payload).collect()
}

#[test]
fn a_log_reads_the_same_from_everywhere_whatever_was_done_to_it() {
    for seed in seeds(30) {
        let random = &mut Random(seed);
        let mut disk = Disk::new();
        let mut lines: Vec<String> = Vec::new();
        let mut done = Vec::new();
        for step in 0..14 {
            let what = random.below(5);
            done.push(what);
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let is_cut_short = random.one_in(3);
            if is_cut_short && what > 2 {
                let steps = random.below(30) as u32;
                disk.set(|faults| faults.steps = Some(steps));
            }
            let mut changed: Vec<u64> = Vec::new();
            match what {
                0..=2 => {
                    let store = open(&disk, random.one_in(2));
                    if random.one_in(4) {
                        disk.set(|faults| faults.failing_syncs = 1);
                    }
                    for _ in 0..=random.below(4) {
                        let number = lines.len() as u64 + 1;
                        append(&store, [number], Durability::Synced);
                        lines.push(format!(r#"{{"n":{number},"pad":""}}"#));
                    }
                    store.close();
                    disk.set(|faults| faults.failing_syncs = 0);
                }
                3 => drop(compress_in(&storage)),
                _ => {
                    changed = (1..=lines.len() as u64).filter(|_| random.one_in(4)).collect();
                    let mut change = |old: &OldLine<'_>| {
                        changed.contains(&old.seq).then(|| format!(r#"{{"n":{},"step":{step}}}"#, old.seq))
                    };
                    match rewrite_in(&storage, &mut change) {
                        Ok(_) | Err(ClosedLogError::Io { .. } | ClosedLogError::Repeats { .. }) => {}
                        Err(error) => panic!("seed {seed}, {done:?}: {error}"),
                    }
                }
            }
            disk = if random.one_in(2) { disk.kill() } else { disk.crash(random) };
            if random.one_in(6) {
                let index = disk.names().into_iter().find(|name| name.ends_with(".idx"));
                index.into_iter().for_each(|name| disk.remove(&name).unwrap());
            }
            let read = payloads(&disk, 1);
            assert_eq!(read.len(), lines.len(), "seed {seed}, {done:?}: {:?}", disk.names());
            for (seq, (new, old)) in (1..).zip(read.iter().zip(&mut lines)) {
                let is_mark = changed.contains(&seq) && *new == format!(r#"{{"n":{seq},"step":{step}}}"#);
                assert!(*new == *old || is_mark, "seed {seed}, {done:?}: {new}, not {old}");
                old.clone_from(new);
            }
            for from in 1..=lines.len() + 1 {
                assert_eq!(
                    payloads(&disk, from as u64),
                    lines[from - 1..],
                    "seed {seed}, {done:?}, from {from}"
                );
            }
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let before = disk.names();
            let found = repair_in(&storage, NOW_MS).unwrap();
            assert_eq!(
                (found.damage, found.readable_to),
                (vec![], lines.len() as u64),
                "seed {seed}, {done:?}"
            );
            assert_eq!(disk.names(), before);
        }
    }
}
