//! Real clients and routes: what a host is told, and what becomes of it.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

pub mod acts;
pub mod facts;
pub mod forms;
pub mod held;
pub mod live;
pub mod probes;
pub mod report;
pub mod scene;

/// Makes a file of the run.
fn write(path: &Path, text: &str) -> Result<(), String> {
    File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes a script of the run.
fn write_program(path: &Path, text: &str) -> Result<(), String> {
    write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", path.display()))
}
