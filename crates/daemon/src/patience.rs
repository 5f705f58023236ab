//! Connections whose other side takes nothing: they end, so that nobody holds a place for good by not reading.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::SendFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Writes what a connection takes at once.
type AtOnce<S> = fn(&S, &[u8]) -> io::Result<usize>;

/// A connection that fails when not one byte of what was to be written could be for so long.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    at_once: AtOnce<S>,
    /// Runs while something waits to be written.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S: AsFd> Patient<S> {
    /// Over a socket. The system says that one has room only when a third of its buffer is free, or more, which a slow reader
    /// takes for minutes: before it is given up the socket itself is asked.
    pub(crate) fn over(socket: S, patience: Duration) -> Patient<S> {
        Patient::new(socket, patience, |socket, bytes| {
            Ok(rustix::net::send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
        })
    }
}

impl<S> Patient<S> {
    fn new(stream: S, patience: Duration, at_once: AtOnce<S>) -> Patient<S> {
        Patient { stream, patience, at_once, until: None }
    }

    fn unless_late(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let patience = self.patience;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(patience)));
        let is_late = until.as_mut().poll(context);
        is_late.map(|()| {
            self.until = None;
            (self.at_once)(&self.stream, bytes).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
                _ => error,
            })
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_late(context, bytes, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        let bytes = slices.iter().find(|slice| !slice.is_empty());
        self.unless_late(context, bytes.map_or(&[], |bytes| bytes), written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::http::Response;
    use http_body_util::channel::Channel;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::net::UnixStream;
    use tokio::time::Instant;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// What is no socket has nothing more to say.
    fn patient(stream: DuplexStream) -> Patient<DuplexStream> {
        Patient::new(stream, PATIENCE, |_, _| Err(io::ErrorKind::WouldBlock.into()))
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_for_a_minute_is_let_go_and_who_takes_a_little_is_not() {
        let (ours, mut theirs) = duplex(4);
        let mut ours = patient(ours);
        let begun = Instant::now();
        let reads = tokio::spawn(async move {
            for _ in 0..10 {
                sleep(Duration::from_secs(59)).await;
                theirs.read_u8().await.unwrap();
            }
            theirs
        });
        ours.write_all(b"hello world 14").await.unwrap();
        // Nothing waits to be written: that may last.
        let theirs = reads.await.unwrap();
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(begun.elapsed().as_secs(), 590 + 3600);
        let error = ours.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 590 + 3600 + 60);
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_socket_a_slow_reader_may_take_less_than_the_system_calls_room() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut ours = Patient::over(ours, PATIENCE);
        let reads = tokio::spawn(async move {
            let mut taken = vec![0; 110_000];
            for _ in 0..10 {
                sleep(Duration::from_secs(50)).await;
                theirs.read_exact(&mut taken).await.unwrap();
            }
            theirs
        });
        ours.write_all(&[b'x'; 1_100_000]).await.unwrap();
        let theirs = reads.await.unwrap();
        // Who takes nothing any more is let go all the same.
        let begun = Instant::now();
        let error = ours.write_all(&[b'x'; 1_100_000]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 60));
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_of_a_reader_that_does_not_read_is_given_up() {
        let (ours, mut theirs) = duplex(64);
        theirs.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let (mut sender, body) = Channel::<Bytes>::new(4);
        let body = std::cell::Cell::new(Some(body));
        let answer = service_fn(|_| {
            let answer = body.take().map(Response::new);
            std::future::ready(answer.ok_or("asked twice"))
        });
        let begun = Instant::now();
        let served = http1::Builder::new().serve_connection(TokioIo::new(patient(ours)), answer);
        let told = async { while sender.send_data(Bytes::from_static(&[b'x'; 1024])).await.is_ok() {} };
        // The one ends with an error, and then who tells learns that there is nobody.
        let (served, ()) = tokio::join!(served, told);
        assert!(served.is_err());
        assert_eq!(begun.elapsed().as_secs(), PATIENCE.as_secs());
    }
}
