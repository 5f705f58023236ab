//! The daemon: unix sockets, loopback HTTP and lifecycle around the engine.
//!
//! One thread owns the [engine](herdbook_engine::Engine) and folds one input after another; what it wants written goes
//! to the journal's writer thread, and whoever sent the input is answered when that is done: hooks once the record is
//! `written`, posts once it is `synced` (overview D5). Everything else here is asynchronous plumbing around these two
//! threads.
//!
//! It never decides anything about sessions, never types into a pane, never listens on anything but loopback and unix
//! sockets, and never answers a peer of another uid. A panic costs one request, not the daemon.
//!
//! [`Past`] folds the journal again up to a moment, without any of that.
//!
//! Start with [`run()`], then `core` (the engine's thread), `serve` (connections), `http`.

pub mod retention;
pub mod routes;

mod agents;
mod aging;
mod answering;
mod asked;
mod attention;
mod clock;
mod closed;
mod config;
mod convert;
mod core;
mod deleting;
mod detector;
mod engine_loop;
mod error;
mod families;
mod focus;
mod frames;
mod guard;
mod holds;
mod http;
mod journal;
mod listen;
mod metrics;
mod own_file;
mod panes;
mod past;
mod patience;
mod peer;
mod processes;
mod reserve;
mod run;
mod screens;
mod serve;
mod service;
mod sessions;
mod settings;
mod spool;
mod stats;
mod steady;
mod store_file;
mod transcripts;
mod upkeep;

pub use clock::now;
pub use config::{DEFAULT_HTTP, DaemonConfig, Notice, Stop};
pub use error::DaemonError;
pub use past::{Past, PastError};
pub use run::run;
pub use screens::{ScreensError, own_manifest, screens_dir};
pub use service::Service;
pub use settings::{Retention, Settings, SettingsError};
