//! What happens to logs when they are old: compressed, and deleted whole where the human wants that.
//!
//! A session is as old as its last event. Sessions that started others are deleted with them: when all of them are old
//! enough, and none is held or open. A file `HOLD` in a session's folder holds it. What was deleted or rewritten is a line in
//! `retention.jsonl` of the state folder.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use herdbook_log::{ClosedLogError, Glance, Reader, Sessions, compress, glance, take_lock};
use herdbook_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::error::DaemonError;
use crate::settings::Retention;
use crate::store_file::StoreFile;

/// The file that holds a session, in its folder.
const HOLD: &str = "HOLD";
/// The file that says what was deleted or rewritten, in the state folder.
const FILE: &str = "retention.jsonl";
/// Where sessions lie while they are deleted, in the state folder.
const DELETED: &str = "deleted";
const DAY_MS: u64 = 24 * 3600 * 1000;

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
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(state_dir.join(FILE))?;
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

/// True where a session is held.
pub fn is_held(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(HOLD)).is_ok()
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
#[derive(Debug, Default)]
pub struct Keeper {
    /// The sessions that a session started, by its folder, as of its last seq.
    started: HashMap<PathBuf, (u64, Vec<String>)>,
}

/// A session that was looked at.
struct Seen {
    folder: PathBuf,
    glance: Glance,
}

impl Keeper {
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
        // A deletion that a crash interrupted.
        drop(fs::remove_dir_all(state_dir.join(DELETED)));
        let mut seen = Vec::new();
        for folder in sessions.folders().unwrap_or_default() {
            match glance(&folder) {
                Ok(glance) if glance.last_seq > 0 => seen.push(Seen { folder, glance }),
                Ok(_) => {}
                Err(error) => round.failed.push(format!("{}: {error}", folder.display())),
            }
        }
        if rules.session_days > 0 {
            self.delete(state_dir, &sessions, &mut seen, rules.session_days, now_ms, go_on, &mut round);
        }
        if rules.compress_after_days > 0 {
            let is_old = |seen: &&Seen| age_ms(seen, now_ms) >= rules.compress_after_days * DAY_MS;
            for seen in seen.iter().filter(is_old) {
                if !has_plain(&seen.folder) || seen.glance.is_open || seen.glance.is_damaged {
                    continue;
                }
                if !go_on() {
                    break;
                }
                match compress(&seen.folder, now_ms) {
                    Ok(done) => round.compressed += usize::from(done.segments > 0),
                    Err(ClosedLogError::Open { .. }) => {}
                    Err(error) => round.failed.push(words(&error)),
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
        let is_old = |seen: &Seen| age_ms(seen, now_ms) >= session_days * DAY_MS;
        if !seen.iter().any(is_old) {
            return;
        }
        let mut gone = HashSet::new();
        for family in self.families(sessions, seen) {
            let is_due = |member: &usize| {
                let member = &seen[*member];
                // Of a damaged log nobody can tell how old it is.
                let is_sound = !member.glance.is_open && !member.glance.is_damaged;
                is_old(member) && is_sound && !is_held(&member.folder)
            };
            if !family.iter().all(is_due) {
                continue;
            }
            for member in family {
                if !go_on() {
                    return;
                }
                match delete(state_dir, &seen[member], session_days, now_ms) {
                    Ok(true) => {
                        round.deleted += 1;
                        gone.insert(seen[member].folder.clone());
                    }
                    // Somebody opened, held or went on with it just now: its parents stay too.
                    Ok(false) => break,
                    Err(error) => {
                        round.failed.push(words(&error));
                        break;
                    }
                }
            }
        }
        seen.retain(|seen| !gone.contains(&seen.folder));
    }

    /// Sessions that belong together by who started whom, those that were started before those that started them.
    fn families(&mut self, sessions: &Sessions, seen: &[Seen]) -> Vec<Vec<usize>> {
        let place: HashMap<&Path, usize> =
            seen.iter().enumerate().map(|(place, seen)| (&*seen.folder, place)).collect();
        let mut children = vec![Vec::new(); seen.len()];
        let mut family: Vec<usize> = (0..seen.len()).collect();
        for (parent, log) in seen.iter().enumerate() {
            for child in self.started_by(log) {
                if let Some(&child) = place.get(&*sessions.folder(&child)) {
                    children[parent].push(child);
                    let (from, to) = (family[child], family[parent]);
                    family.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
                }
            }
        }
        let mut families: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut placed = vec![false; seen.len()];
        for start in 0..seen.len() {
            place_after_children(start, &children, &mut placed, &mut |place| {
                families.entry(family[place]).or_default().push(place);
            });
        }
        self.started.retain(|folder, _| place.contains_key(&**folder));
        families.into_values().collect()
    }

    fn started_by(&mut self, seen: &Seen) -> Vec<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Created {
            child_session_id: String,
        }
        if let Some((last_seq, children)) = self.started.get(&seen.folder)
            && *last_seq == seen.glance.last_seq
        {
            return children.clone();
        }
        let lines = Reader::open(&seen.folder).filter_map(Result::ok);
        let created = lines.filter(|line| line.kind == "subtask.created");
        let child = |line: herdbook_log::Line| serde_json::from_str::<Created>(&line.payload).ok();
        let children: Vec<String> =
            created.filter_map(child).map(|created| created.child_session_id).collect();
        self.started.insert(seen.folder.clone(), (seen.glance.last_seq, children.clone()));
        children
    }
}

fn place_after_children(
    start: usize,
    children: &[Vec<usize>],
    placed: &mut [bool],
    put: &mut dyn FnMut(usize),
) {
    // A session that started itself, over others, is looked at once.
    let mut open = vec![(start, 0)];
    if std::mem::replace(&mut placed[start], true) {
        return;
    }
    while let Some((place, next)) = open.pop() {
        match children[place].get(next) {
            Some(&child) => {
                open.push((place, next + 1));
                if !std::mem::replace(&mut placed[child], true) {
                    open.push((child, 0));
                }
            }
            None => put(place),
        }
    }
}

fn age_ms(seen: &Seen, now_ms: u64) -> u64 {
    now_ms.saturating_sub(seen.glance.last_ts_ms)
}

fn has_plain(folder: &Path) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"))
}

