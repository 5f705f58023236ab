//! Hook frames: one a connection, read within limits, answered once the event is written or soon enough with "spool".

use std::io;
use std::sync::Arc;
use std::time::Duration;

use herdbook_engine::{Decided, Input};
use herdbook_log::Durability;
use herdbook_wire::frame::{self, HEADER_BYTES, Header};
use herdbook_wire::limits::{ANSWER_MS, SOCKET_BODY_BYTES};
use herdbook_wire::{Answer, Delivery, FrameError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, timeout};

use crate::answering::{Answering, Ending, Question, Verdict};
use crate::config::stopped;
use crate::convert;
use crate::core::Core;
use crate::holds::{self, Held, Subject};
use crate::http::App;

/// A hook sends its frame in one go; one that was stopped in the middle does not keep a connection.
const READ_TIME: Duration = Duration::from_secs(2);
/// The hook gives up 50 ms after it began to send (overview D2); an answer after that is for nobody. The delivery id
/// keeps the event from counting twice when it comes out of the spool later.
const ANSWER_TIME: Duration = Duration::from_millis(40);
/// The same where somebody may answer the call: its hook waits a second, and what is spooled is answered by nobody.
const PATIENT_TIME: Duration = Duration::from_millis(ANSWER_MS * 9 / 10);
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
    place: OwnedSemaphorePermit,
) -> io::Result<()> {
    let read = timeout(READ_TIME, read_delivery(&mut stream)).await;
    let mut unnoted = None;
    let answer = match read {
        Err(_) => return Ok(()),
        Ok(Ok(delivery)) => {
            app.agents.hear(&delivery.host, &delivery.origin.ancestors);
            let question = app.answering.question(&delivery);
            let subject = app.holds.subject(&delivery);
            // A hook is asked to wait once: for whoever answers first, and for the human after that.
            let held_ms = subject.as_ref().map_or(0, Subject::hold_ms);
            let within = if question.is_some() || subject.is_some() { PATIENT_TIME } else { ANSWER_TIME };
            match take(delivery, &core, within).await {
                Taken::New => {
                    let asked = match question {
                        Some(question) => {
                            ask(&mut stream, &app.answering, question, held_ms, stop.clone()).await?
                        }
                        None => Some(Asked::done(None)),
                    };
                    // The hook hung up.
                    let Some(Asked { answer, patient_until, passed }) = asked else { return Ok(()) };
                    unnoted = passed;
                    if let (Answer::Done, Some(subject)) = (&answer, subject)
                        && let Some(held) = app.holds.begin(&core, subject, patient_until).await
                    {
                        if let Some(passed) = unnoted {
                            app.answering.note(passed).await;
                        }
                        return hold(stream, app, held, stop, place).await;
                    }
                    answer
                }
                Taken::Known => Answer::Done,
                Taken::Not => Answer::Spool,
            }
        }
        // The hook hung up: it spooled the event, or it was killed.
        Ok(Err(FrameError::Io(error))) => return Err(error),
        // Another version, or bytes this build cannot read: the spool keeps them for one that can.
        Ok(Err(_)) => Answer::Spool,
    };
    let sent = send(&mut stream, &answer).await;
    // Who is told nothing need not wait for what is written about it.
    if let Some(passed) = unnoted {
        app.answering.note(passed).await;
    }
    sent?;
    close(stream).await
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
    let asked = match held.wait_ms() {
        Some(wait_ms) => send(&mut stream, &Answer::Wait(wait_ms)).await,
        None => Ok(()),
    };
    match app.holds.wait(&mut held, &mut stream, &mut stop).await {
        holds::Ending::Over => {
            asked?;
            send(&mut stream, &Answer::Done).await?;
            close(stream).await
        }
        holds::Ending::Tell(bytes, told) => {
            let sent = send(&mut stream, &Answer::Decision(bytes)).await;
            // Whoever answered may have gone.
            let _ = told.send(sent.is_ok());
            Ok(())
        }
    }
}

async fn close(mut stream: UnixStream) -> io::Result<()> {
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

async fn take(delivery: Delivery, core: &Core, within: Duration) -> Taken {
    let input = Input::Hook(convert::delivery(delivery, false));
    match timeout(within, core.step_new(input, Durability::Written)).await {
        Ok(Ok(true)) => Taken::New,
        Ok(Ok(false)) => Taken::Known,
        Ok(Err(_)) | Err(_) => Taken::Not,
    }
}

/// What a hook is told, and until when it waits where it was asked to.
struct Asked {
    answer: Answer,
    patient_until: Option<Instant>,
    /// A decision that tells the host nothing, to be written down once it was answered.
    passed: Option<Decided>,
}

impl Asked {
    fn done(patient_until: Option<Instant>) -> Asked {
        Asked { answer: Answer::Done, patient_until, passed: None }
    }
}

/// Lets the hook wait where somebody may answer the call, and returns what it is told then; nothing where it hung up.
/// `held_ms` is how long it may be held after that.
async fn ask(
    stream: &mut UnixStream,
    answering: &Arc<Answering>,
    question: Question,
    held_ms: u64,
    mut stop: watch::Receiver<bool>,
) -> io::Result<Option<Asked>> {
    let held_ms = u32::try_from(held_ms).unwrap_or(u32::MAX);
    let most_ms = answering.most_ms(&question).max(held_ms);
    let patience = |ms: u32| Some(Instant::now() + Duration::from_millis(ms.into()));
    let mut patient_until = None;
    let mut reading = std::pin::pin!(answering.waiting(question));
    let soon = timeout(READING_TIME, &mut reading).await;
    if soon.is_err() {
        patient_until = patience(most_ms);
        send(stream, &Answer::Wait(most_ms)).await?;
    }
    let is_asked = soon.is_err();
    let waiting = match soon {
        Ok(waiting) => waiting,
        Err(_) => reading.await,
    };
    let Some(waiting) = waiting else { return Ok(Some(Asked::done(patient_until))) };
    if !is_asked {
        let wait_ms = waiting.wait_ms().max(held_ms);
        patient_until = patience(wait_ms);
        send(stream, &Answer::Wait(wait_ms)).await?;
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
    let Some(Verdict { decided, answer }) = verdict else { return Ok(Some(Asked::done(patient_until))) };
    if decided.told.is_none() {
        return Ok(Some(Asked { answer, patient_until, passed: Some(decided) }));
    }
    answering.note(decided).await;
    Ok(Some(Asked { answer, patient_until, passed: None }))
}

/// Comes back when the other side has closed, or only its own way out: hooks do neither while they wait.
pub(crate) async fn hung_up(stream: &mut UnixStream) {
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
