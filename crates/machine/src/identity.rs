//! Whether a recorded process is still the same one (field case F-091).

use serde::{Deserialize, Serialize};

/// Start times derived from clocks may differ by so many seconds and still mean one moment.
const CLOCK_SLACK_S: f64 = 5.0;

/// What makes a process that process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Process id.
    pub pid: u32,
    /// Start in clock ticks since boot.
    pub start_ticks: Option<u64>,
    /// The boot it ran in.
    pub boot_id: Option<String>,
    /// Start in Unix seconds, where that is all that is known; clock steps move it.
    pub boot_time: Option<f64>,
    /// It belongs to somebody else: an agent of ours it is not.
    pub other_user: bool,
}

/// What is known about a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It runs.
    Alive,
    /// It has ended; the pid is free or another's.
    Dead,
    /// What was recorded does not suffice to tell.
    Unknown,
    /// What was recorded cannot be an agent.
    Refuse,
}

/// Compares a recorded identity with what the pid is `now` (`None`: there is no such process).
pub fn same_process(recorded: Option<&Identity>, now: Option<&Identity>) -> Verdict {
    let Some(recorded) = recorded.filter(|recorded| recorded.pid != 0) else { return Verdict::Unknown };
    if recorded.pid == 1 {
        // Everything descends from it, and it never ends: a session bound to it would live for ever.
        return Verdict::Refuse;
    }
    let Some(now) = now.filter(|now| now.pid == recorded.pid && !now.other_user) else {
        return Verdict::Dead;
    };
    if let (Some(then), Some(now)) = (&recorded.boot_id, &now.boot_id)
        && then != now
    {
        return Verdict::Dead;
    }
    let is_same = match (recorded.start_ticks, now.start_ticks, recorded.boot_time, now.boot_time) {
        (Some(then), Some(now), _, _) => then == now,
        (_, _, Some(then), Some(now)) => (then - now).abs() <= CLOCK_SLACK_S,
        _ => return Verdict::Unknown,
    };
    if is_same { Verdict::Alive } else { Verdict::Dead }
}
