//! Who is at the other end of a loopback connection, and who holds a port, out of the kernel's socket tables.

use std::fs;
use std::net::{IpAddr, SocketAddr};

/// State of a listening socket in `/proc/net/tcp`.
const LISTEN: u8 = 0x0a;

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    uid: u32,
    /// 0 once no process holds the socket: the uid is 0 then, too, whoever opened it.
    inode: u64,
}

/// The uid that owns the other end of a connection on this machine: of the socket whose own address is our `peer` and
/// whose peer is our `local`. `None` where the tables do not show it, or show a socket that was closed already: then
/// nobody may be believed.
pub fn uid_of_tcp_peer(local: SocketAddr, peer: SocketAddr) -> Option<u32> {
    let (local, peer) = (canonical(local), canonical(peer));
    // An IPv4 connection can be held by an IPv6 socket, so the other table is looked at second.
    let order = if peer.is_ipv4() { TABLES } else { [TABLES[1], TABLES[0]] };
    order.iter().find_map(|table| uid_in(&fs::read_to_string(table).ok()?, local, peer))
}

fn uid_in(table: &str, local: SocketAddr, peer: SocketAddr) -> Option<u32> {
    rows(table).find(|row| row.local == peer && row.remote == local && row.inode != 0).map(|row| row.uid)
}

/// Pid and name of the process that listens on a TCP port. `None` if nobody does, or it is another user's: those
/// cannot be looked into.
pub fn owner_of_port(port: u16) -> Option<(u32, String)> {
    let wanted: Vec<String> = TABLES
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|text| {
            rows(&text)
                .filter(|row| row.state == LISTEN && row.local.port() == port)
                .map(|row| format!("socket:[{}]", row.inode))
                .collect::<Vec<_>>()
        })
        .collect();
    if wanted.is_empty() {
        return None;
    }
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(descriptors) = fs::read_dir(entry.path().join("fd")) else { continue };
        let mut links = descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        if links.any(|link| link.to_str().is_some_and(|link| wanted.iter().any(|socket| socket == link))) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            return Some((pid, name.trim_end().to_owned()));
        }
    }
    None
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The rows of a table: number, own address, peer, state, queues, timer, retransmits, uid, timeout, inode (proc(5)).
fn rows(table: &str) -> impl Iterator<Item = Row> + '_ {
    table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let local = address(words.next()?)?;
        let remote = address(words.next()?)?;
        let state = u8::from_str_radix(words.next()?, 16).ok()?;
        let uid = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        Some(Row { local, remote, state, uid, inode })
    })
}

/// Reads `0100007F:0FA0`: words of 32 bits in the machine's order of bytes, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |index: usize| {
        let digits = words.get(index * 8..index * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip: IpAddr = match words.len() {
        8 => word(0)?.into(),
        32 => {
            let mut bytes = [0; 16];
            for index in 0..4 {
                bytes[index * 4..index * 4 + 4].copy_from_slice(&word(index)?);
            }
            IpAddr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
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
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let local = server.local_addr().unwrap();
            assert_eq!(uid_of_tcp_peer(local, peer), Some(own));
            assert_eq!(uid_of_tcp_peer(local, SocketAddr::new(peer.ip(), 9)), None);
            drop(client);
        }
    }

    #[test]
    fn a_port_has_an_owner_while_it_is_listened_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (pid, name) = owner_of_port(port).unwrap();
        assert_eq!(pid, std::process::id());
        assert!(!name.is_empty());
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_socket_without_an_owner_says_nothing() {
        let table = |state: &str, owner: &str| {
            format!(
                "head\n   0: 0100007F:C000 0100007F:0FA0 {state} 0:0 0:0 0 {owner} 1\n   1: 0000000000000000FFFF00000100007F:C001 0000000000000000FFFF00000100007F:0FA0 01 0:0 0:0 0 1001 0 78 1\n"
            )
        };
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(uid_in(&table("01", "1000 0 77"), at(4000), at(49152)), Some(1000));
        // FIN_WAIT2 after a half close: the process still holds it.
        assert_eq!(uid_in(&table("05", "1000 0 77"), at(4000), at(49152)), Some(1000));
        // Whatever state it is left in: FIN_WAIT1 to NEW_SYN_RECV of include/net/tcp_states.h.
        for state in ["04", "05", "06", "07", "08", "09", "0A", "0B", "0C"] {
            assert_eq!(uid_in(&table(state, "0 0 0"), at(4000), at(49152)), None, "{state}");
        }
        assert_eq!(uid_in(&table("01", "1000 0 77"), at(4000), at(49153)), Some(1001));
        assert_eq!(uid_in(&table("01", "1000 0 77"), at(49152), at(4000)), None);
    }

    #[test]
    fn a_peer_that_closed_at_once_is_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        drop(client);
        assert_eq!(uid_of_tcp_peer(server.local_addr().unwrap(), peer), None);
    }
}
