//! The `transcript` kind: our reader follows the files of a scratch folder.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herdbook_engine::{Config, Effect, Engine, Input, Now, ToldRecord, TranscriptNews};
use herdbook_events::SessionKey;
use herdbook_hosts::transcript::{Known, Reader, is_child_file};
use herdbook_machine::{Cursor, Piece, Tail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::{expectations, read_input_bytes};
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::real::process;
use crate::report::Line;

/// A check of the reader.
#[derive(Clone, Debug)]
pub struct TranscriptCheck {
    host: String,
    steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug)]
enum Step {
    /// Add bytes to a file; or put them in its place, in the same inode.
    Write {
        bytes: Vec<u8>,
        to: String,
        replace: bool,
    },
    Rename {
        from: String,
        to: String,
    },
    Delete(String),
    Run(Vec<String>),
    Attach {
        to: String,
        from_byte: Option<u64>,
    },
    Restart,
    /// `read` (true) or `scan`.
    Look(bool, Vec<Expectation>),
}

impl TranscriptCheck {
    /// Reads the steps.
    ///
    /// # Errors
    /// A step is not known or lacks a field; nothing is looked at.
    pub fn read(node: &Node<'_>, dir: &Path, host: &str) -> Result<TranscriptCheck, Problem> {
        let mut steps = Vec::new();
        for step in node.member("steps")?.list()? {
            let name = |key: &str| -> Result<String, Problem> {
                let member = step.member(key)?;
                let text = member.text()?;
                // Below the scratch folder, whatever the case says.
                let plain =
                    Path::new(text).components().all(|part| matches!(part, std::path::Component::Normal(_)));
                if plain && !text.is_empty() {
                    Ok(text.to_owned())
                } else {
                    Err(member.problem("must lie in the scratch folder"))
                }
            };
            steps.push(match step.member("do")?.text()? {
                word @ ("append" | "put") => Step::Write {
                    bytes: read_input_bytes(&step, dir, step.member("file")?.text()?)?,
                    to: name("to")?,
                    replace: word == "put",
                },
                "write" => Step::Write {
                    bytes: step.member("text")?.text()?.as_bytes().to_vec(),
                    to: name("to")?,
                    replace: step.flag_or_false("replace")?,
                },
                "rename" => Step::Rename { from: name("file")?, to: name("to")? },
                "delete" => Step::Delete(name("to")?),
                "run" => Step::Run(step.member("run")?.texts()?),
                "attach" => Step::Attach { to: name("to")?, from_byte: step.maybe_number("from_byte")? },
                "restart" => Step::Restart,
                word @ ("read" | "scan") => Step::Look(word == "read", expectations(&step)?.collect()),
                other => return Err(step.problem(format_args!("step '{other}' is not known"))),
            });
        }
        if steps.iter().any(|step| matches!(step, Step::Look(..))) {
            Ok(TranscriptCheck { host: host.to_owned(), steps })
        } else {
            Err(node.problem("reads nothing: it expects nothing"))
        }
    }

    /// The place and expected value of each expectation.
    pub fn expectations(&self) -> impl Iterator<Item = (String, &Value)> {
        self.steps.iter().enumerate().flat_map(|(index, step)| {
            let all = if let Step::Look(_, all) = step { all.as_slice() } else { &[] };
            all.iter().map(move |one| (format!("step {} {}", index + 1, one.path), &one.written))
        })
    }

    /// Runs the steps; one line for each expectation.
    pub fn run(&self, case: &str, check: &str, case_dir: &Path) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut bench = match Bench::new(&self.host) {
            Ok(bench) => bench,
            Err(error) => return vec![Line::broken(case, check, format!("no scratch folder: {error}"))],
        };
        for (index, step) in self.steps.iter().enumerate() {
            let observed = match bench.take(step, case_dir) {
                Ok(observed) => observed,
                Err(error) => {
                    lines.push(Line::broken(case, &format!("{check} step {}", index + 1), error));
                    return lines;
                }
            };
            if let Step::Look(_, expectations) = step {
                for one in expectations {
                    let (found, ok) = one.test(&observed);
                    let label = format!("{check} step {} {}", index + 1, one.path);
                    lines.push(Line::tested(case, label, one.written.clone(), found, ok));
                }
            }
        }
        lines
    }
}

/// How long a program of a case may run.
const PATIENCE: Duration = Duration::from_secs(60);
/// Who a file is of is read out of so much of its start.
const HEAD_BYTES: usize = 64 << 10;
/// A fixed time before all that the cases' records say.
const NOW: Now = Now { wall_ms: 1_767_225_600_000, mono_ms: 1_000_000 };

/// One file that is followed.
struct Followed {
    tail: Tail,
    reader: Reader,
    /// The next look is the silent catch-up.
    met: bool,
    /// Conversation records that stand in it, with their texts.
    stands: Vec<(String, String)>,
}

