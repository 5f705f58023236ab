//! Real clients against the real programs: how long was the queue wrong, and who could have known better?
//!
//! A scenario is played by the reference's driver: a client in a private tmux, on a model that is made up. Beforehand our
//! own `herdbook install` writes the hooks, as a user's would; the daemon is one of its own in a scratch folder. What
//! the queue said meanwhile is held against the truth of the recorded run. It never touches the user's daemon, settings
//! or tmux.
//!
//! Two more questions are asked of the same clients. [`harm`]: our hook program is removed, our daemon is stopped, our
//! daemon is frozen; does the client work on, is no line of ours on its screen or in its model's context, and is every
//! call taken in afterwards? [`latency`]: what do our hooks add to each step, with a daemon and without?
//!
//! And two of answers. [`routes::forms`]: each form in which a host can be told something, told by a hook that does
//! nothing else; does the client do what the table says? [`routes::live`]: routes that deny, ask, tell, crash and hang,
//! with the daemon between, and permission requests that are answered from elsewhere ([`routes::held`]).
//!
//! Start with [`play`], then [`score`] for the counting and [`truth`] for the form of the truth.

pub mod harm;
pub mod herd;
pub mod jump;
pub mod latency;
pub mod lines;
pub mod play;
pub mod routes;
pub mod score;
pub mod timeline;
pub mod traces;
pub mod truth;
