//! The herd as it was (`--at`), out of the journal: no daemon is asked, so it works when there is none.

use herdbook_daemon::{DaemonConfig, Past};

use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::env::Env;
use crate::error::Problem;
use crate::moment::moment_words;
use crate::printer::{Line, Printer, Style};
use crate::text::{age, counted};

/// Folds the journal of this environment up to a moment, Unix milliseconds.
///
/// # Errors
/// The places cannot be told, or nothing was recorded by then.
pub fn at(env: &Env, at_ms: u64) -> Result<Past, Problem> {
    let config = DaemonConfig::from_env(&env.places, env!("CARGO_PKG_VERSION"))?;
    Past::at(&config, at_ms).map_err(Problem::Past)
}

/// Says above a listing of which moment it is.
///
/// # Errors
/// stdout could not be written.
pub fn head(printer: &mut Printer, at_ms: u64) -> std::io::Result<()> {
    let ago = age(now_ms().saturating_sub(at_ms));
    let words = format!("as of {}, {ago} ago, from the journal", moment_words(at_ms));
    printer.line(&Line::new().text(&words, Style::Dim))
}

/// Says what a person should know of it: what could not be read, and what the journal does not hold yet.
pub fn tell_gaps(past: &Past, daemon: &Daemon, printer: &mut Printer) {
    let mut tell = |words: String| {
        printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(&words, Style::Plain));
    };
    if past.unread > 0 {
        tell(format!("{} of the journal could not be read", counted(past.unread, "record")));
    }
    match daemon.spooled() {
        0 => {}
        1 => tell("1 event waits in the spool and is not in the journal yet".to_owned()),
        many => tell(format!("{} wait in the spool and are not in the journal yet", counted(many, "event"))),
    }
}
