//! The daemon and what it keeps: does it answer, on which sockets and ports, and is all of it written down.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_api::v1::{Listen, LogTrouble, Status};
use herdbook_api::{Client, ClientError};
use herdbook_redact::clean_line;
use herdbook_wire::paths::{SocketPlace, check_dir};
use herdbook_wire::spool::Entry;

use super::check::{Check, Mend, finding};
use crate::error::whole;
use crate::text::{age, counted};

/// A doctor asks several times, and must come to an end.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// An event that waits in the spool for less may be on its way.
const SPOOL_AGE_MS: u64 = 60_000;

/// Who answers on one socket.
#[derive(Debug)]
pub struct Socket {
    /// The socket.
    pub path: PathBuf,
    /// The file is there and is a socket.
    pub is_there: bool,
    /// Why its folder is not used.
    pub folder: Option<String>,
    /// The answer.
    pub answer: Result<Status, ClientError>,
}

impl Socket {
    /// Returns a client of the daemon that answers here.
    pub fn client(&self) -> Client {
        Client::new(vec![self.path.clone()]).with_timeout(PATIENCE)
    }
}

/// Asks on every socket of this environment by itself: two of them may lead to two daemons.
pub fn ask(places: Vec<SocketPlace>) -> Vec<Socket> {
    let look = |place: SocketPlace| {
        let found = std::fs::symlink_metadata(&place.path);
        let is_there = found.is_ok_and(|found| found.file_type().is_socket());
        let checked = place.path.parent().filter(|_| place.guarded && is_there).map(check_dir);
        let folder = checked.and_then(Result::err).map(|error| whole(&error));
        let client = Client::new(vec![place.path.clone()]).with_timeout(PATIENCE);
        let answer = match &folder {
            // A stranger's socket is not talked to.
            Some(_) => Err(ClientError::NotRunning { tried: vec![place.path.clone()] }),
            None => client.status(),
        };
        Socket { path: place.path, is_there, folder, answer }
    };
    places.into_iter().map(look).collect()
}

/// Looks whether a daemon answers, and whether it is ours.
pub fn daemon(sockets: &[Socket], own_version: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut answers = sockets.iter().filter_map(|socket| socket.answer.as_ref().ok());
    let Some(status) = answers.next() else {
        return vec![no_daemon(sockets)];
    };
    if let Some(other) = answers.find(|other| other.pid != status.pid) {
        let words = format!(
            "two daemons run: pid {} on {}, pid {} on {}",
            status.pid, status.state_dir, other.pid, other.state_dir
        );
        checks.push(
            Check::fault("daemon", finding::TWO_DAEMONS, words)
                .fix(format!("kill {}, then herdbook up", other.pid)),
        );
    }
    let words = format!("{}, pid {}, up {}", status.version, status.pid, age(status.uptime_ms));
    checks.push(if status.version == own_version {
        Check::ok("daemon", words)
    } else {
        let words = format!("{words}, but this command is {own_version}");
        Check::warning("daemon", finding::OTHER_VERSION, words).fix("herdbook up").mend(Mend::Start)
    });
    checks
}

fn no_daemon(sockets: &[Socket]) -> Check {
    let error = sockets.iter().filter_map(|socket| socket.answer.as_ref().err());
    match error.into_iter().find(|error| !error.is_not_running()) {
        Some(error) => {
            Check::fault("daemon", finding::DAEMON_HANGS, whole(error)).fix("herdbook down && herdbook up")
        }
        None => Check::fault("daemon", finding::DAEMON_DOWN, "it does not run: hooks go to the spool")
            .fix("herdbook up")
            .mend(Mend::Start),
    }
}

