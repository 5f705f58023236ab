//! `store.json`: the format of the store, its id, and the key of redaction marks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use herdbook_events::Ulid;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::DaemonError;

/// The format this build writes and reads.
const FORMAT: u32 = 1;
const NAME: &str = "store.json";
const MAX_BYTES: u64 = 64 << 10;

/// What `store.json` says.
#[derive(Clone, Debug)]
pub(crate) struct StoreFile {
    pub store_id: String,
    pub redact_key: [u8; 32],
}

/// On disk. Members a newer build adds are passed over; a newer format is refused.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    format: u32,
    store_id: String,
    redact_key: String,
}

impl StoreFile {
    /// Reads the file, or makes it when it is not there. Call it with the store's LOCK held.
    pub(crate) fn load_or_make(state_dir: &Path, wall_ms: u64) -> Result<StoreFile, DaemonError> {
        let path = state_dir.join(NAME);
        let refused = |reason: String| DaemonError::StoreFile { path: path.clone(), reason };
        match open(&path) {
            Ok(file) => {
                let mut text = String::new();
                file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
                parse(&text).map_err(refused)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(state_dir, wall_ms).map_err(|error| refused(error.to_string()))
            }
            Err(error) => Err(refused(error.to_string())),
        }
    }
}

fn parse(text: &str) -> Result<StoreFile, String> {
    let wire: Wire = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if wire.format != FORMAT {
        return Err(format!("format {} is not the format {FORMAT} of this build", wire.format));
    }
    let mut redact_key = [0; 32];
    let digits = wire.redact_key.as_bytes();
    if digits.len() != 64 || !digits.is_ascii() {
        return Err("member 'redactKey' is not 64 hex digits".to_owned());
    }
    for (byte, pair) in redact_key.iter_mut().zip(wire.redact_key.as_bytes().chunks(2)) {
        *byte = std::str::from_utf8(pair)
            .ok()
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .ok_or("member 'redactKey' is not 64 hex digits")?;
    }
    Ok(StoreFile { store_id: wire.store_id, redact_key })
}

fn make(state_dir: &Path, wall_ms: u64) -> io::Result<StoreFile> {
    let mut redact_key = [0; 32];
    fill_random(&mut redact_key)?;
    let mut random = [0; 16];
    fill_random(&mut random)?;
    let store_id = Ulid::from_parts(wall_ms, u128::from_le_bytes(random)).to_string();
    let hex: String = redact_key.iter().map(|byte| format!("{byte:02x}")).collect();
    let wire = Wire { format: FORMAT, store_id: store_id.clone(), redact_key: hex };
    let mut text = serde_json::to_string(&wire)?;
    text.push('\n');
    // A crash before the rename leaves the temp file behind; nobody else writes here while we hold the LOCK.
    let temp = state_dir.join("store.json.tmp");
    match fs::remove_file(&temp) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temp, state_dir.join(NAME))?;
    File::open(state_dir)?.sync_all()?;
    Ok(StoreFile { store_id, redact_key })
}

/// Opens a regular file of ours without following a link or waiting on a pipe (case F-111).
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("it belongs to uid {}", found.uid())));
    }
    Ok(file)
}

/// Fills a buffer with random bytes of the kernel.
pub(crate) fn fill_random(buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        filled += rustix::rand::getrandom(&mut buffer[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_file_is_private_and_read_back_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let made = StoreFile::load_or_make(dir.path(), 1_767_225_600_000).unwrap();
        let again = StoreFile::load_or_make(dir.path(), 0).unwrap();
        assert_eq!((made.store_id, made.redact_key), (again.store_id, again.redact_key));
        assert_ne!(again.redact_key, [0; 32]);
        assert_eq!(fs::metadata(dir.path().join(NAME)).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn another_format_a_broken_file_and_a_link_are_refused_in_words() {
        let newer = r#"{"format":2,"storeId":"x","redactKey":""}"#;
        assert_eq!(parse(newer).unwrap_err(), "format 2 is not the format 1 of this build");
        let short = r#"{"format":1,"storeId":"x","redactKey":"abc"}"#;
        assert_eq!(parse(short).unwrap_err(), "member 'redactKey' is not 64 hex digits");
        assert!(parse("{").unwrap_err().contains("line 1"));
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join("victim"), dir.path().join(NAME)).unwrap();
        assert!(StoreFile::load_or_make(dir.path(), 0).is_err());
        assert!(!dir.path().join("victim").exists());
    }
}
