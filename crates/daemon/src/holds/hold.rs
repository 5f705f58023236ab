//! One hold: what is asked, and who may still answer it.

use std::sync::Mutex;

use herdbook_api::waits::input_hash;
use herdbook_engine::view::WaitView;
use herdbook_events::WaitKind;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::subject::Subject;
use crate::spool::lock;

/// How a hold ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Something else did: the hook prints nothing.
    Over,
    /// The human answered: the bytes for the host, and whom to tell whether the hook was there to take them.
    Tell(Vec<u8>, oneshot::Sender<bool>),
}

/// What became of a hold so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// One answer was taken.
    Answered,
    /// The wait ended otherwise.
    Over,
    HungUp,
    TimeUp,
    Stopped,
}

/// Why an answer is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It was shown something else.
    OtherInput,
    /// Somebody answered before.
    Answered,
    /// It does not wait any more.
    Over,
    /// Its hook does not wait for an answer from here any more.
    NotHeld,
}

impl Refusal {
    /// Says why.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Refusal::OtherInput => "it asks for something else than what was shown",
            Refusal::Answered => "it was answered already",
            Refusal::Over => "it does not wait any more",
            Refusal::NotHeld => "its hook does not wait for an answer from here: answer it where it asks",
        }
    }
}

/// A call that is held.
#[derive(Debug)]
pub(crate) struct Hold {
    pub wait: WaitView,
    pub subject: Subject,
    /// Names what exactly is asked.
    pub hash: String,
    /// Unix milliseconds until which it is held.
    pub until_ms: u64,
    pub begun: Instant,
    /// Its whole input, as text; gone when it is over.
    input: Mutex<Option<String>>,
    inner: Mutex<(State, Option<oneshot::Sender<Ending>>)>,
}

/// An answer that won: nobody else can give one.
#[derive(Debug)]
pub(crate) struct Claim {
    ending: oneshot::Sender<Ending>,
}

impl Claim {
    /// Hands the bytes to the hook; false when it was not there any more.
    pub(crate) async fn tell(self, bytes: Vec<u8>) -> bool {
        let (sender, receiver) = oneshot::channel();
        self.ending.send(Ending::Tell(bytes, sender)).is_ok() && receiver.await.unwrap_or(false)
    }
}

impl Hold {
    /// Only a permission is answered by a yes or a no: a question wants words, and a plan more than one kind of yes.
    pub(super) fn of(
        mut subject: Subject,
        wait: WaitView,
        wall_ms: u64,
    ) -> Option<(Hold, oneshot::Receiver<Ending>)> {
        if wait.kind != WaitKind::Permission {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let input = std::mem::take(&mut subject.input);
        let hold = Hold {
            hash: input_hash(wait.session.as_str(), &subject.tool, &input),
            until_ms: wall_ms + subject.hold_ms(),
            begun: Instant::now(),
            input: Mutex::new(Some(input)),
            inner: Mutex::new((State::Open, Some(sender))),
            wait,
            subject,
        };
        Some((hold, receiver))
    }

    pub(crate) fn is_open(&self) -> bool {
        lock(&self.inner).0 == State::Open
    }

    /// Its whole input, while it is held.
    pub(crate) fn input(&self) -> Option<String> {
        lock(&self.input).clone()
    }

    pub(super) fn drop_input(&self) {
        *lock(&self.input) = None;
    }

    /// Takes an answer about that input. Called on the engine's thread.
    pub(crate) fn claim(&self, hash: &str) -> Result<Claim, Refusal> {
        let mut inner = lock(&self.inner);
        match inner.0 {
            State::Open if self.hash != hash => Err(Refusal::OtherInput),
            State::Open => {
                let ending = inner.1.take().ok_or(Refusal::Answered)?;
                inner.0 = State::Answered;
                Ok(Claim { ending })
            }
            State::Answered => Err(Refusal::Answered),
            State::Over => Err(Refusal::Over),
            State::HungUp | State::TimeUp | State::Stopped => Err(Refusal::NotHeld),
        }
    }

    /// Closes it to answers; false when one was taken before.
    pub(super) fn end(&self, state: State) -> bool {
        let mut inner = lock(&self.inner);
        let is_open = inner.0 == State::Open;
        if is_open {
            inner.0 = state;
        }
        is_open
    }

    /// Its wait is over: lets the hook go.
    pub(super) fn end_over(&self) {
        if self.end(State::Over)
            && let Some(ending) = lock(&self.inner).1.take()
        {
            // A hook that hung up just now is not told.
            let _ = ending.send(Ending::Over);
        }
    }
}
