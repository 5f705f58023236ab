//! Putting Herdbook into programs of the user's, and taking it out again.

pub mod tmux;
