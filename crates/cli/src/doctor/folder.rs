//! The state folder: there, ours, and closed to others (case F-111).

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use herdbook_wire::paths::{DirError, check_dir};

use super::check::{Check, Mend, finding};
use crate::error::whole;

/// Looks at the state folder; changes nothing.
pub fn state(dir: &Path) -> Check {
    let path = dir.display();
    match check_dir(dir) {
        Ok(found) if found.mode() & 0o077 != 0 => {
            let words = format!("{path} can be read by others (mode {:04o})", found.mode() & 0o7777);
            Check::warning("state", finding::UNSAFE_FOLDER, words)
                .fix(format!("chmod 0700 {path}"))
                .mend(Mend::Folder(dir.to_owned()))
        }
        Ok(_) => Check::ok("state", path.to_string()),
        Err(DirError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => {
            Check::warning("state", finding::NO_FOLDER, format!("{path} is not there yet"))
                .fix("herdbook up")
                .mend(Mend::Folder(dir.to_owned()))
        }
        Err(error @ DirError::Writable(..)) => {
            // What lies in it may have been put there by others, so a person looks first.
            Check::fault("state", finding::UNSAFE_FOLDER, whole(&error))
                .fix(format!("look through it, then chmod 0700 {path}"))
        }
        Err(error) => Check::fault("state", finding::UNSAFE_FOLDER, whole(&error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::super::check::Level;
    use super::*;

    #[test]
    fn every_way_to_spoil_a_folder_has_its_word() {
        let scratch = tempfile::tempdir().unwrap();
        let with_mode = |name: &str, mode| {
            let path = scratch.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let level = |path: &Path| (state(path).level, state(path).finding, state(path).mend.is_some());
        assert_eq!(level(&with_mode("good", 0o700)), (Level::Ok, None, false));
        assert_eq!(level(&with_mode("read", 0o755)), (Level::Warning, Some("unsafe-folder"), true));
        assert_eq!(level(&with_mode("written", 0o777)), (Level::Fault, Some("unsafe-folder"), false));
        assert_eq!(level(&scratch.path().join("none")), (Level::Warning, Some("no-folder"), true));
        symlink(scratch.path().join("good"), scratch.path().join("link")).unwrap();
        assert_eq!(level(&scratch.path().join("link")), (Level::Fault, Some("unsafe-folder"), false));
    }
}
