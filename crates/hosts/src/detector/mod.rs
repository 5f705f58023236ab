//! The detector, its pure half: which panes are watched for harnesses without hooks, and what their screens say.
//!
//! A pane is watched when its title begins with one of [`TITLES`] or a rule of the human names it ([`Rules`]). It waits
//! for its human when it has shown the same text for some time and that text ends in a prompt (`prompts.toml`, and the
//! human's own patterns); it goes on as soon as the text changes. [`Watch`] holds that for one pane, [`Roster`] for
//! all, and what they say are the reference's four events, from `registered` to `ended`.
//!
//! A look that failed, and a screen in copy mode or just resized, prove nothing: the time of quiet begins anew, and
//! what waited goes on to wait until a screen says otherwise.

mod roster;
mod rules;
#[cfg(test)]
mod tests;
mod watch;

pub use roster::{At, Look, Roster, Row, ServerId};
pub use rules::{Pattern, Rule, Rules, TITLES};
pub use watch::{Said, Screen, Watch};
