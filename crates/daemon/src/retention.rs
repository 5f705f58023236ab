//! What happens to logs when they are old: compressed, and deleted whole where the human wants that.
//!
//! A session is as old as its last event, and to be deleted no older than its files: an imported one is as new as its import.
//! Sessions that started others are deleted with them: when all of them are old enough, and none is held or open. Each is
//! looked at once more when all of them are locked. A file `HOLD` in a session's folder holds it. What was deleted or
//! rewritten is a line in `retention.jsonl` of the state folder.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use herdbook_log::{ClosedLogError, Glance, Sessions, compress, glance, take_lock};
use herdbook_redact::Redactor;
use serde::Serialize;

use crate::deleting::{delete, finish};
use crate::error::{DaemonError, whole};
use crate::families::{Families, Seen};
use crate::own_file;
use crate::sessions::{Alone, SessionLogs};
use crate::settings::Retention;
use crate::store_file::StoreFile;

/// The file that holds a session, in its folder.
const HOLD: &str = "HOLD";
/// The file that says what was deleted or rewritten, in the state folder.
const FILE: &str = "retention.jsonl";
/// The folder with all sessions, in the state folder.
pub(crate) const SESSIONS: &str = "sessions";
const DAY_MS: u64 = 24 * 3600 * 1000;
/// Before 2024-01-01 there was no Herdbook: a clock that said so was wrong, and how old a thing is cannot be told.
pub(crate) const EARLIEST_MS: u64 = 1_704_067_200_000;

/// One line of `retention.jsonl`. Sizes are in bytes, times in Unix milliseconds.
#[derive(Debug, Serialize)]
#[serde(tag = "what", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Entry<'a> {
    /// A session was deleted.
    Deleted {
        /// When.
        at: u64,
        /// The session's key, where it could be read.
        session: Option<&'a str>,
        /// Its folder's name.
        folder: &'a str,
        /// The seq of its last event.
        last_seq: u64,
        /// When that happened.
        last_ts: u64,
        /// How much was deleted.
        bytes: u64,
        /// The rule.
        session_days: u64,
    },
    /// A known secret was taken out of a session's log.
    Scrubbed {
        /// When.
        at: u64,
        /// The session's key.
        session: &'a str,
        /// What stands in the secret's place.
        mark: &'a str,
        /// The segments that were rewritten.
        segments: &'a [String],
        /// How many lines were changed.
        lines: u64,
        /// Files with cut or damaged bytes that were changed.
        kept: &'a [String],
    },
    /// Raw payloads left the journal.
    Aged {
        /// When.
        at: u64,
        /// The segments that were rewritten.
        segments: &'a [String],
        /// How many lines were changed.
        lines: u64,
        /// The rule.
        journal_payload_days: u64,
    },
}

/// Writes a line to `retention.jsonl`, durably.
///
/// # Errors
/// Whatever the system says.
pub fn note(state_dir: &Path, entry: &Entry<'_>) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let mut file = own_file::open(OpenOptions::new().append(true).create(true), &state_dir.join(FILE))?;
    file.write_all(&line)?;
    file.sync_data()
}

/// Returns what marks secrets in this state folder. The key is made where there was no daemon yet.
///
/// # Errors
/// `store.json` cannot be read or made.
pub fn redactor(state_dir: &Path, now_ms: u64) -> Result<Redactor, DaemonError> {
    let key = match StoreFile::load(state_dir)? {
        Some(file) => file.redact_key,
        None => {
            // No daemon was here yet, and none starts meanwhile.
            let _lock = take_lock(state_dir, now_ms).map_err(|error| DaemonError::StoreFile {
                path: state_dir.to_owned(),
                reason: error.to_string(),
            })?;
            StoreFile::load_or_make(state_dir, now_ms)?.redact_key
        }
    };
    Ok(Redactor::new(&key))
}

/// True where a session is held, or where that cannot be told.
pub fn is_held(folder: &Path) -> bool {
    !fs::symlink_metadata(folder.join(HOLD)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Holds a session, or lets go of it. Says whether that changed anything.
///
/// # Errors
/// Whatever the system says.
pub fn hold(folder: &Path, held: bool) -> io::Result<bool> {
    if is_held(folder) == held {
        return Ok(false);
    }
    if held {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(HOLD))?;
    } else {
        fs::remove_file(folder.join(HOLD))?;
    }
    fs::File::open(folder)?.sync_all()?;
    Ok(true)
}

/// What one round did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Sessions whose logs were compressed.
    pub compressed: usize,
    /// Sessions that were deleted.
    pub deleted: usize,
    /// What did not work, one sentence each.
    pub failed: Vec<String>,
}

/// Keeps the logs of sessions by the rules. What it learned of them is kept for the next round.
#[derive(Default)]
pub struct Keeper {
    families: Families,
    /// The logs of the daemon that it works in.
    logs: Option<Arc<SessionLogs>>,
}

impl Keeper {
    /// One that works in a daemon: appends to the session at hand wait until that is done.
    pub(crate) fn beside(logs: Arc<SessionLogs>) -> Keeper {
        Keeper { families: Families::default(), logs: Some(logs) }
    }

