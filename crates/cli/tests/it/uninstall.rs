//! What `uninstall` leaves, tells and never makes; what a diff shows; and by which path the hook is named.

use std::fs;
use std::os::unix::fs::symlink;

use crate::install::{Machine, put};
use crate::support::finish;

#[test]
fn where_nothing_is_done_no_folder_is_made() {
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    put(&file, b"{");
    let refused = machine.run(&["install", "claude", "--yes"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    put(&file, b"{}");
    let idle = machine.run(&["uninstall", "claude", "--yes"]);
    assert_eq!((idle.code, idle.stderr.as_str()), (0, "claude    ~/.claude/settings.json: nothing to do\n"));
    assert!(!machine.env.path().join("state").join("herdbook").exists());
}

#[test]
fn a_diff_shows_no_secret() {
    let machine = Machine::new();
    let secret = ["hunter2", "secret"].concat();
    let text = format!("{{\n  \"env\": {{\"MY_TOKEN\": \"{secret}\"}}\n}}\n");
    put(&machine.home().join(".claude/settings.json"), text.as_bytes());
    let ran = machine.run(&["install", "claude", "--dry-run"]);
    assert!(ran.stdout.contains("-  \"env\": {\"MY_TOKEN\": \"[redacted:token:"), "{}", ran.stdout);
    assert!(ran.stdout.contains("+  \"hooks\": {\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains(&secret), "{}", ran.stdout);
}

#[test]
fn a_file_of_ours_that_was_linked_since_goes_with_its_link() {
    let machine = Machine::new();
    let link = machine.home().join(".claude/settings.json");
    let real = machine.home().join("dotfiles/claude.json");
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    fs::create_dir(machine.home().join("dotfiles")).unwrap();
    fs::rename(&link, &real).unwrap();
    symlink("../dotfiles/claude.json", &link).unwrap();
    let ran = machine.run(&["uninstall", "claude", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!real.exists() && !link.is_symlink());
}

#[test]
fn what_stays_is_told_and_all_takes_it_out() {
    let machine = Machine::new();
    let elsewhere = machine.env.path().join("elsewhere");
    let mut command = machine.command(&["install", "claude", "--yes"]);
    command.env("CLAUDE_CONFIG_DIR", &elsewhere);
    assert_eq!(finish(command, b"").code, 0);
    let mut command = machine.command(&["install", "opencode", "--yes"]);
    command.env("XDG_CONFIG_HOME", &elsewhere);
    assert_eq!(finish(command, b"").code, 0);
    assert_eq!(machine.run(&["install", "tmux", "--yes"]).code, 0);
    let units = machine.home().join(".config/systemd/user");
    let mark = "# Written by `herdbook up`, which also replaces it: put changes into a drop-in (systemctl --user edit).";
    put(&units.join("herdbook.socket"), format!("{mark}\n[Unit]\n").as_bytes());
    put(&units.join("herdbook.service"), b"[Unit]\nDescription=somebody else's\n");
    fs::create_dir(units.join("sockets.target.wants")).unwrap();
    symlink("../herdbook.socket", units.join("sockets.target.wants/herdbook.socket")).unwrap();

    let ran = machine.run(&["uninstall", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let with = format!("run this with CLAUDE_CONFIG_DIR={}\n", elsewhere.display());
    let with_xdg = format!("run this with XDG_CONFIG_HOME={}\n", elsewhere.display());
    let takes = "is still there: `herdbook uninstall --all` takes it out, too\n";
    for words in [
        &with,
        &with_xdg,
        &format!("warning: ~/.tmux.conf {takes}"),
        &format!("warning: ~/.config/systemd/user/herdbook.socket {takes}"),
        "note: records, and copies of the settings, stay in ",
    ] {
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("herdbook.service"), "{}", ran.stderr);

    let dry = machine.run(&["uninstall", "--all", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(units.join("herdbook.socket").exists() && machine.home().join(".tmux.conf").exists());

    let mut command = machine.command(&["uninstall", "opencode", "--yes"]);
    command.env("XDG_CONFIG_HOME", &elsewhere);
    assert_eq!(finish(command, b"").code, 0);
    let mut command = machine.command(&["uninstall", "--all", "--yes"]);
    command.env("CLAUDE_CONFIG_DIR", &elsewhere);
    let ran = finish(command, b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("still"), "{}", ran.stderr);
    assert!(!machine.home().join(".tmux.conf").exists());
    assert!(!elsewhere.join("settings.json").exists());
    assert!(!units.join("herdbook.socket").exists());
    assert!(!units.join("sockets.target.wants/herdbook.socket").is_symlink());
    assert!(units.join("herdbook.service").exists(), "it is not ours");
}

#[test]
fn out_of_a_project_all_of_ours_go_though_their_agents_are_not_here() {
    let machine = Machine::new();
    let project = machine.home().join("project");
    fs::create_dir(&project).unwrap();
    let scope = ["--yes", "--project", "home/project"];
    let ran = machine.run(&[&["install", "gemini", "cursor", "copilot", "opencode"], &scope[..]].concat());
    assert_eq!((ran.code, fs::read_dir(&project).unwrap().count()), (0, 4), "{}", ran.stderr);
    let ran = machine.run(&[&["uninstall"], &scope[..]].concat());
    assert_eq!((ran.code, fs::read_dir(&project).unwrap().count()), (0, 0), "{}", ran.stderr);
}

#[test]
fn a_link_on_the_path_is_named_and_stays_over_versions() {
    let machine = Machine::new();
    let bin = machine.home().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(machine.hook(), bin.join("herdbook-hook")).unwrap();
    let file = machine.home().join(".claude/settings.json");
    let install = |machine: &Machine, path: &str| {
        let mut command = machine.command(&["install", "claude", "--yes"]);
        command.env("PATH", path);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    let path = format!("{}:/usr/bin:/bin", bin.display());
    install(&machine, &path);
    let link = fs::canonicalize(&bin).unwrap().join("herdbook-hook");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!("exec {} claude; exit 0", link.display())), "{text}");
    assert!(install(&machine, "/usr/bin:/bin").contains(": nothing to do\n"), "it is the same program");
    // The next version lies elsewhere, and the link leads there.
    let next = Machine::new();
    let next = Machine { env: machine.env, programs: next.programs };
    fs::remove_file(&link).unwrap();
    symlink(next.hook(), &link).unwrap();
    assert!(install(&next, &path).contains(": nothing to do\n"));
    // A link to some other program of that name is not ours.
    fs::remove_file(&link).unwrap();
    symlink("/bin/true", &link).unwrap();
    assert!(install(&next, &path).contains(": mend 25 hooks\n"));
    assert!(fs::read_to_string(&file).unwrap().contains(&*next.hook().replace('\'', r"'\\''")));
}

#[test]
fn a_copy_that_was_changed_never_comes_into_the_settings() {
    let machine = Machine::new();
    let file = machine.home().join(".claude/settings.json");
    put(&file, b"{\n  \"model\": \"large\"\n}\n");
    assert_eq!(machine.run(&["install", "claude", "--yes"]).code, 0);
    for copy in machine.copies() {
        put(&copy, b"");
    }
    let ran = machine.run(&["uninstall", "claude", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"model\": \"large\"\n}\n");
}
