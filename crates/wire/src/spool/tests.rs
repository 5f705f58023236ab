#![expect(clippy::disallowed_methods, reason = "scratch files of tests may be written in place")]

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::delivery::Delivery;
use crate::limits::{CUT_BYTES, SPOOL_BYTES};

fn delivery(stamp_ms: u64, id: u128) -> Delivery {
    let (host, body) = ("claude".to_owned(), b"{\"a\":1}".to_vec());
    Delivery { host, stamp_ms, started_at_ms: 1_767_225_600_000, delivery: id, body, ..Delivery::default() }
}

struct Scratch {
    _root: tempfile::TempDir,
    spool: PathBuf,
}

fn scratch() -> Scratch {
    let root = tempfile::tempdir().unwrap();
    let spool = root.path().join("state/spool");
    Scratch { _root: root, spool }
}

#[test]
fn what_was_written_is_read_in_the_order_of_the_stamps() {
    let Scratch { spool, .. } = &scratch();
    assert_eq!(entries(spool).unwrap(), []);
    for (stamp, id) in [(30, 1), (10, 9), (20, 5), (20, 4)] {
        write(spool, &delivery(stamp, id)).unwrap();
    }
    let listed = entries(spool).unwrap();
    let order: Vec<_> = listed.iter().map(|entry| (entry.stamp_ms, entry.delivery)).collect();
    assert_eq!(order, [(10, 9), (20, 4), (20, 5), (30, 1)]);
    assert_eq!(read(spool, &listed[0]).unwrap(), delivery(10, 9));
    remove(spool, &listed[0]).unwrap();
    remove(spool, &listed[0]).unwrap();
    assert!(matches!(read(spool, &listed[0]), Err(ReadError::Io(..))));
    assert_eq!(count(spool).unwrap(), 3);
    for path in fs::read_dir(spool).unwrap() {
        assert_eq!(path.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(spool).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(spool.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn boots_come_in_the_order_of_their_first_start_whatever_the_stamps() {
    let Scratch { spool, .. } = &scratch();
    write(spool, &delivery(1, 1)).unwrap();
    let now = entries(spool).unwrap()[0];
    let earlier = Entry { boot: now.boot ^ 1, stamp_ms: 900_000, started_at_ms: 1_767_225_000_000, ..now };
    fs::copy(spool.join(now.name()), spool.join(earlier.name())).unwrap();
    let order: Vec<_> = entries(spool).unwrap().iter().map(|entry| entry.stamp_ms).collect();
    assert_eq!(order, [900_000, 1]);
}

#[test]
fn a_body_of_unknown_length_gets_its_length_afterwards() {
    let Scratch { spool, .. } = &scratch();
    let mut writer = Writer::begin(spool, &delivery(1, 1)).unwrap();
    assert_eq!(count(spool).unwrap(), 0);
    writer.append(b" and").unwrap();
    writer.append(b" more").unwrap();
    writer.finish().unwrap();
    let read = read(spool, &entries(spool).unwrap()[0]).unwrap();
    assert_eq!(read.body, b"{\"a\":1} and more");
    assert!(!read.cut);
}

#[test]
fn a_cut_body_keeps_its_first_mebibyte_and_says_so() {
    let Scratch { spool, .. } = &scratch();
    let mut writer = Writer::begin(spool, &delivery(1, 1)).unwrap();
    writer.append(&vec![b'x'; 3 << 20]).unwrap();
    writer.finish_cut().unwrap();
    let read = read(spool, &entries(spool).unwrap()[0]).unwrap();
    assert_eq!(read.body.len() as u64, CUT_BYTES);
    assert!(read.cut && read.body.starts_with(b"{\"a\":1}xxx"));
}

#[test]
fn a_full_spool_counts_what_it_does_not_take() {
    let Scratch { spool, .. } = &scratch();
    write(spool, &delivery(1, 1)).unwrap();
    fs::write(spool.join("tally"), (SPOOL_BYTES - 1).to_le_bytes()).unwrap();
    write(spool, &delivery(2, 2)).unwrap();
    assert_eq!(lost(spool).unwrap(), None);
    for id in [3, 4] {
        assert!(write(spool, &delivery(3, id)).is_err());
    }
    assert_eq!(lost(spool).unwrap(), Some(Lost { new: 2, total: 2 }));
    own_up(spool, 2).unwrap();
    assert_eq!(lost(spool).unwrap(), None);
    assert!(write(spool, &delivery(4, 5)).is_err());
    assert_eq!(lost(spool).unwrap(), Some(Lost { new: 1, total: 3 }));
    // Listing counts anew: two small files are far from the bound.
    assert_eq!(entries(spool).unwrap().len(), 2);
    write(spool, &delivery(5, 6)).unwrap();
    assert_eq!(count(spool).unwrap(), 3);
}

#[test]
fn a_writer_that_is_dropped_is_one_lost_event_and_leaves_no_file() {
    let Scratch { spool, .. } = &scratch();
    drop(Writer::begin(spool, &delivery(1, 1)).unwrap());
    assert_eq!(lost(spool).unwrap(), Some(Lost { new: 1, total: 1 }));
    assert!(
        !fs::read_dir(spool).unwrap().any(|file| file
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .starts_with("tmp-"))
    );
}

#[test]
fn files_that_are_no_frames_are_set_aside_and_the_rest_goes_on() {
    let Scratch { spool, .. } = &scratch();
    for id in 1..=6 {
        write(spool, &delivery(id as u64, id)).unwrap();
    }
    let listed = entries(spool).unwrap();
    let path = |at: usize| spool.join(listed[at].name());
    fs::write(path(0), b"").unwrap();
    let whole = fs::read(path(1)).unwrap();
    fs::write(path(1), &whole[..whole.len() - 1]).unwrap();
    fs::write(path(2), [whole.as_slice(), b"x"].concat()).unwrap();
    fs::write(path(3), &whole).unwrap();
    let victim = spool.parent().unwrap().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::remove_file(path(4)).unwrap();
    symlink(&victim, path(4)).unwrap();
    for entry in &listed[..5] {
        let Err(ReadError::Bad(moved, _)) = read(spool, entry) else { panic!("{entry:?}") };
        assert_eq!(moved, spool.join("bad").join(entry.name()));
    }
    assert_eq!(read(spool, &listed[5]).unwrap(), delivery(6, 6));
    assert_eq!(entries(spool).unwrap(), listed[5..]);
    assert_eq!(fs::read_dir(spool.join("bad")).unwrap().count(), 5);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_frame_of_another_version_stays_for_who_can_read_it() {
    let Scratch { spool, .. } = &scratch();
    write(spool, &delivery(1, 1)).unwrap();
    let entry = entries(spool).unwrap()[0];
    let mut bytes = fs::read(spool.join(entry.name())).unwrap();
    bytes[4] = 9;
    fs::write(spool.join(entry.name()), bytes).unwrap();
    assert!(matches!(read(spool, &entry), Err(ReadError::Version(_, 9))));
    assert_eq!(count(spool).unwrap(), 1);
}

#[test]
fn temp_files_of_killed_hooks_are_kept_when_whole_and_set_aside_when_torn() {
    let Scratch { spool, .. } = &scratch();
    for id in [1, 2] {
        write(spool, &delivery(id as u64, id)).unwrap();
    }
    let listed = entries(spool).unwrap();
    for entry in &listed {
        fs::rename(spool.join(entry.name()), spool.join(format!("tmp-{}", entry.name()))).unwrap();
    }
    let torn = spool.join(format!("tmp-{}", listed[1].name()));
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..40]).unwrap();
    let at = crate::clock::unix_ms_of(fs::metadata(&torn).unwrap().modified().unwrap());
    assert_eq!(recover_temps(spool, at, 60_000).unwrap(), (0, 0));
    assert_eq!(recover_temps(spool, at + 120_000, 60_000).unwrap(), (1, 1));
    assert_eq!(entries(spool).unwrap(), listed[..1]);
    assert_eq!(read(spool, &listed[0]).unwrap(), delivery(1, 1));
}

#[test]
fn a_temp_file_of_another_version_stays_for_who_can_read_it() {
    let Scratch { spool, .. } = &scratch();
    write(spool, &delivery(1, 1)).unwrap();
    let entry = entries(spool).unwrap()[0];
    let temp = spool.join(format!("tmp-{}", entry.name()));
    let mut bytes = fs::read(spool.join(entry.name())).unwrap();
    bytes[4] = 2;
    fs::write(&temp, &bytes).unwrap();
    remove(spool, &entry).unwrap();
    assert_eq!(recover_temps(spool, u64::MAX, 0).unwrap(), (0, 0));
    assert_eq!(fs::read(&temp).unwrap(), bytes);
}

#[test]
fn planted_links_and_pipes_are_neither_followed_nor_waited_for() {
    let Scratch { spool, .. } = &scratch();
    let state = spool.parent().unwrap();
    crate::paths::private_dir(spool).unwrap();
    let victim = state.join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, spool.join("tally")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        spool.join("lost"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    write(spool, &delivery(1, 1)).unwrap();
    drop(Writer::begin(spool, &delivery(2, 2)).unwrap());
    assert_eq!(lost(spool).unwrap(), None);
    assert_eq!(entries(spool).unwrap().len(), 1);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");

    fs::remove_dir_all(spool).unwrap();
    symlink(state.join("elsewhere"), spool).unwrap();
    assert!(write(spool, &delivery(3, 3)).is_err());
    assert!(entries(spool).is_err() && count(spool).is_err());
    assert!(!state.join("elsewhere").exists());
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let Scratch { spool, .. } = &scratch();
    std::thread::scope(|scope| {
        for writer in 0..8u128 {
            scope.spawn(move || {
                for at in 0..50u128 {
                    write(spool, &delivery(at as u64, writer << 64 | at)).unwrap();
                }
            });
        }
    });
    assert_eq!(lost(spool).unwrap(), None);
    let tally = u64::from_le_bytes(fs::read(spool.join("tally")).unwrap().try_into().unwrap());
    let listed = entries(spool).unwrap();
    assert_eq!(listed.len(), 400);
    // A writer that does not get the tally's lock in time goes on without counting.
    assert!(tally <= listed.iter().map(|entry| entry.bytes).sum());
}

proptest! {
    #[test]
    fn names_come_back(boot in any::<u32>(), stamp_ms in any::<u64>(), start in 0u64..1 << 48, id in any::<u128>()) {
        let entry = Entry { boot, stamp_ms, started_at_ms: start, delivery: id, bytes: 0 };
        prop_assert_eq!(Entry::parse(&entry.name()), Some(entry));
    }

    #[test]
    fn other_names_are_no_entries(name in "[0-9a-f+-]{0,80}|\\PC{0,20}") {
        if let Some(entry) = Entry::parse(&name) {
            prop_assert_eq!(entry.name(), name);
        }
    }
}
