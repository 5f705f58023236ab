//! Opening the sockets: unix ones with care about what lies there already, TCP ones with care about who does.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use herdbook_api::v1::Listen;
use herdbook_wire::paths::{SocketPlace, private_dir, socket_address};
use rustix::fs::Mode;

use crate::config::Notice;
use crate::error::DaemonError;

/// A unix socket we listen on.
pub(crate) struct UnixPlace {
    pub listener: UnixListener,
    file: SocketFile,
}

impl UnixPlace {
    pub(crate) fn file(&self) -> SocketFile {
        self.file.clone()
    }
}

/// The file of a unix socket.
#[derive(Clone, Debug)]
pub(crate) struct SocketFile {
    pub path: PathBuf,
    /// Device and inode where we made it; nothing where the service manager did.
    made: Option<(u64, u64)>,
}

impl SocketFile {
    /// Removes it, unless the service manager goes on listening there or somebody else put another one there.
    pub(crate) fn remove(&self) {
        let found = fs::symlink_metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        if self.made.is_some() && found == self.made {
            // Left behind it would be taken for stale, which is fine.
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Takes the unix sockets that the service manager passed and opens the others. One that cannot be used is told and
/// left out, as long as there is another.
pub(crate) fn unix(
    places: &[SocketPlace],
    passed: Vec<UnixListener>,
    notice: &dyn Fn(&Notice),
) -> Result<Vec<UnixPlace>, DaemonError> {
    let mut opened = Vec::new();
    let mut failed = Vec::new();
    for listener in passed {
        match take_unix(listener) {
            Ok(place) => opened.push(place),
            Err(error) => failed.push(format!("a socket of the service manager: {error}")),
        }
    }
    let is_passed = |place: &&SocketPlace| opened.iter().any(|taken| taken.file.path == place.path);
    let missing: Vec<_> = places.iter().filter(|place| !is_passed(place)).collect();
    for place in missing {
        match open_unix(place) {
            Ok(place) => opened.push(place),
            Err(reason) => failed.push(format!("{}: {reason}", place.path.display())),
        }
    }
    if opened.is_empty() {
        return Err(DaemonError::NoSocket(failed.join("; ")));
    }
    for reason in failed {
        notice(&Notice::Warning(format!("could not listen on {reason}")));
    }
    Ok(opened)
}

fn take_unix(listener: UnixListener) -> io::Result<UnixPlace> {
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let path = address.as_pathname().ok_or_else(|| io::Error::other("it has no path"))?.to_owned();
    Ok(UnixPlace { listener, file: SocketFile { path, made: None } })
}

fn open_unix(place: &SocketPlace) -> Result<UnixPlace, String> {
    let text = |error: io::Error| error.to_string();
    let folder = place.path.parent().ok_or("no such folder")?;
    if place.guarded {
        // The state folder is there by now, and the runtime folder is the system's to make: one that we made would be
        // gone, or in the way, at the next login.
        if let Some(above) = folder.parent().filter(|above| !above.is_dir()) {
            return Err(format!("there is no folder {}", above.display()));
        }
        private_dir(folder).map_err(|error| error.to_string())?;
    } else {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(text)?;
    }
    let address = socket_address(&place.path).map_err(text)?;
    match fs::symlink_metadata(&place.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.to_string()),
        Ok(found) if !found.file_type().is_socket() => {
            return Err("something that is no socket is in the way: move it away".to_owned());
        }
        Ok(_) => match UnixStream::connect(&address.path) {
            Ok(_) => return Err("another process answers there".to_owned()),
            // Nobody listens on it any more.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(&place.path).map_err(text)?;
            }
            Err(error) => return Err(error.to_string()),
        },
    }
    let listener = if place.guarded {
        // Nobody else gets into the folder, so the mode may come later.
        UnixListener::bind(&address.path)
    } else {
        // Between bind and chmod another user could connect, so the mode is right from the beginning.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(&address.path);
        rustix::process::umask(before);
        bound
    };
    let listener = listener.map_err(text)?;
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o600)).map_err(text)?;
    let found = fs::symlink_metadata(&place.path).map_err(text)?;
    listener.set_nonblocking(true).map_err(text)?;
    let file = SocketFile { path: place.path.clone(), made: Some((found.dev(), found.ino())) };
    Ok(UnixPlace { listener, file })
}