/// Deletes one session, whose LOCK it holds meanwhile; false where somebody writes to it. It leaves its place at once,
/// so nobody reads half of it. A round rests: what was appended or held since it looked at the session makes it stay.
fn delete(state_dir: &Path, seen: &Seen, session_days: u64, now_ms: u64) -> Result<bool, ClosedLogError> {
    let _lock = match take_lock(&seen.folder, now_ms) {
        Err(ClosedLogError::Open { .. }) => return Ok(false),
        lock => lock?,
    };
    let in_folder = |source| ClosedLogError::Io { path: seen.folder.clone(), source };
    // Open it is now: for us.
    let now = Glance { is_open: seen.glance.is_open, ..glance(&seen.folder).map_err(in_folder)? };
    if now != seen.glance || is_held(&seen.folder) {
        return Ok(false);
    }
    let Glance { last_seq, last_ts_ms, bytes, .. } = seen.glance;
    let folder = seen.folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let entry = Entry::Deleted {
        at: now_ms,
        session: seen.glance.session_id.as_deref(),
        folder: &folder,
        last_seq,
        last_ts: last_ts_ms,
        bytes,
        session_days,
    };
    let remove = || {
        note(state_dir, &entry)?;
        let deleted = state_dir.join(DELETED);
        DirBuilder::new().recursive(true).mode(0o700).create(&deleted)?;
        let to = deleted.join(&*folder);
        fs::rename(&seen.folder, &to)?;
        if let Some(parent) = seen.folder.parent() {
            fs::File::open(parent)?.sync_all()?;
        }
        fs::remove_dir_all(&to)
    };
    let path = seen.folder.clone();
    remove().map(|()| true).map_err(|source| ClosedLogError::Io { path, source })
}

/// An error with its cause in one sentence.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
