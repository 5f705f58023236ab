//! What is written outside our own folders, and taken away again.

pub mod systemd;
