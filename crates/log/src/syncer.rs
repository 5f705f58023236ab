//! The thread that calls fdatasync, so that writes go on meanwhile.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::queue::{Queue, SyncedTo};
use crate::storage::LogFile;

struct Request {
    file: Arc<dyn LogFile>,
    to: SyncedTo,
}

pub(crate) struct Syncer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn start(queue: Arc<Queue>) -> io::Result<Syncer> {
        let (sender, receiver) = channel::<Request>();
        let thread = std::thread::Builder::new().name("log-sync".to_owned()).spawn(move || {
            for request in receiver {
                queue.sync_is_done(sync(&*request.file).map(|()| request.to));
            }
        })?;
        Ok(Syncer { requests: Some(sender), thread: Some(thread) })
    }

    /// Begins a sync; its outcome comes through the queue. Tells whether it began.
    pub(crate) fn begin(&self, file: Arc<dyn LogFile>, to: SyncedTo) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.send(Request { file, to }).is_ok())
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Syncs a file; a panic is a failure like any other.
pub(crate) fn sync(file: &dyn LogFile) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| file.sync())) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the code failed during the sync".to_owned()),
    }
}
