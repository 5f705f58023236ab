//! The facts about the hosts: their programs and versions, their settings, what they sent.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use herdbook_api::Client;
use herdbook_api::v1::{HostHooks, Hooks};
use herdbook_hosts::{HOSTS, HostTable, settings};
use herdbook_machine::Command;

use super::check::Check;
use super::hosts::{self, Facts, File, Ours, Trust};
use crate::clock::now_ms;
use crate::env::Env;

/// A client that does not tell its version in this time is taken to have none that is known.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);
