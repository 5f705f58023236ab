//! Hook frames: one a connection, read within limits, answered once the event is written or soon enough with "spool".

use std::io;
use std::sync::Arc;
use std::time::Duration;

use herdbook_engine::Input;
use herdbook_log::Durability;
use herdbook_wire::frame::{self, HEADER_BYTES, Header};
use herdbook_wire::limits::SOCKET_BODY_BYTES;
use herdbook_wire::{Answer, Delivery, FrameError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::answering::{Answering, Ending, Question, Verdict};
use crate::config::stopped;
use crate::convert;
use crate::core::Core;
use crate::http::App;

/// A hook sends its frame in one go; one that was stopped in the middle does not keep a connection.
const READ_TIME: Duration = Duration::from_secs(2);
/// The hook gives up 50 ms after it began to send (overview D2); an answer after that is for nobody. The delivery id
/// keeps the event from counting twice when it comes out of the spool later.
const ANSWER_TIME: Duration = Duration::from_millis(40);
/// So long after the event is kept it may be open whether anybody is asked: a long call takes its time to read, and its
/// hook gives up early.
const READING_TIME: Duration = Duration::from_millis(2);
/// What is asked when the daemon is told to end has so long.
const STOP_TIME: Duration = Duration::from_millis(400);
/// So long a refused frame may go on coming.
const LINGER_TIME: Duration = Duration::from_millis(100);

/// Reads one frame and answers it.
pub(crate) async fn serve(
    mut stream: UnixStream,
    core: Core,
    app: &App,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let read = timeout(READ_TIME, read_delivery(&mut stream)).await;
    let answer = match read {
        Err(_) => return Ok(()),
        Ok(Ok(delivery)) => {
            app.agents.hear(&delivery.host, &delivery.origin.ancestors);
            let question = app.answering.question(&delivery);
            match (take(delivery, &core).await, question) {
                (Taken::New, Some(question)) => match ask(&mut stream, &app.answering, question, stop).await?
                {
                    Some(answer) => answer,
                    // The hook hung up.
                    None => return Ok(()),
                },
                (Taken::New | Taken::Known, _) => Answer::Done,
                (Taken::Not, _) => Answer::Spool,
            }
        }
        // The hook hung up: it spooled the event, or it was killed.
        Ok(Err(FrameError::Io(error))) => return Err(error),
        // Another version, or bytes this build cannot read: the spool keeps them for one that can.
        Ok(Err(_)) => Answer::Spool,
    };
    send(&mut stream, &answer).await?;
    stream.shutdown().await?;
    // Closing with bytes unread would reset the connection, and the hook could lose the answer.
    let rest =
        async { tokio::io::copy(&mut stream.take(SOCKET_BODY_BYTES * 2), &mut tokio::io::sink()).await };
    timeout(LINGER_TIME, rest).await.map_or(Ok(()), |read| read.map(drop))
}

async fn send(stream: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let bytes = frame::encode_answer(answer).map_err(io::Error::other)?;
    stream.write_all(&bytes).await
}

/// What became of a delivery.
enum Taken {
    /// It is in the journal.
    New,
    /// It was there before: whoever was to be asked was asked.
    Known,
    /// It is not known to be there.
    Not,
}

async fn take(delivery: Delivery, core: &Core) -> Taken {
    let input = Input::Hook(convert::delivery(delivery, false));
    match timeout(ANSWER_TIME, core.step_new(input, Durability::Written)).await {
        Ok(Ok(true)) => Taken::New,
        Ok(Ok(false)) => Taken::Known,
        Ok(Err(_)) | Err(_) => Taken::Not,
    }
}

/// Lets the hook wait where somebody may answer the call, and returns what it is told then; nothing where it hung up.
async fn ask(
    stream: &mut UnixStream,
    answering: &Arc<Answering>,
    question: Question,
    mut stop: watch::Receiver<bool>,
) -> io::Result<Option<Answer>> {
    let most_ms = answering.most_ms(&question);
    let mut reading = std::pin::pin!(answering.waiting(question));
    let soon = timeout(READING_TIME, &mut reading).await;
    if soon.is_err() {
        send(stream, &Answer::Wait(most_ms)).await?;
    }
    let is_asked = soon.is_err();
    let waiting = match soon {
        Ok(waiting) => waiting,
        Err(_) => reading.await,
    };
    let Some(waiting) = waiting else { return Ok(Some(Answer::Done)) };
    if !is_asked {
        send(stream, &Answer::Wait(waiting.wait_ms())).await?;
    }
    let ending = Ending::new();
    let mut deciding = std::pin::pin!(answering.decide(waiting, &ending));
    let stopping = async {
        stopped(&mut stop).await;
        tokio::time::sleep(STOP_TIME).await;
    };
    let verdict = tokio::select! {
        verdict = &mut deciding => verdict,
        () = hung_up(stream) => {
            ending.end("was ended: the hook did not wait for it");
            if let Some(verdict) = deciding.await {
                answering.note(verdict.unheard()).await;
            }
            return Ok(None);
        }
        () = stopping => {
            ending.end("was ended: the daemon is stopping");
            deciding.await
        }
    };
    let Some(Verdict { decided, answer }) = verdict else { return Ok(Some(Answer::Done)) };
    answering.note(decided).await;
    Ok(Some(answer))
}

/// Comes back when the other side has closed, or only its own way out: hooks do neither while they wait.
async fn hung_up(stream: &mut UnixStream) {
    let mut rest = [0; 64];
    // What comes after the frame says nothing.
    while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
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
