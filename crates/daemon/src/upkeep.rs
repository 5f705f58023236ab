//! Looks after old logs: a minute after the start, then each hour, one at a time and with rests.
//!
//! Nothing of it may end or slow the daemon: it works on a thread of its own, leaves alone what is open for writing, and
//! what does not work is told once, and stands in the status until a round in which it works.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use herdbook_redact::Redactor;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::aging::Old;
use crate::clock;
use crate::config::{Notice, until_stopped};
use crate::core::Core;
use crate::retention::Keeper;
use crate::sessions::SessionLogs;
use crate::settings::Retention;
use crate::spool::lock;
use crate::steady::Steady;

/// The start is not slowed.
const FIRST_AFTER: Duration = Duration::from_secs(60);
const EVERY: Duration = Duration::from_secs(3600);
/// What a warning of it begins with.
pub(crate) const UPKEEP: &str = "upkeep of logs";
/// So many things that did not work stand in the status.
const TOLD: usize = 10;
/// Between two logs it rests as long as the last one took, but no longer than this.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// What upkeep needs.
pub(crate) struct Upkeep {
    pub core: Core,
    pub state_dir: PathBuf,
    pub rules: Retention,
    pub redactor: Redactor,
    pub notice: Arc<dyn Fn(&Notice) + Send + Sync>,
    pub logs: Arc<SessionLogs>,
    pub standing: Standing,
}

/// What did not work in the last round, for who asks how the daemon does. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing(Arc<Mutex<Vec<String>>>);

impl Standing {
    /// Says it, a sentence each; beyond some of them how many more there are.
    pub(crate) fn failed(&self) -> Vec<String> {
        lock(&self.0).clone()
    }

    fn set(&self, mut failed: Vec<String>) {
        let more = failed.len().saturating_sub(TOLD);
        failed.truncate(TOLD);
        if more > 0 {
            failed.push(format!("{more} more things did not work"));
        }
        *lock(&self.0) = failed;
    }
}

/// Does it until the daemon ends.
pub(crate) async fn follow(upkeep: Upkeep, stop: watch::Receiver<bool>) {
    let ended = stop.clone();
    let work = async move {
        let fresh = || (Keeper::beside(Arc::clone(&upkeep.logs)), Steady::default());
        let (mut keeper, mut steady) = fresh();
        let mut told = HashSet::new();
        sleep(FIRST_AFTER).await;
        loop {
            // Whoever the queue knows keeps what it shows.
            let Ok(shown) = upkeep.core.look(|engine, _| engine.shown()).await else { return };
            let (state_dir, rules, redactor) =
                (upkeep.state_dir.clone(), upkeep.rules, upkeep.redactor.clone());
            let ended = ended.clone();
            let round = spawn_blocking(move || {
                let mut pace = Pace { began: Instant::now(), ended };
                let rules = steady.rules(&state_dir, rules, clock::wall_ms(), clock::boot_ms());
                // The journal first: what is shown may be other sessions when the long round is over.
                let old = Old { state_dir: &state_dir, rules, redactor: &redactor, shown: &shown };
                let left = old.leave_journal(clock::wall_ms(), &mut || pace.go_on());
                let mut round = keeper.round(&state_dir, rules, clock::wall_ms(), &mut || pace.go_on());
                round.failed.extend(left);
                (keeper, steady, round.failed)
            });
            // A round that panicked has lost what it learned, and nothing else.
            let failed = match round.await {
                Ok((keeper_back, steady_back, failed)) => {
                    (keeper, steady) = (keeper_back, steady_back);
                    failed
                }
                Err(_) => {
                    (keeper, steady) = fresh();
                    vec!["looking after old logs failed".to_owned()]
                }
            };
            for text in &failed {
                if told.len() < 1_000 && told.insert(text.clone()) {
                    (upkeep.notice)(&Notice::Warning(format!("{UPKEEP}: {text}")));
                }
            }
            upkeep.standing.set(failed);
            sleep(EVERY).await;
        }
    };
    until_stopped(work, stop).await;
}

/// Rests between two logs.
struct Pace {
    began: Instant,
    ended: watch::Receiver<bool>,
}

