//! What waits at the hosts' events, for which our entries have to be registered and to have time: active routes, and
//! permission requests that may be answered from elsewhere.

use herdbook_daemon::routes::{LoadedRoute, RouteState, load};
use herdbook_hosts::HostTable;
use herdbook_hosts::settings::Needs;
use herdbook_wire::paths::{config_dir, state_dir};

use super::holds::{Holds, held_event};
use crate::env::Env;
use crate::error::Problem;

/// Everything that waits.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    routes: Vec<LoadedRoute>,
    holds: Holds,
}

impl Waiting {
    /// Reads the routes that are run, and the switches.
    ///
    /// # Errors
    /// The folders cannot be told, or the switches cannot be read.
    pub fn read(env: &Env) -> Result<Waiting, Problem> {
        let state = state_dir(&env.places)?;
        let mut routes = load(&config_dir(&env.places)?, &state).routes;
        routes.retain(|route| route.state == RouteState::Active);
        Ok(Waiting { routes, holds: Holds::read(&state)? })
    }

    /// The same with other switches.
    #[must_use]
    pub fn with_holds(mut self, holds: Holds) -> Waiting {
        self.holds = holds;
        self
    }

    /// Returns what waits at the events of a host.
    pub fn at(&self, table: &'static HostTable) -> Needs {
        let mut needs = Needs::default();
        for route in self.routes.iter().map(|loaded| &loaded.route).filter(|route| route.is_for(table.host)) {
            let wait_ms = u32::try_from(route.timeout_ms).unwrap_or(u32::MAX);
            table.routed(route.family).for_each(|event| needs.add(event, wait_ms));
        }
        if let Some((event, hold)) = held_event(table).zip(self.holds.of(table.host)) {
            needs.add(event, hold.hold_ms);
        }
        needs
    }
}
