//! Appending, reading, following, rolling, locking.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use herdbook_log::{AppendError, Durability, NewRecord, OpenError, Opened, Options, Reader, Store};

use crate::support::{answer, append, options, padded_record, read_all, record, send, seqs};

#[test]
fn appended_records_are_read_back_after_a_restart() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, opened) = Store::open(&dir, options(&dir)).unwrap();
    assert_eq!(opened, Opened::default());
    let ack = append(&store, [1, 2, 3], Durability::Written);
    assert_eq!((ack.first_seq, ack.last_seq, ack.durability), (1, 3, Durability::Written));
    let ack = append(&store, [4], Durability::Synced);
    assert_eq!((ack.first_seq, ack.last_seq, ack.durability), (4, 4, Durability::Synced));
    let health = store.close();
    assert_eq!((health.written_seq, health.synced_seq, health.error), (4, 4, None));

    let (store, opened) = Store::open(&dir, options(&dir)).unwrap();
    assert_eq!((opened.last_seq, opened.last_id.as_deref()), (4, Some("01KDWS62XR0000000000000004")));
    append(&store, [5], Durability::Written);
    let (lines, damage) = read_all(&mut Reader::open(&dir));
    assert_eq!((seqs(&lines), damage), (vec![1, 2, 3, 4, 5], vec![]));
    let wanted = record(5);
    let line = &lines[4];
    assert_eq!(
        (&line.id, line.ts_ms, &line.kind, &line.payload),
        (&wanted.id, wanted.ts_ms, &wanted.kind, &wanted.payload)
    );
    let file = std::fs::read_to_string(dir.join("0000000001.jsonl")).unwrap();
    assert_eq!(file.lines().nth(4), Some(line.raw.as_str()));
}

#[test]
fn files_are_private() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    append(&store, [1], Durability::Written);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("0000000001.jsonl")), 0o600);
    assert_eq!(mode(&dir.with_extension("LOCK")), 0o600);
}

#[test]
fn a_segment_rolls_before_it_grows_too_big_and_is_named_by_its_first_seq() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, Options { segment_bytes: 2000, ..options(&dir) }).unwrap();
    for number in 1..=10 {
        answer(&send(&store, vec![padded_record(number, 600)], Durability::Written)).unwrap();
    }
    // A record has about 770 bytes here, so two fit; a bigger one gets a segment of its own.
    answer(&send(&store, vec![padded_record(11, 5000)], Durability::Written)).unwrap();
    let mut names: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let wanted: [std::ffi::OsString; 6] =
        ["01", "03", "05", "07", "09", "11"].map(|first| format!("00000000{first}.jsonl").into());
    assert_eq!(names, wanted);
    let (lines, damage) = read_all(&mut Reader::open(&dir));
    assert_eq!((seqs(&lines), damage), ((1..=11).collect(), vec![]));
    let (lines, damage) = read_all(&mut Reader::open_from(&dir, 8));
    assert_eq!((seqs(&lines), damage), (vec![8, 9, 10, 11], vec![]));
}

#[test]
fn a_reader_follows_without_locks() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let mut reader = Reader::open(&dir);
    assert!(reader.next().is_none());
    let (store, _) = Store::open(&dir, Options { segment_bytes: 1000, ..options(&dir) }).unwrap();
    for number in 1..=20 {
        append(&store, [number], Durability::Written);
        let line = reader.next().unwrap().unwrap();
        assert_eq!((line.seq, line.id), (number, record(number).id));
        assert!(reader.next().is_none());
    }
}

#[test]
fn the_second_store_on_a_folder_names_the_first_ones_process() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    let Err(error) = Store::open(&dir, options(&dir)) else { panic!("two writers on one log") };
    let own = std::process::id();
    assert!(matches!(&error, OpenError::Locked { pid: Some(pid), .. } if *pid == own), "{error:?}");
    assert!(error.to_string().starts_with(&format!("process {own} already writes here")), "{error}");
    store.close();
    assert!(Store::open(&dir, options(&dir)).is_ok());
}

#[test]
fn records_that_are_no_line_are_refused_whole() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    let broken = NewRecord { payload: "{\"a\":\n1}".to_owned(), ..record(2) };
    let refused = answer(&send(&store, vec![record(1), broken], Durability::Written));
    let Err(AppendError::BadRecord { index: 1, fault }) = refused else { panic!("{refused:?}") };
    assert!(fault.starts_with("'payload' has a raw line feed"), "{fault}");
    assert_eq!(append(&store, [3], Durability::Written).first_seq, 1);
}