struct Bench {
    host: String,
    dir: TempDir,
    files: BTreeMap<PathBuf, Followed>,
    known: Known,
    engine: Engine,
    skipped: u64,
    skipped_big: u64,
    resets: u64,
    prompts: Vec<String>,
    turns: u64,
    took: Duration,
}

/// What came since the last look.
#[derive(Default)]
struct Since {
    new: Vec<String>,
    texts: Vec<String>,
    live: Vec<String>,
    moved: Vec<String>,
    error: Option<String>,
}

impl Bench {
    fn new(host: &str) -> io::Result<Bench> {
        let dir = tempfile::Builder::new().prefix("hb-").tempdir()?;
        forget_peak();
        Ok(Bench {
            host: host.to_owned(),
            dir,
            files: BTreeMap::new(),
            known: Known::default(),
            engine: Engine::new(Config::default()),
            skipped: 0,
            skipped_big: 0,
            resets: 0,
            prompts: Vec::new(),
            turns: 0,
            took: Duration::ZERO,
        })
    }

    fn take(&mut self, step: &Step, case_dir: &Path) -> Result<Value, String> {
        let failed = |error: io::Error| format!("the file could not be changed: {error}");
        let at = |name: &str| self.dir.path().join(name);
        match step {
            Step::Write { bytes, to, replace } => {
                let mut options = OpenOptions::new();
                options.create(true).append(!replace).write(true).truncate(*replace);
                options.open(at(to)).and_then(|mut file| file.write_all(bytes)).map_err(failed)?;
            }
            Step::Rename { from, to } => fs::rename(at(from), at(to)).map_err(failed)?,
            Step::Delete(name) => fs::remove_file(at(name)).map_err(failed)?,
            Step::Run(words) => self.program(words, case_dir)?,
            Step::Attach { to, from_byte } => {
                let (path, begun) = (at(to), Instant::now());
                let tail =
                    Tail::attach(&path, &self.roots(), *from_byte).map_err(|error| error.to_string())?;
                self.took += begun.elapsed();
                let reader = Reader::new(&self.host);
                self.files.insert(path, Followed { tail, reader, met: true, stands: Vec::new() });
            }
            Step::Restart => self.restart()?,
            Step::Look(true, _) => return Ok(self.read()),
            Step::Look(false, _) => return Ok(self.scan()),
        }
        Ok(Value::Null)
    }

    fn roots(&self) -> Vec<PathBuf> {
        vec![self.dir.path().to_owned()]
    }

