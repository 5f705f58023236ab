use super::*;

fn record(id: &str, n: u64) -> NewRecord {
    let payload = format!(r#"{{"n":{n}}}"#);
    NewRecord { id: id.to_owned(), ts_ms: 5, kind: "note".to_owned(), payload }
}

fn append(log: &mut SessionLog, records: Vec<NewRecord>) -> Ack {
    let (sender, receiver) = std::sync::mpsc::channel();
    log.append(records, Durability::Synced, move |answer| drop(sender.send(answer)));
    receiver.recv().unwrap().unwrap()
}

#[test]
fn an_append_sent_again_is_told_its_places() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let (mut log, opened) = sessions.open("s-1", Options::of_session(1)).unwrap();
    assert_eq!(opened.last_seq, 0);
    let both = [record("A", 1), record("B", 2)];
    assert_eq!(log.place(&both, Expected::After(0)).unwrap().seqs, [1, 2]);
    append(&mut log, both.to_vec());
    let again = log.place(&both, Expected::After(0)).unwrap();
    assert_eq!((again.seqs, again.duplicates, again.last_seq), (vec![1, 2], vec![0, 1], 2));
    // A part that is there and a part that is new.
    let more = [record("B", 2), record("C", 3)];
    let placed = log.place(&more, Expected::After(1)).unwrap();
    assert_eq!((placed.seqs, placed.duplicates), (vec![2, 3], vec![0]));
    assert_eq!(log.place(&more[1..], Expected::After(1)), Err(Misplaced::WrongSeq { last_seq: 2 }));
    let other = Misplaced::OtherContent { index: 0, id: "A".to_owned(), seq: 1 };
    assert_eq!(log.place(&[record("A", 9)], Expected::Any), Err(other));
}

#[test]
fn the_log_is_read_for_ids_that_may_be_there_and_for_no_others() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let (mut log, _) = sessions.open("s-1", Options::of_session(1)).unwrap();
    append(&mut log, vec![record("A", 1), record("C", 2)]);
    log.close();
    let (mut log, _) = sessions.open("s-1", Options::of_session(1)).unwrap();
    log.ids_end_at("C".to_owned());
    let more = [record("D", 3), record("E", 4)];
    assert_eq!(log.place(&more, Expected::After(2)).unwrap().seqs, [3, 4]);
    append(&mut log, more.to_vec());
    assert_eq!(log.place(&[record("F", 5)], Expected::Any).unwrap().seqs, [5]);
    let twice = Misplaced::OtherContent { index: 1, id: "F".to_owned(), seq: 5 };
    assert_eq!(log.place(&[record("F", 5), record("F", 5)], Expected::Any), Err(twice));
    assert!(log.ids.is_none());
    // Those that were appended since are known, and those of before.
    let placed = log.place(&[record("B", 0), record("E", 4), record("C", 2)], Expected::Any).unwrap();
    assert_eq!((placed.seqs, placed.duplicates), (vec![5, 4, 2], vec![1, 2]));
}

#[test]
fn a_folder_is_named_by_the_hash_of_its_key() {
    // printf s-1 | sha256sum
    let folder = Sessions::new(Path::new("/state")).folder("s-1");
    assert_eq!(folder, Path::new("/state/sessions/6a840baf5d8c3ff2"));
}
