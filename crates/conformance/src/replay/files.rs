//! The transcripts of a replay: what a follower would read of them, without files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use herdbook_engine::view::{SessionView, State};
use herdbook_engine::{ToldRecord, TranscriptNews};
use herdbook_events::{SessionKey, Told};
use herdbook_hosts::transcript::{Known, Reader, is_child_file};

use crate::replay::step::AppendStep;

/// All transcripts, by path.
#[derive(Default)]
pub struct Files {
    files: BTreeMap<String, Transcript>,
    /// Ids of records, a set for each project folder.
    known: BTreeMap<PathBuf, Known>,
    /// The last session that a hook named with a path.
    named: BTreeMap<String, SessionKey>,
}

#[derive(Default)]
struct Transcript {
    reader: Option<Reader>,
    /// The host's id in the step.
    id: Option<String>,
    codex: bool,
    unread: Vec<u8>,
    /// It was read before: what comes now is written before our eyes.
    followed: bool,
}

impl Files {
    /// Adds bytes to a file.
    pub fn append(&mut self, step: &AppendStep, sessions: &[SessionView]) {
        let session = step.id.as_ref().and_then(|id| sessions.iter().find(|view| view.native_id == *id));
        let session = session.or_else(|| sessions.first().filter(|_| step.id.is_none()));
        let of_session = session.map(|view| view.transcript_path.clone()).filter(|path| !path.is_empty());
        let path = step.path.clone().or(of_session).unwrap_or_else(|| match &step.id {
            Some(id) => format!("{}/{id}.jsonl", step.word),
            None => step.word.clone(),
        });
        let file = self.files.entry(path).or_default();
        file.id = file.id.take().or_else(|| step.id.clone());
        file.codex |= step.word == "rollout";
        file.unread.extend_from_slice(step.text.as_bytes());
    }

    /// A hook named a session with its transcript.
    pub fn named(&mut self, view: &SessionView) {
        if !view.transcript_path.is_empty() {
            self.named.insert(view.transcript_path.clone(), view.key.clone());
        }
    }

    /// The reader loses its memory, as in a restart: it meets the files anew.
    pub fn forget(&mut self) {
        for file in self.files.values_mut() {
            file.followed = false;
        }
    }

    /// Reads what is new in the files of known sessions, and in rollouts, which may be all that is known of one.
    pub fn news(&mut self, sessions: &[SessionView]) -> Vec<TranscriptNews> {
        let mut all = Vec::new();
        for (path, file) in &mut self.files {
            let Some(end) = file.unread.iter().rposition(|byte| *byte == b'\n') else { continue };
            if is_child_file(Path::new(path)) {
                continue;
            }
            let live = |view: &&SessionView| view.state != State::Ended;
            let by_hook = self.named.get(path);
            let view = sessions.iter().filter(live).find(|view| match by_hook {
                Some(key) => view.key == *key,
                None => view.transcript_path == *path || Some(&view.native_id) == file.id.as_ref(),
            });
            let host = match view {
                Some(view) if Reader::reads(&view.host) => view.host.clone(),
                None if file.codex => "codex".to_owned(),
                _ => continue,
            };
            let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
            let known = self.known.entry(folder).or_default();
            let reader = file.reader.get_or_insert_with(|| Reader::new(&host));
            let lines: Vec<u8> = file.unread.drain(..=end).collect();
            let mut facts = Vec::new();
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                for record in reader.line(line, known).records {
                    let (id, written_ms) = (record.id, record.at_ms);
                    facts.extend(record.told.into_iter().map(|told| ToldRecord {
                        record: id.clone(),
                        written_ms,
                        told,
                    }));
                }
            }
            let own = reader.session().and_then(|id| SessionKey::hooked(&host, id));
            let earlier = view.and_then(|view| reader.earlier(&view.native_id));
            facts.extend(earlier.map(|told| ToldRecord { record: None, written_ms: None, told }));
            // Whose file it is its own first line knows best, where the host writes one (cases F-041, F-059).
            let session = if host == "codex" {
                own.or(view.map(|view| view.key.clone()))
            } else {
                view.map(|view| view.key.clone())
            };
            let Some(session) = session else { continue };
            // A file that is met with its session is read from its start.
            let fresh = file.followed
                || view.is_none()
                || facts.iter().any(|fact| matches!(fact.told, Told::Opened { .. }));
            file.followed = true;
            all.push(TranscriptNews { session, host, path: path.clone(), fresh, facts });
        }
        all
    }
}
