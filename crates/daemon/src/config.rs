//! What a daemon is told at its start, and what it tells while it runs.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use herdbook_engine::Now;
use herdbook_wire::clock::boot_prefix;
use herdbook_wire::env::{Env, HERDBOOK_ADDR};
use herdbook_wire::paths::{self, SocketPlace};
use tokio::sync::watch;

use crate::clock;
use crate::error::DaemonError;
use crate::service::Service;

/// Where HTTP is served when `HERDBOOK_ADDR` is not set (overview section 5).
pub const DEFAULT_HTTP: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4000),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 4000),
];

/// What helps where a port is taken.
pub(crate) const PORT_HINT: &str = "stop it, or set HERDBOOK_ADDR to another address";

/// How a daemon is to run.
pub struct DaemonConfig {
    /// The state folder; made with mode 0700 if it is not there.
    pub state_dir: PathBuf,
    /// The unix sockets to listen on.
    pub sockets: Vec<SocketPlace>,
    /// The HTTP addresses, loopback only; port 0 takes a free one. None: no HTTP.
    pub http: Vec<SocketAddr>,
    /// The version that is told and recorded.
    pub version: String,
    /// How long a wait is kept back before it is announced; nothing is the engine's default.
    pub grace_ms: Option<u64>,
    /// What a service manager gave; nothing by default.
    pub service: Service,
    /// Looks for running agents that no hook was seen of.
    pub discover: bool,
    /// The human's home: transcripts of running agents that no hook named are read below it alone.
    pub home: Option<PathBuf>,
    /// Looks at panes of agents where their hooks do not tell enough.
    pub panes: bool,
    /// The folder of the human's settings; none: he has none.
    pub config_dir: Option<PathBuf>,
    /// Names the boot of the machine, as the names of spooled events do; 0 where it is not known.
    pub boot: u32,
    /// Reads the clocks for the engine.
    pub clock: fn() -> Now,
    /// Sockets of tmux servers at which panes that ask for it are watched; those of known sessions and agents, and those
    /// in the settings, come by themselves. Nothing is watched where `panes` is off.
    pub tmux: Vec<PathBuf>,
    /// Ends the daemon from within the process.
    pub stop: Stop,
    /// SIGTERM and SIGINT end it too.
    pub signals: bool,
    /// Is told what a person should know. It must not block for long.
    pub notice: Arc<dyn Fn(&Notice) + Send + Sync>,
}

impl DaemonConfig {
    /// Makes the configuration that the environment asks for. Notices go nowhere until `notice` is set.
    ///
    /// # Errors
    /// A variable has a value that cannot be used.
    pub fn from_env(env: &Env, version: &str) -> Result<DaemonConfig, DaemonError> {
        let addr = env.herdbook_addr.as_ref().map(|value| value.to_string_lossy().into_owned());
        Ok(DaemonConfig {
            state_dir: paths::state_dir(env).map_err(DaemonError::Place)?,
            sockets: paths::sockets(env).map_err(DaemonError::Place)?,
            http: addr.map_or(Ok(DEFAULT_HTTP.to_vec()), |addr| parse_addr(&addr))?,
            version: version.to_owned(),
            grace_ms: None,
            service: Service::default(),
            home: env.home.as_ref().map(PathBuf::from),
            discover: env.herdbook_discover.as_ref().is_none_or(|value| value != "off"),
            panes: env.herdbook_panes.as_ref().is_none_or(|value| value != "off"),
            config_dir: paths::config_dir(env).ok(),
            boot: boot_prefix(),
            clock: clock::now,
            tmux: herdbook_machine::usual_sockets(),
            stop: Stop::new(),
            signals: true,
            notice: Arc::new(|_| {}),
        })
    }
}

