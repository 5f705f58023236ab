//! The scratch folder of one check, and the environment that points into it.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::real::process::end_all_marked;
use crate::real::tools::{Tools, join_words};

/// A scratch folder that is there for one check, with private places for everything the product keeps.
///
/// On drop every process that was started in it is ended and the folder removed.
#[derive(Debug)]
pub struct Scratch {
    root: TempDir,
    port: u16,
}

/// Folders below the scratch folder that the environment names. The dot keeps them out of a script's way.
const PLACES: [(&str, &str); 7] = [
    ("HOME", ".env/home"),
    ("XDG_STATE_HOME", ".env/state"),
    ("XDG_RUNTIME_DIR", ".env/run"),
    ("XDG_CONFIG_HOME", ".env/config"),
    ("XDG_DATA_HOME", ".env/data"),
    ("XDG_CACHE_HOME", ".env/cache"),
    ("TMUX_TMPDIR", ".env/tmux"),
];

/// Longer paths of the folder for temporary files are not used.
const MAX_PLACE_BYTES: usize = 40;

impl Scratch {
    /// Makes the folders and chooses a free port.
    ///
    /// # Errors
    /// A folder cannot be made, or no port is free.
    pub fn new() -> io::Result<Scratch> {
        // The path of a unix socket has at most 107 bytes, so a deep folder for temporary files does not serve.
        let usual = std::env::temp_dir();
        let place = if usual.as_os_str().len() > MAX_PLACE_BYTES { Path::new("/tmp") } else { &usual };
        let root = tempfile::Builder::new().prefix("hb-").tempdir_in(place)?;
        let scratch = Scratch { root, port: free_port()? };
        let mut private = DirBuilder::new();
        private.mode(0o700).recursive(true).create(scratch.dir())?;
        for (_, place) in PLACES {
            private.create(scratch.dir().join(place))?;
        }
        Ok(scratch)
    }

    /// The folder in which a script runs; `SCRATCH` in its environment.
    pub fn dir(&self) -> PathBuf {
        self.root.path().join("scratch")
    }

    /// A file of the runner's own, outside the scratch folder.
    pub fn own_file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The daemon's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The state folder.
    pub fn state(&self) -> PathBuf {
        self.dir().join(".env/state/herdbook")
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.dir().join(".env/run/herdbook/sock")
    }

    /// The whole environment of a process in this check.
    pub fn env(&self, tools: &Tools, case_dir: &Path) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let case_dir = fs::canonicalize(case_dir).unwrap_or_else(|_| case_dir.to_owned());
        let mut env = vec![
            ("PATH".to_owned(), tools.path.clone()),
            ("HERDBOOK".to_owned(), text(&tools.herdbook)),
            ("HERDBOOK_HOOK".to_owned(), join_words(&tools.hook)),
            ("HERDBOOK_ADDR".to_owned(), format!("127.0.0.1:{}", self.port)),
            ("HERDBOOK_STATE".to_owned(), text(&self.state())),
            ("HERDBOOK_SOCKET".to_owned(), text(&self.socket())),
            // Other agents of this machine are none of the case's.
            ("HERDBOOK_DISCOVER".to_owned(), "off".to_owned()),
            ("HERDBOOK_PANES".to_owned(), "off".to_owned()),
            ("SCRATCH".to_owned(), text(&self.dir())),
            ("CASE".to_owned(), text(&case_dir)),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
            ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
        ];
        for (name, place) in PLACES {
            env.push((name.to_owned(), text(&self.dir().join(place))));
        }
        env
    }

    /// The marks of case files and what stands for them in this check.
    pub fn marks(&self, case_dir: &Path) -> Vec<(&'static str, String)> {
        vec![
            ("@@PORT@@", self.port.to_string()),
            ("@@STREAM@@", "/v1/attention".to_owned()),
            ("@@CASE@@", case_dir.to_string_lossy().into_owned()),
            ("@@DIR@@", self.dir().to_string_lossy().into_owned()),
        ]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        end_all_marked(&format!("SCRATCH={}", self.dir().display()));
    }
}

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn everything_lies_in_private_places_of_the_scratch_folder() {
        let scratch = Scratch::new().unwrap();
        let tools = Tools {
            herdbook: "/opt/herdbook".into(),
            hook: vec!["/opt/herdbook".into(), "hook".into()],
            this: "/opt/this".into(),
            path: "/usr/bin".into(),
        };
        let env = scratch.env(&tools, Path::new("/nonexistent/F-1"));
        let value = |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        assert_eq!(value("HERDBOOK_HOOK").as_deref(), Some("'/opt/herdbook' 'hook'"));
        assert_eq!(value("TMUX"), None);
        for name in ["HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMUX_TMPDIR"] {
            let place = PathBuf::from(value(name).unwrap());
            assert!(place.starts_with(scratch.dir()), "{name}");
            assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700, "{name}");
        }
        assert!(scratch.socket().as_os_str().len() < 100, "the path of a unix socket is short");
    }
}