/// Opens the HTTP addresses. One that is taken is told with its holder; never another port instead (case F-088).
pub(crate) fn http(addresses: &[SocketAddr], notice: &dyn Fn(&Notice)) -> (Vec<TcpListener>, Vec<Listen>) {
    let mut listeners = Vec::new();
    let mut told = Vec::new();
    for addr in addresses {
        let opened = TcpListener::bind(addr).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        told.push(match opened {
            Ok((addr, listener)) => {
                listeners.push(listener);
                Listen { addr: addr.to_string(), state: Listen::LISTENING.to_owned(), ..Listen::default() }
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let holder = herdbook_machine::owner_of_port(addr.port());
                notice(&Notice::PortTaken { addr: *addr, holder: holder.clone() });
                let (pid, name) = holder.unzip();
                let state = Listen::TAKEN.to_owned();
                Listen { addr: addr.to_string(), state, pid, name, error: Some(error.to_string()) }
            }
            Err(error) => {
                // A machine without IPv6 is no news.
                if addr.is_ipv4() {
                    notice(&Notice::Warning(format!("could not listen on {addr}: {error}")));
                }
                let state = Listen::FAILED.to_owned();
                Listen { addr: addr.to_string(), state, error: Some(error.to_string()), ..Listen::default() }
            }
        });
    }
    (listeners, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: PathBuf) -> SocketPlace {
        SocketPlace { path, guarded: true }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(dir.path().join("herdbook/sock"));
        private_dir(place.path.parent().unwrap()).unwrap();
        drop(UnixListener::bind(&place.path).unwrap());
        let opened = open_unix(&place).unwrap();
        assert_eq!(fs::metadata(&place.path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(open_unix(&place).err().unwrap(), "another process answers there");
        SocketFile { made: Some((0, 0)), ..opened.file() }.remove();
        assert!(place.path.exists(), "another one's socket was removed");
        SocketFile { made: None, ..opened.file() }.remove();
        assert!(place.path.exists(), "the service manager's socket was removed");
        opened.file().remove();
        assert!(!place.path.exists());
    }

    #[test]
    fn a_runtime_folder_that_is_missing_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("1000");
        let error = open_unix(&place(missing.join("herdbook/sock"))).err().unwrap();
        assert_eq!(error, format!("there is no folder {}", missing.display()));
        assert!(!missing.exists());
        fs::create_dir(&missing).unwrap();
        open_unix(&place(missing.join("herdbook/sock"))).unwrap();
        assert_eq!(fs::metadata(missing.join("herdbook")).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_planted_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::File::create(&victim).unwrap();
        let place = place(dir.path().join("state/sock"));
        private_dir(place.path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&victim, &place.path).unwrap();
        assert!(open_unix(&place).err().unwrap().contains("no socket"));
        assert!(victim.exists());
        let error = unix(&[place], Vec::new(), &|_| {}).err().unwrap().to_string();
        assert!(error.starts_with("could not listen on any unix socket"), "{error}");
    }

    #[test]
    fn a_taken_port_is_told_with_its_holder() {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = first.local_addr().unwrap();
        let notices = std::sync::Mutex::new(Vec::new());
        let (listeners, told) = http(&[addr], &|notice| notices.lock().unwrap().push(notice.clone()));
        assert!(listeners.is_empty());
        assert_eq!((told[0].state.as_str(), told[0].pid), (Listen::TAKEN, Some(std::process::id())));
        assert!(matches!(notices.lock().unwrap()[0], Notice::PortTaken { holder: Some(_), .. }));
    }
}