/// Reads `HERDBOOK_ADDR`: `IP:PORT` or `localhost:PORT` (both loopbacks), several separated by commas.
fn parse_addr(text: &str) -> Result<Vec<SocketAddr>, DaemonError> {
    let refused = |reason| DaemonError::Addr { name: HERDBOOK_ADDR, value: text.to_owned(), reason };
    let mut addresses = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.strip_prefix("localhost:") {
            Some(port) => {
                let port = port.parse().map_err(|_| refused("is not IP:PORT or localhost:PORT"))?;
                addresses.extend(DEFAULT_HTTP.map(|address| SocketAddr::new(address.ip(), port)));
            }
            None => addresses.push(part.parse().map_err(|_| refused("is not IP:PORT or localhost:PORT"))?),
        }
    }
    if addresses.is_empty() {
        return Err(refused("names no address"));
    }
    if addresses.iter().any(|address| !address.ip().is_loopback()) {
        return Err(refused("is not a loopback address; other machines are never served"));
    }
    Ok(addresses)
}

/// Ends a daemon. Clones end the same one.
#[derive(Clone, Debug)]
pub struct Stop {
    sender: watch::Sender<bool>,
}

impl Stop {
    /// Makes one for a new daemon.
    pub fn new() -> Stop {
        Stop { sender: watch::Sender::new(false) }
    }

    /// Asks the daemon to end: what is in flight is finished, then [`crate::run()`] returns.
    pub fn stop(&self) {
        self.sender.send_replace(true);
    }

    /// Returns a view that changes to true.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.sender.subscribe()
    }
}

/// Comes back when the daemon is told to end.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody can tell any more, which is an end too.
    drop(stop.wait_for(|stop| *stop).await);
}

/// Works until the daemon is told to end.
pub(crate) async fn until_stopped(work: impl Future<Output = ()>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = work => {}
        () = stopped(&mut stop) => {}
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::new()
    }
}

/// Something a person should know. Prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It listens; begins with `READY` so that a script can wait for it.
    Ready {
        /// Its process id.
        pid: u32,
        /// HTTP addresses, ports filled in.
        http: Vec<SocketAddr>,
        /// Unix sockets.
        sockets: Vec<PathBuf>,
    },
    /// A port belongs to another process; hooks, command and the rest go on over the socket.
    PortTaken {
        /// The address.
        addr: SocketAddr,
        /// The process, where it could be told.
        holder: Option<(u32, String)>,
    },
    /// Anything else, one sentence.
    Warning(String),
    /// It is about to end.
    Stopping,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Ready { pid, http, sockets } => {
                write!(f, "READY pid {pid}")?;
                for address in http {
                    write!(f, ", http://{address}")?;
                }
                for socket in sockets {
                    write!(f, ", {}", socket.display())?;
                }
                Ok(())
            }
            Notice::PortTaken { addr, holder } => {
                let holder = match holder {
                    Some((pid, name)) => format!("process {pid} ({name})"),
                    None => "another process".to_owned(),
                };
                write!(f, "{addr} is taken by {holder}; going on over the unix socket: {PORT_HINT}")
            }
            Notice::Warning(text) => f.write_str(text),
            Notice::Stopping => f.write_str("stopping"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_loopback_only() {
        assert_eq!(parse_addr("127.0.0.1:4001").unwrap(), ["127.0.0.1:4001".parse().unwrap()]);
        assert_eq!(parse_addr("localhost:7").unwrap().len(), 2);
        assert_eq!(parse_addr("127.0.0.1:1, [::1]:2").unwrap().len(), 2);
        assert_eq!(
            parse_addr("0.0.0.0:4000").unwrap_err().to_string(),
            "HERDBOOK_ADDR=0.0.0.0:4000 is not a loopback address; other machines are never served"
        );
        assert_eq!(
            parse_addr("4000").unwrap_err().to_string(),
            "HERDBOOK_ADDR=4000 is not IP:PORT or localhost:PORT"
        );
    }

    #[test]
    fn a_taken_port_names_its_holder() {
        let addr = DEFAULT_HTTP[0];
        let notice = Notice::PortTaken { addr, holder: Some((42, "node".into())) };
        assert_eq!(
            notice.to_string(),
            "127.0.0.1:4000 is taken by process 42 (node); going on over the unix socket: stop it, or set \
             HERDBOOK_ADDR to another address"
        );
        let unknown = Notice::PortTaken { addr, holder: None }.to_string();
        assert!(unknown.starts_with("127.0.0.1:4000 is taken by another process; "), "{unknown}");
    }
}
