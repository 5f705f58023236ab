//! One session's log while it is open: the log itself, and the checker that has read all of it.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use herdbook_api::events::Breach;
use herdbook_events::catalog::EventType;
use herdbook_events::{Ulid, UlidGenerator};
use herdbook_log::{
    Ack, AppendError, Durability, Expected, Misplaced, NewRecord, OpenError, Options, Placed, SessionLog,
    Sessions, unsealed,
};
use herdbook_story::check::{Checker, Finding, Level, Options as Rules};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::asked::{Asked, Event};
use super::known;
use super::refused::Refused;
use super::told::Told;
use crate::settings::Policy;

/// What is on its way to the file has this long when somebody asks for the same again.
const FLUSH_TIME: Duration = Duration::from_secs(2);

pub(crate) struct Live {
    log: SessionLog,
    /// It has seen every line that was given a place.
    checker: Checker,
    /// The same, one step ahead: a refused append spoils it, and then it is copied anew.
    trial: Checker,
    ids: UlidGenerator,
    /// Up to which seq what the checker knows lies beside the log, 0 where it does not.
    remembered_seq: u64,
    /// An append failed, so places that were given may be free again.
    failed: Arc<AtomicBool>,
    told: Told,
    /// When it was used last.
    pub used: Instant,
    /// How long opening it took.
    pub opening: Duration,
    /// What opening cut off, one sentence each.
    pub torn: Vec<String>,
    _place: OwnedSemaphorePermit,
}

/// An append whose answer is out.
pub(crate) struct Begun {
    pub answer: oneshot::Receiver<Result<Ack, AppendError>>,
    pub placed: Placed,
    pub ids: Vec<String>,
    pub last_seq: u64,
    pub warnings: Vec<Breach>,
}

impl Live {
    /// Opens a log, and reads it for the checker unless that lies beside it.
    pub(crate) fn open(
        sessions: &Sessions,
        key: &str,
        (now_ms, seed): (u64, u64),
        policy: Policy,
        (told, place): (Told, OwnedSemaphorePermit),
    ) -> Result<Live, Refused> {
        let begun = Instant::now();
        let options = policy.options(Options::of_session(now_ms));
        let (mut log, opened) = sessions.open(key, options).map_err(|error| not_opened(key, &error))?;
        let (checker, remembered_seq) = match known::checker(key, &log) {
            Ok(known) => known,
            Err(refused) => {
                log.close();
                return Err(refused);
            }
        };
        let last = checker.highest_id();
        if let Some(last) = last {
            log.ids_end_at(last.to_string());
        }
        told.begins_at(log.last_seq());
        Ok(Live {
            log,
            trial: checker.clone(),
            checker,
            ids: UlidGenerator::new(seed, last),
            remembered_seq,
            failed: Arc::default(),
            told,
            used: Instant::now(),
            opening: begun.elapsed(),
            torn: opened.torn.iter().map(ToString::to_string).collect(),
            _place: place,
        })
    }

    /// True when it must be opened again before anything else is appended.
    pub(crate) fn is_spent(&self) -> bool {
        self.failed.load(Ordering::Acquire) || self.log.health().read_only
    }

