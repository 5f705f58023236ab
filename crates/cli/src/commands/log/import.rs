//! `herdbook log import`: a log that another program wrote becomes the log of a session.

mod incoming;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::ValueEnum;
use herdbook_log::{Durability, NewRecord, OpenError, Options, Reader, SessionLog, Sessions};
use herdbook_story::Options as Rules;
use herdbook_wire::paths::{private_dir, state_dir};

use self::incoming::{Incoming, Survey};
use crate::clock::now_ms;
use crate::commands::Context;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::text::counted;

/// Take a log that KHAELOR or another program wrote into the state folder, as the log of a session
///
/// Ids, times and payloads stay as they are, and each line gets a checksum. A log that begins at seq 0 is shifted by one,
/// with every seq that its payloads name. Nothing is written where a checksum is wrong or an envelope breaks the rules E1
/// to E8; breaches of other rules are told. Importing the same file again changes nothing, and goes on where an import was
/// broken off. Secrets in it stay in it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The log, a file; - for stdin
    file: PathBuf,
    /// The session's key; without it, the one that the log's lines name
    #[arg(long = "as", value_name = "KEY")]
    key: Option<String>,
    /// Who wrote it
    #[arg(long, default_value = "native")]
    profile: Profile,
}

/// Who wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// A producer of session events
    Native,
    /// Another harness, with tools of other names; rules about steps that it does not tell only warn
    Imported,
}

const EXAMPLES: &str = "\
Examples:
  herdbook log import run.jsonl                        under the key that its lines name, demo-0001
  herdbook log export demo-0001 --profile khaelor      what was imported, byte for byte
  herdbook log import run.jsonl --as run-1             under another key, which its lines then name";

/// How many records, and about how many bytes, are appended at once.
const BATCH_RECORDS: usize = 512;
const BATCH_BYTES: usize = 4 << 20;

/// How often it is asked whether an append goes wrong that takes long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Imports it.
///
/// # Errors
/// The file cannot be read or is no log that can be kept, the session has other events already, or its log cannot be
/// written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let kept = keep(&args.file, context)?;
    let path = kept.as_ref().map_or(args.file.as_path(), |kept| kept.path());
    let rules = match args.profile {
        Profile::Native => Rules::native(),
        Profile::Imported => Rules::imported(),
    };
    let name = args.file.to_string_lossy();
    let survey = Incoming::open(path, &name)?.survey(rules, context.printer)?;
    let key = args.key.as_deref().unwrap_or(&survey.session_id);
    let state = state_dir(&context.env.places)?;
    let sessions = Sessions::new(&state);
    let have = if sessions.has(key) { compare(&sessions, key, path, &name)? } else { 0 };
    if have >= survey.lines {
        let words = format!("{key} has all of it already: {}", counted(survey.lines, "event"));
        context.printer.line(&Line::new().text(&words, Style::Plain))?;
        return Ok(Exit::Ok);
    }
    private_dir(&state)?;
    let (mut log, opened) =
        sessions.open(key, Options::of_session(now_ms())).map_err(|error| not_open(key, &error))?;
    if opened.last_seq != have {
        return Err(Problem::Log(format!("{key} was appended to meanwhile; import it again")));
    }
    append(&mut log, Incoming::open(path, &name)?, have, &survey)?;
    log.close();
    tell(context.printer, key, have, &survey)?;
    Ok(Exit::Ok)
}

/// Keeps what can be read only once in a file of our own, since it is read twice: looked at as a whole, then taken.
fn keep(path: &Path, context: &Context<'_>) -> Result<Option<tempfile::NamedTempFile>, Problem> {
    let is_stdin = path == Path::new("-");
    if !is_stdin && (path.is_file() || !path.exists()) {
        return Ok(None);
    }
    let unread = |source| Problem::File { what: "read", path: path.to_owned(), source };
    let folder = context.env.tmpdir.clone().map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let mut kept = tempfile::Builder::new().prefix("herdbook-import-").tempfile_in(folder).map_err(unread)?;
    if is_stdin {
        io::copy(&mut io::stdin().lock(), &mut kept).map_err(Problem::Input)?;
    } else {
        let mut file = std::fs::File::open(path).map_err(unread)?;
        io::copy(&mut file, &mut kept).map_err(unread)?;
    }
    kept.flush().map_err(unread)?;
    Ok(Some(kept))
}

