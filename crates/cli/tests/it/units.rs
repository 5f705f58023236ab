//! The daemon as a systemd unit. systemd is a script that writes down what it is asked and runs what the unit says.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use herdbook_machine::replace_file;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Ran, TestEnv, finish, write_program};

/// What the script does with `systemctl --user VERB …`.
const SYSTEMCTL: &str = r#"#!/bin/sh
shift
echo "$*" >> "$HOME/calls"
unit="$HOME/.config/systemd/user/herdbook.service"
run() {
    # What the last one said is not what this one says.
    : > "$HOME/out"
    line=$(sed -n 's/^ExecStart=//p' "$unit")
    HERDBOOK_ADDR=127.0.0.1:0 XDG_STATE_HOME="$HOME/../state" setsid sh -c "exec $line" > "$HOME/out" 2>&1 < /dev/null &
    echo $! > "$HOME/pid"
    while ! grep -q ^READY "$HOME/out"; do kill -0 $! || exit 1; done
}
end() {
    [ -s "$HOME/pid" ] && kill $(cat "$HOME/pid") && while kill -0 $(cat "$HOME/pid") 2> /dev/null; do :; done
    rm -f "$HOME/pid"
}
case "$1" in
show-environment) cat "$HOME/environment" ;;
show)
    [ "$3" = herdbook.service ] && echo "MainPID=$(cat "$HOME/pid" 2> /dev/null || echo 0)"
    [ "$3" = herdbook.socket ] && [ -e "$HOME/listens" ] && printf 'ActiveState=active\nUnitFileState=enabled\n'
    exit 0 ;;
enable) : > "$HOME/listens" ;;
start) run ;;
restart) end; run ;;
stop) end; rm -f "$HOME/listens" ;;
esac
"#;

/// A home with a systemd.
struct Home {
    env: TestEnv,
    _manager: UnixListener,
}

impl Home {
    fn new() -> Home {
        let env = TestEnv::new();
        let at = |name: &str| env.path().join(name);
        fs::create_dir_all(at("run/systemd")).unwrap();
        fs::create_dir(at("bin")).unwrap();
        let manager = UnixListener::bind(at("run/systemd/private")).unwrap();
        write_program(&at("bin/systemctl"), SYSTEMCTL.as_bytes());
        write_program(&at("bin/loginctl"), b"#!/bin/sh\ncat \"$HOME/lingers\"\n");
        replace_file(&at("home/lingers"), b"yes\n", 0o644).unwrap();
        let environment = format!(
            "HOME={}\nXDG_RUNTIME_DIR={}\nXDG_STATE_HOME={}\nHERDBOOK_ADDR=127.0.0.1:0\n",
            at("home").display(),
            at("run").display(),
            at("state").display()
        );
        replace_file(&at("home/environment"), environment.as_bytes(), 0o644).unwrap();
        Home { env, _manager: manager }
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.run_with(words, &[])
    }

    fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.env.herdbook(words);
        let path = format!("{}:/usr/bin:/bin", self.env.path().join("bin").display());
        command.env("PATH", path).env("HERDBOOK_ADDR", "127.0.0.1:0").envs(variables.iter().copied());
        finish(command, b"")
    }

    /// What systemd was asked to do since the last time, questions left out.
    fn calls(&self) -> Vec<String> {
        let path = self.env.path().join("home/calls");
        let calls = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        calls.lines().filter(|call| !call.starts_with("show")).map(str::to_owned).collect()
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.env.path().join("home/.config/systemd/user").join(name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.run(&["down"]);
    }
}

const STARTED: [&str; 4] = [
    "daemon-reload",
    "reset-failed herdbook.service herdbook.socket",
    "enable --now herdbook.socket",
    "start herdbook.service",
];

