//! Who is at the other end of a TCP connection, and who holds a port: both out of the kernel's socket tables.

use std::fs;
use std::net::{IpAddr, SocketAddr};

/// TCP states of `/proc/net/tcp`.
const LISTEN: u8 = 0x0A;
/// A socket in this state has lost its owner: the table says uid 0.
const TIME_WAIT: u8 = 0x06;

/// One row of a socket table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    uid: u32,
    inode: u64,
}

/// Returns the uid that owns the other end of a loopback connection: the socket whose local address is our peer and
/// whose remote address is ours. Nothing where the tables do not show it.
pub(crate) fn uid_of_tcp_peer(ours: SocketAddr, peer: SocketAddr) -> Option<u32> {
    let wanted = |row: &Row| row.local == peer && row.remote == ours && row.state != TIME_WAIT;
    rows(table_text(peer.ip()).as_deref()?).find(wanted).map(|row| row.uid)
}

/// Returns pid and name of the process that listens on a port, on this address or on all of them. Processes of other
/// users cannot be looked into.
pub(crate) fn holder_of_port(addr: SocketAddr) -> Option<(u32, String)> {
    let texts = [fs::read_to_string("/proc/net/tcp"), fs::read_to_string("/proc/net/tcp6")];
    let inodes: Vec<String> = texts
        .iter()
        .flatten()
        .flat_map(|text| rows(text))
        .filter(|row| row.state == LISTEN && row.local.port() == addr.port())
        .filter(|row| row.local.ip() == addr.ip() || row.local.ip().is_unspecified())
        .map(|row| format!("socket:[{}]", row.inode))
        .collect();
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        let holds = descriptors.flatten().any(|descriptor| {
            fs::read_link(descriptor.path())
                .is_ok_and(|target| inodes.iter().any(|inode| target.as_os_str() == inode.as_str()))
        });
        if holds {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some((pid, name.trim().to_owned()));
        }
    }
    None
}

fn table_text(ip: IpAddr) -> Option<String> {
    fs::read_to_string(if ip.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" }).ok()
}

/// Reads the rows of a table: `sl local remote state queues timer retransmits uid timeout inode …` (proc(5)).
fn rows(text: &str) -> impl Iterator<Item = Row> + '_ {
    text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (address(fields.next()?)?, address(fields.next()?)?);
        let state = u8::from_str_radix(fields.next()?, 16).ok()?;
        let uid = fields.nth(3)?.parse().ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        Some(Row { local, remote, state, uid, inode })
    })
}

/// Reads `0100007F:0FA0`: 32-bit words of the address in the machine's byte order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match ip.len() {
        8 => Some(SocketAddr::new(word(0)?.into(), port)),
        32 => {
            let mut bytes = [0; 16];
            for (part, at) in bytes.chunks_mut(4).zip([0, 8, 16, 24]) {
                part.copy_from_slice(&word(at)?);
            }
            Some(SocketAddr::new(IpAddr::from(bytes), port))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_other_end_of_a_connection_is_ours() {
        let own = rustix::process::geteuid().as_raw();
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let ours = listener.local_addr().unwrap();
            let client = TcpStream::connect(ours).unwrap();
            let (_server, peer) = listener.accept().unwrap();
            assert_eq!(uid_of_tcp_peer(ours, peer), Some(own), "{place}");
            assert_eq!(uid_of_tcp_peer(ours, SocketAddr::new(peer.ip(), 1)), None);
            drop(client);
        }
    }

    #[test]
    fn a_taken_port_has_a_holder() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (pid, name) = holder_of_port(listener.local_addr().unwrap()).unwrap();
        assert_eq!(pid, std::process::id());
        assert!(!name.is_empty());
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_row_is_read_by_its_columns() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0\n";
        let row = rows(text).next().unwrap();
        assert_eq!(row.local, "127.0.0.1:4000".parse().unwrap());
        assert_eq!((row.state, row.uid, row.inode), (LISTEN, 1000, 12345));
    }
}