/// Looks at each socket of this environment.
pub fn sockets(sockets: &[Socket]) -> Vec<Check> {
    let is_up = sockets.iter().any(|socket| socket.answer.is_ok());
    let mut checks: Vec<Check> = sockets.iter().filter_map(|socket| faulty(socket, is_up)).collect();
    if checks.is_empty() && is_up {
        let paths = sockets.iter().filter(|socket| socket.answer.is_ok());
        let paths: Vec<String> = paths.map(|socket| socket.path.display().to_string()).collect();
        checks.push(Check::ok("socket", paths.join(", ")));
    }
    checks
}

fn faulty(socket: &Socket, is_up: bool) -> Option<Check> {
    let path = socket.path.display();
    if let Some(words) = &socket.folder {
        return Some(Check::fault("socket", finding::UNSAFE_FOLDER, words.clone()));
    }
    if !socket.answer.as_ref().is_err_and(ClientError::is_not_running) {
        return None;
    }
    if socket.is_there {
        let words = format!("nobody listens on {path}");
        return Some(
            Check::warning("socket", finding::STALE_SOCKET, words)
                .fix(format!("rm {path}"))
                .mend(Mend::Socket(socket.path.clone())),
        );
    }
    // The others answer, so hooks get through; but one that looks here only does not.
    let words = format!("the daemon does not listen on {path}: it was started in another environment");
    is_up.then(|| Check::warning("socket", finding::NO_SOCKET, words).fix("herdbook down && herdbook up"))
}

/// Looks at the HTTP addresses the daemon was to listen on.
pub fn ports(status: &Status) -> Vec<Check> {
    let check = |listen: &Listen| match listen.state.as_str() {
        Listen::LISTENING => Check::ok("port", listen.addr.clone()),
        Listen::TAKEN => taken(&listen.addr, listen.pid.zip(listen.name.clone())),
        _ => {
            let why = listen.error.clone().unwrap_or_else(|| "it is not listened on".to_owned());
            Check::warning("port", finding::PORT_TAKEN, format!("{}: {why}", listen.addr))
                .fix("set HERDBOOK_ADDR to another address")
        }
    };
    status.http.iter().map(check).collect()
}

/// A port that another process holds. Hooks and commands do not need it.
pub fn taken(addr: &str, holder: Option<(u32, String)>) -> Check {
    let holder = match holder {
        Some((pid, name)) => format!("{name} (pid {pid})"),
        None => "another process".to_owned(),
    };
    let words = format!("{addr} is taken by {holder}; hooks and commands use the socket");
    Check::warning("port", finding::PORT_TAKEN, words).fix("stop it, or set HERDBOOK_ADDR to another address")
}

/// Looks at what waits in the spool.
pub fn spool(entries: &[Entry], lost: u64, now_ms: u64, is_up: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    let oldest = entries.iter().map(|entry| entry.started_at_ms).min();
    let age_ms = oldest.map_or(0, |oldest| now_ms.saturating_sub(oldest));
    let waiting = counted(entries.len() as u64, "event");
    if entries.is_empty() {
        checks.push(Check::ok("spool", "empty"));
    } else if is_up && age_ms < SPOOL_AGE_MS {
        checks.push(Check::ok("spool", format!("{waiting} on the way")));
    } else {
        let words = format!("{waiting} waiting, the oldest for {}", age(age_ms));
        let check = Check::warning("spool", finding::SPOOLED, words);
        checks.push(if is_up {
            check.fix("read daemon.log in the state folder")
        } else {
            check.fix("herdbook up").mend(Mend::Start)
        });
    }
    if lost > 0 {
        let words = format!("{} lost: the spool could not take them", counted(lost, "event"));
        checks.push(Check::warning("spool", finding::LOST, words).fix("make room on the disk"));
    }
    checks
}

