//! The transcripts of sessions that wait or work: each second one `stat` a file, and only the new bytes of those that
//! changed. Hosts fire no hook when the human says "No" or presses Esc (cases F-001, F-016); their transcripts tell.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_engine::view::TranscriptFile;
use herdbook_engine::{Input, ToldRecord, TranscriptNews};
use herdbook_hosts::transcript::{Known, Reader, is_child_file};
use herdbook_log::Durability;
use herdbook_machine::{ForeignError, Piece, Tail};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::config::stopped;
use crate::core::Core;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// The engine has this long to take the news of one file.
const STEP_TIME: Duration = Duration::from_secs(5);
/// So many project folders are remembered with the ids of their records.
const FOLDERS: usize = 64;
/// The first line of a file, which names its session, stands within so much of it.
const HEAD_BYTES: usize = 256 << 10;

/// Follows the transcripts until the daemon ends.
pub(crate) async fn follow(core: Core, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = look_again_and_again(&core) => {}
        () = stopped(&mut stop) => {}
    }
}

async fn look_again_and_again(core: &Core) {
    let mut eye = Eye::default();
    loop {
        let Ok(wanted) = core.look(|engine, _| engine.transcripts()).await else { return };
        // It reads files.
        let looked = tokio::task::spawn_blocking(move || {
            let news = eye.look(&wanted);
            (eye, news)
        });
        eye = match looked.await {
            Ok((eye, news)) => {
                for news in news {
                    // The journal is full, or the engine is behind: what a file proves is read again after a start.
                    let told = core.step(Input::Transcript(news), Durability::Written);
                    drop(timeout(STEP_TIME, told).await);
                }
                eye
            }
            // A panic costs one look.
            Err(_) => Eye::default(),
        };
        sleep(EVERY).await;
    }
}

/// What is followed. Small for each file: a cursor and what its lines said of whose it is.
#[derive(Default)]
struct Eye {
    files: HashMap<PathBuf, Followed>,
    known: HashMap<PathBuf, Known>,
}

#[derive(Default)]
struct Followed {
    tail: Option<Tail>,
    reader: Reader,
    /// It was not there when it was first asked for: all of it is written before our eyes.
    awaited: bool,
}

impl Eye {
    /// Looks once at each file and returns what is new in them.
    fn look(&mut self, wanted: &[TranscriptFile]) -> Vec<TranscriptNews> {
        self.files.retain(|path, _| wanted.iter().any(|file| file.path == *path));
        if self.known.len() > FOLDERS {
            let folders: Vec<&Path> = self.files.keys().filter_map(|path| path.parent()).collect();
            self.known.retain(|folder, _| folders.contains(&folder.as_path()));
        }
        wanted.iter().filter_map(|file| self.news(file)).collect()
    }

    fn news(&mut self, file: &TranscriptFile) -> Option<TranscriptNews> {
        if is_child_file(&file.path) {
            return None;
        }
        let followed = self.files.entry(file.path.clone()).or_default();
        let met = followed.tail.is_none();
        if met {
            followed.meet(file);
        }
        let known = self.known.entry(file.path.parent()?.to_owned()).or_default();
        let Followed { tail, reader, awaited } = followed;
        let (mut facts, mut grown) = (Vec::new(), false);
        // A file that may not be read says nothing; one that is gone may come back.
        tail.as_mut()?
            .look(|piece| {
                grown = true;
                let line = match piece {
                    Piece::Anew => return reader.reset(),
                    Piece::Line(line) => line,
                };
                for record in reader.line(line, known).records {
                    let (record, written_ms, told) = (record.id, record.at_ms, record.told);
                    let fact = |told| ToldRecord { record: record.clone(), written_ms, told };
                    facts.extend(told.into_iter().map(fact));
                }
            })
            .ok()?;
        let others = file.host == "codex" && reader.session().is_some_and(|id| id != file.native_id);
        if !grown || reader.is_child() || others {
            return None;
        }
        let earlier = reader.earlier(&file.native_id);
        facts.extend(earlier.map(|told| ToldRecord { record: None, written_ms: None, told }));
        (!facts.is_empty()).then(|| TranscriptNews {
            session: file.session.clone(),
            host: file.host.clone(),
            path: file.path.to_string_lossy().into_owned(),
            fresh: !met || *awaited,
            facts,
        })
    }
}

