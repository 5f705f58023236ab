//! Whether the wall clock, and a human who wrote a rule, are believed at once.
//!
//! A clock that stands a year ahead makes everything old, and a rule of 3 days may have been meant as 30. What is deleted does
//! not come back. So a day of hourly rounds goes by, in which nothing is, after the first start, after each jump of the
//! clock and after each change of the rules. How many went by lies in `upkeep.json` of the state folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::own_file;
use crate::settings::Retention;

/// The file, in the state folder.
const FILE: &str = "upkeep.json";
const HOUR_MS: u64 = 3600 * 1000;
/// So many rounds go by before anything is deleted.
const ROUNDS: u32 = 24;
/// Rounds that follow each other sooner, since the daemon was started again, count once.
const LEAST_MS: u64 = HOUR_MS / 2;
/// No daemon ran for longer than this, or the clock jumped: nobody can tell which.
const GAP_MS: u64 = 8 * 24 * HOUR_MS;
/// How far the wall clock and the time since boot may come apart between two rounds.
const DRIFT_MS: u64 = HOUR_MS;

/// What is known of earlier rounds.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// Unix milliseconds of the last round that counted.
    at: u64,
    /// How many rounds there were since the last jump.
    rounds: u32,
    /// The rules of that round.
    session_days: u64,
    journal_payload_days: u64,
}

/// Counts rounds.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    kept: Option<Kept>,
    /// Wall clock and time since boot at the last round of this process, in milliseconds.
    last: Option<(u64, u64)>,
}

impl Steady {
    /// Counts a round, and returns the rules for it: where the clock or the rules are too new to be believed, those by which
    /// nothing is deleted.
    pub(crate) fn rules(
        &mut self,
        state_dir: &Path,
        rules: Retention,
        wall_ms: u64,
        boot_ms: u64,
    ) -> Retention {
        let kept = self.kept.take().unwrap_or_else(|| read(state_dir).unwrap_or_default());
        let is_steady = self.last.replace((wall_ms, boot_ms)).is_none_or(|(wall_before, boot_before)| {
            let passed = boot_ms.saturating_sub(boot_before);
            wall_ms.abs_diff(wall_before.saturating_add(passed)) <= DRIFT_MS
        });
        let is_near =
            wall_ms.saturating_add(DRIFT_MS) >= kept.at && wall_ms.saturating_sub(kept.at) <= GAP_MS;
        let Retention { session_days, journal_payload_days, .. } = rules;
        let is_same = (kept.session_days, kept.journal_payload_days) == (session_days, journal_payload_days);
        let now = if !(is_steady && is_near && is_same) {
            Kept { at: wall_ms, rounds: 0, session_days, journal_payload_days }
        } else if wall_ms.saturating_sub(kept.at) >= LEAST_MS {
            Kept { at: wall_ms, rounds: kept.rounds.saturating_add(1), ..kept }
        } else {
            kept
        };
        // Where it cannot be written the day begins again with the next start.
        drop(write(state_dir, &now));
        let is_believed = now.rounds >= ROUNDS;
        self.kept = Some(now);
        if is_believed { rules } else { Retention { session_days: 0, journal_payload_days: 0, ..rules } }
    }
}

fn read(state_dir: &Path) -> Option<Kept> {
    let text = own_file::read(&state_dir.join(FILE)).ok()??;
    serde_json::from_str(&text).ok()
}

