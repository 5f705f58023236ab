//! Finding routes by what a person writes, and words about them that several verbs use.

use herdbook_daemon::routes::{Loaded, LoadedRoute, load};
use herdbook_hosts::route::Route;
use herdbook_hosts::{HostTable, installable};
use herdbook_wire::paths::{config_dir, state_dir};

use crate::env::Env;
use crate::error::Problem;
use crate::setup::show::short;

/// Loads all routes of this environment.
///
/// # Errors
/// The folders cannot be told.
pub fn all(env: &Env) -> Result<Loaded, Problem> {
    Ok(load(&config_dir(&env.places)?, &state_dir(&env.places)?))
}

/// Finds the one route of that name: its id, or the end of it from a slash on.
///
/// # Errors
/// There is none, or more than one; what lies there and is no route is told with the reason.
pub fn one<'a>(env: &Env, loaded: &'a Loaded, name: &str) -> Result<&'a LoadedRoute, Problem> {
    let is_named = |id: &str| id == name || id.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
    let mut found = loaded.routes.iter().filter(|route| is_named(&route.route.id));
    match (found.next(), found.next()) {
        (Some(route), None) => Ok(route),
        (Some(one), Some(other)) => {
            let why = format!("both {} and {} have that name", one.route.id, other.route.id);
            Err(Problem::NoRoute { name: name.to_owned(), why })
        }
        (None, _) => {
            let refused = loaded.refused.iter().find(|refused| is_named(&refused.path.to_string_lossy()));
            let why = refused.map_or_else(
                || "there is none of that name".to_owned(),
                |refused| format!("{} {}", short(&refused.path, env.home()), refused.why),
            );
            Err(Problem::NoRoute { name: name.to_owned(), why })
        }
    }
}

/// The hosts at which a route runs.
pub fn hosts(route: &Route) -> impl Iterator<Item = &'static HostTable> + '_ {
    installable().filter(|table| route.is_for(table.host))
}

/// What a route may answer.
pub fn may(route: &Route) -> Vec<&'static str> {
    route.answers().iter().map(|answer| answer.as_str()).collect()
}

/// How it answers when it fails.
pub fn fail(route: &Route) -> &'static str {
    if route.closed { "closed" } else { "open" }
}

/// Where a host grants less time than a route wants, one line each.
pub fn cuts(route: &Route) -> Vec<String> {
    let wait_ms = u32::try_from(route.timeout_ms).unwrap_or(u32::MAX);
    let at = |table: &'static HostTable| {
        table.routed(route.family).filter_map(move |event| {
            let mut needs = herdbook_hosts::settings::Needs::default();
            needs.add(event, wait_ms);
            let cut_ms = needs.cut_to_ms(table, event)?;
            Some(format!("{} {}: has {cut_ms} ms there, not {wait_ms}", table.host, event.name))
        })
    };
    hosts(route).flat_map(at).collect()
}
