//! The hook's side of the socket: connect, send one frame, take the answer, all before one deadline.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with,
};

use crate::delivery::{Answer, Delivery};
use crate::frame::{self, FrameError};
use crate::limits::WAIT_MS;
use crate::paths::{DirError, SocketPlace, check_dir, own_uid, socket_address};

/// Bodies up to this size travel in one piece with the head.
const ONE_SEND_BYTES: usize = 64 << 10;
/// How often a full backlog is tried again, and the pause between.
const BACKLOG_TRIES: u32 = 5;
const BACKLOG_PAUSE: Duration = Duration::from_millis(1);

/// Why a delivery has no answer.
#[derive(Debug)]
pub enum DeliverError {
    /// No place to try was given.
    NoPlace,
    /// The socket's folder must not be trusted.
    Dir(DirError),
    /// Another user listens there.
    ForeignPeer(u32),
    /// Not in time.
    TimedOut,
    /// The server closed without an answer.
    Closed,
    /// The server asked to wait a second time.
    WaitTwice,
    /// A system call failed; `NotFound` and `ConnectionRefused` mean that no daemon listens.
    Io(io::Error),
    /// The answer is no answer.
    Answer(FrameError),
}

impl fmt::Display for DeliverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeliverError::NoPlace => write!(f, "no socket to try"),
            DeliverError::Dir(_) => write!(f, "the socket's folder is not safe"),
            DeliverError::ForeignPeer(uid) => write!(f, "uid {uid} listens on the socket"),
            DeliverError::TimedOut => write!(f, "no answer in time"),
            DeliverError::Closed => write!(f, "the connection was closed without an answer"),
            DeliverError::WaitTwice => write!(f, "the server asked to wait twice"),
            DeliverError::Io(_) => write!(f, "could not talk to the socket"),
            DeliverError::Answer(_) => write!(f, "the answer cannot be read"),
        }
    }
}

impl std::error::Error for DeliverError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DeliverError::Dir(source) => Some(source),
            DeliverError::Io(source) => Some(source),
            DeliverError::Answer(source) => Some(source),
            _ => None,
        }
    }
}

impl From<Errno> for DeliverError {
    fn from(errno: Errno) -> DeliverError {
        DeliverError::Io(errno.into())
    }
}

/// Sends a delivery to the first place where somebody of our own listens, and returns the answer (never `Wait`: that
/// moves the deadline, once).
///
/// # Errors
/// See [`DeliverError`]. The server may have taken the delivery all the same: who spools it then keeps its id.
pub fn deliver(
    delivery: &Delivery,
    places: &[SocketPlace],
    deadline: Instant,
) -> Result<Answer, DeliverError> {
    let mut failed = DeliverError::NoPlace;
    for place in places {
        match open(place, deadline) {
            Ok(socket) => return converse(&socket, delivery, deadline),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn open(place: &SocketPlace, deadline: Instant) -> Result<OwnedFd, DeliverError> {
    if let (true, Some(dir)) = (place.guarded, place.path.parent()) {
        check_dir(dir).map_err(DeliverError::Dir)?;
    }
    let address = socket_address(&place.path).map_err(DeliverError::Io)?;
    let target = SocketAddrUnix::new(&address.path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let mut tries = BACKLOG_TRIES;
    loop {
        match connect(&socket, &target) {
            Ok(()) => break,
            // A unix socket connects at once or not at all: this one has a full backlog.
            Err(Errno::AGAIN) if tries > 0 && Instant::now() < deadline => {
                tries -= 1;
                thread::sleep(BACKLOG_PAUSE);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let peer = socket_peercred(&socket)?.uid.as_raw();
    if peer == own_uid() { Ok(socket) } else { Err(DeliverError::ForeignPeer(peer)) }
}

fn converse(socket: &OwnedFd, delivery: &Delivery, mut deadline: Instant) -> Result<Answer, DeliverError> {
    if delivery.body.len() <= ONE_SEND_BYTES {
        send_all(socket, &frame::encode(delivery), deadline)?;
    } else {
        send_all(socket, &frame::encode_without_body(delivery, 0), deadline)?;
        send_all(socket, &delivery.body, deadline)?;
    }
    let mut received = Vec::with_capacity(256);
    let mut may_wait = true;
    loop {
        match frame::decode_answer(&received).map_err(DeliverError::Answer)? {
            Some((Answer::Wait(ms), len)) if may_wait => {
                received.drain(..len);
                may_wait = false;
                deadline = Instant::now() + Duration::from_millis(ms.min(WAIT_MS).into());
            }
            Some((Answer::Wait(_), _)) => return Err(DeliverError::WaitTwice),
            Some((answer, _)) => return Ok(answer),
            None => receive(socket, &mut received, deadline)?,
        }
    }
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8], deadline: Instant) -> Result<(), DeliverError> {
    while !bytes.is_empty() {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::AGAIN) => wait_for(socket, PollFlags::OUT, deadline)?,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn receive(socket: &OwnedFd, received: &mut Vec<u8>, deadline: Instant) -> Result<(), DeliverError> {
    loop {
        wait_for(socket, PollFlags::IN, deadline)?;
        received.reserve(256);
        match recv(socket, spare_capacity(received), RecvFlags::empty()) {
            Ok((_, 0)) => return Err(DeliverError::Closed),
            Ok(_) => return Ok(()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn wait_for(socket: &OwnedFd, flags: PollFlags, deadline: Instant) -> Result<(), DeliverError> {
    match poll_until(socket, flags, deadline) {
        Ok(true) => Ok(()),
        Ok(false) => Err(DeliverError::TimedOut),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits until something can be done with `fd`; false when the deadline came first. Looks at least once.
pub(crate) fn poll_until(fd: impl AsFd, flags: PollFlags, deadline: Instant) -> Result<bool, Errno> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&fd, flags)], Some(&timeout)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