    /// Keeps this daemon's appends waiting. Nothing where it has the session open.
    fn alone(&self, seen: &Seen) -> Option<Option<Alone>> {
        match self.logs.as_ref().zip(seen.glance.session_id.as_deref()) {
            Some((logs, key)) => logs.alone(key).map(Some),
            None => Some(None),
        }
    }

    /// Compresses and deletes what is due. `go_on` is asked before each session: it may wait, and ends the round by saying
    /// no. Logs that are open for writing are left alone.
    pub fn round(
        &mut self,
        state_dir: &Path,
        rules: Retention,
        now_ms: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Round {
        let mut round = Round::default();
        let sessions = Sessions::new(state_dir);
        let (mut seen, mut unseen) = (Vec::new(), None);
        let folders = match sessions.folders() {
            Ok(folders) => folders,
            Err(error) => {
                round.failed.push(format!("{}: {error}", state_dir.join(SESSIONS).display()));
                return round;
            }
        };
        round.failed.extend(finish(state_dir, rules.session_days, now_ms));
        for folder in folders {
            match glance(&folder) {
                Ok(glance) if glance.last_seq > 0 => seen.push(Seen { folder, glance }),
                // One that has bytes and no line that can be read; an empty one has started nobody.
                Ok(glance) if glance.is_damaged || (glance.bytes > 0 && !glance.is_open) => {
                    unseen.get_or_insert(folder);
                }
                Ok(_) => {}
                Err(error) => {
                    round.failed.push(format!("{}: {error}", folder.display()));
                    unseen.get_or_insert(folder);
                }
            }
        }
        if rules.session_days > 0
            && let Some(folder) = &unseen
        {
            round.failed.push(format!("{}: {NOT_READ}", folder.display()));
        } else if rules.session_days > 0 {
            self.delete(state_dir, &sessions, &mut seen, rules.session_days, now_ms, go_on, &mut round);
        }
        if rules.compress_after_days > 0 {
            let is_old = |seen: &&Seen| {
                now_ms.saturating_sub(seen.glance.last_ts_ms) >= rules.compress_after_days * DAY_MS
            };
            for seen in seen.iter().filter(is_old) {
                if !has_plain(&seen.folder) || seen.glance.is_open || seen.glance.is_damaged {
                    continue;
                }
                if !go_on() {
                    break;
                }
                let Some(_alone) = self.alone(seen) else { continue };
                match compress(&seen.folder, now_ms) {
                    Ok(done) => round.compressed += usize::from(done.segments > 0),
                    Err(ClosedLogError::Open { .. }) => {}
                    Err(error) => round.failed.push(whole(&error)),
                }
            }
        }
        round
    }

    #[expect(clippy::too_many_arguments, reason = "one caller, which has them all at hand")]
    fn delete(
        &mut self,
        state_dir: &Path,
        sessions: &Sessions,
        seen: &mut Vec<Seen>,
        session_days: u64,
        now_ms: u64,
        go_on: &mut dyn FnMut() -> bool,
        round: &mut Round,
    ) {
        let is_old = |seen: &Seen| is_older(&seen.glance, session_days, now_ms);
        if !seen.iter().any(is_old) {
            return;
        }
        let (families, unread) = self.families.of(sessions, seen);
        if let Some(folder) = unread {
            round.failed.push(format!("{}: {NOT_READ}", folder.display()));
            return;
        }
        let mut gone = HashSet::new();
        for family in families {
            let is_due = |member: &usize| {
                let member = &seen[*member];
                // Of a damaged log nobody can tell how old it is.
                let is_sound = !member.glance.is_open && !member.glance.is_damaged;
                is_old(member) && is_sound && !is_held(&member.folder)
            };
            if !family.iter().all(is_due) {
                continue;
            }
            if !go_on() {
                break;
            }
            let members: Vec<&Seen> = family.iter().map(|member| &seen[*member]).collect();
            let alone: Option<Vec<_>> = members.iter().map(|member| self.alone(member)).collect();
            if alone.is_none() {
                continue;
            }
            let done = delete(state_dir, &members, session_days, now_ms, &mut |member| {
                gone.insert(member.folder.clone());
            });
            if let Err(error) = done {
                round.failed.push(whole(&error));
            }
        }
        round.deleted += gone.len();
        seen.retain(|seen| !gone.contains(&seen.folder));
    }
}

/// Why nothing is deleted.
const NOT_READ: &str = "it cannot be read whole, so nobody knows which sessions it started, and none is deleted until \
                        `herdbook log repair` mends it or it is moved away";

/// Whether a session was neither appended to nor otherwise written for so many days.
fn is_older(glance: &Glance, days: u64, now_ms: u64) -> bool {
    let newest_ms = glance.last_ts_ms.max(glance.written_ms);
    newest_ms >= EARLIEST_MS && now_ms.saturating_sub(newest_ms) >= days * DAY_MS
}

fn has_plain(folder: &Path) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"))
}
