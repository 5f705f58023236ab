//! Real tmux, on private servers in scratch folders, which end with their test.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herdbook_machine::*;

/// A private server.
pub struct PrivateServer {
    folder: tempfile::TempDir,
}

impl PrivateServer {
    /// Starts a server with one pane in a session of this name, or says by the test's name that there is no tmux.
    pub fn start(test: &str, name: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").run().is_err() {
            println!("skipped: {test}: no tmux");
            return None;
        }
        let server = Self { folder: tempfile::tempdir().unwrap() };
        server.new_session(name);
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("it's a socket")
    }

    pub fn tmux(&self) -> Tmux {
        // The machine may be busy; a test is not a measurement.
        Tmux::at(self.socket()).timeout(Duration::from_secs(20))
    }

    /// Runs tmux by hand.
    pub fn by_hand(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.socket())
            .args(args)
            .timeout(Duration::from_secs(30))
            .run()
            .unwrap();
        assert!(output.is_success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn new_session(&self, name: &str) -> String {
        self.by_hand(&[
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-x",
            "80",
            "-y",
            "20",
            "-s",
            name,
            "sleep 600",
        ])
    }

    /// Ends the server and waits until nobody answers: while it ends, the answer is neither yes nor no.
    pub fn end(&self) {
        self.by_hand(&["kill-server"]);
        let deadline = Instant::now() + Duration::from_secs(30);
        while !matches!(self.tmux().server(), Err(TmuxError::NoServer(_))) {
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::yield_now();
        }
    }

    /// Attaches a client whose terminal is a pane of `outer`, and returns that terminal.
    pub fn attach_from(&self, outer: &PrivateServer, session: &str) -> String {
        // The terminal is known before the client is there, so its arrival can be told by it.
        self.by_hand(&["set-hook", "-g", "client-attached", "wait-for -S attached"]);
        let command = format!(
            "env -u TMUX -u TMUX_PANE tmux -u -S {} attach-session -t {}",
            quoted(&self.socket()),
            quoted(Path::new(session))
        );
        let tty = outer.by_hand(&["new-window", "-d", "-P", "-F", "#{pane_tty}", &command]);
        self.by_hand(&["wait-for", "attached"]);
        tty
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        let kill = Command::new("tmux").arg("-S").arg(self.socket()).arg("kill-server");
        let _ = kill.run();
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn binding(tmux: &Tmux, pane: &str) -> Binding {
    let server = tmux.server().unwrap();
    Binding {
        server_pid: Some(server.pid),
        server_started_at: Some(server.started_at),
        pane: pane.to_owned(),
        agent: None,
    }
}

#[test]
fn panes_are_listed_with_their_server() {
    let Some(server) = PrivateServer::start("panes_are_listed_with_their_server", "api.v2:blue") else {
        return;
    };
    let tmux = server.tmux();
    server.by_hand(&["select-pane", "-t", "%0", "-T", "✳ a title"]);
    // The program in this pane says when it runs: before that it is a copy of tmux without a terminal.
    let command = "tmux wait-for -S runs; exec sleep 600";
    let second = server.by_hand(&["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "✳ star", command]);
    server.by_hand(&["wait-for", "runs"]);
    let panes = tmux.panes().unwrap();
    assert_eq!(panes.iter().map(|pane| pane.id.as_str()).collect::<Vec<_>>(), ["%0", second.as_str()]);
    let (first, second) = (&panes[0], &panes[1]);
    assert_eq!(first.server, tmux.server().unwrap());
    assert_eq!((first.title.as_str(), second.session_name.as_str()), ("✳ a title", "✳ star"));
    // tmux rewrites the name: it is for display only.
    assert_eq!(first.session_name, "api_v2_blue");
    assert_eq!((first.is_active, first.is_current_window, first.is_dead), (true, true, false));
    let own = Proc::system();
    assert_eq!(own.terminal(second.pid), Some(Terminal::Named(second.tty.clone())));
    assert!(own.descends_from(second.pid, second.server.pid));
    assert_eq!(tmux.clients().unwrap(), []);
}

#[test]
fn a_pane_exists_only_while_it_is_listed() {
    let Some(server) = PrivateServer::start("a_pane_exists_only_while_it_is_listed", "one") else { return };
    let tmux = server.tmux();
    let pane = server.new_session("two");
    assert_eq!(tmux.pane_state(&pane), PaneState::Exists);
    assert_eq!(tmux.pane_state("%99"), PaneState::Gone);
    assert_eq!(tmux.pane_state("=one:%0"), PaneState::Refused);
    server.by_hand(&["kill-pane", "-t", &pane]);
    assert_eq!(tmux.pane_state(&pane), PaneState::Gone);
    server.end();
    assert_eq!(tmux.pane_state("%0"), PaneState::Gone);
    assert!(matches!(tmux.panes(), Err(TmuxError::NoServer(_))));
}

#[test]
fn a_server_that_hangs_is_not_known_and_holds_nobody() {
    let Some(server) = PrivateServer::start("a_server_that_hangs_is_not_known_and_holds_nobody", "one")
    else {
        return;
    };
    let pid = server.tmux().server().unwrap().pid;
    let signal = |name: &str| Command::new("kill").args([name, &pid.to_string()]).run().unwrap();
    signal("-STOP");
    let start = Instant::now();
    let state = Tmux::at(server.socket()).timeout(Duration::from_millis(300)).pane_state("%0");
    let elapsed = start.elapsed();
    signal("-CONT");
    assert_eq!(state, PaneState::Unknown);
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
    assert_eq!(server.tmux().pane_state("%0"), PaneState::Exists);
}

#[test]
fn what_is_no_socket_of_ours_is_not_asked() {
    let scratch = tempfile::tempdir().unwrap();
    assert!(matches!(Tmux::at(scratch.path().join("none")).panes(), Err(TmuxError::NoServer(_))));
    assert!(matches!(Tmux::at(scratch.path()).panes(), Err(TmuxError::NotASocket(_))));
    // A socket that nobody serves any more.
    let stale = scratch.path().join("stale");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    if Command::new("tmux").arg("-V").run().is_ok() {
        assert!(matches!(Tmux::at(stale).panes(), Err(TmuxError::NoServer(_))));
    }
}

#[test]
fn a_pane_of_an_earlier_server_is_void() {
    let Some(server) = PrivateServer::start("a_pane_of_an_earlier_server_is_void", "one") else { return };
    let tmux = server.tmux();
    let before = binding(&tmux, "%0");
    assert_eq!(tmux.locate(&before, &Proc::system()).unwrap().session, "$0");
    server.end();
    assert!(matches!(tmux.locate(&before, &Proc::system()), Err(JumpError::ServerGone(_))));
    server.new_session("mail");
    assert_eq!(tmux.pane_state("%0"), PaneState::Exists, "the successor has a pane of that id");
    assert!(matches!(tmux.locate(&before, &Proc::system()), Err(JumpError::ServerGone(_))));
}

#[test]
fn a_pane_is_the_agent_s_only_while_the_agent_runs_below_it() {
    let Some(server) =
        PrivateServer::start("a_pane_is_the_agent_s_only_while_the_agent_runs_below_it", "one")
    else {
        return;
    };
    let tmux = server.tmux();
    let own = Proc::system();
    let pid = tmux.panes().unwrap()[0].pid;
    let agent = own.ancestors(pid)[0];
    let located = |agent| tmux.locate(&Binding { agent: Some(agent), ..binding(&tmux, "%0") }, &own);
    assert!(located(agent).is_ok());
    let stranger = own.ancestors(std::process::id())[0];
    assert!(matches!(located(stranger), Err(JumpError::NotItsPane(_))));
    let earlier = Process { pid, start: agent.start.map(|start| start - 1) };
    assert!(matches!(located(earlier), Err(JumpError::AgentGone(_))));
}

#[test]
fn a_jump_shows_the_pane_wherever_it_is() {
    let test = "a_jump_shows_the_pane_wherever_it_is";
    let (Some(server), Some(outer)) =
        (PrivateServer::start(test, "base"), PrivateServer::start(test, "outer"))
    else {
        return;
    };
    let tmux = server.tmux();
    let tty = server.attach_from(&outer, "base");
    let clients = tmux.clients().unwrap();
    assert_eq!(clients.len(), 1);
    assert_eq!((clients[0].tty.as_str(), clients[0].pane.as_str()), (tty.as_str(), "%0"));
    assert!(clients[0].is_human());

    // A background window of another session, beside its active pane, in sessions with names that are traps.
    for name in ["-rf", "=work", "$1", "#{pid}", "a'b"] {
        let made = server.by_hand(&[
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{session_id} #{pane_id}",
            "-x",
            "80",
            "-y",
            "20",
            "-s",
            name,
            "sleep 600",
        ]);
        let (session, _) = made.split_once(' ').unwrap();
        let target = format!("{session}:");
        let pane =
            server.by_hand(&["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", &target, "sleep 600"]);
        server.by_hand(&["split-window", "-t", &pane, "sleep 600"]);
        let place = tmux.locate(&binding(&tmux, &pane), &Proc::system()).unwrap();
        assert_eq!(place.session, session);
        assert_eq!(tmux.jump(&place, None, Some("%0")).unwrap(), tty);
        assert_eq!(tmux.clients().unwrap()[0].pane, pane, "{name}");
        // Back, by the client's own name.
        let base = tmux.locate(&binding(&tmux, "%0"), &Proc::system()).unwrap();
        assert_eq!(tmux.jump(&base, Some(&tty), None).unwrap(), tty);
        assert_eq!(tmux.clients().unwrap()[0].pane, "%0");
    }

    // The pane was moved to another session since.
    let moved = server.by_hand(&["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "$0:", "sleep 600"]);
    server.by_hand(&["break-pane", "-d", "-s", &moved, "-t", "$1:"]);
    let place = tmux.locate(&binding(&tmux, &moved), &Proc::system()).unwrap();
    assert_eq!(place.session, "$1");
    tmux.jump(&place, None, None).unwrap();
    assert_eq!(tmux.clients().unwrap()[0].pane, moved);

    let unknown = tmux.jump(&place, Some("/dev/pts/9999"), None).unwrap_err();
    assert!(matches!(unknown, JumpError::UnknownClient(_)));
    server.by_hand(&["kill-pane", "-t", &moved]);
    assert!(matches!(tmux.locate(&binding(&tmux, &moved), &Proc::system()), Err(JumpError::PaneGone(_))));
    assert!(tmux.jump(&place, None, None).is_err());
}

#[test]
fn a_linked_window_is_shown_in_the_session_that_has_a_client() {
    let test = "a_linked_window_is_shown_in_the_session_that_has_a_client";
    let (Some(server), Some(outer)) =
        (PrivateServer::start(test, "base"), PrivateServer::start(test, "outer"))
    else {
        return;
    };
    let tmux = server.tmux();
    let pane = server.new_session("work");
    server.by_hand(&["link-window", "-d", "-s", &pane, "-t", "$0:"]);
    server.attach_from(&outer, "base");
    let place = tmux.locate(&binding(&tmux, &pane), &Proc::system()).unwrap();
    assert_eq!((place.session.as_str(), place.is_linked), ("$0", true));
    tmux.jump(&place, None, None).unwrap();
    let client = &tmux.clients().unwrap()[0];
    assert_eq!((client.session.as_str(), client.pane.as_str()), ("$0", pane.as_str()));
}

#[test]
fn nobody_is_moved_where_nobody_is_attached() {
    let Some(server) = PrivateServer::start("nobody_is_moved_where_nobody_is_attached", "one") else {
        return;
    };
    let tmux = server.tmux();
    let place = tmux.locate(&binding(&tmux, "%0"), &Proc::system()).unwrap();
    assert!(matches!(tmux.jump(&place, None, Some("%0")), Err(JumpError::NoClient)));
}

#[test]
fn the_printed_command_attaches() {
    let test = "the_printed_command_attaches";
    let (Some(server), Some(outer)) =
        (PrivateServer::start(test, "base"), PrivateServer::start(test, "outer"))
    else {
        return;
    };
    let tmux = server.tmux();
    let pane = server.new_session("work");
    let split = server.by_hand(&["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &pane, "sleep 600"]);
    let place = tmux.locate(&binding(&tmux, &split), &Proc::system()).unwrap();
    let target = JumpTarget {
        socket: Some(server.socket().display().to_string()),
        server_alive: true,
        session: place.session,
        window: place.window,
        pane: place.pane,
    };
    let caller = Caller { caller_tmux: Some("/elsewhere,1,0".into()), caller_server_alive: None };
    let JumpPlan::PrintCommand { text } = jump_plan(&caller, Some(&target)) else {
        unreachable!("a caller in another server gets a command")
    };
    server.by_hand(&["set-hook", "-g", "client-attached", "wait-for -S attached"]);
    outer.by_hand(&["new-window", "-d", &format!("unset TMUX; {text}")]);
    server.by_hand(&["wait-for", "attached"]);
    assert_eq!(tmux.clients().unwrap()[0].pane, split);
}

#[test]
fn options_keep_their_values() {
    let Some(server) = PrivateServer::start("options_keep_their_values", "one") else { return };
    let tmux = server.tmux();
    for scope in [
        Scope::Server,
        Scope::Global,
        Scope::Session("$0".into()),
        Scope::Window("@0".into()),
        Scope::Pane("%0".into()),
    ] {
        assert_eq!(tmux.show_option(&scope, "@herdbook").unwrap(), None, "{scope:?}");
        for value in ["-x", "two words", "#(touch X) ✳ %H", "'\"$HOME;", "x\\;", ";", ""] {
            tmux.set_option(&scope, "@herdbook", value).unwrap();
            assert_eq!(tmux.show_option(&scope, "@herdbook").unwrap().as_deref(), Some(value), "{scope:?}");
        }
        tmux.set_option(&scope, "@herdbook", "set").unwrap();
    }
    assert!(matches!(tmux.set_option(&Scope::Pane("work".into()), "@x", ""), Err(TmuxError::BadId(_))));
    assert!(matches!(tmux.set_option(&Scope::Global, "-g", ""), Err(TmuxError::BadId(_))));
}
