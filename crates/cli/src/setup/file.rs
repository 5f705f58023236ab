//! A settings file of a host: looked at, replaced whole, or removed.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use herdbook_machine::replace_unchanged;

use super::refusal::Refusal;

/// A file that we may edit, as it was when we looked.
#[derive(Debug)]
pub struct SettingsFile {
    /// As the host names it.
    pub path: PathBuf,
    /// Its bytes; none where there is no file.
    pub bytes: Option<Vec<u8>>,
}

impl SettingsFile {
    /// Looks at a file and reads it. Symlinks, of the file or of folders above it, are followed as long as they stay
    /// inside one of the `bases`: dotfiles managers link settings into the home.
    ///
    /// # Errors
    /// It is no regular file, another user's, or read-only, or its link leads away; see [`Refusal`].
    pub fn open(path: &Path, bases: &[PathBuf]) -> Result<SettingsFile, Refusal> {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(Refusal::Dangling { path: path.to_owned() });
                }
                check_folder_of(path, bases)?;
                return Ok(SettingsFile { path: path.to_owned(), bytes: None });
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let file = path.ancestors().skip(1).find(|folder| folder.is_file()).unwrap_or(path);
                return Err(Refusal::NotFolder { path: file.to_owned() });
            }
            Err(error) => return Err(Refusal::io("look at", path)(error)),
        };
        if !found.is_file() {
            return Err(Refusal::NotRegular { path: path.to_owned() });
        }
        let real = inside(path, path, bases)?;
        may_write(&real, &found)?;
        check_folder_of(&real, bases)?;
        let bytes = fs::read(&real).map_err(Refusal::io("read", path))?;
        Ok(SettingsFile { path: path.to_owned(), bytes: Some(bytes) })
    }

    /// The folders that have to be made for it, the outermost first.
    pub fn missing_folders(&self) -> Vec<PathBuf> {
        let folders = self.path.ancestors().skip(1).take_while(|folder| !folder.exists());
        let mut folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
        folders.reverse();
        folders
    }

    /// Writes new bytes, unless somebody else has written meanwhile. `is_shared`: others may read a new file.
    ///
    /// # Errors
    /// See [`Refusal`]; the file is then as it was.
    pub fn write(&self, bytes: &[u8], is_shared: bool) -> Result<(), Refusal> {
        let (folder_mode, file_mode) = if is_shared { (0o755, 0o644) } else { (0o700, 0o600) };
        for folder in self.missing_folders() {
            DirBuilder::new().mode(folder_mode).create(&folder).map_err(Refusal::io("make", folder))?;
        }
        match replace_unchanged(&self.path, self.bytes.as_deref(), bytes, file_mode) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::Changed { path: self.path.clone() }),
            Err(error) => Err(Refusal::io("write", &self.path)(error)),
        }
    }

    /// True when these bytes are in the file by now.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        fs::read(&self.path).is_ok_and(|now| now == bytes)
    }

    /// Removes the file, unless somebody else has written it meanwhile; with it the symlink that leads to it.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn remove(&self) -> Result<(), Refusal> {
        let now = fs::read(&self.path).map_err(Refusal::io("read", &self.path))?;
        if self.bytes.as_ref() != Some(&now) {
            return Err(Refusal::Changed { path: self.path.clone() });
        }
        let real = fs::canonicalize(&self.path).map_err(Refusal::io("look at", &self.path))?;
        fs::remove_file(&real).map_err(Refusal::io("remove", &real))?;
        if self.path.is_symlink() {
            fs::remove_file(&self.path).map_err(Refusal::io("remove", &self.path))?;
        }
        Ok(())
    }
}

/// Looks at the folder that is there already, of those that a file needs.
fn check_folder_of(path: &Path, bases: &[PathBuf]) -> Result<(), Refusal> {
    let Some(folder) = path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok()) else {
        return Ok(());
    };
    let found = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => found,
        Ok(_) => return Err(Refusal::NotFolder { path: folder.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Refusal::Dangling { path: folder.to_owned() });
        }
        Err(error) => return Err(Refusal::io("look at", folder)(error)),
    };
    let real = inside(folder, path, bases)?;
    may_write(&real, &found)
}

/// Returns the path without symlinks, when it is inside one of the bases.
fn inside(path: &Path, named: &Path, bases: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let real = fs::canonicalize(path).map_err(Refusal::io("look at", path))?;
    let is_inside = bases.iter().any(|base| match fs::canonicalize(base) {
        Ok(base) => real.starts_with(base),
        // It is still to be made, below what we look at.
        Err(_) => base.starts_with(&real),
    });
    if is_inside {
        return Ok(real);
    }
    let base = bases.first().cloned().unwrap_or_default();
    Err(Refusal::Away { path: named.to_owned(), to: real, base })
}

/// The mode counts, not whether the system would let us: a user who made a file read-only meant it, and root can write
/// everything.
fn may_write(path: &Path, found: &Metadata) -> Result<(), Refusal> {
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Refusal::Foreign { path: path.to_owned(), uid: found.uid() });
    }
    if found.mode() & 0o200 == 0 {
        return Err(Refusal::ReadOnly { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "another program writes as it likes")]
    fn a_file_that_changed_since_we_read_it_is_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let bases = [scratch.path().to_owned()];
        let path = scratch.path().join("settings.json");
        let missing = SettingsFile::open(&path, &bases).unwrap();
        fs::write(&path, b"{}").unwrap();
        let seen = SettingsFile::open(&path, &bases).unwrap();
        assert!(matches!(missing.write(b"ours", false), Err(Refusal::Changed { .. })));
        fs::write(&path, b"{\"theirs\": 1}").unwrap();
        assert!(matches!(seen.write(b"ours", false), Err(Refusal::Changed { .. })));
        assert!(matches!(seen.remove(), Err(Refusal::Changed { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"{\"theirs\": 1}");
        let seen = SettingsFile::open(&path, &bases).unwrap();
        seen.write(b"ours", false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
    }

    #[test]
    fn a_base_that_is_still_to_be_made_is_no_way_out() {
        let scratch = tempfile::tempdir().unwrap();
        let [home, new] = ["home", "new/config"].map(|name| scratch.path().join(name));
        fs::create_dir(&home).unwrap();
        std::os::unix::fs::symlink("/", home.join(".claude")).unwrap();
        let away = SettingsFile::open(&home.join(".claude/x/settings.json"), std::slice::from_ref(&home));
        assert!(matches!(away, Err(Refusal::Away { .. })), "{away:?}");
        SettingsFile::open(&new.join("settings.json"), &[home, new.clone()]).unwrap();
    }
}
