//! A process with eight writers, killed again and again: what it was told is there, once, in order.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use herdbook_log::{Durability, NewRecord, Options, Reader, Sessions};

use crate::disk::Random;
use crate::support::{NOW_MS, answer, padded_record, read_all, send_to, slow};

/// Set for the child: the state folder. It plays the process that is killed.
const STATE: &str = "HERDBOOK_TEST_LOG_KILLED";
/// Set for the child: how often it was started before, for ids of its own.
const ROUND: &str = "HERDBOOK_TEST_LOG_ROUND";

#[test]
#[expect(clippy::disallowed_methods, reason = "this very program, once more, to be killed")]
fn a_process_killed_under_eight_writers_keeps_what_it_was_told() {
    if let Some(state) = std::env::var_os(STATE) {
        let round = std::env::var(ROUND).unwrap().parse().unwrap();
        return write_until_killed(state.as_ref(), round);
    }
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path());
    let folder = sessions.folder("s-1");
    let mut random = Random(5);
    let mut told = BTreeMap::new();
    for round in 0..if slow() { 200 } else { 8 } {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "kills::a_process_killed_under_eight_writers_keeps_what_it_was_told",
                "--nocapture",
            ])
            .env(STATE, state.path())
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = 1 + random.below(150);
        while left > 0 {
            let line = lines.next().expect("the child writes until it is killed").unwrap();
            left -= u64::from(note(&line, &mut told));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What was told before the kill counts, too; half a line was not told.
        for line in lines.map_while(Result::ok) {
            note(&line, &mut told);
        }

        let (found, damage) = read_all(&mut Reader::open(&folder));
        assert_eq!(damage, vec![], "round {round}");
        assert!(found.iter().zip(1..).all(|(line, seq)| line.seq == seq), "round {round}: a hole");
        for (seq, id) in &told {
            let line = found.get(*seq as usize - 1).map(|line| line.id.as_str());
            assert_eq!(line, Some(id.as_str()), "round {round}: seq {seq}");
        }
        let mut ids: Vec<&str> = found.iter().map(|line| line.id.as_str()).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "round {round}: one id twice");
    }
    let (log, opened) = sessions.open("s-1", Options::of_session(NOW_MS)).unwrap();
    assert!(opened.last_seq >= told.len() as u64);
    log.close();
}

/// Notes an answer that the child was given.
fn note(line: &str, told: &mut BTreeMap<u64, String>) -> bool {
    let Some((seq, id)) = line.strip_prefix("told ").and_then(|told| told.split_once(' ')) else {
        return false;
    };
    let Some(id) = id.strip_suffix('.') else { return false };
    let before = told.insert(seq.parse().unwrap(), id.to_owned());
    assert_eq!(before, None, "seq {seq} was given twice");
    true
}

fn write_until_killed(state: &Path, round: u64) {
    let options = Options { segment_bytes: 50_000, ..Options::of_session(NOW_MS) };
    let (log, _) = Sessions::new(state).open("s-1", options).unwrap();
    let log = Mutex::new(log);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for count in 0.. {
                    let number = round * 1_000_000 + writer * 100_000 + count;
                    let record: NewRecord = padded_record(number, (number % 700) as usize);
                    let id = record.id.clone();
                    let durability = if count % 2 == 0 { Durability::Synced } else { Durability::Written };
                    let sent = send_to(&mut log.lock().unwrap(), vec![record], durability);
                    let ack = answer(&sent).unwrap();
                    let text = format!("told {} {id}.\n", ack.first_seq);
                    std::io::stdout().write_all(text.as_bytes()).unwrap();
                }
            });
        }
    });
}
