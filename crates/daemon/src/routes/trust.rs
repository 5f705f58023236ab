//! `trusted-routes.json` of the state folder: which routes the human trusts, each with the bytes he saw.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use herdbook_machine::{FileStamp, replace_unchanged};
use herdbook_wire::paths::private_dir;
use rustix::fs::CWD;
use serde::{Deserialize, Serialize};

use super::load::{LoadedRoute, RouteState, is_fresh};
use super::safe::{self, Kind};

const NAME: &str = herdbook_wire::paths::TRUSTED_ROUTES;
/// The format this build writes and reads.
const FORMAT: u32 = 1;
const MAX_BYTES: u64 = 4 << 20;
/// Another command may write between our look and our change.
const TRIES: usize = 8;

/// Why a route is not trusted, or its trust not taken back.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It would not be run, trusted or not.
    #[error("route '{id}' cannot be trusted: {why}")]
    Refused {
        /// The route.
        id: String,
        /// Why, in words.
        why: String,
    },
    /// The file of trusted routes is not usable.
    #[error("{} {why}", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what mends it.
        why: String,
    },
    /// It could not be written.
    #[error("could not write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Returns the file of trusted routes of a state folder.
pub fn trust_path(state_dir: &Path) -> PathBuf {
    state_dir.join(NAME)
}

/// Trusts a route as it was loaded: with these very bytes of it and of its settings.
///
/// Who asks is the caller's concern: no process with an agent among its ancestors may.
///
/// # Errors
/// The route is refused, or the file cannot be read or written.
pub fn trust(state_dir: &Path, loaded: &LoadedRoute) -> Result<(), TrustError> {
    let id = loaded.route.id.clone();
    if let RouteState::Refused(why) = &loaded.state {
        return Err(TrustError::Refused { id, why: why.clone() });
    }
    change(state_dir, |trusted| {
        trusted.insert(id.clone(), loaded.sha256.clone()).as_ref() != Some(&loaded.sha256)
    })
    .map(drop)
}

/// Takes the trust in a route back. Returns false where there was none.
///
/// # Errors
/// The file cannot be read or written.
pub fn distrust(state_dir: &Path, id: &str) -> Result<bool, TrustError> {
    change(state_dir, |trusted| trusted.remove(id).is_some())
}

/// On disk. Members a newer build adds are passed over; a newer format is refused.
#[derive(Default, Serialize, Deserialize)]
struct Wire {
    format: u32,
    routes: BTreeMap<String, String>,
}

/// The file as it was read.
#[derive(Debug, Default)]
struct Trusted {
    /// SHA-256 in hex, by route.
    routes: BTreeMap<String, String>,
    bytes: Option<Vec<u8>>,
}

/// The file, read again only where it is another.
#[derive(Debug, Default)]
pub(super) struct TrustFile {
    known: Option<(FileStamp, Arc<BTreeMap<String, String>>)>,
}

impl TrustFile {
    /// Returns SHA-256 in hex by route.
    pub(super) fn read(&mut self, state_dir: &Path) -> Result<Arc<BTreeMap<String, String>>, String> {
        let stamp = rustix::fs::lstat(trust_path(state_dir)).ok().map(|stat| FileStamp::of(&stat));
        if let Some((known, routes)) = &self.known
            && stamp == Some(*known)
        {
            return Ok(Arc::clone(routes));
        }
        self.known = None;
        let routes = Arc::new(read(state_dir)?.routes);
        self.known = stamp.filter(|stamp| !is_fresh(*stamp)).map(|stamp| (stamp, Arc::clone(&routes)));
        Ok(routes)
    }
}

/// Reads the file; one that is not there trusts nothing.
fn read(state_dir: &Path) -> Result<Trusted, String> {
    let path = trust_path(state_dir);
    let name = path.to_str().ok_or("lies in a folder whose name is no text")?;
    if safe::look(CWD, name)?.is_none() {
        return Ok(Trusted::default());
    }
    let (file, _) = safe::open(CWD, name, &path, Kind::File)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(safe::unreadable)?;
    let wire: Wire = serde_json::from_slice(&bytes)
        .map_err(|error| format!("is damaged ({error}): remove it, then trust your routes anew"))?;
    if wire.format != FORMAT {
        return Err(format!(
            "has format {}, and this build reads {FORMAT}: remove it, then trust your routes anew",
            wire.format
        ));
    }
    Ok(Trusted { routes: wire.routes, bytes: Some(bytes) })
}

fn change(
    state_dir: &Path,
    mut change: impl FnMut(&mut BTreeMap<String, String>) -> bool,
) -> Result<bool, TrustError> {
    let path = trust_path(state_dir);
    private_dir(state_dir)
        .map_err(|error| TrustError::Write { path: path.clone(), source: io::Error::other(error) })?;
    for _ in 0..TRIES {
        let mut trusted = read(state_dir).map_err(|why| TrustError::Unusable { path: path.clone(), why })?;
        if !change(&mut trusted.routes) {
            return Ok(false);
        }
        if trusted.routes.is_empty() && trusted.bytes.is_some() {
            // Where the file lies, hooks wait longer for us. A trust given in this very moment goes with it, and can be given
            // again.
            return fs::remove_file(&path)
                .map(|()| true)
                .map_err(|source| TrustError::Write { path, source });
        }
        let wire = Wire { format: FORMAT, routes: trusted.routes };
        // The members have string keys, so it always prints.
        let mut text = serde_json::to_string_pretty(&wire).unwrap_or_default();
        text.push('\n');
        match replace_unchanged(&path, trusted.bytes.as_deref(), text.as_bytes(), 0o600) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(source) => return Err(TrustError::Write { path, source }),
        }
    }
    let source = io::Error::other("other commands change it all the time");
    Err(TrustError::Write { path, source })
}
