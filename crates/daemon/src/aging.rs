//! The journal without the texts of old records.
//!
//! Whole segments that nobody writes to any more are rewritten when their last record is old enough. What the queue shows
//! now keeps its texts, so a segment is looked at again later: `0000000001.aged` beside it says when it was last.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use herdbook_engine::{Shown, aged};
use herdbook_log::{ClosedSegment, rewrite_closed};
use herdbook_redact::Redactor;

use crate::journal;
use crate::retention::{EARLIEST_MS, Entry, note, words};
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
        if !self.is_any_due(&dir, now_ms) {
            return None;
        }
        let limit_ms = self.rules.journal_payload_days * DAY_MS;
        let mut looked_at = Vec::new();
        let mut wanted = |segment: &ClosedSegment| {
            let due = segment.newest_ts_ms >= EARLIEST_MS
                && now_ms.saturating_sub(segment.newest_ts_ms) >= limit_ms
                && is_due(&marker(&dir, &segment.name), now_ms);
            if due {
                looked_at.push(segment.name.clone());
            }
            due
        };
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
            aged(self.redactor, line.kind, line.payload, self.shown)
        });
        let done = match done {
            Ok(done) => done,
            Err(error) => return Some(format!("old payloads stay in the journal: {}", words(&error))),
        };
        let marked = || -> io::Result<()> {
            if done.lines > 0 {
                let (segments, lines) = (&*done.segments, done.lines);
                let journal_payload_days = self.rules.journal_payload_days;
                note(self.state_dir, &Entry::Aged { at: now_ms, segments, lines, journal_payload_days })?;
            }
            if !ended {
                looked_at.iter().try_for_each(|name| mark(&marker(&dir, name), now_ms))?;
            }
            Ok(())
        };
        marked().err().map(|error| format!("the journal's old payloads: {error}"))
    }

    /// Whether there is a closed segment that may be old enough, by the names and times of files alone.
    fn is_any_due(&self, dir: &Path, now_ms: u64) -> bool {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".jsonl"))
            .collect();
        names.sort_unstable();
        names.pop();
        let limit = Duration::from_millis(self.rules.journal_payload_days * DAY_MS);
        let now = UNIX_EPOCH + Duration::from_millis(now_ms);
        names.iter().any(|name| {
            let marker = marker(dir, name);
            let written = fs::metadata(dir.join(name)).and_then(|found| found.modified());
            let is_old = written.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age >= limit));
            // One that was rewritten is newer than its records.
            (is_old || marker.exists()) && is_due(&marker, now_ms)
        })
    }
}

fn marker(dir: &Path, segment: &str) -> PathBuf {
    dir.join(segment.replace(".jsonl", ".aged"))
}

fn is_due(marker: &Path, now_ms: u64) -> bool {
    let at_ms = fs::read_to_string(marker).ok().and_then(|text| text.trim().parse::<u64>().ok());
    at_ms.is_none_or(|at_ms| now_ms.saturating_sub(at_ms) >= AGAIN_MS)
}

/// A marker that a crash loses costs one more look.
fn mark(marker: &Path, now_ms: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(marker)?;
    writeln!(file, "{now_ms}")
}

#[cfg(test)]
mod tests {
    use herdbook_engine::view::QueueEntry;
    use herdbook_engine::{Config, Effect, Engine, HookDelivery, Input, Now};
    use herdbook_events::{Origin, SessionKey};
    use herdbook_log::{Durability, NewRecord, Options, Reader, Store};

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

    fn texts(state: &Path) -> Vec<usize> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(journal::dir(state)).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        names.sort();
        names.iter().map(|path| fs::read_to_string(path).unwrap().matches(" of it").count()).collect()
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
        assert_eq!(texts(state)[..left.len() - 1].iter().sum::<usize>(), 0);
        assert_eq!(unread(&herd(state, now)), unread(&before));
    }
}
