//! The journal without the texts of old records.
//!
//! Whole segments that nobody writes to any more are rewritten when their newest record is old enough. What the queue shows
//! now keeps its texts, and so does a session that has newer records in another segment; so a segment is looked at again
//! later: `0000000001.aged` beside it says when it was last.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use herdbook_engine::{Shown, aged, session_of};
use herdbook_log::{ClosedLogError, ClosedSegment, Reader, rewrite_closed};
use herdbook_redact::Redactor;

use crate::error::whole;
use crate::journal;
use crate::own_file;
use crate::retention::{EARLIEST_MS, Entry, note};
use crate::settings::Retention;

const DAY_MS: u64 = 24 * 3600 * 1000;
/// A segment is looked at again after this time.
const AGAIN_MS: u64 = 7 * DAY_MS;
/// So many bytes of payloads are looked at between two rests.
const STRETCH_BYTES: usize = 8 << 20;

/// What decides about old records.
pub(crate) struct Old<'a> {
    pub state_dir: &'a Path,
    pub rules: Retention,
    pub redactor: &'a Redactor,
    pub shown: &'a Shown,
}

impl Old<'_> {
    /// Takes the texts out of old records. `go_on` is asked now and then: it may rest, and ends the work by saying no.
    /// Returns what did not work.
    pub(crate) fn leave_journal(&self, now_ms: u64, go_on: &mut dyn FnMut() -> bool) -> Option<String> {
        if self.rules.journal_payload_days == 0 {
            return None;
        }
        let dir = journal::dir(self.state_dir);
        if self.due(&dir, now_ms).is_empty() {
            return None;
        }
        // Those whose records are newer than their files, or that are damaged, are not read again each hour.
        let odd = self.due(&dir, now_ms.saturating_sub(DAY_MS));
        let looked_at = match self.old_segments(&dir, now_ms) {
            Ok(old) => old,
            Err(error) => return Some(format!("old payloads stay in the journal: {}", whole(&error))),
        };
        let shown = self.shown_or_young(&dir, &looked_at);
        let looked_at: Vec<String> = looked_at.into_iter().map(|segment| segment.name).collect();
        let mut wanted = |segment: &ClosedSegment| looked_at.contains(&segment.name);
        let (mut bytes, mut ended) = (0, false);
        let done = rewrite_closed(&dir, &mut wanted, &mut |line| {
            bytes += line.payload.len();
            if bytes >= STRETCH_BYTES {
                bytes = 0;
                ended |= !go_on();
            }
            if ended {
                return None;
            }
            aged(self.redactor, line.kind, line.payload, &shown)
        });
        let done = match done {
            Ok(done) => done,
            Err(error) => return Some(format!("old payloads stay in the journal: {}", whole(&error))),
        };
        let marked = || -> io::Result<()> {
            if done.lines > 0 {
                let (segments, lines) = (&*done.segments, done.lines);
                let journal_payload_days = self.rules.journal_payload_days;
                note(self.state_dir, &Entry::Aged { at: now_ms, segments, lines, journal_payload_days })?;
            }
            if !ended {
                looked_at.iter().chain(&odd).try_for_each(|name| mark(&marker(&dir, name), now_ms))?;
            }
            Ok(())
        };
        marked().err().map(|error| format!("the journal's old payloads: {error}"))
    }

    /// The segments that are old enough. Damaged ones are none.
    fn old_segments(&self, dir: &Path, now_ms: u64) -> Result<Vec<ClosedSegment>, ClosedLogError> {
        let limit_ms = self.rules.journal_payload_days * DAY_MS;
        let mut old = Vec::new();
        let mut look = |segment: &ClosedSegment| {
            let is_old = segment.newest_ts_ms >= EARLIEST_MS
                && now_ms.saturating_sub(segment.newest_ts_ms) >= limit_ms;
            old.extend(is_old.then(|| segment.clone()));
            false
        };
        rewrite_closed(dir, &mut look, &mut |_| None)?;
        Ok(old)
    }

    /// What is shown, and the sessions that have records in other segments, too: a session's texts leave together.
    fn shown_or_young(&self, dir: &Path, old: &[ClosedSegment]) -> Shown {
        let is_old = |seq| old.iter().any(|segment| (segment.first_seq..=segment.last_seq).contains(&seq));
        let mut shown = self.shown.clone();
        let young = Reader::open(dir).filter_map(Result::ok).filter(|line| !is_old(line.seq));
        shown.sessions.extend(young.filter_map(|line| session_of(&line.kind, &line.payload)));
        shown
    }

    /// The closed segments that may be old enough and were not looked at lately, by the names and times of files alone.
    fn due(&self, dir: &Path, now_ms: u64) -> Vec<String> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".jsonl"))
            .collect();
        names.sort_unstable();
        names.pop();
        let limit = Duration::from_millis(self.rules.journal_payload_days * DAY_MS);
        let now = UNIX_EPOCH + Duration::from_millis(now_ms);
        names.retain(|name| {
            let marker = marker(dir, name);
            let written = fs::metadata(dir.join(name)).and_then(|found| found.modified());
            let is_old = written.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age >= limit));
            (is_old || marker.exists()) && is_due(&marker, now_ms)
        });
        names
    }
}

