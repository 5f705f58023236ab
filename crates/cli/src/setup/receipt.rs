//! What a settings file was before us: a receipt in the state folder, and copies of what we replaced.
//!
//! Copies lie here and never beside the file: a host would load a copy in its hooks folder, and a project would commit
//! it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use herdbook_machine::{private_dir, replace_file, session_folder};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::refusal::Refusal;

/// The scope of the user's own settings.
pub const USER: &str = "user";
/// The scope of a project's settings.
pub const PROJECT: &str = "project";

/// The receipt of one settings file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The file.
    pub path: PathBuf,
    /// The host.
    pub host: String,
    /// [`USER`] or [`PROJECT`].
    pub scope: String,
    /// SHA-256 of the file as we wrote it.
    pub written: String,
    /// A copy of the file without our entries, as it was before we first wrote it; none where there was no file.
    pub before: Option<PathBuf>,
    /// Folders that we made for it, the outermost first.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

/// The folders for receipts and copies.
#[derive(Clone, Debug)]
pub struct Receipts {
    installed: PathBuf,
    /// Where copies go.
    pub backups: PathBuf,
}

impl Receipts {
    /// Receipts of this state folder. Makes nothing yet.
    pub fn of(state: &Path) -> Receipts {
        Receipts { installed: state.join("installed"), backups: state.join("backups") }
    }

    /// Reads the receipt of a file. One that cannot be read counts as lost: then our entries are found by their text.
    pub fn load(&self, file: &Path) -> Option<Receipt> {
        let bytes = fs::read(self.place(file)).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|receipt: &Receipt| receipt.path == file)
    }

    /// When the receipt of a file was last written, Unix milliseconds: our entries in it are as old.
    pub fn written_at(&self, file: &Path) -> Option<u64> {
        let written = fs::metadata(self.place(file)).ok()?.modified().ok()?;
        let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }

    /// Returns all receipts, sorted by file.
    pub fn all(&self) -> Vec<Receipt> {
        let entries = fs::read_dir(&self.installed).into_iter().flatten().filter_map(Result::ok);
        let texts = entries.filter_map(|entry| fs::read(entry.path()).ok());
        let mut receipts: Vec<Receipt> =
            texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect();
        receipts.sort_by(|one, other| one.path.cmp(&other.path));
        receipts
    }

    /// Writes a receipt.
    ///
    /// # Errors
    /// It could not be written.
    pub fn save(&self, receipt: &Receipt) -> Result<(), Refusal> {
        private_dir(&self.installed)?;
        let place = self.place(&receipt.path);
        let text = serde_json::to_vec(receipt).map_err(|error| Refusal::io("write", &place)(error.into()))?;
        replace_file(&place, &text, 0o600).map_err(Refusal::io("write", &place))
    }

    /// Throws a receipt away. The copies stay: they are the user's.
    pub fn forget(&self, file: &Path) {
        let _ = fs::remove_file(self.place(file));
    }

    /// Keeps a copy of a file's bytes. The same bytes are kept once.
    ///
    /// # Errors
    /// It could not be written.
    pub fn keep(&self, host: &str, file: &Path, bytes: &[u8]) -> Result<PathBuf, Refusal> {
        private_dir(&self.backups)?;
        let content = hash(bytes);
        let name = format!("{host}-{}-{}", key(file), content.get(..16).unwrap_or_default());
        let path = self.backups.join(name);
        if fs::read(&path).is_ok_and(|kept| kept == bytes) {
            return Ok(path);
        }
        replace_file(&path, bytes, 0o600).map_err(Refusal::io("write", &path))?;
        Ok(path)
    }

    /// Reads a copy that [`Receipts::keep`] made. Its name tells what was in it: one that was changed since, or that did
    /// not come whole onto the disk, is none.
    ///
    /// # Errors
    /// It cannot be read, or is not what was kept.
    pub fn copy(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = fs::read(path)?;
        let content = hash(&bytes);
        let is_ours = path.parent() == Some(self.backups.as_path());
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if is_ours && content.get(..16).is_some_and(|content| name.ends_with(&format!("-{content}"))) {
            return Ok(bytes);
        }
        Err(io::Error::other("it is not what was kept"))
    }

    fn place(&self, file: &Path) -> PathBuf {
        self.installed.join(format!("{}.json", key(file)))
    }
}

/// Returns the SHA-256 of bytes in hex.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key(file: &Path) -> String {
    session_folder(&file.to_string_lossy())
}
