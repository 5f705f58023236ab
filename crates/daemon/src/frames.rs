//! Hook frames: one a connection, read within limits, answered once the event is written or soon enough with "spool".

use std::io;
use std::time::Duration;

use herdbook_engine::Input;
use herdbook_log::Durability;
use herdbook_wire::frame::{self, HEADER_BYTES, Header};
use herdbook_wire::limits::SOCKET_BODY_BYTES;
use herdbook_wire::{Answer, Delivery, FrameError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use crate::convert;
use crate::core::Core;
use crate::holds::{Ending, Held};
use crate::http::App;

/// A hook sends its frame in one go; one that was stopped in the middle does not keep a connection.
const READ_TIME: Duration = Duration::from_secs(2);
/// The hook gives up 50 ms after it began to send (overview D2); an answer after that is for nobody. The delivery id
/// keeps the event from counting twice when it comes out of the spool later.
const ANSWER_TIME: Duration = Duration::from_millis(40);
/// So long a refused frame may go on coming.
const LINGER_TIME: Duration = Duration::from_millis(100);

/// Reads one frame and answers it.
pub(crate) async fn serve(
    mut stream: UnixStream,
    core: Core,
    app: &App,
    stop: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) -> io::Result<()> {
    let read = timeout(READ_TIME, read_delivery(&mut stream)).await;
    let answer = match read {
        Err(_) => return Ok(()),
        Ok(Ok(delivery)) => {
            app.agents.hear(&delivery.host, &delivery.origin.ancestors);
            let subject = app.holds.subject(&delivery);
            match (take(delivery, &core).await, subject) {
                (Answer::Done, Some(subject)) => match app.holds.begin(&core, subject).await {
                    Some(held) => return hold(stream, app, held, stop, place).await,
                    None => Answer::Done,
                },
                (answer, _) => answer,
            }
        }
        // The hook hung up: it spooled the event, or it was killed.
        Ok(Err(FrameError::Io(error))) => return Err(error),
        // Another version, or bytes this build cannot read: the spool keeps them for one that can.
        Ok(Err(_)) => Answer::Spool,
    };
    finish(stream, &answer).await
}

/// Holds a hook until its wait is over or was answered.
async fn hold(
    mut stream: UnixStream,
    app: &App,
    mut held: Held,
    mut stop: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) -> io::Result<()> {
    // Who waits for a human takes no place of those that wait for nobody.
    drop(place);
    let asked = send(&mut stream, &Answer::Wait(held.wait_ms())).await;
    match app.holds.wait(&mut held, &mut stream, &mut stop).await {
        Ending::Over => {
            asked?;
            finish(stream, &Answer::Done).await
        }
        Ending::Tell(bytes, told) => {
            let sent = send(&mut stream, &Answer::Decision(bytes)).await;
            // Whoever answered may have gone.
            let _ = told.send(sent.is_ok());
            Ok(())
        }
    }
}

async fn send(stream: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let bytes = frame::encode_answer(answer).map_err(io::Error::other)?;
    stream.write_all(&bytes).await
}

async fn finish(mut stream: UnixStream, answer: &Answer) -> io::Result<()> {
    send(&mut stream, answer).await?;
    stream.shutdown().await?;
    // Closing with bytes unread would reset the connection, and the hook could lose the answer.
    let rest =
        async { tokio::io::copy(&mut stream.take(SOCKET_BODY_BYTES * 2), &mut tokio::io::sink()).await };
    timeout(LINGER_TIME, rest).await.map_or(Ok(()), |read| read.map(drop))
}

async fn take(delivery: Delivery, core: &Core) -> Answer {
    let input = Input::Hook(convert::delivery(delivery, false));
    match timeout(ANSWER_TIME, core.step(input, Durability::Written)).await {
        Ok(Ok(())) => Answer::Done,
        Ok(Err(_)) | Err(_) => Answer::Spool,
    }
}

/// Reads one frame. Memory grows with what arrives, not with what the header promises.
async fn read_delivery(stream: &mut (impl AsyncRead + Unpin)) -> Result<Delivery, FrameError> {
    let mut fixed = [0; HEADER_BYTES];
    stream.read_exact(&mut fixed).await.map_err(FrameError::Io)?;
    let header = Header::parse(&fixed, SOCKET_BODY_BYTES)?;
    let head = read_part(stream, u64::from(header.head_len)).await?;
    let body = read_part(stream, header.body_len).await?;
    header.delivery(&head, body)
}

async fn read_part(stream: &mut (impl AsyncRead + Unpin), length: u64) -> Result<Vec<u8>, FrameError> {
    const FIRST: u64 = 64 << 10;
    let mut part = Vec::with_capacity(length.min(FIRST) as usize);
    let read = stream.take(length).read_to_end(&mut part).await.map_err(FrameError::Io)?;
    if read as u64 == length { Ok(part) } else { Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_frame_is_read_as_it_was_sent_and_a_cut_one_is_not() {
        let sent =
            Delivery { host: "claude".into(), delivery: 7, body: vec![b'x'; 100_000], ..Delivery::default() };
        let bytes = frame::encode(&sent);
        assert_eq!(read_delivery(&mut bytes.as_slice()).await.unwrap(), sent);
        for end in [0, 1, HEADER_BYTES, bytes.len() - 1] {
            assert!(matches!(read_delivery(&mut &bytes[..end]).await, Err(FrameError::Io(_))), "{end}");
        }
    }

    #[tokio::test]
    async fn another_version_is_told_apart() {
        let mut bytes = frame::encode(&Delivery::default());
        bytes[4] = 9;
        assert!(matches!(read_delivery(&mut bytes.as_slice()).await, Err(FrameError::Version(9))));
    }
}
