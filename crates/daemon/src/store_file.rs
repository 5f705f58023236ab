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
    /// It was damaged and had to be made anew: what that costs, in words.
    pub renewed: Option<String>,
}

/// Why the text of the file is of no use.
enum Unusable {
    /// Another build can read it.
    OtherFormat(String),
    /// Nobody can.
    Damaged(String),
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
    /// Reads the file, without any lock; nothing where it is not there.
    pub(crate) fn load(state_dir: &Path) -> Result<Option<StoreFile>, DaemonError> {
        let refused = |reason| DaemonError::StoreFile { path: state_dir.join(NAME), reason };
        match read(state_dir).map_err(|error| refused(error.to_string()))? {
            None => Ok(None),
            Some(Ok(file)) => Ok(Some(file)),
            Some(Err(Unusable::OtherFormat(reason) | Unusable::Damaged(reason))) => Err(refused(reason)),
        }
    }

    /// Reads the file, or makes it when it is not there. A damaged one is set aside: the journal does not need it. Call it
    /// with the store's LOCK held.
    pub(crate) fn load_or_make(state_dir: &Path, wall_ms: u64) -> Result<StoreFile, DaemonError> {
        let refused = |reason| DaemonError::StoreFile { path: state_dir.join(NAME), reason };
        let failed = |error: io::Error| refused(error.to_string());
        match read(state_dir).map_err(failed)? {
            None => make(state_dir, wall_ms).map_err(failed),
            Some(Ok(file)) => Ok(file),
            Some(Err(Unusable::OtherFormat(reason))) => Err(refused(reason)),
            Some(Err(Unusable::Damaged(reason))) => renew(state_dir, wall_ms, &reason).map_err(failed),
        }
    }
}

/// What the file says; nothing where it is not there.
fn read(state_dir: &Path) -> io::Result<Option<Result<StoreFile, Unusable>>> {
    let file = match open(&state_dir.join(NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(parse(&bytes)))
}

fn parse(bytes: &[u8]) -> Result<StoreFile, Unusable> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let damaged = |error: serde_json::Error| Unusable::Damaged(error.to_string());
    let Format { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format != FORMAT {
        let reason = format!("format {format} is not the format {FORMAT} of this build");
        return Err(Unusable::OtherFormat(reason));
    }
    let wire: Wire = serde_json::from_slice(bytes).map_err(damaged)?;
    let redact_key = key_of(&wire.redact_key)
        .ok_or_else(|| Unusable::Damaged("member 'redactKey' is not 64 hex digits".to_owned()))?;
    Ok(StoreFile { store_id: wire.store_id, redact_key, renewed: None })
}

fn key_of(digits: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(key)
}

/// Sets a damaged file aside and makes another one.
fn renew(state_dir: &Path, wall_ms: u64, reason: &str) -> io::Result<StoreFile> {
    let kept = format!("{NAME}.damaged-{wall_ms}");
    fs::rename(state_dir.join(NAME), state_dir.join(&kept))?;
    let words = format!(
        "{NAME} was damaged ({reason}) and is kept as {kept}: the store has a new id, and secrets that were marked before \
         get other marks from now on"
    );
    Ok(StoreFile { renewed: Some(words), ..make(state_dir, wall_ms)? })
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
    Ok(StoreFile { store_id, redact_key, renewed: None })
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
    fn another_format_and_a_link_are_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let newer = r#"{"format":2,"id":"x"}"#;
        File::create(dir.path().join(NAME)).unwrap().write_all(newer.as_bytes()).unwrap();
        let refused = StoreFile::load_or_make(dir.path(), 0).unwrap_err().to_string();
        assert!(refused.contains("format 2 is not the format 1 of this build"), "{refused}");
        assert_eq!(fs::read_to_string(dir.path().join(NAME)).unwrap(), newer);
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join("victim"), dir.path().join(NAME)).unwrap();
        assert!(StoreFile::load_or_make(dir.path(), 0).is_err());
        assert!(!dir.path().join("victim").exists());
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_made_anew() {
        let short = r#"{"format":1,"storeId":"x","redactKey":"abc"}"#;
        for (text, reason) in [
            (short, "member 'redactKey' is not 64 hex digits"),
            ("", "EOF while parsing a value at line 1 column 0"),
            ("\0\0\0", "expected value at line 1 column 1"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            File::create(dir.path().join(NAME)).unwrap().write_all(text.as_bytes()).unwrap();
            let made = StoreFile::load_or_make(dir.path(), 7).unwrap();
            let words = made.renewed.unwrap();
            let expected = format!("store.json was damaged ({reason}) and is kept as store.json.damaged-7: ");
            assert!(words.starts_with(&expected), "{words}");
            assert_eq!(fs::read_to_string(dir.path().join("store.json.damaged-7")).unwrap(), text);
            let again = StoreFile::load_or_make(dir.path(), 8).unwrap();
            assert_eq!((again.store_id, again.renewed), (made.store_id, None));
        }
    }
}