fn marker(dir: &Path, segment: &str) -> PathBuf {
    dir.join(segment.replace(".jsonl", ".aged"))
}

fn is_due(marker: &Path, now_ms: u64) -> bool {
    let text = own_file::read(marker).ok().flatten();
    let at_ms = text.and_then(|text| text.trim().parse::<u64>().ok());
    at_ms.is_none_or(|at_ms| now_ms.saturating_sub(at_ms) >= AGAIN_MS)
}

/// A marker that a crash loses costs one more look.
fn mark(marker: &Path, now_ms: u64) -> io::Result<()> {
    let mut file = own_file::open(OpenOptions::new().write(true).create(true).truncate(true), marker)?;
    writeln!(file, "{now_ms}")
}

#[cfg(test)]
mod tests {
    use herdbook_engine::view::QueueEntry;
    use herdbook_engine::{Config, Effect, Engine, HookDelivery, Input, Now};
    use herdbook_events::{Origin, SessionKey};
    use herdbook_log::{Durability, NewRecord, Options, Store};

    use super::*;

    const HOUR_MS: u64 = 3600 * 1000;

    /// An engine's journal, in segments of a few records, of sessions that start and wait an hour after the other.
    fn journal_of(state: &Path, start_ms: u64, sessions: u64) {
        let mut engine = Engine::new(Config::default());
        let options =
            Options { segment_bytes: 4_000, lock: None, ..Options::new("journal", state, start_ms) };
        let (store, _) = Store::open(&journal::dir(state), options).unwrap();
        for session in 0..sessions {
            for event in [
                r#""SessionStart","source":"startup""#,
                r#""UserPromptSubmit","prompt":"the prompt of it""#,
                r#""Stop","last_assistant_message":"the words of it""#,
            ] {
                let mono_ms = 1 + session * HOUR_MS;
                let body = format!(r#"{{"session_id":"{session}","hook_event_name":{event}}}"#);
                let hook = HookDelivery {
                    host: "claude".into(),
                    native_event: None,
                    delivery: u128::from(session) * 8 + body.len() as u128 * 1_000,
                    stamp_ms: Some(mono_ms),
                    started_at_ms: Some(start_ms + mono_ms),
                    origin: Origin::default(),
                    body: body.into_bytes(),
                    cut: false,
                    spooled: false,
                    earlier_boot: false,
                };
                let now = Now { wall_ms: start_ms + mono_ms, mono_ms };
                for effect in engine.step(now, Input::Hook(hook)) {
                    let Effect::Append(records) = effect else { continue };
                    let record = |record: herdbook_engine::record::Record| NewRecord {
                        id: record.id,
                        ts_ms: record.ts_ms,
                        kind: record.kind.to_owned(),
                        payload: record.payload.get().to_owned(),
                    };
                    store.append(records.into_iter().map(record).collect(), Durability::Written, |_| ());
                }
            }
        }
        store.close();
    }

    fn herd(state: &Path, now: Now) -> Vec<QueueEntry> {
        let mut engine = Engine::new(Config::default());
        for line in Reader::open(&journal::dir(state)) {
            journal::fold(&mut engine, &line.unwrap()).unwrap();
        }
        engine.step(now, Input::Tick);
        engine.queue(now)
    }

    fn segments(state: &Path) -> Vec<String> {
        let entries = fs::read_dir(journal::dir(state)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name.ends_with(".jsonl"));
        names.sort();
        names
    }

    fn texts(state: &Path) -> Vec<usize> {
        let text = |name: &String| fs::read_to_string(journal::dir(state).join(name)).unwrap();
        segments(state).iter().map(|name| text(name).matches(" of it").count()).collect()
    }

    #[test]
    fn closed_segments_lose_their_texts_when_they_are_old_and_the_herd_stays() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        // The files are of now: so are the records.
        let start_ms = crate::clock::wall_ms();
        journal_of(state, start_ms, 6);
        let now = Now { wall_ms: start_ms + 6 * HOUR_MS, mono_ms: 6 * HOUR_MS };
        let before = herd(state, now);
        assert_eq!(before.len(), 6);
        let whole = texts(state);
        assert!(whole.len() > 3, "{whole:?}");

        let redactor = Redactor::new(&[1; 32]);
        let mut shown = Shown::default();
        shown.sessions.extend(SessionKey::hooked("claude", "1"));
        let rules = Retention { journal_payload_days: 30, ..Retention::default() };
        let old = Old { state_dir: state, rules, redactor: &redactor, shown: &shown };
        let day_30 = start_ms + 30 * DAY_MS;
        assert_eq!(old.leave_journal(day_30 - 1, &mut || true), None);
        assert_eq!(texts(state), whole);
        // All but the last segment are old enough half a day later; what is shown keeps its texts.
        assert_eq!(old.leave_journal(day_30 + DAY_MS / 2, &mut || true), None);
        let left = texts(state);
        let of_one: usize = left[..left.len() - 1].iter().sum();
        assert!(of_one > 0 && of_one <= 5, "{whole:?} {left:?}");
        assert_eq!(left.last(), whole.last());
        let after = herd(state, now);
        let unread = |entries: &[QueueEntry]| -> Vec<(String, u64, usize)> {
            entries.iter().map(|entry| (entry.session.to_string(), entry.stuck_at_ms, entry.order)).collect()
        };
        assert_eq!(unread(&after), unread(&before));
        let message = |herd: &[QueueEntry], id: &str| {
            let key = format!("claude-{id}");
            herd.iter().find(|entry| entry.session.as_str() == key).unwrap().message.clone()
        };
        assert_eq!(message(&after, "1"), "the words of it");
        assert!(message(&after, "0").starts_with("[redacted:aged:"));
        let told = fs::read_to_string(state.join("retention.jsonl")).unwrap();
        assert_eq!(told.lines().count(), 1);
        assert!(told.contains(r#""what":"aged""#) && told.contains(r#""journalPayloadDays":30"#), "{told}");

        // A week later nothing is shown any more: the rest goes too.
        let nothing = Shown::default();
        let old = Old { shown: &nothing, ..old };
        assert_eq!(old.leave_journal(day_30 + 7 * DAY_MS, &mut || true), None);
        assert_eq!(texts(state), left);
        assert_eq!(old.leave_journal(day_30 + 8 * DAY_MS, &mut || true), None);
        // But for those of a session that goes on in the last segment.
        let lines: Vec<_> = Reader::open(&journal::dir(state)).map(Result::unwrap).collect();
        let last: u64 = segments(state).last().unwrap()[..10].parse().unwrap();
        let of = |line: &herdbook_log::Line| session_of(&line.kind, &line.payload);
        let young: Vec<SessionKey> = lines.iter().filter(|line| line.seq >= last).filter_map(of).collect();
        for line in lines.iter().filter(|line| line.seq < last && line.kind == "hook") {
            let has_text = line.payload.contains(" of it") || line.payload.contains("SessionStart");
            let is_young = young.contains(&of(line).unwrap());
            assert_eq!(has_text, is_young || line.payload.contains("SessionStart"), "{}", line.payload);
        }
        assert_eq!(unread(&herd(state, now)), unread(&before));
    }
}
