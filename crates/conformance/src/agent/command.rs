//! The agent as a process: `herdbook-conformance agent KEY --socket PATH --sent FILE [--fate WHAT@STEP]…`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::agent::http::{Fate, FateKind, HttpBook};
use crate::agent::run::{Ending, Keeper, Witness, run};
use crate::agent::tale::tale;

/// The exit status of an agent that shut down in good order and has more to do.
pub const LEFT: u8 = 10;

/// Writes each history before it is sent, a JSON object a line: `session`, `seq` (the last one of the log), `messages`.
struct Sent(Option<File>);

impl Witness for Sent {
    fn asks(&mut self, session: &str, seq: u64, messages: &str) {
        if let Some(file) = &mut self.0 {
            let line = json!({"session": session, "seq": seq, "messages": messages});
            // A line that is missing is missed by the test.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

#[derive(Default)]
struct Arguments {
    key: String,
    socket: PathBuf,
    sent: Option<PathBuf>,
    fates: Vec<Fate>,
}

fn parse(words: &[OsString]) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} lacks its value"));
        match word.as_str() {
            "--socket" => arguments.socket = value()?.into(),
            "--sent" => arguments.sent = Some(value()?.into()),
            "--fate" => {
                let value = value()?;
                let fate = value
                    .split_once('@')
                    .and_then(|(kind, at)| Some(Fate { at: at.to_owned(), kind: FateKind::parse(kind)? }));
                arguments.fates.push(fate.ok_or_else(|| format!("--fate {value} is not known"))?);
            }
            _ if word.starts_with('-') || !arguments.key.is_empty() => {
                return Err(format!("'{word}' is too much"));
            }
            _ => arguments.key = word,
        }
    }
    if arguments.key.is_empty() { Err("the session's key is missing".to_owned()) } else { Ok(arguments) }
}

/// Plays the tale in the session of a key until it is over, the agent leaves, or something ends it.
///
/// # Errors
/// Why it could not go on, in words.
pub fn play(words: &[OsString]) -> Result<ExitCode, String> {
    let Arguments { key, socket, sent, fates } = parse(words)?;
    let sent = sent.map(|path| {
        let opened = File::options().create(true).append(true).open(&path);
        opened.map_err(|error| format!("{}: {error}", path.display()))
    });
    #[expect(clippy::disallowed_methods, reason = "an agent gives its ids and reads the clock for them")]
    let now_ms = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    };
    let mut witness = Sent(sent.transpose()?);
    let seed = now_ms() ^ u64::from(std::process::id()) << 40;
    let mut keeper = Keeper { seed, now_ms: &now_ms, witness: &mut witness };
    let mut book = HttpBook::new(&socket, &now_ms, fates);
    match run(&tale(), &key, &mut book, &mut keeper) {
        Ok(Ending::Over) => Ok(ExitCode::SUCCESS),
        Ok(Ending::Left) => Ok(ExitCode::from(LEFT)),
        Err(stopped) => Err(stopped.to_string()),
    }
}
