//! What `--fix` does: only what is safe, and settings only with consent.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use herdbook_wire::paths::{private_dir, socket_address};

use super::check::{Check, Mend};
use crate::commands::{Context, install, up};
use crate::error::{Problem, whole};
use crate::printer::{Line, Style};
use crate::setup::tmux;

/// Does what the checks offer, each thing once, in an order that helps: folders, sockets, daemon, hooks. Says what it
/// did. True when anything was tried, so that it is worth looking again.
pub fn mend(checks: &[Check], yes: bool, context: &mut Context<'_>) -> bool {
    let mut wanted: Vec<&Mend> = Vec::new();
    for mend in checks.iter().filter_map(|check| check.mend.as_ref()) {
        if !wanted.contains(&mend) {
            wanted.push(mend);
        }
    }
    wanted.sort_by_key(|mend| match mend {
        Mend::Folder(_) => 0,
        Mend::Socket(_) => 1,
        Mend::Start => 2,
        Mend::Install(_) => 3,
        Mend::Tmux => 4,
    });
    for mend in &wanted {
        let done = match mend {
            Mend::Folder(dir) => private_dir(dir)
                .map(|()| format!("{} is yours alone now", dir.display()))
                .map_err(Problem::from),
            Mend::Socket(path) => remove_dead(path)
                .map(|()| format!("removed {}", path.display()))
                .map_err(|source| Problem::File { what: "remove", path: path.clone(), source }),
            Mend::Start => {
                // It says by itself what it did.
                if let Err(problem) = up::run(&up::Args::default(), context) {
                    problem.tell(context.printer);
                }
                continue;
            }
            Mend::Install(host) => {
                if let Err(problem) = install::host(host, yes, context) {
                    problem.tell(context.printer);
                }
                continue;
            }
            Mend::Tmux => {
                let options = tmux::Options { yes, ..tmux::Options::default() };
                if let Err(problem) = tmux::install(context, &options) {
                    problem.tell(context.printer);
                }
                continue;
            }
        };
        let line = match &done {
            Ok(words) => Line::new().styled("mended:", Style::Good).own(" ").text(words, Style::Plain),
            Err(problem) => {
                Line::new().styled("not mended:", Style::Alarm).own(" ").text(&whole(problem), Style::Plain)
            }
        };
        context.printer.say(&line);
    }
    !wanted.is_empty()
}

/// Removes a socket file, unless somebody listens on it by now or it is something else.
fn remove_dead(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::other("it is no socket"));
    }
    match UnixStream::connect(&socket_address(path)?.path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::other("somebody listens on it now")),
    }
}
