//! Connections: accepted within limits, told apart by their first byte, ended together.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::config::stopped;
use crate::core::Core;
use crate::frames;
use crate::guard::Guard;
use crate::http::{self, App};
use crate::patience::Patient;
use crate::peer::Peer;

/// So many connections of either kind; what comes beyond is closed at once, and a hook then uses the spool.
const CONNECTIONS: usize = 256;
/// A head may be so long, also counting what is read ahead of a body.
const HEAD_BYTES: usize = 64 << 10;
const HEADERS: usize = 64;
/// A head must be there in that time; it is also how long an idle connection is kept.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Who takes nothing of an answer for so long has gone. A stream that has nothing to say says a comment sooner.
const TAKE_TIME: Duration = Duration::from_secs(60);
/// After an accept failed for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What every connection needs.
#[derive(Clone)]
pub(crate) struct Server {
    pub app: Arc<App>,
    pub core: Core,
    pub router: axum::Router,
    /// Changes to true when the daemon ends.
    pub stop: watch::Receiver<bool>,
    /// Held by each connection: when all are dropped, the last one is over.
    pub alive: mpsc::Sender<()>,
}

impl Server {
    /// Serves a unix socket until the daemon ends.
    pub(crate) async fn unix(self, listener: UnixListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut stop = self.stop.clone();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stop) => return,
            };
            match (accepted, Arc::clone(&places).try_acquire_owned()) {
                (Ok((stream, _)), Ok(place)) => {
                    tokio::spawn(self.clone().unix_connection(stream, place));
                }
                (Ok(_), Err(_)) => {}
                (Err(_), _) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Serves a TCP address until the daemon ends.
    pub(crate) async fn tcp(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut stop = self.stop.clone();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stop) => return,
            };
            match (accepted, Arc::clone(&places).try_acquire_owned()) {
                (Ok((stream, peer)), Ok(place)) => {
                    tokio::spawn(self.clone().tcp_connection(stream, peer, place));
                }
                (Ok(_), Err(_)) => {}
                (Err(_), _) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn unix_connection(self, stream: UnixStream, place: OwnedSemaphorePermit) {
        let own_uid = stream.peer_cred().is_ok_and(|peer| peer.uid() == own_uid());
        let mut stop = self.stop.clone();
        let first = tokio::select! {
            first = timeout(HEAD_TIME, first_byte(&stream)) => first,
            () = stopped(&mut stop) => return,
        };
        match first {
            Ok(Ok(Some(0))) if own_uid => {
                // The hook has gone when its connection fails; there is nobody to tell.
                drop(frames::serve(stream, self.core.clone(), &self.app, stop, place).await);
            }
            Ok(Ok(Some(byte))) if byte != 0 => {
                let peer = Peer::of(&stream);
                self.http(stream, Guard { own_uid, ports: None }, peer).await;
                drop(place);
            }
            _ => {}
        }
    }

    async fn tcp_connection(self, stream: TcpStream, peer: SocketAddr, place: OwnedSemaphorePermit) {
        let Ok(ours) = stream.local_addr() else { return };
        // Answers are small and complete, so waiting to fill a packet only costs time.
        drop(stream.set_nodelay(true));
        let own_uid = herdbook_machine::uid_of_tcp_peer(ours, peer) == Some(own_uid());
        let ports = Some(self.app.ports.clone());
        self.http(stream, Guard { own_uid, ports }, Peer::Tcp).await;
        drop(place);
    }

    async fn http(self, stream: impl AsyncRead + AsyncWrite + AsFd + Unpin, guard: Guard, peer: Peer) {
        let Server { router, mut stop, alive, .. } = self;
        let service = service_fn(move |mut request: Request<Incoming>| {
            let answered = guard.check(&request);
            request.extensions_mut().insert(peer);
            let router = router.clone();
            async move {
                Ok::<Response<Body>, Infallible>(match answered {
                    Ok(()) => http::call(router, request).await,
                    Err((status, words)) => http::refuse(status, words),
                })
            }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADERS)
            .keep_alive(true)
            .half_close(true);
        let stream = TokioIo::new(Patient::over(stream, TAKE_TIME));
        let connection = builder.serve_connection(stream, service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            // The client has gone when its connection fails; there is nobody to tell.
            _ = connection.as_mut() => {}
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                drop(connection.await);
            }
        }
        drop(alive);
    }
}

/// Looks at the first byte without taking it. Nothing when the other side closed.
async fn first_byte(stream: &UnixStream) -> io::Result<Option<u8>> {
    let mut byte = [0];
    let (_, count) = stream
        .async_io(Interest::READABLE, || recv(stream, &mut byte, RecvFlags::PEEK).map_err(io::Error::from))
        .await?;
    Ok((count == 1).then_some(byte[0]))
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