/// Looks at the journal's health as the daemon tells it.
pub fn journal(status: &Status) -> Vec<Check> {
    let journal = &status.journal;
    let mut checks = Vec::new();
    if let Some(error) = &journal.error {
        let words = format!("it cannot be written: {error}");
        checks.push(
            Check::fault("journal", finding::JOURNAL_ERROR, words)
                .fix(format!("make room in {}", status.state_dir)),
        );
    }
    if journal.lost > 0 {
        let words = format!("{} lost while it could not be written", counted(journal.lost, "record"));
        checks.push(Check::warning("journal", finding::LOST, words));
    }
    if let Some(first) = journal.damage.first() {
        let words =
            format!("damaged in {}, the first: {first}", counted(journal.damage.len() as u64, "place"));
        checks.push(
            Check::warning("journal", finding::DAMAGED, words)
                .fix("nothing to do: it goes on behind the damage, which is kept as it is"),
        );
    }
    if journal.unfolded > 0 {
        let words = format!("{} could not be read at the start", counted(journal.unfolded, "record"));
        checks.push(Check::warning("journal", finding::DAMAGED, words));
    }
    if checks.is_empty() {
        checks.push(Check::ok("journal", counted(journal.written_seq, "record")));
    }
    checks
}

/// Looks at the logs of sessions that have trouble, and at what upkeep could not do, as the daemon tells it.
pub fn session_logs(status: &Status) -> Vec<Check> {
    let check = |trouble: &LogTrouble| {
        let words = clean_line(&trouble.error);
        if trouble.is_unusable {
            return Check::warning("log", finding::DAMAGED, words)
                .fix("see `herdbook log check` and `herdbook log repair`");
        }
        let fix = format!("make room in {}, or see whether its disk fails", status.state_dir);
        Check::fault("log", finding::LOG_ERROR, words).fix(fix)
    };
    let upkeep = |failed: &String| {
        Check::warning("upkeep", finding::UPKEEP_FAILED, clean_line(failed))
            .fix("mend what it names; the daemon tries again each hour")
    };
    status.log_troubles.iter().map(check).chain(status.upkeep_failed.iter().map(upkeep)).collect()
}

/// Returns where the spool of a state folder is.
pub fn spool_dir(state: &Path) -> PathBuf {
    state.join(herdbook_wire::paths::SPOOL)
}

#[cfg(test)]
mod tests {
    use herdbook_api::v1::Journal;

    use super::super::check::Level;
    use super::*;

    fn status(pid: u32) -> Status {
        Status { version: "0.1.0".into(), pid, state_dir: "/s".into(), ..Status::default() }
    }

    fn socket(path: &str, is_there: bool, answer: Result<Status, ClientError>) -> Socket {
        Socket { path: path.into(), is_there, folder: None, answer }
    }

    fn silent(path: &str, is_there: bool) -> Socket {
        socket(path, is_there, Err(ClientError::NotRunning { tried: vec![] }))
    }

    fn words(checks: &[Check]) -> Vec<(Level, Option<&str>)> {
        checks.iter().map(|check| (check.level, check.finding)).collect()
    }

    #[test]
    fn a_daemon_must_answer_be_alone_and_of_our_version() {
        let up = || socket("/a", true, Ok(status(7)));
        assert_eq!(words(&daemon(&[up()], "0.1.0")), [(Level::Ok, None)]);
        let other = daemon(&[up()], "0.2.0");
        assert_eq!(words(&other), [(Level::Warning, Some("other-version"))]);
        assert!(other[0].message.ends_with("but this command is 0.2.0"), "{}", other[0].message);
        let down = daemon(&[silent("/a", false)], "0.1.0");
        assert_eq!(words(&down), [(Level::Fault, Some("daemon-down"))]);
        assert_eq!((down[0].fix.as_deref(), &down[0].mend), (Some("herdbook up"), &Some(Mend::Start)));
        let hangs = socket("/a", true, Err(ClientError::Timeout(PATIENCE)));
        assert_eq!(words(&daemon(&[hangs], "0.1.0")), [(Level::Fault, Some("daemon-hangs"))]);
        let two = daemon(&[up(), socket("/b", true, Ok(status(8)))], "0.1.0");
        assert_eq!(words(&two), [(Level::Fault, Some("two-daemons")), (Level::Ok, None)]);
    }