    /// Appends what was asked for, or says why not; then nothing has changed. The answer of the disk comes later.
    pub(crate) fn append(
        &mut self,
        key: &str,
        now_ms: u64,
        policy: Policy,
        asked: &Asked,
    ) -> Result<Begun, Refused> {
        self.used = Instant::now();
        if let Some(error) = self.log.health().error {
            let words =
                format!("the log of session '{key}' cannot be written: {error}; then send the same again");
            return Err(Refused::Away(words));
        }
        let mut ids = self.ids.clone();
        let mut records: Vec<NewRecord> = asked
            .events
            .iter()
            .map(|event| {
                let id = event.id.inspect(|id| ids.start_above(*id)).unwrap_or_else(|| ids.generate(now_ms));
                record(event, id, now_ms)
            })
            .collect();
        let placed = self.place(key, &records, asked.expected)?;
        let lines: Vec<(usize, String)> = (0..records.len())
            .filter(|at| !placed.duplicates.contains(at))
            .map(|at| (at, unsealed(&quoted(key), placed.seqs[at], &records[at])))
            .collect();
        let warnings = self.check(&lines)?;
        if !lines.is_empty() {
            self.ids = ids;
        }
        let given = records.iter().map(|record| record.id.clone()).collect();
        let mut at = 0;
        records.retain(|_| {
            at += 1;
            !placed.duplicates.contains(&(at - 1))
        });
        let is_barrier = asked
            .events
            .iter()
            .any(|event| EventType::parse(&event.event_type).is_some_and(EventType::is_barrier));
        let answer = self.send(records, policy.durability(is_barrier, asked.synced));
        Ok(Begun { answer, placed, ids: given, last_seq: self.log.last_seq(), warnings })
    }

    /// Answers when all that was appended is synced.
    pub(crate) fn sync(&mut self) -> oneshot::Receiver<Result<Ack, AppendError>> {
        self.used = Instant::now();
        self.send(Vec::new(), Durability::Synced)
    }

    /// The last seq that was given.
    pub(crate) fn last_seq(&self) -> u64 {
        self.log.last_seq()
    }

    /// The last seq that survives a power cut.
    pub(crate) fn synced_seq(&self) -> u64 {
        self.log.health().synced_seq
    }

    /// Says what is wrong with it, in words.
    pub(crate) fn trouble(&self) -> Option<String> {
        let health = self.log.health();
        let moved = || format!("{} syncs failed, and it went on in a new segment", health.failed_syncs);
        health.error.clone().or_else(|| (health.failed_syncs > 0).then(moved))
    }

    /// As if an append had failed.
    #[cfg(test)]
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    /// Writes and syncs the rest, and keeps what the checker knows if it may. It takes as long as the disk does.
    pub(crate) fn close(mut self, remembers: bool) {
        let last_seq = self.log.last_seq();
        if remembers && known::is_worth_keeping(last_seq) && self.remembered_seq != last_seq {
            // What is on its way is waited for, but no disk that fails.
            if self.log.health().written_seq < last_seq && !self.is_spent() {
                self.flush();
            }
            if self.log.health().written_seq == last_seq && !self.is_spent() {
                known::keep(&self.log, &self.checker);
            }
        }
        let health = self.log.close();
        self.told.is_closed(health.synced_seq == health.written_seq);
    }

    fn send(
        &mut self,
        records: Vec<NewRecord>,
        durability: Durability,
    ) -> oneshot::Receiver<Result<Ack, AppendError>> {
        let (sender, answer) = oneshot::channel();
        let (told, failed) = (self.told.clone(), Arc::clone(&self.failed));
        self.log.append(records, durability, move |answer| {
            match &answer {
                Ok(ack) => told.is_written(ack.last_seq),
                Err(_) => failed.store(true, Ordering::Release),
            }
            // Whoever waits may have gone.
            drop(sender.send(answer));
        });
        answer
    }

    fn place(&mut self, key: &str, records: &[NewRecord], expected: Option<u64>) -> Result<Placed, Refused> {
        let wanted = expected.map_or(Expected::Any, Expected::After);
        let mut placed = self.log.place(records, wanted);
        if matches!(placed, Err(Misplaced::Unread(_))) {
            // It may be on its way to the file: the same append, sent again at once.
            self.flush();
            placed = self.log.place(records, wanted);
        }
        if matches!(placed, Err(Misplaced::WrongSeq { .. })) {
            // An append that is there whole is answered whatever it expects.
            let anywhere = self.log.place(records, Expected::Any);
            if anywhere.as_ref().is_ok_and(|there| there.duplicates.len() == records.len()) {
                placed = anywhere;
            }
        }
        placed.map_err(|misplaced| match misplaced {
            Misplaced::WrongSeq { last_seq } => Refused::WrongSeq { last_seq },
            Misplaced::OtherContent { id, seq, .. } => {
                Refused::OtherContent { id, seq, last_seq: self.log.last_seq() }
            }
            Misplaced::Unread(words) => {
                Refused::Away(format!("the log of session '{key}': {words}; try again"))
            }
        })
    }

