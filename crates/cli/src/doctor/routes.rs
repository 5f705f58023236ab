//! The routes: which are run, and which are not and why.

use std::path::Path;

use herdbook_api::Client;
use herdbook_api::routes::Route;
use herdbook_daemon::routes::{Loaded, RouteState, load};
use herdbook_wire::paths::config_dir;

use super::check::{Check, finding, some};
use crate::commands::is_failing;
use crate::env::Env;
use crate::error::whole;
use crate::setup::holds::Holds;
use crate::setup::show::short;
use crate::text::counted;

/// Looks at the routes of this environment, and at the switches of `hold`.
pub fn of(env: &Env, state: &Path, client: Option<&Client>) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Ok(folder) = config_dir(&env.places) {
        let known = client.and_then(|client| client.routes().ok());
        checks.extend(routes(&load(&folder, state), &known.unwrap_or_default().items, env.home()));
    }
    if let Err(problem) = Holds::read(state) {
        let check = Check::fault("hold", finding::BAD_SETTINGS, whole(&problem));
        checks.push(check.fix("remove that file; herdbook hold on writes it anew"));
    }
    checks
}

/// Looks at all that lies in the folder of routes, and at what was counted of them. Without any there is nothing to say.
pub fn routes(loaded: &Loaded, known: &[Route], home: Option<&str>) -> Vec<Check> {
    let mut checks = Vec::new();
    for not_route in &loaded.refused {
        let words = format!("{} {}", short(&not_route.path, home), not_route.why);
        checks.push(Check::warning("routes", finding::REFUSED_ROUTE, words).fix("see herdbook route ls"));
    }
    let in_state = |state: RouteState| -> Vec<String> {
        let found = loaded.routes.iter().filter(|route| route.state == state);
        found.map(|route| route.route.id.clone()).collect()
    };
    for route in &loaded.routes {
        if let RouteState::Refused(why) = &route.state {
            let words = format!("{} is not run: {why}", route.route.id);
            let fix = format!(
                "mend {}.toml, then herdbook route trust {}",
                short(&route.path, home),
                route.route.id
            );
            checks.push(Check::warning("routes", finding::REFUSED_ROUTE, words).fix(fix));
        }
    }
    for (state, words) in [
        (RouteState::New, "not trusted yet, so not run"),
        (RouteState::Changed, "changed since you trusted it, so not run"),
    ] {
        let found = in_state(state);
        if !found.is_empty() {
            let words = format!("{} {words}: {}", counted(found.len() as u64, "route"), some(&found));
            checks.push(
                Check::warning("routes", finding::UNTRUSTED_ROUTE, words).fix("herdbook route trust --all"),
            );
        }
    }
    for failing in known.iter().filter(|route| route.state == "active" && is_failing(route)) {
        let why = failing.last_failure.as_deref().unwrap_or_default();
        let words = format!("{} failed when it ran last: it {why}", failing.id);
        let check = Check::warning("routes", finding::FAILING_ROUTE, words);
        checks.push(check.fix(format!("herdbook route test {}", failing.id)));
    }
    let active = in_state(RouteState::Active);
    if checks.is_empty() && !active.is_empty() {
        checks.push(Check::ok("routes", format!("{} active", counted(active.len() as u64, "route"))));
    }
    checks
}

#[cfg(test)]
mod tests {
    use herdbook_daemon::routes::{LoadedRoute, NotRoute};
    use herdbook_events::Family;

    use super::routes as routes_of;
    use super::*;
    use crate::doctor::Level;

    fn route(name: &str, state: RouteState) -> LoadedRoute {
        let id = format!("tool/before/{name}");
        let path = format!("/home/dev/.config/herdbook/routes/{id}").into();
        let route = herdbook_hosts::Route::parse(&id, Family::ToolBefore, None).unwrap();
        LoadedRoute { route, path, sha256: String::new(), state }
    }

    #[test]
    fn what_is_not_run_is_told_with_what_mends_it() {
        let told =
            |routes: Vec<LoadedRoute>, refused: Vec<NotRoute>| -> Vec<(Level, String, Option<String>)> {
                let checks = routes_of(&Loaded { routes, refused }, &[], Some("/home/dev"));
                checks.into_iter().map(|check| (check.level, check.message, check.fix)).collect()
            };
        assert_eq!(told(Vec::new(), Vec::new()), []);
        let active = || route("a", RouteState::Active);
        assert_eq!(told(vec![active()], Vec::new()), [(Level::Ok, "1 route active".into(), None)]);
        let path = "/home/dev/.config/herdbook/routes/x".into();
        let all = vec![
            active(),
            route("b", RouteState::New),
            route("c", RouteState::New),
            route("d", RouteState::Changed),
            route("e", RouteState::Refused("it cannot".into())),
        ];
        let found = told(all, vec![NotRoute { path, why: "is a symlink: put the file itself there".into() }]);
        let words: Vec<&str> = found.iter().map(|(_, words, _)| words.as_str()).collect();
        assert_eq!(
            words,
            [
                "~/.config/herdbook/routes/x is a symlink: put the file itself there",
                "tool/before/e is not run: it cannot",
                "2 routes not trusted yet, so not run: tool/before/b, tool/before/c",
                "1 route changed since you trusted it, so not run: tool/before/d",
            ]
        );
        assert_eq!(
            found[1].2.as_deref(),
            Some(
                "mend ~/.config/herdbook/routes/tool/before/e.toml, then herdbook route trust tool/before/e"
            )
        );
        assert_eq!(found[2].2.as_deref(), Some("herdbook route trust --all"));
    }
}