#[test]
fn up_writes_the_units_and_starts_them_and_down_stops_both() {
    let home = Home::new();
    let up = home.run(&["up"]);
    assert!(up.stderr.starts_with("the daemon is up, pid "), "{}", up.stderr);
    assert!(up.stderr.ends_with("\n  unit    herdbook.service\n"), "{}", up.stderr);
    assert_eq!(home.calls(), STARTED);
    let service = fs::read_to_string(home.unit("herdbook.service")).unwrap();
    let exec = format!("\nExecStart=\"{}\" daemon --systemd\n", env!("CARGO_BIN_EXE_herdbook"));
    let memory = "\nEnvironment=MALLOC_MMAP_THRESHOLD_=1048576\n";
    for line in [
        exec.as_str(),
        memory,
        "\nType=notify\n",
        "\nWatchdogSec=60\n",
        "\nRestart=on-failure\n",
        "\nUMask=0077\n",
    ] {
        assert!(service.contains(line), "{line} is not in {service}");
    }
    let socket = fs::read_to_string(home.unit("herdbook.socket")).unwrap();
    for line in ["\nListenStream=%t/herdbook/sock\n", "\nSocketMode=0600\n", "\nDirectoryMode=0700\n"] {
        assert!(socket.contains(line), "{line} is not in {socket}");
    }
    assert!(home.run(&["up"]).stderr.starts_with("the daemon runs already, pid "));
    assert_eq!(home.calls(), [] as [&str; 0]);
    let down = home.run(&["down"]);
    assert!(down.stderr.starts_with("the daemon is down (it was pid "), "{}", down.stderr);
    assert!(down.stderr.contains("\n  herdbook.socket stays enabled, "), "{}", down.stderr);
    assert_eq!(home.calls(), ["stop herdbook.socket herdbook.service"]);
    assert!(home.unit("herdbook.socket").exists());
    let up = home.run(&["up"]);
    assert!(up.stderr.starts_with("the daemon is up, pid "), "{}", up.stderr);
    assert_eq!(home.calls(), STARTED[1..], "the files are as they should be");
    assert_eq!(home.run(&["down"]).code, 0);
    replace_file(&home.env.path().join("home/lingers"), b"no\n", 0o644).unwrap();
    let up = home.run(&["up"]);
    let words = "\n  note    it ends when you log out; `loginctl enable-linger` keeps it with agents that go on in tmux\n";
    assert!(up.stderr.ends_with(words), "{}", up.stderr);
}

#[test]
fn files_of_that_name_that_are_not_ours_stay_and_a_plain_process_runs() {
    let home = Home::new();
    let path = home.unit("herdbook.service");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    replace_file(&path, b"[Service]\nExecStart=/bin/true\n", 0o644).unwrap();
    let forced = home.run(&["up", "--systemd"]);
    let words = format!("{} was not written by herdbook, so it is left alone", path.display());
    assert_eq!(forced.code, 1);
    assert!(forced.stderr.contains(&words), "{}", forced.stderr);
    let up = home.run(&["up"]);
    assert!(up.stderr.starts_with("the daemon is up, pid "), "{}", up.stderr);
    assert!(
        up.stderr.contains(&format!("  note    a plain process, not run by systemd: {words}")),
        "{}",
        up.stderr
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "[Service]\nExecStart=/bin/true\n");
    assert!(!home.unit("herdbook.socket").exists(), "neither is written where one cannot be");
    assert_eq!(home.calls(), [] as [&str; 0]);
}

#[test]
fn a_scratch_daemon_never_takes_the_users_unit() {
    let home = Home::new();
    let scratch = home.env.path().join("scratch");
    let folder = scratch.to_str().unwrap();
    for (variable, why) in [
        ("HERDBOOK_STATE", "HERDBOOK_STATE is set"),
        ("XDG_CONFIG_HOME", "HOME or the XDG folders are other ones than systemd's"),
        ("XDG_STATE_HOME", "HOME or the XDG folders are other ones than systemd's"),
    ] {
        let forced = home.run_with(&["up", "--systemd"], &[(variable, folder)]);
        let words = format!("error: the daemon was not started by systemd: {why}\n");
        assert_eq!(forced.code, 1);
        assert!(forced.stderr.starts_with(&words), "{}", forced.stderr);
    }
    assert_eq!(home.run(&["up"]).code, 0);
    home.calls();
    let before = fs::read(home.unit("herdbook.service")).unwrap();
    // It answers on the socket of the runtime folder.
    let other = home.run_with(&["up"], &[("XDG_STATE_HOME", folder)]);
    assert!(
        other.stderr.starts_with("a daemon runs already, on another state folder, pid "),
        "{}",
        other.stderr
    );
    let variables = [("HERDBOOK_STATE", folder)];
    let up = home.run_with(&["up"], &variables);
    assert!(up.stderr.contains("not run by systemd: HERDBOOK_STATE is set\n"), "{}", up.stderr);
    let down = home.run_with(&["down"], &variables);
    assert!(down.stderr.starts_with("the daemon is down "), "{}", down.stderr);
    assert_eq!(home.calls(), [] as [&str; 0], "systemd was asked, and told to do nothing");
    assert_eq!(fs::read(home.unit("herdbook.service")).unwrap(), before);
    assert_eq!(home.run(&["status"]).code, 0, "the user's daemon goes on");
}