    fn flush(&mut self) {
        let (sender, done) = mpsc::channel();
        self.log.append(Vec::new(), Durability::Written, move |_| {
            // Whoever waits may have gone.
            let _ = sender.send(());
        });
        // Without an answer the caller is told that the log could not be read.
        let _ = done.recv_timeout(FLUSH_TIME);
    }

    /// Holds lines against all rules. The first event that breaks one is named, and nothing counts.
    fn check(&mut self, lines: &[(usize, String)]) -> Result<Vec<Breach>, Refused> {
        let checked = try_lines(&mut self.trial, lines);
        match &checked {
            Ok(_) => lines.iter().for_each(|(_, line)| drop(self.checker.push(line))),
            Err(_) => self.trial = self.checker.clone(),
        }
        checked
    }
}

/// Tries an append to a log that is not there yet, so that a refused one does not leave an empty log behind.
pub(crate) fn rehearse(key: &str, now_ms: u64, asked: &Asked) -> Result<(), Refused> {
    if asked.expected.is_some_and(|expected| expected != 0) {
        return Err(Refused::WrongSeq { last_seq: 0 });
    }
    let mut ids = UlidGenerator::new(0, None);
    let lines: Vec<(usize, String)> = asked
        .events
        .iter()
        .enumerate()
        .map(|(at, event)| {
            let id = event.id.inspect(|id| ids.start_above(*id)).unwrap_or_else(|| ids.generate(now_ms));
            (at, unsealed(&quoted(key), at as u64 + 1, &record(event, id, now_ms)))
        })
        .collect();
    try_lines(&mut Checker::new(Rules::native()), &lines).map(drop)
}

/// Pushes lines until one breaks a rule. Returns what is only worth a look.
fn try_lines(checker: &mut Checker, lines: &[(usize, String)]) -> Result<Vec<Breach>, Refused> {
    let mut warnings = Vec::new();
    for (at, line) in lines {
        let found = checker.push(line);
        let (errors, warned): (Vec<Finding>, Vec<Finding>) =
            found.into_iter().partition(|finding| finding.level == Level::Error);
        let breach = |finding: Finding| Breach {
            index: *at,
            rule: finding.rule.as_str().to_owned(),
            field: finding.field,
            message: finding.message,
        };
        if !errors.is_empty() {
            return Err(Refused::Breaks(errors.into_iter().map(breach).collect()));
        }
        warnings.extend(warned.into_iter().map(breach));
    }
    Ok(warnings)
}

fn record(event: &Event, id: Ulid, ts_ms: u64) -> NewRecord {
    let (kind, payload) = (event.event_type.clone(), event.payload.clone());
    NewRecord { id: id.to_string(), ts_ms, kind, payload }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // A string always prints.
    serde_json::to_string(text).unwrap_or_default()
}

pub(super) fn damaged(key: &str, damage: &dyn Display) -> Refused {
    Refused::Unusable(format!(
        "the log of session '{key}' is damaged: {damage}; it can be read, and `herdbook log repair` mends it"
    ))
}

fn not_opened(key: &str, error: &OpenError) -> Refused {
    let words = format!("the log of session '{key}' cannot be opened: {}", crate::error::whole(error));
    match error {
        OpenError::Io { .. } => Refused::Away(words),
        OpenError::Locked { pid, .. } => {
            let process = pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
            Refused::Away(format!(
                "{process} works on the log of session '{key}' (`herdbook log repair` and the like do); send the same \
                 again when it has ended, or end it"
            ))
        }
        OpenError::Damaged { damage, .. } if !damage.is_empty() => damaged(key, &damage[0]),
        _ => Refused::Unusable(words),
    }
}