impl Followed {
    /// Meets a file by its end, or waits for it to come.
    fn meet(&mut self, file: &TranscriptFile) {
        let roots = std::slice::from_ref(&file.root);
        match Tail::attach(&file.path, roots, None) {
            Ok(tail) => {
                self.reader = Reader::new(&file.host);
                if self.awaited {
                    self.tail = Some(Tail::from_start(&file.path, roots));
                    return;
                }
                self.tail = Some(tail);
                if file.host == "codex" {
                    // Whose file it is its first line tells; its facts are past.
                    let (mut first, mut known) = (true, Known::default());
                    let reader = &mut self.reader;
                    // Without it the hook that named the file is believed.
                    drop(herdbook_machine::head(&file.path, roots, HEAD_BYTES, |line| {
                        if std::mem::take(&mut first) {
                            reader.line(line, &mut known);
                        }
                    }));
                }
            }
            Err(error) => self.awaited |= ForeignError::is_missing(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use herdbook_events::{SessionKey, Told, WaitKind};

    use super::*;

    struct Bench {
        scratch: tempfile::TempDir,
        eye: Eye,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { scratch: tempfile::tempdir().unwrap(), eye: Eye::default() }
        }

        fn file(&self, host: &str, id: &str) -> TranscriptFile {
            TranscriptFile {
                session: SessionKey::hooked(host, id).unwrap(),
                host: host.into(),
                native_id: id.into(),
                path: self.scratch.path().join(format!("{id}.jsonl")),
                root: self.scratch.path().to_owned(),
            }
        }

        fn append(&self, id: &str, line: &str) {
            let path = self.scratch.path().join(format!("{id}.jsonl"));
            let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(file, "{line}").unwrap();
        }

        fn look(&mut self, files: &[TranscriptFile]) -> Vec<(bool, Vec<Told>)> {
            let news = self.eye.look(files).into_iter();
            news.map(|news| (news.fresh, news.facts.into_iter().map(|fact| fact.told).collect())).collect()
        }
    }

    const STOPPED: &str = r#"{"type":"user","uuid":"UUID","sessionId":"a","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;

    fn interrupted() -> Told {
        Told::TurnEnded { kind: WaitKind::Interrupted, message: String::new() }
    }

    #[test]
    fn what_stood_before_is_told_apart_from_what_is_written_now() {
        let mut bench = Bench::new();
        let files = [bench.file("claude", "a")];
        bench.append("a", &STOPPED.replace("UUID", "u1"));
        assert_eq!(bench.look(&files), [(false, vec![interrupted()])]);
        assert_eq!(bench.look(&files), []);
        bench.append("a", &STOPPED.replace("UUID", "u1"));
        assert_eq!(bench.look(&files), [], "copied history");
        bench.append("a", &STOPPED.replace("UUID", "u2"));
        assert_eq!(bench.look(&files), [(true, vec![interrupted()])]);
        // A file that comes while it is waited for is read whole, and linked to the one it was copied from.
        let later = [bench.file("claude", "b")];
        assert_eq!(bench.look(&later), []);
        bench.append("b", &STOPPED.replace("UUID", "u3"));
        assert_eq!(
            bench.look(&later),
            [(true, vec![interrupted(), Told::ResumedFrom { earlier: "a".into() }])]
        );
    }

    #[test]
    fn a_rollout_of_another_thread_says_nothing() {
        let mut bench = Bench::new();
        let files = [bench.file("codex", "a")];
        bench.append("a", r#"{"type":"session_meta","payload":{"id":"child","parent_thread_id":"a"}}"#);
        bench.append("a", r#"{"type":"event_msg","payload":{"type":"task_complete"}}"#);
        assert_eq!(bench.look(&files), []);
        bench.append("a", r#"{"type":"event_msg","payload":{"type":"task_complete"}}"#);
        assert_eq!(bench.look(&files), []);
    }

    #[test]
    fn files_elsewhere_are_not_read() {
        let mut bench = Bench::new();
        bench.append("a", &STOPPED.replace("UUID", "u1"));
        let elsewhere =
            TranscriptFile { root: bench.scratch.path().join("projects"), ..bench.file("claude", "a") };
        assert_eq!(bench.look(&[elsewhere]), []);
    }
}