/// Counts the events of the file that the session has already: all of the session's, or all of the file's.
fn compare(sessions: &Sessions, key: &str, path: &Path, name: &str) -> Result<u64, Problem> {
    let mut incoming = Incoming::open(path, name)?;
    let mut same = 0;
    for line in Reader::open(&sessions.folder(key)) {
        let line = line.map_err(|damage| Problem::Log(format!("the log of {key}: {damage}")))?;
        let Some(record) = incoming.next()? else { break };
        let is_same = line.seq == same + 1
            && line.id == record.id
            && line.ts_ms == record.ts_ms
            && line.kind == record.kind
            && line.payload == record.payload;
        if !is_same {
            return Err(Problem::OtherLog { key: key.to_owned(), seq: line.seq });
        }
        same = line.seq;
    }
    Ok(same)
}

/// Appends what the session does not have. The last batch is answered when all of it is synced.
fn append(log: &mut SessionLog, mut incoming: Incoming, have: u64, survey: &Survey) -> Result<(), Problem> {
    let (mut batch, mut bytes, mut seq) = (Vec::new(), 0, 0);
    while let Some(record) = incoming.next()? {
        seq += 1;
        if seq <= have {
            continue;
        }
        bytes += record.payload.len();
        batch.push(record);
        let is_last = seq == survey.lines;
        if is_last || batch.len() == BATCH_RECORDS || bytes >= BATCH_BYTES {
            bytes = 0;
            let durability = if is_last { Durability::Synced } else { Durability::Written };
            let last_seq = append_batch(log, std::mem::take(&mut batch), durability)?;
            if last_seq != seq {
                return Err(Problem::Log(format!("seq {seq} of the file became seq {last_seq}")));
            }
            if is_last {
                return Ok(());
            }
        }
    }
    Err(Problem::Log("the file was changed while it was read; import it again".to_owned()))
}

/// Appends one batch and waits for the answer. Returns the seq of its last record.
fn append_batch(log: &mut SessionLog, batch: Vec<NewRecord>, durability: Durability) -> Result<u64, Problem> {
    let (sender, receiver) = channel();
    log.append(batch, durability, move |answer| drop(sender.send(answer)));
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(Ok(ack)) => return Ok(ack.last_seq),
            Ok(Err(error)) => {
                return Err(Problem::Log(format!("the log cannot be written: {}", whole(&error))));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Problem::Log("the log's writer ended".to_owned()));
            }
            // The writer tries again for as long as it is let; whoever waits in front of a full disk wants to know.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(error) = log.health().error {
                    return Err(Problem::Log(format!("the log cannot be written: {error}")));
                }
            }
        }
    }
}

fn not_open(key: &str, error: &OpenError) -> Problem {
    match error {
        OpenError::Locked { pid, .. } => {
            let process = pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
            Problem::Log(format!("{process} has the log of {key} open; import it again once it is closed"))
        }
        error => Problem::Log(whole(error)),
    }
}

fn tell(printer: &mut Printer, key: &str, have: u64, survey: &Survey) -> Result<(), Problem> {
    let mut words = format!("{key}: {} imported and synced", counted(survey.lines - have, "event"));
    if have > 0 {
        words.push_str(&format!(", {have} were there"));
    }
    if survey.is_from_zero {
        words.push_str("; they began at seq 0, and each seq is one higher now");
    }
    if survey.session_id != key {
        words.push_str(&format!("; their session was called {}", survey.session_id));
    }
    printer.line(&Line::new().text(&words, Style::Plain))?;
    Ok(())
}
