//! The manifests of screens in use: the human's own where there is one, else those that come with the program.
//!
//! `screens/HOST.toml` in the folder of the human's settings takes the place of the whole built-in manifest of that
//! host. It is read when the daemon starts and again when it changes. One that cannot be read is told, and the built-in
//! one stays in use.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use herdbook_hosts::HOSTS;
use herdbook_hosts::screen::{Manifest, ManifestError, manifest};

use crate::error::whole;
use crate::own_file;

/// Why a manifest of the human's own is not used.
#[derive(Debug, thiserror::Error)]
pub enum ScreensError {
    /// It cannot be read.
    #[error("could not read {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It says something that is not understood.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// Returns the folder of the human's own manifests, in the folder of his settings.
pub fn screens_dir(config_dir: &Path) -> PathBuf {
    config_dir.join("screens")
}

/// Reads the human's own manifest of a host out of their folder, if there is one.
///
/// # Errors
/// It is there and cannot be used.
pub fn own_manifest(folder: &Path, host: &str) -> Result<Option<Manifest>, ScreensError> {
    let path = path(folder, host);
    match own_file::read(&path) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => Ok(Some(Manifest::parse(&path.display().to_string(), &text)?)),
        Err(source) => Err(ScreensError::Io { path, source }),
    }
}

/// The manifests in use, kept up to date.
#[derive(Debug, Default)]
pub(crate) struct Screens {
    /// None: only the built-in ones.
    folder: Option<PathBuf>,
    own: BTreeMap<&'static str, Own>,
}

#[derive(Debug)]
struct Own {
    stamp: Stamp,
    /// Nothing: it could not be read, which was told.
    manifest: Option<Manifest>,
}

/// When it changed last, and how long it is.
type Stamp = (Option<SystemTime>, u64);

impl Screens {
    /// Knows the built-in ones until it is told to look.
    pub(crate) fn new(config_dir: Option<&Path>) -> Screens {
        Screens { folder: config_dir.map(screens_dir), own: BTreeMap::new() }
    }

    /// Looks for changes, by one `stat` a host. Returns what a person should know: one sentence each, said once.
    pub(crate) fn refresh(&mut self) -> Vec<String> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let mut told = Vec::new();
        for host in HOSTS.iter().map(|table| table.host) {
            // What cannot be looked at cannot be read either: that is where it is told.
            let now = stamp(&path(folder, host)).unwrap_or(Some((None, 0)));
            let Some(now) = now else {
                self.own.remove(host);
                continue;
            };
            if self.own.get(host).is_some_and(|own| own.stamp == now) {
                continue;
            }
            let manifest = own_manifest(folder, host).unwrap_or_else(|error| {
                let words = whole(&error);
                told.push(format!("{words}; until it is mended, the built-in screens of {host} are used"));
                None
            });
            self.own.insert(host, Own { stamp: now, manifest });
        }
        told
    }

    /// Returns the manifest of a host, if its screens are known.
    pub(crate) fn of(&self, host: &str) -> Option<&Manifest> {
        self.own.get(host).and_then(|own| own.manifest.as_ref()).or_else(|| manifest(host))
    }
}

fn path(folder: &Path, host: &str) -> PathBuf {
    folder.join(format!("{host}.toml"))
}

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some((Metadata::modified(&metadata).ok(), metadata.len()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use herdbook_hosts::screen::{Sample, Verdict, read as read_sample};

    use super::*;

    const OWN: &str = "[[dialog]]\nname = \"tea\"\nall = ['^Tea\\?$']\nend = '^y/n$'\n";

    fn shows(screens: &Screens, host: &str, text: &str) -> Verdict {
        read_sample(screens.of(host).unwrap(), &Sample { text, ..Sample::default() }).verdict
    }

    #[test]
    fn a_manifest_of_ones_own_takes_the_place_of_the_built_in_one_while_it_is_there() {
        let config = tempfile::tempdir().unwrap();
        let folder = screens_dir(config.path());
        let mut screens = Screens::new(Some(config.path()));
        let (tea, cursor) = ("Tea?\ny/n\n", "Run this command?\n→ Run (once) (y)\n  Skip (esc or n)\n");
        assert_eq!(screens.refresh(), [] as [&str; 0]);
        assert_eq!(
            (shows(&screens, "cursor", tea), shows(&screens, "cursor", cursor)),
            (Verdict::Unknown, Verdict::Dialog)
        );
        assert!(screens.of("droid").is_none());
        fs::create_dir(&folder).unwrap();
        for host in ["cursor", "droid"] {
            fs::write(path(&folder, host), OWN).unwrap();
        }
        assert_eq!(screens.refresh(), [] as [&str; 0]);
        assert_eq!(shows(&screens, "cursor", tea), Verdict::Dialog);
        assert_eq!(shows(&screens, "cursor", cursor), Verdict::Unknown, "the whole of it");
        assert_eq!(shows(&screens, "droid", tea), Verdict::Dialog);
        fs::remove_file(path(&folder, "cursor")).unwrap();
        assert_eq!(screens.refresh(), [] as [&str; 0]);
        assert_eq!(shows(&screens, "cursor", tea), Verdict::Unknown);
    }

    #[test]
    fn a_broken_one_is_told_once_and_the_built_in_one_stays() {
        let config = tempfile::tempdir().unwrap();
        let folder = screens_dir(config.path());
        fs::create_dir(&folder).unwrap();
        let file = path(&folder, "cursor");
        let mut screens = Screens::new(Some(config.path()));
        let dialog = "Run this command?\n→ Run (once) (y)\n  Skip (esc or n)\n";
        fs::write(&file, OWN.replace("end", "ende")).unwrap();
        let told = screens.refresh();
        let place = format!("{}:4: unknown field `ende`", file.display());
        assert!(told.len() == 1 && told[0].starts_with(&place), "{told:?}");
        assert!(
            told[0].ends_with("; until it is mended, the built-in screens of cursor are used"),
            "{told:?}"
        );
        assert_eq!(screens.refresh(), [] as [&str; 0], "said once");
        assert_eq!(shows(&screens, "cursor", dialog), Verdict::Dialog);
        fs::write(&file, OWN).unwrap();
        assert_eq!(screens.refresh(), [] as [&str; 0]);
        assert_eq!(shows(&screens, "cursor", "Tea?\ny/n\n"), Verdict::Dialog);
        // What is no file is not waited for, and what is too long is not read.
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(screens.refresh()[0].contains("it is not a regular file; until"));
        fs::remove_dir(&file).unwrap();
        fs::write(&file, "#".repeat(300 << 10)).unwrap();
        assert!(screens.refresh()[0].contains("it is longer than 256 kB; until"));
    }
}