impl Pace {
    /// Rests, and says whether to go on.
    fn go_on(&mut self) -> bool {
        let rest_until = Instant::now() + self.began.elapsed().min(LONGEST_REST);
        while Instant::now() < rest_until && !*self.ended.borrow() {
            std::thread::sleep(Duration::from_millis(50).min(rest_until - Instant::now()));
        }
        self.began = Instant::now();
        !*self.ended.borrow()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use herdbook_engine::{Config, Engine};
    use herdbook_log::{Durability, NewRecord, Options, Sessions};
    use tokio::sync::mpsc;

    use super::*;
    use crate::core::Command;
    use crate::sessions::Refused;
    use crate::settings::Policy;

    /// A session whose one event is of 2026-01-01.
    fn session(sessions: &Sessions, key: &str) -> PathBuf {
        let (mut log, _) = sessions.open(key, Options::of_session(1)).unwrap();
        let record = NewRecord {
            id: "01KDWS62XR0000000000000001".to_owned(),
            ts_ms: 1_767_225_600_000,
            kind: "note".to_owned(),
            payload: "{}".to_owned(),
        };
        let (sender, answer) = std::sync::mpsc::channel();
        log.append(vec![record], Durability::Synced, move |done| drop(sender.send(done)));
        answer.recv().unwrap().unwrap();
        log.close();
        log.folder().to_owned()
    }

    fn logs_of(state: &std::path::Path) -> Arc<SessionLogs> {
        let clocks: (fn() -> herdbook_engine::Now, u64) = (clock::now, 1);
        let redactor = Redactor::new(&[0; 32]);
        Arc::new(SessionLogs::new(state, redactor, Policy::Barrier, clocks, Arc::new(|_| {})))
    }

    #[test]
    fn some_of_what_failed_stands_in_the_status_with_the_count_of_the_rest() {
        let standing = Standing::default();
        standing.set((0..13).map(|at| at.to_string()).collect());
        let failed = standing.failed();
        assert_eq!(
            (failed.len(), failed[9].as_str(), failed[10].as_str()),
            (11, "9", "3 more things did not work")
        );
    }

    #[tokio::test]
    async fn an_append_to_a_session_at_hand_waits_and_then_works() {
        let state = tempfile::tempdir().unwrap();
        let old = session(&Sessions::new(state.path()), "old");
        let logs = logs_of(state.path());
        let append = || {
            let renamed = br#"{"events":[{"type":"session.renamed","payload":{"title":"x"}}]}"#;
            let (logs, asked) = (Arc::clone(&logs), logs.read_append(renamed).unwrap());
            async move { logs.append("old", asked).await }
        };
        // As upkeep does: the turn, and then the LOCK.
        let alone = logs.alone("old").unwrap();
        let lock = herdbook_log::take_lock(&old, 1).unwrap();
        let mut appends = std::pin::pin!(append());
        tokio::select! {
            biased;
            early = &mut appends => panic!("{early:?}"),
            () = std::future::ready(()) => {}
        }
        drop(lock);
        drop(alone);
        assert_eq!(appends.await.unwrap().last_seq, 2);

        // And it takes the turn: while somebody else has it, the session is left alone.
        logs.close(true).await;
        let rules = Retention { journal_payload_days: 0, session_days: 0, compress_after_days: 14 };
        let mut keeper = Keeper::beside(Arc::clone(&logs));
        let mut round = || keeper.round(state.path(), rules, u64::MAX, &mut || true);
        let alone = logs.alone("old").unwrap();
        assert_eq!(round().compressed, 0);
        drop(alone);
        assert_eq!(round().compressed, 1);
        assert!(logs.alone("old").is_some(), "it is given back");

        // Another program that has the LOCK is named.
        let _lock = herdbook_log::take_lock(&old, 1).unwrap();
        let words = format!(
            "process {} works on the log of session 'old' (`herdbook log repair` and the like do); send the same again \
             when it has ended, or end it",
            std::process::id()
        );
        assert_eq!(append().await.unwrap_err(), Refused::Away(words));
    }

    /// Serves the next look at the engine, which each round begins with.
    async fn round(engine: &Engine, commands: &mut mpsc::Receiver<Command>) {
        match commands.recv().await {
            Some(Command::Look(look)) => look(engine, clock::now()),
            _ => panic!("no look"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_hour_old_sessions_are_looked_after_and_what_fails_is_told_once() {
        let state = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(state.path());
        let old = session(&sessions, "old");
        let open = session(&sessions, "open");
        let (kept_open, _) = sessions.open("open", Options::of_session(1)).unwrap();
        // A folder where the compressed file is to be made.
        let blocked = session(&sessions, "blocked");
        std::fs::create_dir(blocked.join("0000000001.jsonl.zst.tmp")).unwrap();

        let (core, mut commands) = Core::channel();
        let notices = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&notices);
        let standing = Standing::default();
        let upkeep = Upkeep {
            logs: logs_of(state.path()),
            standing: standing.clone(),
            core,
            state_dir: state.path().to_owned(),
            rules: Retention::default(),
            redactor: Redactor::new(&[0; 32]),
            notice: Arc::new(move |notice| told.lock().unwrap().push(notice.to_string())),
        };
        let (stop, stopped) = watch::channel(false);
        let began = tokio::time::Instant::now();
        let follows = tokio::spawn(follow(upkeep, stopped));
        let engine = Engine::new(Config::default());
        round(&engine, &mut commands).await;
        assert_eq!(began.elapsed().as_secs(), 60);
        assert!(old.join("0000000001.jsonl").exists());
        // The second round begins when the first one is done, an hour later.
        round(&engine, &mut commands).await;
        assert!(began.elapsed() >= Duration::from_secs(3660));
        let compressed = |folder: &std::path::Path| {
            (folder.join("0000000001.jsonl").exists(), folder.join("0000000001.jsonl.zst").exists())
        };
        assert_eq!(compressed(&old), (false, true));
        assert_eq!((compressed(&open), compressed(&blocked)), ((true, false), (true, false)));
        kept_open.close();
        drop(kept_open);
        round(&engine, &mut commands).await;
        round(&engine, &mut commands).await;
        assert_eq!(compressed(&open), (false, true));
        let told = notices.lock().unwrap().clone();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("upkeep of logs: could not change ") && told[0].contains("sessions/"));
        // It stands in the status until it works.
        assert_eq!(standing.failed(), [told[0].trim_start_matches("upkeep of logs: ")]);
        std::fs::remove_dir(blocked.join("0000000001.jsonl.zst.tmp")).unwrap();
        round(&engine, &mut commands).await;
        round(&engine, &mut commands).await;
        assert_eq!((compressed(&blocked), standing.failed().len()), ((false, true), 0));
        assert_eq!(notices.lock().unwrap().len(), 1);
        stop.send_replace(true);
        follows.await.unwrap();
    }
}
