//! A thousand hook calls against daemons in every bad mood: none lost, none twice, order kept (case F-098).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use herdbook_wire::frame::{encode_answer, read_delivery};
use herdbook_wire::{Answer, Delivery};

use crate::bench::{Home, wait_for_close};

const SESSIONS: usize = 4;
const CALLS: usize = 250;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Answers,
    NeverAnswers,
    StopsInMidFrame,
    AnswersSpool,
    ClosesAtOnce,
    Down,
}

const MOODS: [Mood; 6] = [
    Mood::Answers,
    Mood::NeverAnswers,
    Mood::StopsInMidFrame,
    Mood::AnswersSpool,
    Mood::ClosesAtOnce,
    Mood::Down,
];

#[test]
fn a_thousand_calls_none_lost_none_twice_in_order() {
    let sessions: Vec<_> = (0..SESSIONS).map(|session| thread::spawn(move || one_session(session))).collect();
    let mut acknowledged = 0;
    for session in sessions {
        acknowledged += session.join().unwrap();
    }
    // On a busy machine some answers come too late; then the call lies in the spool too.
    assert!(acknowledged > SESSIONS * CALLS / MOODS.len() / 4, "{acknowledged}");
}

/// Runs the calls of one session one after the other; returns how many the daemon answered in time.
fn one_session(session: usize) -> usize {
    let home = Home::new();
    let socket = home.socket();
    let mut received = Vec::new();
    for call in 0..CALLS {
        let mood = MOODS[(call + session) % MOODS.len()];
        let daemon = (mood != Mood::Down).then(|| daemon(UnixListener::bind(&socket).unwrap(), mood));
        let body = format!(r#"{{"session_id":"s-{session}","n":{call}}}"#);
        let ran = home.run_on(&["claude"], body.as_bytes());
        ran.assert_silent_within(1_000);
        received.extend(daemon.and_then(|(kept, thread)| {
            thread.join().unwrap();
            kept.try_recv().ok()
        }));
        let _ = std::fs::remove_file(&socket);
    }
    let spooled = home.drain();
    let in_order = spooled.windows(2).all(|two| sort_key(&two[0]) < sort_key(&two[1]));
    assert!(in_order, "the spool lists by stamp");
    let acknowledged = CALLS - spooled.len();

    // What the daemon does: the same delivery id is the same call, the stamp is the order.
    let mut kept: BTreeMap<(u64, u128), Delivery> = BTreeMap::new();
    for delivery in received.into_iter().chain(spooled) {
        let body = delivery.body.clone();
        if let Some(same) = kept.insert(sort_key(&delivery), delivery) {
            assert_eq!(same.body, body);
        }
    }
    let bodies: Vec<_> =
        kept.into_values().map(|delivery| String::from_utf8(delivery.body).unwrap()).collect();
    let expected: Vec<_> =
        (0..CALLS).map(|call| format!(r#"{{"session_id":"s-{session}","n":{call}}}"#)).collect();
    assert_eq!(bodies, expected);
    acknowledged
}

fn sort_key(delivery: &Delivery) -> (u64, u128) {
    (delivery.stamp_ms, delivery.delivery)
}

/// Serves one connection; what it kept (a journal's place) comes through the channel.
fn daemon(listener: UnixListener, mood: Mood) -> (Receiver<Delivery>, thread::JoinHandle<()>) {
    let (keep, kept) = channel();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        match mood {
            Mood::Answers => {
                keep.send(read_delivery(&stream).unwrap()).unwrap();
                let _ = stream.write_all(&encode_answer(&Answer::Done).unwrap());
            }
            Mood::NeverAnswers => {
                keep.send(read_delivery(&stream).unwrap()).unwrap();
                wait_for_close(&stream);
            }
            Mood::StopsInMidFrame => {
                stream.read_exact(&mut [0; 30]).unwrap();
                wait_for_close(&stream);
            }
            Mood::AnswersSpool => {
                read_delivery(&stream).unwrap();
                let _ = stream.write_all(&encode_answer(&Answer::Spool).unwrap());
            }
            Mood::ClosesAtOnce | Mood::Down => {}
        }
    });
    (kept, thread)
}
