//! Replays: the engine in virtual time, fresh for each check.

pub mod check;
mod eye;
pub mod files;
pub mod herd;
pub mod origin;
pub mod step;

use crate::needs::Abilities;
use crate::report::Line;
use check::CheckKey;
use herd::VirtualHerd;
use step::{Act, Step};

/// Runs a replay and returns one line for each key of its check steps.
///
/// Keys that need what the runner lacks are reported as not run; the rest is decided.
pub fn run(case: &str, stem: &str, steps: &[Step], abilities: &Abilities) -> Vec<Line> {
    let mut herd = VirtualHerd::new();
    let mut lines = Vec::new();
    for step in steps {
        herd.advance_to(step.t_ms);
        match &step.act {
            Act::Check(keys) => {
                for key in keys {
                    let label = label(stem, step, key);
                    lines.push(match key.need().filter(|need| !abilities.meets(need)) {
                        Some(need) => Line::not_run(case, label, key.written().clone(), need),
                        None => {
                            let (observed, ok) = key.test(&mut herd);
                            Line::tested(case, label, key.written().clone(), Some(observed), ok)
                        }
                    });
                }
            }
            act => herd.take(act),
        }
    }
    lines
}

/// Returns the lines of a replay that is not run at all.
pub fn not_run(case: &str, stem: &str, steps: &[Step], reason: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for step in steps {
        if let Act::Check(keys) = &step.act {
            for key in keys {
                lines.push(Line::not_run(case, label(stem, step, key), key.written().clone(), reason));
            }
        }
    }
    lines
}

fn label(stem: &str, step: &Step, key: &CheckKey) -> String {
    format!("{stem}@{} {}", step.t_ms, key.name())
}
