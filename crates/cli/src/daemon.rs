//! The daemon as the commands see it: who answers, and what is said when nobody does.

use std::path::PathBuf;
use std::time::Duration;

use herdbook_api::{Client, ClientError};
use herdbook_wire::paths::{PathError, SPOOL, check_dir, sockets, state_dir};
use herdbook_wire::spool;

use crate::env::Env;
use crate::error::Problem;
use crate::model::{Row, rows};
use crate::printer::{Line, Printer, Style};

/// The daemon of this environment's state folder.
pub struct Daemon {
    client: Client,
    state: Option<PathBuf>,
}

impl Daemon {
    /// Finds its sockets; connects to none yet.
    ///
    /// # Errors
    /// The places cannot be told.
    pub fn of(env: &Env) -> Result<Daemon, Problem> {
        let state = match state_dir(&env.places) {
            // The runtime folder may do without a state folder, but not with one that was misspelt.
            Err(error @ PathError::Relative { .. }) => return Err(error.into()),
            state => state.ok(),
        };
        let places = sockets(&env.places)?.into_iter().filter(|place| {
            // A folder of ours that others can change may hold a stranger's socket.
            !place.guarded || place.path.parent().is_some_and(|folder| check_dir(folder).is_ok())
        });
        let client = Client::new(places.map(|place| place.path).collect());
        Ok(Daemon { client, state })
    }

    /// Sets how long one answer may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Daemon {
        self.client = self.client.with_timeout(timeout);
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// [`Problem::Down`] when nobody listens, else what the daemon or the connection says.
    pub fn ask<T>(&self, question: impl FnOnce(&Client) -> Result<T, ClientError>) -> Result<T, Problem> {
        question(&self.client).map_err(|error| {
            if error.is_not_running() { Problem::Down { waiting: self.spooled() } } else { error.into() }
        })
    }

    /// Returns all sessions with their places in the queue, in no order.
    ///
    /// # Errors
    /// As [`Daemon::ask`].
    pub fn rows(&self) -> Result<Vec<Row>, Problem> {
        let (queue, sessions) = self.ask(|client| Ok((client.queue()?, client.sessions()?)))?;
        Ok(rows(queue, sessions))
    }

    /// Says what a person should know about the daemon: a port that is taken, a full disk. Not being told is no failure.
    pub fn tell_warnings(&self, printer: &mut Printer) {
        for warning in self.client.status().map(|status| status.warnings).unwrap_or_default() {
            printer.say(&Line::new().styled("warning:", Style::Alarm).own(" ").text(&warning, Style::Plain));
        }
    }

    /// Counts the events that wait in the spool; one that cannot be looked into counts as empty.
    pub fn spooled(&self) -> u64 {
        self.state.as_deref().map_or(0, |state| spool::count(&state.join(SPOOL)).unwrap_or(0))
    }
}