    fn program(&self, words: &[String], case_dir: &Path) -> Result<(), String> {
        let case = std::path::absolute(case_dir).unwrap_or_else(|_| case_dir.to_owned());
        let fill = |word: &String| {
            let word = word.replace("@@CASE@@", &case.to_string_lossy());
            word.replace("@@DIR@@", &self.dir.path().to_string_lossy())
        };
        let words: Vec<String> = words.iter().map(fill).collect();
        let (program, arguments) = words.split_first().ok_or("run has no words")?;
        let mut command =
            process::command(program, &[("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
        command.args(arguments).current_dir(self.dir.path());
        let finished = process::run(command, PATIENCE).map_err(|error| format!("{program}: {error}"))?;
        match finished.exit {
            Some(0) => Ok(()),
            exit => {
                Err(format!("{program} ended with {exit:?}: {}", String::from_utf8_lossy(&finished.stderr)))
            }
        }
    }

    /// The readers are dropped and made again from what they keep, as text.
    fn restart(&mut self) -> Result<(), String> {
        let roots = self.roots();
        for (path, file) in &mut self.files {
            let kept = json!([file.tail.cursor(), file.reader]).to_string();
            let (cursor, reader): (Cursor, Reader) =
                serde_json::from_str(&kept).map_err(|error| error.to_string())?;
            (file.tail, file.reader) = (Tail::resume(path, &roots, cursor), reader);
        }
        self.known = Known::default();
        Ok(())
    }

    fn read(&mut self) -> Value {
        let begun = Instant::now();
        let mut since = Since::default();
        self.meet();
        let paths: Vec<PathBuf> = self.files.keys().cloned().collect();
        for path in &paths {
            // Until quiet.
            while self.look(path, &mut since) {}
        }
        let took = std::mem::take(&mut self.took) + begun.elapsed();
        let own: Vec<&Followed> = self.files.values().filter(|file| !file.reader.is_child()).collect();
        let stands: Vec<&(String, String)> = own.iter().flat_map(|file| &file.stands).collect();
        let (mut records, mut texts) = (Vec::new(), Vec::new());
        for (id, text) in &stands {
            records.push(id);
            texts.push(text);
        }
        let sessions: Vec<&str> = own.iter().filter_map(|file| file.reader.session()).collect();
        let aliases: Vec<&String> = own.iter().flat_map(|file| file.reader.aliases()).collect();
        let states = self.engine.sessions();
        let pending: u64 = self.files.keys().map(|path| pending(path, &self.files)).sum();
        json!({
            "new": since.new,
            "live": since.live,
            "moved": since.moved,
            "texts": since.texts,
            "records": records,
            "last": records.last(),
            "last_texts": texts.iter().rev().take(3).rev().collect::<Vec<_>>(),
            "prompts": self.prompts,
            "turns": self.turns,
            "skipped": self.skipped,
            "skipped_big": self.skipped_big,
            "resets": self.resets,
            "pending": pending,
            "session": sessions.first(),
            "sessions": sessions,
            "aliases": aliases,
            "conversations": own.len(),
            "state": states.first().map(|view| json!(view.state)),
            "error": since.error,
            "ms": ms(took),
            "peak_kib": peak_kib(),
        })
    }

    /// Files that came since the last look are followed from their start.
    fn meet(&mut self) {
        let Ok(entries) = fs::read_dir(self.dir.path()) else { return };
        let roots = self.roots();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "jsonl")
                && !self.files.contains_key(&path)
            {
                let (tail, reader) = (Tail::from_start(&path, &roots), Reader::new(&self.host));
                self.files.insert(path, Followed { tail, reader, met: false, stands: Vec::new() });
            }
        }
    }

    /// Looks once at a file. True: there is more to read.
    fn look(&mut self, path: &Path, since: &mut Since) -> bool {
        let Some(file) = self.files.get_mut(path) else { return false };
        let Followed { tail, reader, met, stands } = file;
        let (mut lines, mut facts, mut spoke) = (Vec::new(), Vec::new(), Vec::new());
        let (known, skipped) = (&mut self.known, &mut self.skipped);
        let looked = tail.look(|piece| {
            let line = match piece {
                Piece::Anew => return reader.reset(),
                Piece::Line(line) => line,
            };
            let line = reader.line(line, known);
            *skipped += u64::from(line.skipped);
            lines.extend(line.records);
        });
        let look = match looked {
            Ok(look) => look,
            Err(error) => {
                if !error.is_missing() {
                    since.error = Some(error.to_string());
                }
                return false;
            }
        };
        if look.reset {
            self.resets += 1;
            stands.clear();
        }
        self.skipped_big += look.too_long;
        for record in lines {
            if record.prompt && !record.past {
                self.prompts.push(record.text.clone());
            }
            self.turns += u64::from(record.turn && !record.past);
            for told in record.told {
                facts.push(ToldRecord { record: record.id.clone(), written_ms: record.at_ms, told });
            }
            let Some(id) = record.id.filter(|_| record.message && !record.past) else { continue };
            stands.push((id.clone(), record.text.clone()));
            if !record.known {
                since.texts.push(record.text);
                spoke.push(id);
            }
        }
        let fresh = !std::mem::take(met);
        if fresh {
            since.live.extend(spoke.iter().cloned());
        }
        since.new.extend(spoke);
        if let Some(session) = reader.session().and_then(|id| SessionKey::hooked(&self.host, id))
            && !reader.is_child()
        {
            let news = TranscriptNews {
                session,
                host: self.host.clone(),
                path: path.to_string_lossy().into_owned(),
                fresh,
                facts,
            };
            for effect in self.engine.step(NOW, Input::Transcript(news)) {
                if let Effect::Publish { event, .. } = effect {
                    since.moved.push(event.session_id().to_owned());
                }
            }
        }
        look.more
    }

    /// Which files of the folder are sessions: names tell first, then the head of what is left.
    fn scan(&mut self) -> Value {
        let begun = Instant::now();
        let (mut sessions, mut newest) = (Vec::new(), None);
        let roots = self.roots();
        for entry in fs::read_dir(self.dir.path()).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "jsonl") || is_child_file(&path) {
                continue;
            }
            let (mut reader, mut known) = (Reader::new(&self.host), Known::default());
            let read = herdbook_machine::head(&path, &roots, HEAD_BYTES, |line| {
                reader.line(line, &mut known);
            });
            let (Ok(()), false, Some(id)) = (read, reader.is_child(), reader.session()) else { continue };
            let changed = entry.metadata().and_then(|found| found.modified()).ok();
            if newest.as_ref().is_none_or(|(when, _)| changed > *when) {
                newest = Some((changed, id.to_owned()));
            }
            sessions.push(id.to_owned());
        }
        json!({
            "sessions": sessions,
            "newest_session": newest.map(|(_, id)| id),
            "ms": ms(begun.elapsed()),
            "peak_kib": peak_kib(),
            // Files are looked at by stat, none is watched.
            "watches": 0,
        })
    }
}

/// Bytes behind the last newline of a file.
fn pending(path: &Path, files: &BTreeMap<PathBuf, Followed>) -> u64 {
    let size = fs::metadata(path).map_or(0, |found| found.len());
    files.get(path).map_or(0, |file| size.saturating_sub(file.tail.cursor().offset))
}

fn ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// The most memory this process held since [`forget_peak`], in KiB: the reader's and everything else's.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

fn forget_peak() {
    // Where the system does not let us, the peak is that of the whole run, which asks for more.
    if let Ok(mut file) = OpenOptions::new().write(true).open("/proc/self/clear_refs") {
        drop(File::write_all(&mut file, b"5"));
    }
}
