//! Which files are routes, and which of them are trusted.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use herdbook_daemon::routes::{Loaded, LoadedRoute, RouteState, distrust, load, trust, trust_path};

/// A settings folder and a state folder.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("config")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// Writes a file under `routes/`.
    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.config().join("routes").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, text, mode);
        path
    }

    fn load(&self) -> Loaded {
        load(&self.config(), &self.state())
    }

    /// The routes with the words for their states.
    fn states(&self) -> Vec<(String, &'static str)> {
        let routes = self.load().routes;
        routes.iter().map(|loaded| (loaded.route.id.clone(), loaded.state.as_str())).collect()
    }

    /// What is refused: the path under `routes/`, and why.
    fn refused(&self) -> Vec<(String, String)> {
        let routes = self.config().join("routes");
        let refused = self.load().refused.into_iter();
        let path = |path: &Path| path.strip_prefix(&routes).unwrap_or(path).display().to_string();
        refused.map(|refused| (path(&refused.path), refused.why)).collect()
    }

    fn only(&self) -> LoadedRoute {
        let [loaded] = <[LoadedRoute; 1]>::try_from(self.load().routes).unwrap();
        loaded
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own files")]
fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const SCRIPT: &str = "#!/bin/sh\nexit 0\n";

#[test]
fn executable_files_in_the_folders_of_families_are_routes() {
    let home = Home::new();
    assert!(home.load().routes.is_empty() && home.load().refused.is_empty());
    for name in ["tool/before/no-force-push", "tool/before/a b", "stop/again", "stop/failure/tell"] {
        home.write(name, SCRIPT, 0o700);
    }
    for passed_over in ["tool/before/.swp", "tool/before/old~", "tool/before/notes.md", "README.md", ".git/x"]
    {
        home.write(passed_over, SCRIPT, 0o600);
    }
    home.write("stop/again.toml", "timeout_ms = 500\n", 0o600);
    assert_eq!(home.refused(), []);
    let expected = ["stop/again", "stop/failure/tell", "tool/before/a b", "tool/before/no-force-push"];
    assert_eq!(home.states(), expected.map(|id| (id.to_owned(), "new")));
    let loaded = home.load();
    assert_eq!(loaded.routes[0].route.timeout_ms, 500);
    assert_eq!(loaded.routes[3].path, home.config().join("routes/tool/before/no-force-push"));
}

#[test]
fn what_others_could_have_written_or_nobody_can_run_is_refused_and_the_words_mend_it() {
    let home = Home::new();
    let at = |name: &str| home.config().join("routes").join(name).display().to_string();
    home.write("tool/before/open", SCRIPT, 0o722);
    home.write("tool/before/plain", SCRIPT, 0o600);
    let real = home.write("real", SCRIPT, 0o700);
    symlink(&real, at("tool/before/link")).unwrap();
    home.write("tool/before/settings", SCRIPT, 0o700);
    home.write("tool/before/settings.toml", "", 0o620);
    home.write("tool/before/gone.toml", "", 0o600);
    home.write("tool/befor/x", SCRIPT, 0o700);
    home.write("stop/x", SCRIPT, 0o700);
    fs::set_permissions(at("stop"), Permissions::from_mode(0o777)).unwrap();
    fs::create_dir_all(at("session")).unwrap();
    symlink(at("tool/before"), at("session/start")).unwrap();
    // Each would show as `tool/before/x`.
    for hidden in ["x\u{1b}[31m", "x\n", "x\u{202e}", "\u{200b}x"] {
        let path = home.write(&format!("tool/before/{hidden}"), SCRIPT, 0o700);
        let why = "has characters in its name that do not show: give it another";
        assert!(home.load().refused.iter().any(|refused| refused.path == path && refused.why == why));
        fs::remove_file(path).unwrap();
    }
    let expected = [
        ("real", "lies in no family's folder, such as tool/before: move it into one".to_owned()),
        ("session/start", "is a symlink: put there what it leads to".to_owned()),
        (
            "stop",
            format!("can be written by others (mode 0777): look through it, then chmod go-w {}", at("stop")),
        ),
        (
            "tool/befor",
            "is no folder of routes: no family is called 'tool/befor', see herdbook reference".to_owned(),
        ),
        ("tool/before/gone.toml", "belongs to no route: there is no 'gone' beside it".to_owned()),
        ("tool/before/link", "is a symlink: put there what it leads to".to_owned()),
        (
            "tool/before/open",
            format!(
                "can be written by others (mode 0722): look through it, then chmod go-w {}",
                at("tool/before/open")
            ),
        ),
        (
            "tool/before/plain",
            format!(
                "is not executable: chmod u+x {}, or begin its name with a dot if it is no route",
                at("tool/before/plain")
            ),
        ),
        (
            "tool/before/settings",
            format!(
                "is not run: settings.toml can be written by others (mode 0620): look through it, then chmod go-w {toml}",
                toml = at("tool/before/settings.toml")
            ),
        ),
    ];
    assert_eq!(home.refused(), expected.map(|(path, why)| (path.to_owned(), why)));
    assert_eq!(home.states(), []);
}

#[test]
fn the_folder_of_routes_itself_is_no_symlink_but_the_settings_folder_may_be() {
    let home = Home::new();
    home.write("stop/x", SCRIPT, 0o700);
    let moved = home.0.path().join("dotfiles");
    fs::rename(home.config(), &moved).unwrap();
    symlink(&moved, home.config()).unwrap();
    assert_eq!(home.states(), [("stop/x".to_owned(), "new")]);
    fs::remove_file(home.config()).unwrap();
    fs::create_dir(home.config()).unwrap();
    symlink(moved.join("routes"), home.config().join("routes")).unwrap();
    assert_eq!(home.refused(), [(String::new(), "is a symlink: put there what it leads to".to_owned())]);
}

#[test]
fn a_route_is_active_while_it_and_its_settings_are_what_was_trusted() {
    let home = Home::new();
    let path = home.write("tool/before/x", SCRIPT, 0o700);
    let of = |word| vec![("tool/before/x".to_owned(), word)];
    assert_eq!(home.states(), of("new"));
    trust(&home.state(), &home.only()).unwrap();
    let mode = fs::metadata(trust_path(&home.state())).unwrap().permissions().mode() & 0o777;
    assert_eq!((home.states(), mode), (of("active"), 0o600));
    // Same length, other bytes.
    write(&path, "#!/bin/sh\nexit 1\n", 0o700);
    assert_eq!(home.states(), of("changed"));
    trust(&home.state(), &home.only()).unwrap();
    assert_eq!(home.states(), of("active"));
    home.write("tool/before/x.toml", "timeout_ms = 200\n", 0o600);
    assert_eq!(home.states(), of("changed"));
    fs::remove_file(path.with_extension("toml")).unwrap();
    assert_eq!(home.states(), of("active"));
    assert!(distrust(&home.state(), "tool/before/x").unwrap());
    assert!(!distrust(&home.state(), "tool/before/x").unwrap());
    assert!(!trust_path(&home.state()).exists(), "where it lies, hooks wait longer");
    assert_eq!(home.states(), of("new"));
}

#[test]
fn bytes_cannot_move_between_a_route_and_its_settings() {
    let home = Home::new();
    home.write("stop/x", "#!/bin/sh\n# a = 1\n", 0o700);
    let whole = home.only().sha256;
    home.write("stop/x", "#!/bin/sh\n", 0o700);
    home.write("stop/x.toml", "# a = 1\n", 0o600);
    assert_ne!(home.only().sha256, whole);
}

#[test]
fn a_damaged_or_foreign_file_of_trust_trusts_nothing_and_says_so() {
    let home = Home::new();
    home.write("stop/x", SCRIPT, 0o700);
    trust(&home.state(), &home.only()).unwrap();
    let file = trust_path(&home.state());
    for (text, mode, words) in [
        (
            "{",
            0o600,
            "is damaged (EOF while parsing an object at line 1 column 1): remove it, then trust your routes anew",
        ),
        (
            "{\"format\":2,\"routes\":{}}",
            0o600,
            "has format 2, and this build reads 1: remove it, then trust your routes anew",
        ),
    ] {
        write(&file, text, mode);
        assert_eq!(home.states(), [("stop/x".to_owned(), "new")]);
        assert_eq!(home.load().refused[0].why, words);
        assert_eq!(
            trust(&home.state(), &home.only()).unwrap_err().to_string(),
            format!("{} {words}", file.display())
        );
    }
    fs::remove_file(&file).unwrap();
    trust(&home.state(), &home.only()).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o622)).unwrap();
    assert_eq!(home.states(), [("stop/x".to_owned(), "new")]);
}

#[test]
fn a_route_that_asks_for_what_cannot_be_is_refused_and_cannot_be_trusted() {
    let home = Home::new();
    home.write("session/end/x", SCRIPT, 0o700);
    // Nothing can be denied when a session ends.
    home.write("session/end/x.toml", "fail = \"closed\"\n", 0o600);
    let loaded = home.only();
    assert!(matches!(loaded.state, RouteState::Refused(_)), "{:?}", loaded.state);
    let error = trust(&home.state(), &loaded).unwrap_err().to_string();
    assert!(error.starts_with("route 'session/end/x' cannot be trusted: "), "{error}");
    home.write("session/end/x.toml", "timeout = 5\n", 0o600);
    let refused = home.refused();
    assert_eq!(refused[0].0, "session/end/x");
    assert!(refused[0].1.contains("timeout"), "{refused:?}");
}
