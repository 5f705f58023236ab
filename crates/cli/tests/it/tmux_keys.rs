//! The keys and the segment in tmux: put in, pressed, taken out; and the picker on a terminal.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::next::{Tmux, stand_in};
use crate::support::{TestDaemon, TestEnv, finish, has_tmux};

/// What the commands are called here.
const INSTALL: &[&str] = &["install", "tmux"];
const UNINSTALL: &[&str] = &["uninstall", "tmux"];

fn with<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, more].concat()
}

fn put(path: &PathBuf, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

/// Looks at a pane until it shows these words.
fn shows(tmux: &Tmux<'_>, pane: &str, words: &str) -> String {
    becomes(tmux, pane, words, |screen| screen.contains(words))
}

/// Looks at a pane until it is as it should be.
fn becomes(tmux: &Tmux<'_>, pane: &str, what: &str, is_so: impl Fn(&str) -> bool) -> String {
    let begun = Instant::now();
    loop {
        let screen = tmux.run(&["capture-pane", "-p", "-t", pane]);
        if is_so(&screen) {
            return screen;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "no '{what}' in:\n{screen}");
    }
}

#[test]
fn the_keys_are_put_in_pressed_and_taken_out() {
    if !has_tmux("the_keys_are_put_in_pressed_and_taken_out") {
        return;
    }
    let env = TestEnv::new();
    let _daemon = TestDaemon::start(&env);
    let conf = env.path().join("home/.tmux.conf");
    let real = env.path().join("home/tmux dotfile");
    // No end of the last line, and a link into a folder of dotfiles.
    let theirs = b"set -g mouse on\nset -g status-right 'mine %H'\nset -g status-interval 5";
    put(&real, theirs);
    symlink("tmux dotfile", &conf).unwrap();

    let (inner, outer) = (Tmux { env: &env, name: "inner" }, Tmux { env: &env, name: "outer" });
    let size = ["-x", "100", "-y", "30"];
    let base = inner.run(
        &[&["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "work"], &size[..], &["sleep 600"]].concat(),
    );
    let mut panes = Vec::new();
    for session in ["one", "two"] {
        let program = stand_in(&env, session);
        let words = ["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", program.to_str().unwrap()];
        panes.push(inner.run(&words));
        inner.run(&["wait-for", session]);
    }
    inner.run(&["set-hook", "-g", "client-attached", "wait-for -S attached"]);
    outer.run(&[&["new-session", "-d"], &size[..], &["sleep 600"]].concat());
    let attach = "exec env -u TMUX -u TMUX_PANE tmux -L inner attach-session -t work";
    let view = outer.run(&["new-window", "-P", "-F", "#{pane_id}", attach]);
    inner.run(&["wait-for", "attached"]);

    // Nobody said yes.
    let ran = env.run(INSTALL);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("or with --yes"), "{}", ran.stderr);
    let ran = env.run(&with(INSTALL, &["--dry-run"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\n+bind-key -T prefix Tab run-shell "), "{}", ran.stdout);
    assert_eq!(fs::read(&real).unwrap(), theirs);

    // Every server is told. No letter of the program's path may mean anything to tmux, its formats or a shell.
    let folder = env.path().join("it's \"x\" #{pid} #(y) %H $HOME ) ;");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("herdbook");
    // By another process: a descriptor for writing that a test beside us inherits would keep it from being run.
    let mut copy = env.program("cp");
    copy.arg(env!("CARGO_BIN_EXE_herdbook")).arg(&program);
    assert_eq!(finish(copy, b"").code, 0);
    let install = |words: &[&str]| {
        let mut command = env.program(program.to_str().unwrap());
        command.args(with(INSTALL, words));
        finish(command, b"")
    };
    let ran = install(&["--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for name in ["inner", "outer"] {
        assert!(ran.stderr.contains(&format!("/{name}: was told to use the keys")), "{}", ran.stderr);
    }
    let installed = fs::read(&real).unwrap();
    assert!(installed.starts_with(theirs) && conf.is_symlink());
    let kept: Vec<_> = fs::read_dir(env.path().join("state/herdbook/backups")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read(kept[0].path()).unwrap(), theirs);
    assert_eq!(kept[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // However often the configuration is read, there is one segment, beside what was there.
    for _ in 0..2 {
        inner.run(&["source-file", conf.to_str().unwrap()]);
        assert_eq!(inner.run(&["show-options", "-gv", "status-right"]), "mine %H#{E:@herdbook_status}");
    }
    assert_eq!(inner.run(&["show-options", "-gv", "status-interval"]), "2");
    shows(&outer, &view, "⚠ 2");
    let ran = install(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("the keys stand already in "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("was told"), "{}", ran.stderr);
    assert_eq!(fs::read(&real).unwrap(), installed);

    let press = |keys: &[&str]| outer.run(&with(&["send-keys", "-t", &view], keys));
    let arrives = |pane: &str| {
        let begun = Instant::now();
        while inner.front() != pane {
            let screen = || outer.run(&["capture-pane", "-p", "-t", &view]);
            assert!(begun.elapsed() < Duration::from_secs(20), "{pane} does not come:\n{}", screen());
        }
    };
    // Words that have to be read stay in the message line; the next key takes them away.
    press(&["C-b", "B"]);
    shows(&outer, &view, "there is nowhere to go back to");
    press(&["C-b", "Tab"]);
    arrives(&panes[0]);
    // The way back is written down before the message line says where one is.
    let tty = inner.run(&["list-clients", "-F", "#{client_tty}"]);
    let begun = Instant::now();
    while !inner.run(&["show-messages", "-t", &tty]).contains("claude-one one is done") {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing was said");
    }
    press(&["C-b", "B"]);
    arrives(&base);
    // The head is put off, so the second is gone to.
    press(&["C-b", "S"]);
    arrives(&panes[1]);
    shows(&outer, &view, "⚠ 1");

    // The one in front is not the first choice; numbers are those of the queue, where who rests is last.
    press(&["C-b", "g"]);
    let screen = shows(&outer, &view, "later: one is done");
    assert!(screen.contains("│> 2   claude   turn_end"), "{screen}");
    assert!(screen.contains("two is done"), "{screen}");
    press(&["2"]);
    arrives(&panes[0]);
    becomes(&outer, &view, "end of the popup", |screen| !screen.contains('│'));
    press(&["C-b", "g"]);
    shows(&outer, &view, "herdbook  ⚠ 1");
    press(&["/", "two is"]);
    shows(&outer, &view, "│/two is▏");
    press(&["Enter"]);
    arrives(&panes[1]);
    // No pane shows a word of ours.
    assert!(!inner.run(&["capture-pane", "-p", "-t", &panes[1]]).contains("returned"));

    inner.run(&["set-option", "-g", "status", "off"]);
    outer.run(&["set-option", "-g", "status-format[0]", "mine"]);
    let ran = install(&["--yes"]);
    assert!(ran.stderr.contains("/inner: its status line is off\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("/outer: its status-format does not show status-right\n"), "{}", ran.stderr);

    let ran = env.run(&with(UNINSTALL, &["--yes"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(fs::read(&real).unwrap() == theirs && conf.is_symlink());
    for server in [&inner, &outer] {
        assert!(!server.run(&["list-keys"]).contains("herdbook"));
        assert!(!server.run(&["show-options", "-g"]).contains("herdbook"));
    }
    assert_eq!(inner.run(&["show-options", "-gv", "status-right"]), "mine %H");
    let ran = env.run(&with(UNINSTALL, &["--yes"]));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "no tmux configuration has keys of herdbook\n"));
}

#[test]
fn keys_of_the_users_are_named_and_left_alone() {
    let env = TestEnv::new();
    let conf = env.path().join("home/.tmux.conf");
    let theirs = b"# mine\nbind S choose-session -Z\n";
    put(&conf, theirs);
    let ran = env.run(&with(INSTALL, &["--yes"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words =
        format!("note: prefix S is yours: choose-session -Z ({} line 2); left as it is.", conf.display());
    assert!(ran.stderr.starts_with(&words), "{}", ran.stderr);
    let text = || fs::read_to_string(&conf).unwrap();
    assert!(!text().contains("prefix S ") && text().contains("prefix Tab "));

    // So are those of the files that it reads in.
    put(&env.path().join("home/keys.conf"), b"bind -r C-i last-window\nbind C-x x\n");
    put(&conf, b"# mine\nbind S choose-session -Z\nsource-file -q ~/keys.conf\n");
    let ran = env.run(&with(INSTALL, &["--dry-run"]));
    let words = "note: prefix Tab is yours: last-window (";
    assert!(ran.stderr.contains(words) && ran.stderr.contains("/keys.conf line 1); left"), "{}", ran.stderr);
    put(&conf, theirs);
    assert_eq!(env.run(&with(INSTALL, &["--yes"])).code, 0);

    // Keys that were chosen are remembered.
    assert_eq!(env.run(&with(INSTALL, &["--yes", "--keys", "skip=X,popup=none"])).code, 0);
    assert!(text().contains("prefix X ") && !text().contains("popup --open"));
    let chosen = text();
    assert_eq!((env.run(&with(INSTALL, &["--yes"])).code, text()), (0, chosen));
    assert_eq!(env.run(&with(INSTALL, &["--yes", "--force", "--keys", "skip=S"])).code, 0);
    assert!(text().contains("prefix S ") && text().contains("popup --open"));
    assert_eq!(env.run(&with(UNINSTALL, &["--yes"])).code, 0);
    assert_eq!(fs::read(&conf).unwrap(), theirs);

    let ran = env.run(&with(INSTALL, &["--keys", "jump=S"]));
    assert_eq!(ran.code, 2);
    let unknown = env.run(&with(INSTALL, &["--keys", "skip=F13"]));
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("'F13' is no tmux key"), "{}", unknown.stderr);
    assert!(ran.stderr.contains("'jump=S' is no key of ours"), "{}", ran.stderr);
}

#[test]
fn a_configuration_that_is_a_script_keeps_its_lines() {
    let env = TestEnv::new();
    let conf = env.path().join("home/.tmux.conf");
    let local = env.path().join("home/.tmux.conf.local");
    // As "Oh my tmux!" ends: from the third letter on its comments are shell, and would run ours.
    let theirs = b"bind Tab last-window\nrun 'cut -c3- \"$TMUX_CONF\" | sh -s _apply_configuration'\n\n# EOF\n# \"$@\"\n";
    put(&conf, theirs);
    for before in [None, Some(b"set -g mouse on\n")] {
        before.inspect(|bytes| put(&local, &bytes[..]));
        let ran = env.run(&with(INSTALL, &["--yes"]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("keys behind tmux's prefix: Tab next, S skip, g popup, B return\n"),
            "{}",
            ran.stderr
        );
        assert_eq!(fs::read(&conf).unwrap(), theirs);
        assert!(fs::read_to_string(&local).unwrap().contains("bind-key -T prefix g "));
        assert_eq!(env.run(&with(UNINSTALL, &["--yes"])).code, 0);
        assert_eq!(fs::read(&local).ok().as_deref(), before.map(|bytes| &bytes[..]));
    }
}

#[test]
fn a_file_that_was_made_goes_again_and_others_are_refused_with_words() {
    let env = TestEnv::new();
    let conf = env.path().join("home/.tmux.conf");
    assert_eq!(env.run(&with(INSTALL, &["--yes"])).code, 0);
    assert!(conf.is_file());
    assert_eq!(env.run(&with(UNINSTALL, &["--yes"])).code, 0);
    assert!(!conf.exists());

    // The other place counts where it is in use.
    let other = env.path().join("home/.config/tmux/tmux.conf");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    put(&other, b"");
    assert_eq!(env.run(&with(INSTALL, &["--yes"])).code, 0);
    assert!(!conf.exists() && fs::read_to_string(&other).unwrap().starts_with("# >>> herdbook >>>\n"));
    assert_eq!(env.run(&with(UNINSTALL, &["--yes"])).code, 0);
    assert_eq!(fs::read(&other).unwrap(), b"");

    let refused = |words: &str| {
        let ran = env.run(&with(INSTALL, &["--yes"]));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    };
    symlink("nowhere", &conf).unwrap();
    refused("is a symlink to nothing");
    fs::remove_file(&conf).unwrap();
    fs::create_dir(&conf).unwrap();
    refused("is not a regular file");
    fs::remove_dir(&conf).unwrap();
    put(&conf, b"# >>> herdbook >>>\nset -g mouse on\n");
    refused("line 1: '# >>> herdbook >>>' stands alone");
    put(&conf, b"set -g mouse on\n");
    fs::set_permissions(&conf, fs::Permissions::from_mode(0o444)).unwrap();
    refused("is write-protected");
    fs::set_permissions(&conf, fs::Permissions::from_mode(0o644)).unwrap();
    // Only the administrator can give a file away.
    if std::os::unix::fs::chown(&conf, Some(12345), None).is_ok() {
        refused("belongs to uid 12345, not to you");
    }
    assert_eq!(fs::read(&conf).unwrap(), b"set -g mouse on\n");
}

#[test]
fn the_picker_is_drawn_at_any_size_and_follows_the_queue() {
    if !has_tmux("the_picker_is_drawn_at_any_size_and_follows_the_queue") {
        return;
    }
    let env = TestEnv::new();
    let ran = env.run(&["popup"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: there is no terminal to show the picker in\n"), "{}", ran.stderr);

    let tmux = Tmux { env: &env, name: "picker" };
    let popup = format!("exec env NO_COLOR=1 {} popup", env!("CARGO_BIN_EXE_herdbook"));
    let words = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "24", &popup];
    let pane = tmux.run(&words);
    shows(&tmux, &pane, "the daemon is not running");
    let daemon = TestDaemon::start(&env);
    shows(&tmux, &pane, "no sessions");
    daemon.post_stuck("nightly", "which\u{1b}[2J first?", 1_767_225_603_000);
    let screen = shows(&tmux, &pane, "which first?");
    assert!(screen.starts_with("herdbook  ⚠ 1\n> 1   posted   turn_end"), "{screen}");
    tmux.run(&["send-keys", "-t", &pane, "Enter"]);
    shows(&tmux, &pane, "the tmux server of pane %0 is not known");
    tmux.run(&["resize-window", "-x", "20", "-y", "2"]);
    assert_eq!(shows(&tmux, &pane, "which fi…").lines().count(), 2);
    tmux.run(&["resize-window", "-x", "100", "-y", "30"]);
    tmux.run(&["send-keys", "-t", &pane, "k"]);
    shows(&tmux, &pane, "q leave");
    tmux.run(&["send-keys", "-t", &pane, "s"]);
    shows(&tmux, &pane, "later: which first?");
    // Its one pane goes with it, and so does the server.
    tmux.run(&["set-hook", "-g", "session-closed", "wait-for -S left"]);
    tmux.run(&["new-session", "-d", "-s", "stays", "sleep 600"]);
    tmux.run(&["send-keys", "-t", &pane, "q"]);
    tmux.run(&["wait-for", "left"]);
}

#[test]
fn a_daemon_that_hangs_is_said_in_the_status_line() {
    let env = TestEnv::new();
    let folder = env.path().join("run/herdbook");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let _silent = UnixListener::bind(folder.join("sock")).unwrap();
    let ran = env.run(&["status", "--format", "tmux"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "daemon does not answer\n", ""));
}
