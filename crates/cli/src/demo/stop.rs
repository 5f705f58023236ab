//! Ctrl-C and its relatives: a demonstration that is broken off still tidies up.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::error::Problem;

/// Tells when somebody wants the demonstration to end.
pub struct Stop {
    signals: Receiver<()>,
}

impl Stop {
    /// Watches SIGINT, SIGTERM and SIGHUP from here on; none of them ends the process by itself any more.
    ///
    /// # Errors
    /// The signals cannot be watched.
    pub fn watch() -> Result<Stop, Problem> {
        let (sender, signals) = channel();
        let (ready, is_ready) = channel();
        thread::spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(async {
                let watched = (
                    signal(SignalKind::interrupt()),
                    signal(SignalKind::terminate()),
                    signal(SignalKind::hangup()),
                );
                let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = watched else {
                    return drop(ready.send(Err(std::io::Error::last_os_error())));
                };
                drop(ready.send(Ok(())));
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = hangup.recv() => {}
                    }
                    if sender.send(()).is_err() {
                        return;
                    }
                }
            });
        });
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Stop { signals }),
            Ok(Err(error)) => {
                Err(Problem::Demo { what: "could not watch for Ctrl-C".into(), source: Some(error) })
            }
            Err(_) => Err(Problem::Demo { what: "could not watch for Ctrl-C".into(), source: None }),
        }
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// A signal came.
    pub fn pause(&self, time: Duration) -> Result<(), Problem> {
        match self.signals.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(Problem::Interrupted),
        }
    }
}