fn write(state_dir: &Path, kept: &Kept) -> io::Result<()> {
    let temp = state_dir.join(format!("{FILE}.tmp"));
    let mut file = own_file::open(OpenOptions::new().write(true).create(true).truncate(true), &temp)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_data()?;
    fs::rename(&temp, state_dir.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 24 * HOUR_MS;
    /// 2026-01-01T00:00:00Z.
    const START_MS: u64 = 1_767_225_600_000;
    const RULES: Retention =
        Retention { journal_payload_days: 30, session_days: 90, compress_after_days: 14 };

    fn is_believed(steady: &mut Steady, state: &Path, rules: Retention, wall_ms: u64, boot_ms: u64) -> bool {
        let given = steady.rules(state, rules, wall_ms, boot_ms);
        let nothing = Retention { session_days: 0, journal_payload_days: 0, ..rules };
        assert!(given == rules || given == nothing);
        given == rules
    }

    /// Rounds each hour until they are believed; returns how many were not.
    fn waits(steady: &mut Steady, state: &Path, wall_ms: &mut u64, boot_ms: &mut u64) -> u32 {
        let mut count = 0;
        while !is_believed(steady, state, RULES, *wall_ms, *boot_ms) {
            count += 1;
            assert!(count < 100);
            *wall_ms += HOUR_MS;
            *boot_ms += HOUR_MS;
        }
        count
    }

    #[test]
    fn a_day_of_rounds_goes_by_after_the_start_and_after_each_jump() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        let (mut wall, mut boot) = (START_MS, 5);
        let mut steady = Steady::default();
        assert_eq!(waits(&mut steady, state, &mut wall, &mut boot), 24);
        // Sleep is counted by both clocks.
        (wall, boot) = (wall + 3 * DAY_MS, boot + 3 * DAY_MS);
        assert_eq!(waits(&mut steady, state, &mut wall, &mut boot), 0);
        // A year ahead, and back; and the clock at 0.
        wall += 365 * DAY_MS;
        assert_eq!(waits(&mut steady, state, &mut wall, &mut boot), 24);
        wall -= 365 * DAY_MS;
        assert_eq!(waits(&mut steady, state, &mut wall, &mut boot), 24);
        wall = 0;
        assert!(!is_believed(&mut steady, state, RULES, wall, boot));
    }

    #[test]
    fn it_is_known_after_a_restart_unless_that_is_long_ago() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        let (mut wall, mut boot) = (START_MS, 5);
        assert_eq!(waits(&mut Steady::default(), state, &mut wall, &mut boot), 24);
        (wall, boot) = (wall + 7 * DAY_MS, 9);
        assert_eq!(waits(&mut Steady::default(), state, &mut wall, &mut boot), 0);
        // The clock was wrong when the machine started, or the machine was off.
        for jumped in [wall + 9 * DAY_MS, wall + 365 * DAY_MS, wall - DAY_MS] {
            assert!(!is_believed(&mut Steady::default(), state, RULES, jumped, 9));
            wall = jumped;
            assert_eq!(waits(&mut Steady::default(), state, &mut wall, &mut boot), 24);
        }
        // What cannot be read is not believed.
        drop(fs::remove_file(state.join(FILE)));
        assert!(!is_believed(&mut Steady::default(), state, RULES, wall, 9));
    }

    #[test]
    fn what_lies_in_the_place_of_the_new_file_is_neither_written_nor_waited_for() {
        let state = tempfile::tempdir().unwrap();
        let (victim, temp) = (state.path().join("victim"), state.path().join("upkeep.json.tmp"));
        drop(fs::File::create(&victim).unwrap());
        std::os::unix::fs::symlink(&victim, &temp).unwrap();
        assert!(!is_believed(&mut Steady::default(), state.path(), RULES, START_MS, 5));
        assert_eq!(fs::metadata(&victim).unwrap().len(), 0);
        fs::remove_file(&temp).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &temp, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(!is_believed(&mut Steady::default(), state.path(), RULES, START_MS, 5));
        assert!(!state.path().join(FILE).exists());
    }

    #[test]
    fn starts_in_a_row_count_once_and_a_new_rule_begins_anew() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        for start in 0..100 {
            assert!(!is_believed(&mut Steady::default(), state, RULES, START_MS + start * 1_000, 9));
        }
        let (mut wall, mut boot) = (START_MS, 5);
        let mut steady = Steady::default();
        assert_eq!(waits(&mut steady, state, &mut wall, &mut boot), 24);
        let shorter = Retention { session_days: 3, ..RULES };
        assert!(!is_believed(&mut Steady::default(), state, shorter, wall, 9));
    }
}
