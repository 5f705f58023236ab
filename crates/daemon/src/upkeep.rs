//! Looks after old logs: a minute after the start, then each hour, one at a time and with rests.
//!
//! Nothing of it may end or slow the daemon: it works on a thread of its own, leaves alone what is open for writing, and
//! what does not work is told once.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use herdbook_engine::{Engine, Shown};
use herdbook_redact::Redactor;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::aging::Old;
use crate::clock;
use crate::config::{Notice, until_stopped};
use crate::core::Core;
use crate::retention::Keeper;
use crate::settings::Retention;

/// The start is not slowed.
const FIRST_AFTER: Duration = Duration::from_secs(60);
const EVERY: Duration = Duration::from_secs(3600);
/// Between two logs it rests as long as the last one took, but no longer than this.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// What upkeep needs.
pub(crate) struct Upkeep {
    pub core: Core,
    pub state_dir: PathBuf,
    pub rules: Retention,
    pub redactor: Redactor,
    pub notice: Arc<dyn Fn(&Notice) + Send + Sync>,
}

/// Does it until the daemon ends.
pub(crate) async fn follow(upkeep: Upkeep, stop: watch::Receiver<bool>) {
    let ended = stop.clone();
    let work = async move {
        let mut keeper = Keeper::default();
        let mut told = HashSet::new();
        sleep(FIRST_AFTER).await;
        loop {
            // Whoever the queue knows keeps what it shows.
            let Ok(shown) = upkeep.core.look(|engine, _| shown(engine)).await else { return };
            let (state_dir, rules, redactor) =
                (upkeep.state_dir.clone(), upkeep.rules, upkeep.redactor.clone());
            let ended = ended.clone();
            let round = spawn_blocking(move || {
                let mut pace = Pace { began: Instant::now(), ended };
                let mut round = keeper.round(&state_dir, rules, clock::wall_ms(), &mut || pace.go_on());
                let old = Old { state_dir: &state_dir, rules, redactor: &redactor, shown: &shown };
                round.failed.extend(old.leave_journal(clock::wall_ms(), &mut || pace.go_on()));
                (keeper, round.failed)
            });
            // A round that panicked has lost what it learned, and nothing else.
            let failed = match round.await {
                Ok((back, failed)) => {
                    keeper = back;
                    failed
                }
                Err(_) => {
                    keeper = Keeper::default();
                    vec!["looking after old logs failed".to_owned()]
                }
            };
            for text in failed {
                if told.len() < 1_000 && told.insert(text.clone()) {
                    (upkeep.notice)(&Notice::Warning(format!("upkeep of logs: {text}")));
                }
            }
            sleep(EVERY).await;
        }
    };
    until_stopped(work, stop).await;
}

/// What an engine shows.
fn shown(engine: &Engine) -> Shown {
    let mut shown = Shown::default();
    for view in engine.sessions() {
        shown.sessions.insert(view.key);
        shown.sessions.extend(view.linked);
        shown.panes.extend(view.pane);
    }
    shown
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
