//! The transcripts of sessions that wait or work: each second one `stat` a file, and only the new bytes of those that
//! changed. Hosts fire no hook when the human says "No" or presses Esc (cases F-001, F-016); their transcripts tell.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_engine::view::TranscriptFile;
use herdbook_engine::{Input, ToldRecord, TranscriptNews};
use herdbook_events::{SessionKey, Told};
use herdbook_hosts::transcript::{Known, Reader, is_child_file};
use herdbook_log::Durability;
use herdbook_machine::{ForeignError, Piece, Tail};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::agents::{Agents, Rollout};
use crate::config::until_stopped;
use crate::core::Core;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// The engine has this long to take the news of one file.
const STEP_TIME: Duration = Duration::from_secs(5);
/// So many project folders are remembered with the ids of their records.
const FOLDERS: usize = 16;
/// The first line of a file, which names its session, stands within so much of it.
const HEAD_BYTES: usize = 256 << 10;

/// Follows the transcripts until the daemon ends.
pub(crate) async fn follow(core: Core, agents: Agents, home: Option<PathBuf>, stop: watch::Receiver<bool>) {
    let own = home.map(|home| home.join(".codex/sessions"));
    until_stopped(look_again_and_again(&core, &agents, own.as_deref()), stop).await;
}

async fn look_again_and_again(core: &Core, agents: &Agents, own: Option<&Path>) {
    let mut eye = Eye::default();
    loop {
        let asked = core.look(|engine, _| (engine.transcripts(), engine.transcript_roots("codex")));
        let Ok((wanted, mut codex)) = asked.await else { return };
        codex.extend(own.map(Path::to_owned));
        // It reads files.
        let agents = agents.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let news = eye.look(&wanted, &rollouts(&agents, &codex));
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

/// The rollouts that running Codexes have open, as far as they lie in the folders that hooks named or the human's own.
fn rollouts(agents: &Agents, roots_of_codex: &[PathBuf]) -> Vec<Rollout> {
    let mut rollouts = agents.rollouts();
    if rollouts.is_empty() {
        return rollouts;
    }
    let allowed: Vec<PathBuf> = roots_of_codex.iter().flat_map(|root| roots(root)).collect();
    rollouts.retain(|rollout| allowed.contains(&rollout.root));
    rollouts
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
    /// Looks once at each file and returns what is new in them: those of sessions that hooks named, and those that
    /// agents without hooks write.
    fn look(&mut self, wanted: &[TranscriptFile], rollouts: &[Rollout]) -> Vec<TranscriptNews> {
        let named = |path: &PathBuf| wanted.iter().any(|file| file.path == *path);
        self.files.retain(|path, _| named(path) || rollouts.iter().any(|rollout| rollout.path == *path));
        if self.known.len() > FOLDERS {
            let folders: Vec<&Path> = self.files.keys().filter_map(|path| path.parent()).collect();
            self.known.retain(|folder, _| folders.contains(&folder.as_path()));
        }
        let mut news: Vec<TranscriptNews> = wanted.iter().filter_map(|file| self.news(file)).collect();
        for rollout in rollouts.iter().filter(|rollout| !named(&rollout.path)) {
            news.extend(self.unnamed(rollout));
        }
        news
    }

    /// News of a file that no open session named: whose it is its first line tells.
    fn unnamed(&mut self, rollout: &Rollout) -> Option<TranscriptNews> {
        let mut first = Vec::new();
        let met = self.files.get(&rollout.path).is_none_or(|file| file.tail.is_none());
        if met {
            let (mut reader, mut known, mut begun) = (Reader::new("codex"), Known::default(), false);
            herdbook_machine::head(&rollout.path, &roots(&rollout.root), HEAD_BYTES, |line| {
                if !std::mem::replace(&mut begun, true) {
                    first.extend(reader.line(line, &mut known).records);
                }
            })
            .ok()?;
        }
        let of_file = |file: &Followed| file.reader.session().map(str::to_owned);
        let native_id = match first.first() {
            Some(record) => record.session.clone(),
            None => self.files.get(&rollout.path).and_then(of_file),
        }?;
        let file = TranscriptFile {
            session: SessionKey::hooked("codex", &native_id)?,
            host: "codex".into(),
            native_id,
            path: rollout.path.clone(),
            root: rollout.root.clone(),
            of_child: false,
        };
        let mut facts = Vec::new();
        for record in first {
            // A conversation that was resumed is as old as its file; this life of it as its process.
            let written_ms = record.at_ms.max(rollout.started_at_ms);
            let fact = |told| ToldRecord { record: None, written_ms, told };
            facts.extend(record.told.into_iter().map(fact));
            let seated = Told::Seated { process: rollout.process, pane: rollout.pane.clone() };
            facts.push(ToldRecord { record: None, written_ms, told: seated });
        }
        let news = self.news(&file);
        if !facts.is_empty() {
            facts.extend(news.into_iter().flat_map(|news| news.facts));
            let path = file.path.to_string_lossy().into_owned();
            return Some(TranscriptNews { session: file.session, host: file.host, path, fresh: true, facts });
        }
        news
    }

    fn news(&mut self, file: &TranscriptFile) -> Option<TranscriptNews> {
        if is_child_file(&file.path) != file.of_child {
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
        if !grown || reader.is_child() != file.of_child || others {
            return None;
        }
        let earlier = if file.of_child { None } else { reader.earlier(&file.native_id) };
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

/// A folder as it was named, and as it really is: a host may name its files either way.
fn roots(root: &Path) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(root).ok().filter(|real| real != root);
    std::iter::once(root.to_owned()).chain(real).collect()
}

impl Followed {
    /// Meets a file by its end, or waits for it to come.
    fn meet(&mut self, file: &TranscriptFile) {
        let roots = &roots(&file.root);
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

    use herdbook_events::{Process, WaitKind};

    use super::*;

    struct Bench {
        scratch: tempfile::TempDir,
        eye: Eye,
        rollouts: Vec<Rollout>,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { scratch: tempfile::tempdir().unwrap(), eye: Eye::default(), rollouts: Vec::new() }
        }

        fn file(&self, host: &str, id: &str) -> TranscriptFile {
            TranscriptFile {
                session: SessionKey::hooked(host, id).unwrap(),
                host: host.into(),
                native_id: id.into(),
                path: self.scratch.path().join(format!("{id}.jsonl")),
                root: self.scratch.path().to_owned(),
                of_child: false,
            }
        }

        fn append(&self, id: &str, line: &str) {
            let path = self.scratch.path().join(format!("{id}.jsonl"));
            let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(file, "{line}").unwrap();
        }

        fn look(&mut self, files: &[TranscriptFile]) -> Vec<(bool, Vec<Told>)> {
            let news = self.eye.look(files, &self.rollouts).into_iter();
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
    fn a_subagents_file_tells_only_what_was_answered() {
        let mut bench = Bench::new();
        let of_child = TranscriptFile { of_child: true, ..bench.file("claude", "agent-7") };
        let own = TranscriptFile { of_child: false, ..of_child.clone() };
        let result = r#"{"type":"user","uuid":"UUID","isSidechain":true,"sessionId":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"}]}}"#;
        bench.append("agent-7", &result.replace("UUID", "u1"));
        bench.append("agent-7", &STOPPED.replace(r#""uuid":"UUID""#, r#""uuid":"u2","isSidechain":true"#));
        let answered = Told::Answered { tool: "t1".into(), failed: true };
        assert_eq!(bench.look(&[own]), []);
        assert_eq!(bench.look(&[of_child]), [(false, vec![answered])]);
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
    fn a_codex_without_hooks_is_known_by_its_rollout() {
        let mut bench = Bench::new();
        let meta = r#"{"timestamp":"2026-01-15T09:00:00.000Z","type":"session_meta","payload":{"id":"a","cwd":"/w","source":"cli"}}"#;
        let started = r#"{"timestamp":"2026-01-15T09:00:01.000Z","type":"event_msg","payload":{"type":"task_started"}}"#;
        bench.append("a", meta);
        bench.append("a", started);
        let process = Process { pid: 7, start: Some(9) };
        bench.rollouts = vec![Rollout {
            path: bench.file("codex", "a").path,
            root: bench.scratch.path().to_owned(),
            process,
            started_at_ms: Some(5),
            pane: None,
        }];
        let opened = Told::Opened { cwd: Some("/w".into()), attended: Some(true) };
        let seated = Told::Seated { process, pane: None };
        assert_eq!(bench.look(&[]), [(true, vec![opened, seated, Told::TurnStarted])]);
        assert_eq!(bench.look(&[]), []);
        bench.append(
            "a",
            r#"{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"Done."}}"#,
        );
        let ended = Told::TurnEnded { kind: WaitKind::TurnEnd, message: "Done.".into() };
        assert_eq!(bench.look(&[]), [(true, vec![ended])]);
        // Its session is known by now: it is followed on, not met anew.
        bench.append("a", started);
        let named = [bench.file("codex", "a")];
        assert_eq!(bench.look(&named), [(true, vec![Told::TurnStarted])]);
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
