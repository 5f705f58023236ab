//! The way to the engine: a bounded channel, over which inputs come in one after another.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use herdbook_engine::{Engine, Input, Now};
use herdbook_log::Durability;
use tokio::sync::{mpsc, oneshot};

/// So many inputs wait for the engine; whoever sends more waits, within a time limit of its own.
const WAITING: usize = 1024;
/// Why an input was not taken, or is not known to be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// The daemon is about to end.
    #[error("the daemon is stopping")]
    Stopping,
    /// The journal cannot be written now.
    #[error("the journal cannot be written: {0}")]
    Journal(String),
    /// The code failed on this request; the input is kept where that was possible.
    #[error("the daemon failed on this request; it is noted in the journal")]
    Panicked,
}

/// Takes what became of an input: how many records it gave.
pub(crate) type Reply = Box<dyn FnOnce(Result<usize, Refused>) + Send>;
/// Takes a look at the engine's state.
pub(crate) type Look = Box<dyn FnOnce(&Engine, Now) + Send>;

/// What the engine's thread is asked.
pub(crate) enum Command {
    Step(Box<Request>),
    Look(Look),
    /// Something changed that the loop looks at by itself.
    Wake,
    Stop(oneshot::Sender<()>),
}

/// An input on its way.
pub(crate) struct Request {
    pub input: Input,
    pub durability: Durability,
    pub reply: Reply,
    /// From this moment on it is past and says nothing, on the monotonic clock.
    pub until_ms: Option<u64>,
}

/// What the daemon counts since its start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Sessions for which the human was called.
    pub announced: AtomicU64,
    /// Entries of the spool that another version of the hook wrote, and the latest of these versions.
    pub foreign: Mutex<(u64, u16)>,
    /// Bytes that were handed to the journal and are not answered yet.
    pub unwritten: AtomicU64,
    /// Decisions that hosts were told and that could not be written down first.
    pub unnoted: AtomicU64,
    /// Looks at panes, and the microseconds that all of them took.
    pub looks: AtomicU64,
    pub looks_us: AtomicU64,
}

/// The way to the engine. Clones lead to the same one.
#[derive(Clone)]
pub(crate) struct Core {
    commands: mpsc::Sender<Command>,
}

impl Core {
    /// Makes the way, and its end for the engine's thread.
    pub(crate) fn channel() -> (Core, mpsc::Receiver<Command>) {
        let (commands, receiver) = mpsc::channel(WAITING);
        (Core { commands }, receiver)
    }

    /// Returns what wakes the thread without keeping it alive.
    pub(crate) fn waker(&self) -> mpsc::WeakSender<Command> {
        self.commands.downgrade()
    }

    /// Folds an input; answers when what it gave is as durable as asked. The caller sets the time limit.
    pub(crate) async fn step(&self, input: Input, durability: Durability) -> Result<(), Refused> {
        self.send(input, durability, None).await.map(drop)
    }

    /// As [`Core::step`], and says whether the input gave a record: a delivery that is known gives none.
    pub(crate) async fn step_new(&self, input: Input, durability: Durability) -> Result<bool, Refused> {
        self.send(input, durability, None).await.map(|records| records > 0)
    }

    /// Folds an input that is true for a moment only; one that comes later is dropped.
    pub(crate) async fn step_until(
        &self,
        input: Input,
        durability: Durability,
        until_ms: u64,
    ) -> Result<(), Refused> {
        self.send(input, durability, Some(until_ms)).await.map(drop)
    }

    async fn send(
        &self,
        input: Input,
        durability: Durability,
        until_ms: Option<u64>,
    ) -> Result<usize, Refused> {
        let (sender, receiver) = oneshot::channel();
        let reply: Reply = Box::new(move |result| drop(sender.send(result)));
        let command = Command::Step(Box::new(Request { input, durability, reply, until_ms }));
        self.commands.send(command).await.map_err(|_| Refused::Stopping)?;
        receiver.await.map_err(|_| Refused::Panicked)?
    }

    /// Looks at the engine's state, after everything that was spooled before.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Engine, Now) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let (sender, receiver) = oneshot::channel();
        let look: Look = Box::new(move |engine, now| drop(sender.send(look(engine, now))));
        self.commands.send(Command::Look(look)).await.map_err(|_| Refused::Stopping)?;
        receiver.await.map_err(|_| Refused::Panicked)
    }

    /// Writes the last record and closes the journal; comes back when that is done.
    pub(crate) async fn stop(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.commands.send(Command::Stop(sender)).await.is_ok() {
            // An error means that the thread is gone, which is what was asked for.
            drop(receiver.await);
        }
    }
}