    #[test]
    fn a_socket_nobody_listens_on_is_named() {
        let up = || socket("/a", true, Ok(status(7)));
        assert_eq!(words(&sockets(&[up(), socket("/b", true, Ok(status(7)))])), [(Level::Ok, None)]);
        assert_eq!(words(&sockets(&[up(), silent("/b", false)])), [(Level::Warning, Some("no-socket"))]);
        let stale = sockets(&[silent("/b", true)]);
        assert_eq!(words(&stale), [(Level::Warning, Some("stale-socket"))]);
        assert_eq!(stale[0].mend, Some(Mend::Socket("/b".into())));
        assert_eq!(words(&sockets(&[silent("/b", false)])), [], "the daemon's own line says it");
    }

    #[test]
    fn a_taken_port_names_who_has_it() {
        let mut status = status(7);
        let listen = |state: &str, pid| Listen {
            addr: "127.0.0.1:4000".into(),
            state: state.into(),
            pid,
            name: pid.map(|_| "node".to_owned()),
            error: None,
        };
        status.http = vec![listen(Listen::LISTENING, None), listen(Listen::TAKEN, Some(42))];
        let checks = ports(&status);
        assert_eq!(words(&checks), [(Level::Ok, None), (Level::Warning, Some("port-taken"))]);
        assert!(checks[1].message.starts_with("127.0.0.1:4000 is taken by node (pid 42);"));
    }

    #[test]
    fn events_in_the_spool_are_counted_with_the_oldest() {
        let entry = |started_at_ms| Entry { boot: 1, stamp_ms: 1, started_at_ms, delivery: 1, bytes: 9 };
        let day = 86_400_000;
        assert_eq!(spool(&[], 0, day, false), [Check::ok("spool", "empty")]);
        assert_eq!(words(&spool(&[entry(day - 1_000)], 0, day, true)), [(Level::Ok, None)]);
        let old = spool(&[entry(day), entry(day - 7_200_000)], 3, day, false);
        assert_eq!(words(&old), [(Level::Warning, Some("spooled")), (Level::Warning, Some("lost"))]);
        assert_eq!(old[0].message, "2 events waiting, the oldest for 2h");
        assert_eq!(old[0].mend, Some(Mend::Start));
        assert_eq!(old[1].message, "3 events lost: the spool could not take them");
    }

    #[test]
    fn a_session_log_in_trouble_is_named() {
        let mut status = status(7);
        assert_eq!(session_logs(&status), []);
        let trouble = |error: &str, is_unusable| LogTrouble {
            session_id: "s".into(),
            error: error.into(),
            is_unusable,
        };
        status.log_troubles =
            vec![trouble("the log of session 's\u{1b}[2J': no space", false), trouble("damaged", true)];
        status.upkeep_failed = vec!["could not change s".into()];
        let checks = session_logs(&status);
        let expected = [
            (Level::Fault, Some("log-error")),
            (Level::Warning, Some("damaged")),
            (Level::Warning, Some("upkeep-failed")),
        ];
        assert_eq!(words(&checks), expected);
        assert!(!checks[0].message.contains('\u{1b}'), "{}", checks[0].message);
    }

    #[test]
    fn a_journal_that_cannot_be_written_is_a_fault_and_damage_is_not() {
        let mut status = status(7);
        status.journal = Journal { written_seq: 12, ..Journal::default() };
        assert_eq!(journal(&status), [Check::ok("journal", "12 records")]);
        status.journal.error = Some("no space left on device".into());
        status.journal.damage = vec!["segment 1, line 3: crc".into(), "segment 1, line 4: crc".into()];
        let checks = journal(&status);
        let expected = [(Level::Fault, Some("journal-error")), (Level::Warning, Some("damaged"))];
        assert_eq!(words(&checks), expected);
        assert_eq!(checks[1].message, "damaged in 2 places, the first: segment 1, line 3: crc");
    }
}