#[test]
fn another_sessions_log_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    append(&store, [1], Durability::Written);
    store.close();
    let other = Options { session_id: "another".to_owned(), ..options(&dir) };
    let Err(error) = Store::open(&dir, other) else { panic!("opened") };
    let text = error.to_string();
    assert!(text.ends_with("holds the log of 'journal', not of 'another'"), "{text}");
}

#[test]
fn an_append_without_records_waits_for_what_came_before() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    append(&store, [1, 2], Durability::Written);
    let ack = append(&store, [], Durability::Synced);
    assert_eq!((ack.last_seq, ack.durability), (2, Durability::Synced));
    assert_eq!(store.health().synced_seq, 2);
}

#[test]
fn written_records_are_synced_soon_though_nobody_asks() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    append(&store, [1], Durability::Written);
    crate::support::until("a background sync", || store.health().synced_seq == 1);
}

#[test]
fn a_reader_keeps_up_with_a_busy_writer() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, Options { segment_bytes: 20_000, ..options(&dir) }).unwrap();
    let writer = std::thread::spawn(move || {
        for number in 1..=1000 {
            let size = number as usize * 7919 % 3000;
            answer(&send(&store, vec![padded_record(number, size)], Durability::Written)).unwrap();
        }
    });
    let mut reader = Reader::open(&dir);
    let mut expected = 1;
    crate::support::until("all is read", || {
        for line in reader.by_ref() {
            assert_eq!(line.unwrap().seq, expected);
            expected += 1;
        }
        expected > 1000
    });
    writer.join().unwrap();
}

#[test]
fn the_last_handle_may_be_dropped_inside_an_answer() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, options(&dir)).unwrap();
    let store = Arc::new(store);
    let (sender, receiver) = std::sync::mpsc::channel();
    let held = Arc::clone(&store);
    let (release, may_go) = std::sync::mpsc::channel::<()>();
    store.append(vec![record(1)], Durability::Written, move |_| {
        let _ = may_go.recv();
        drop(held);
        let _ = sender.send(());
    });
    drop(store);
    drop(release);
    receiver.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
}

#[test]
fn eight_threads_append_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("journal");
    let (store, _) = Store::open(&dir, Options { segment_bytes: 64 << 10, ..options(&dir) }).unwrap();
    let store = Arc::new(store);
    let threads: Vec<_> = (0..8u64)
        .map(|thread| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                // Sizes up to 128 KiB, as hooks have them (case F-095).
                let sizes = [0, 100, 5000, 131_072];
                (0..40)
                    .map(|number| {
                        let size = sizes[(number as usize + thread as usize) % sizes.len()];
                        let record = padded_record(thread * 1000 + number, size);
                        let durability =
                            if number % 4 == 0 { Durability::Synced } else { Durability::Written };
                        (
                            answer(&send(&store, vec![record.clone()], durability)).unwrap().first_seq,
                            record.id,
                        )
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let mut acked: Vec<(u64, String)> =
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    acked.sort();
    let (lines, damage) = read_all(&mut Reader::open(&dir));
    let read: Vec<(u64, String)> = lines.into_iter().map(|line| (line.seq, line.id)).collect();
    assert_eq!(damage, vec![]);
    assert_eq!(read.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (1..=320).collect::<Vec<_>>());
    assert_eq!(read, acked);
}

#[test]
fn links_pipes_and_foreign_modes_are_refused() {
    // Case F-111: what others may have planted is neither followed nor waited for.
    let scratch = tempfile::tempdir().unwrap();
    let victim = scratch.path().join("victim");
    std::fs::create_dir(&victim).unwrap();
    let refused = |dir: &std::path::Path, what: &str| {
        let Err(error) = Store::open(dir, options(dir)) else { panic!("{what}: opened") };
        assert!(matches!(error, OpenError::Io { .. }), "{what}: {error:?}");
    };
    let dir = scratch.path().join("link");
    std::os::unix::fs::symlink(&victim, &dir).unwrap();
    refused(&dir, "a linked folder");

    let dir = scratch.path().join("open");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
    refused(&dir, "a folder all may write to");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(Store::open(&dir, options(&dir)).unwrap());
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);

    for planted in ["segment", "lock"] {
        for pipe in [false, true] {
            let dir = scratch.path().join(format!("{planted}-{pipe}"));
            std::fs::create_dir(&dir).unwrap();
            std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
            let path = match planted {
                "segment" => dir.join("0000000001.jsonl"),
                _ => dir.with_extension("LOCK"),
            };
            if pipe {
                rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
                    .unwrap();
            } else {
                std::os::unix::fs::symlink(victim.join("file"), &path).unwrap();
            }
            refused(&dir, &format!("{planted}, pipe: {pipe}"));
        }
    }
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
}
