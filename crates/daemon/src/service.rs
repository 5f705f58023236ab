//! The service manager: the sockets it opened for us (sd_listen_fds(3)), and what it is told (sd_notify(3)).

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::time::Duration;

use herdbook_machine::env::read;
use listenfd::ListenFd;

/// A manager that does not read is not waited for longer.
const TELL_TIME: Duration = Duration::from_secs(1);

/// What a service manager gave to this process; by default there is none.
#[derive(Debug, Default)]
pub struct Service {
    /// Unix sockets that listen already. They stay the manager's: it goes on listening when we end.
    pub sockets: Vec<UnixListener>,
    /// Address of the socket on which it is told how we are; abstract where it begins with `@`.
    pub notify: Option<OsString>,
    /// We are taken for hung when so long no sign of life comes.
    pub watchdog: Option<Duration>,
}

impl Service {
    /// Takes what this process was started with; call it once, at the start and before there are threads. `LISTEN_FDS`
    /// and `LISTEN_PID` are removed from the environment, and the sockets are closed in programs that we run.
    ///
    /// What is addressed to another process is left alone: a shell in a service has such variables too.
    pub fn of_this_process() -> Service {
        let own_pid = OsString::from(std::process::id().to_string());
        let mut sockets = Vec::new();
        if read("LISTEN_PID").is_some_and(|pid| pid == own_pid) {
            let mut passed = ListenFd::from_env();
            for at in 0..passed.len() {
                match passed.take_unix_listener(at) {
                    Ok(socket) => sockets.extend(socket),
                    // Whatever else it is, nobody serves it here.
                    Err(_) => drop(passed.take_tcp_listener(at)),
                }
            }
        }
        let is_watched = read("WATCHDOG_PID").is_none_or(|pid| pid == own_pid);
        let micros = read("WATCHDOG_USEC").and_then(|micros| micros.to_str()?.parse().ok());
        let watchdog = micros.filter(|micros| is_watched && *micros > 0).map(Duration::from_micros);
        Service { sockets, notify: read("NOTIFY_SOCKET"), watchdog }
    }
}

/// The way to tell the manager; leads nowhere where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notify(Option<SocketAddr>);

impl Notify {
    pub(crate) fn new(address: Option<&OsString>) -> Notify {
        Notify(address.and_then(|address| match address.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
            _ => SocketAddr::from_pathname(address).ok(),
        }))
    }

    /// Tells it, one `NAME=value` a line. A manager that cannot be reached is not worth a word: it will do as it does
    /// with a silent service.
    pub(crate) fn tell(&self, state: &str) {
        drop(self.try_tell(state));
    }

    fn try_tell(&self, state: &str) -> io::Result<()> {
        let Some(address) = &self.0 else { return Ok(()) };
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(TELL_TIME))?;
        socket.send_to_addr(state.as_bytes(), address).map(drop)
    }
}

/// The sign of life. It is the engine's thread that gives it: while that hangs, nothing of use is done.
#[derive(Debug)]
pub(crate) struct Beat {
    notify: Notify,
    every_ms: u64,
    /// `CLOCK_MONOTONIC` of the next one.
    due_ms: u64,
}

impl Beat {
    /// Gives a sign at half of the manager's time (sd_watchdog_enabled(3)); none where it does not ask for any.
    pub(crate) fn new(notify: Notify, watchdog: Option<Duration>) -> Beat {
        match watchdog {
            Some(time) => Beat { notify, every_ms: (time.as_millis() as u64 / 2).max(1), due_ms: 0 },
            None => Beat { notify: Notify::default(), every_ms: 0, due_ms: u64::MAX },
        }
    }

    pub(crate) fn due_ms(&self) -> u64 {
        self.due_ms
    }

    /// Gives a sign if it is due.
    pub(crate) fn beat(&mut self, now_ms: u64) {
        if now_ms >= self.due_ms {
            self.due_ms = now_ms + self.every_ms;
            self.notify.tell("WATCHDOG=1");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_given_at_half_of_the_time_and_none_unasked() {
        let name = format!("herdbook-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        manager.set_nonblocking(true).unwrap();
        let heard = || {
            let mut bytes = [0; 64];
            manager.recv(&mut bytes).ok().map(|len| String::from_utf8(bytes[..len].to_vec()).unwrap())
        };
        let notify = Notify::new(Some(&format!("@{name}").into()));
        let mut beat = Beat::new(notify.clone(), Some(Duration::from_secs(30)));
        beat.beat(1_000);
        assert_eq!((heard().as_deref(), beat.due_ms()), (Some("WATCHDOG=1"), 16_000));
        beat.beat(15_999);
        assert_eq!(heard(), None);
        beat.beat(16_000);
        assert_eq!(heard().as_deref(), Some("WATCHDOG=1"));
        let mut unasked = Beat::new(notify, None);
        unasked.beat(u64::MAX - 1);
        assert_eq!((heard(), unasked.due_ms()), (None, u64::MAX));
    }
}
