//! The demonstration: a private daemon, three stand-in agents, and the story they play.
//!
//! `stop` watches for Ctrl-C, `stage` starts the daemon and the agents and makes sure that all of it is gone at the end, `stand_in` is the program in each pane, `payloads` is what they send, `play` is the story.

pub mod payloads;
pub mod play;
pub mod stage;
pub mod stand_in;
pub mod stop;
