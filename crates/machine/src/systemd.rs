//! The user's own systemd: whether it is there, what it says, and what it is asked to do (systemctl(1)).

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{Command, Output, RunError};
use crate::env::XDG_RUNTIME_DIR;

/// A question is answered at once by a manager that is well.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// Why the manager did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// `systemctl` gave no answer.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It refused, or what it was asked for failed.
    #[error("`systemctl --user {args}` failed: {words}")]
    Refused {
        /// What was asked.
        args: String,
        /// The first line of what it said.
        words: String,
    },
}

/// What the manager knows of one unit (systemd.unit(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// `ActiveState` is `active`, or on its way there or back.
    pub active: bool,
    /// `UnitFileState` is `enabled`: it comes again with the next login.
    pub enabled: bool,
    /// `MainPID` of a service that runs.
    pub main_pid: Option<u32>,
    /// `FragmentPath`: the file it was read from.
    pub file: Option<PathBuf>,
}

/// The systemd that runs for this user.
#[derive(Clone, Debug)]
pub struct UserManager {
    runtime_dir: PathBuf,
}

impl UserManager {
    /// Looks for the socket by which `systemctl --user` reaches it; runs nothing. A socket of another user's manager,
    /// as `sudo` leaves it in the environment, does not count.
    pub fn find(runtime_dir: &Path) -> Option<UserManager> {
        let socket = fs::symlink_metadata(runtime_dir.join("systemd/private")).ok()?;
        let is_ours = socket.uid() == rustix::process::geteuid().as_raw();
        (socket.file_type().is_socket() && is_ours)
            .then(|| UserManager { runtime_dir: runtime_dir.to_owned() })
    }

    /// The variables that its services start with. A value that the shell would have to unquote is left out.
    ///
    /// # Errors
    /// It does not answer.
    pub fn environment(&self) -> Result<Vec<(String, String)>, ManagerError> {
        let answer = self.ask(&["show-environment"], ANSWER_TIME)?;
        Ok(parse_environment(&String::from_utf8_lossy(&answer.stdout)))
    }

    /// What it knows of a unit; a unit that is not there is not active.
    ///
    /// # Errors
    /// It does not answer.
    pub fn unit(&self, name: &str) -> Result<UnitState, ManagerError> {
        let properties = "--property=ActiveState,UnitFileState,MainPID,FragmentPath";
        let answer = self.ask(&["show", properties, name], ANSWER_TIME)?;
        Ok(parse_unit(&String::from_utf8_lossy(&answer.stdout)))
    }

    /// Asks it to do something, and waits at most so long until it is done.
    ///
    /// # Errors
    /// It does not answer in time, or what it was asked for failed.
    pub fn order(&self, args: &[&str], limit: Duration) -> Result<(), ManagerError> {
        self.ask(args, limit).map(drop)
    }

    /// Whether it goes on when the user has logged out (loginctl(1)); nothing where that cannot be told.
    pub fn lingers(&self) -> Option<bool> {
        let uid = rustix::process::geteuid().as_raw().to_string();
        let answer = Command::new("loginctl")
            .args(["show-user", "--property=Linger", "--value", &uid])
            .timeout(ANSWER_TIME)
            .run()
            .ok()?;
        match answer.stdout.trim_ascii() {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        }
    }

    fn ask(&self, args: &[&str], limit: Duration) -> Result<Output, ManagerError> {
        let output = Command::new("systemctl")
            .arg("--user")
            .args(args)
            .env(XDG_RUNTIME_DIR, &self.runtime_dir)
            .timeout(limit)
            .run()?;
        if output.is_success() {
            return Ok(output);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().find(|line| !line.trim().is_empty()).unwrap_or("no words").to_owned();
        Err(ManagerError::Refused { args: args.join(" "), words })
    }
}

fn parse_environment(text: &str) -> Vec<(String, String)> {
    let is_plain = |value: &str| !value.starts_with("$'") && !value.starts_with('"');
    text.lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(_, value)| is_plain(value))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn parse_unit(text: &str) -> UnitState {
    let mut state = UnitState::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match name {
            "ActiveState" => state.active = !matches!(value, "inactive" | "failed"),
            "UnitFileState" => state.enabled = value == "enabled",
            "MainPID" => state.main_pid = value.parse().ok().filter(|pid| *pid != 0),
            "FragmentPath" => state.file = Some(value).filter(|path| !path.is_empty()).map(PathBuf::from),
            _ => {}
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_manager_is_there_where_its_socket_is() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(UserManager::find(scratch.path()).is_none());
        fs::create_dir(scratch.path().join("systemd")).unwrap();
        let socket = scratch.path().join("systemd/private");
        fs::File::create(&socket).unwrap();
        assert!(UserManager::find(scratch.path()).is_none(), "a file is no socket");
        fs::remove_file(&socket).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(UserManager::find(scratch.path()).is_some());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&socket, Some(12345), None).unwrap();
            assert!(UserManager::find(scratch.path()).is_none(), "another user's manager");
        }
    }

    #[test]
    fn what_systemd_252_prints_is_read() {
        let running = "MainPID=4711\nActiveState=active\nFragmentPath=/home/dev/.config/systemd/user/herdbook.service\nUnitFileState=static\n";
        let file = Some("/home/dev/.config/systemd/user/herdbook.service".into());
        let expected = UnitState { active: true, enabled: false, main_pid: Some(4711), file };
        assert_eq!(parse_unit(running), expected);
        let socket = parse_unit("ActiveState=active\nFragmentPath=/x\nUnitFileState=enabled\n");
        assert_eq!((socket.active, socket.enabled, socket.main_pid), (true, true, None));
        let missing = "MainPID=0\nActiveState=inactive\nFragmentPath=\nUnitFileState=\n";
        assert_eq!(parse_unit(missing), UnitState::default());
        let environment = "HOME=/home/dev\nLANG=C.UTF-8\nODD=$'a\\nb'\nPATH=/usr/bin:/bin\n";
        let names: Vec<_> = parse_environment(environment).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "LANG", "PATH"]);
    }
}