#[test]
fn the_form_can_be_forced_both_ways() {
    let home = Home::new();
    let up = home.run(&["up", "--no-systemd"]);
    assert!(up.stderr.starts_with("the daemon is up, pid "), "{}", up.stderr);
    assert!(!up.stderr.contains("note"), "{}", up.stderr);
    assert_eq!(home.calls(), [] as [&str; 0]);
    let up = home.run(&["up", "--systemd"]);
    assert!(up.stderr.starts_with("restarted: run by systemd now, pid "), "{}", up.stderr);
    assert_eq!(home.calls(), STARTED);
    let up = home.run(&["up", "--no-systemd"]);
    assert!(up.stderr.starts_with("restarted: a plain process now, pid "), "{}", up.stderr);
    assert_eq!(home.calls(), ["stop herdbook.socket herdbook.service"]);
}

#[test]
fn without_a_systemd_it_is_a_plain_process_and_asking_for_one_fails() {
    let env = TestEnv::new();
    let forced = env.run(&["up", "--systemd"]);
    let words = "error: the daemon was not started by systemd: there is no systemd of this user here\n";
    assert_eq!(forced.code, 1);
    assert!(forced.stderr.starts_with(words), "{}", forced.stderr);
}

/// Runs the daemon as systemd does: the socket is descriptor 3, and the variables name this very process.
fn under_systemd(env: &TestEnv, listener: UnixListener, notify: &Path, listen_pid: &str) -> Child {
    let words = format!(
        "LISTEN_PID={listen_pid} LISTEN_FDS=1 LISTEN_FDNAMES=herdbook.socket WATCHDOG_PID=$$ exec {} daemon --systemd 3<&0 0< /dev/null",
        env!("CARGO_BIN_EXE_herdbook")
    );
    let mut command = env.program("/bin/sh");
    command.args(["-c", &words]).env("HERDBOOK_ADDR", "127.0.0.1:0");
    command.env("NOTIFY_SOCKET", notify).env("WATCHDOG_USEC", "60000000");
    command.stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn the_program_takes_what_systemd_passes_and_says_how_it_is() {
    let env = TestEnv::new();
    let folder = env.path().join("run/herdbook");
    fs::create_dir(&folder).unwrap();
    let (socket, notify) = (folder.join("sock"), env.path().join("notify"));
    let manager = UnixDatagram::bind(&notify).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let news = || loop {
        let mut bytes = [0; 512];
        let len = manager.recv(&mut bytes).unwrap();
        let news = String::from_utf8(bytes[..len].to_vec()).unwrap();
        if news != "WATCHDOG=1" {
            break news;
        }
    };
    let listener = UnixListener::bind(&socket).unwrap();
    let mut child = under_systemd(&env, listener.try_clone().unwrap(), &notify, "$$");
    assert!(news().starts_with("READY=1\nSTATUS=http://127.0.0.1:"));
    let status = herdbook_api::Client::new(vec![socket.clone()]).status().unwrap();
    assert_eq!(status.pid, child.id());
    assert_eq!(
        status.sockets,
        [&socket, &env.path().join("state/herdbook/sock")].map(|path| path.to_str().unwrap())
    );
    assert_eq!(status.warnings, [] as [&str; 0]);
    // Programs that it runs do not get the socket: O_CLOEXEC, in octal (proc_pid_fdinfo(5)).
    let flags = fs::read_to_string(format!("/proc/{}/fdinfo/3", child.id())).unwrap();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
    assert_ne!(u32::from_str_radix(flags, 8).unwrap() & 0o2_000_000, 0, "{flags}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(news().starts_with("STOPPING=1\n"));
    assert!(child.wait().unwrap().success());
    assert!(socket.exists(), "the socket is systemd's");
}

#[test]
fn sockets_that_were_passed_to_another_process_are_left_alone() {
    let env = TestEnv::new();
    let (stranger, notify) = (env.path().join("stranger"), env.path().join("notify"));
    let manager = UnixDatagram::bind(&notify).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut child = under_systemd(&env, UnixListener::bind(&stranger).unwrap(), &notify, "1");
    let mut bytes = [0; 512];
    while !bytes.starts_with(b"READY=1\n") {
        manager.recv(&mut bytes).unwrap();
    }
    let status = herdbook_api::Client::new(vec![env.path().join("run/herdbook/sock")]).status().unwrap();
    assert!(!status.sockets.iter().any(|path| path.ends_with("stranger")), "{:?}", status.sockets);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn systemd_finds_no_fault_with_the_units() {
    let home = Home::new();
    assert_eq!(home.run(&["up"]).code, 0);
    let mut verify = home.env.program("/usr/bin/systemd-analyze");
    verify
        .args(["--user", "verify"])
        .args(["herdbook.service", "herdbook.socket"].map(|name| home.unit(name)));
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        println!("skipped: systemd_finds_no_fault_with_the_units: no systemd-analyze");
        return;
    }
    let ran = finish(verify, b"");
    assert!(!ran.stderr.contains("herdbook"), "{}", ran.stderr);
}
