//! A lasting tmux client on real, private servers.

use herdbook_machine::*;

use crate::tmux::PrivateServer;

#[test]
fn one_cycle_lists_all_panes_and_captures_the_ones_asked_for() {
    let Some(server) = PrivateServer::start("one_cycle_lists_all_panes", "one") else { return };
    let shown = "printf 'first\\n%%end 1 2 1\\n%%exit\\n'; tmux wait-for -S shown; exec sleep 600";
    let pane = server.by_hand(&["new-window", "-d", "-P", "-F", "#{pane_id}", shown]);
    server.by_hand(&["wait-for", "shown"]);
    server.by_hand(&["select-pane", "-t", &pane, "-T", "a;b 'c"]);
    let mut control = Control::attach(&server.tmux()).unwrap();
    assert_eq!(control.server(), &server.tmux().server().unwrap());
    for _ in 0..3 {
        let cycle = control.cycle(&[&pane, "%77", "%0"]).unwrap();
        let ids: Vec<&str> = cycle.panes.iter().map(|pane| pane.id.as_str()).collect();
        assert_eq!(ids, ["%0", pane.as_str()]);
        let row = &cycle.panes[1];
        assert_eq!((row.size, row.title.as_str()), ((80, 20), "a;b 'c"));
        assert_eq!((row.cursor, row.in_mode, row.is_dead), ((0, 3), false, false));
        let screens: Vec<Option<&str>> = cycle.screens.iter().map(|(_, text)| text.as_deref()).collect();
        assert!(screens[0].unwrap().starts_with("first\n%end 1 2 1\n%exit\n\n"), "{screens:?}");
        assert_eq!(screens[1], None, "a pane that is not there could not be looked at");
        assert!(screens[2].is_some());
    }
    let error = control.cycle(&["%0; kill-server"]).unwrap_err();
    assert!(matches!(error, ControlError::Tmux(TmuxError::BadId(_))), "{error}");
    assert!(control.cycle(&[]).is_ok(), "nothing was asked of tmux");
    let sizes = server.by_hand(&["list-windows", "-a", "-F", "#{window_width}x#{window_height}"]);
    assert_eq!(sizes, "80x20\n80x20", "a client of ours takes no part in the size");
}

#[test]
fn what_the_humans_hooks_say_when_a_client_comes_is_passed_over() {
    let Some(server) = PrivateServer::start("what_the_humans_hooks_say_when_a_client_comes", "one") else {
        return;
    };
    server.by_hand(&["set-hook", "-g", "client-attached", "display-message -p 'welcome back'"]);
    let mut control = Control::attach(&server.tmux()).unwrap();
    let ids = |panes: Vec<PaneRow>| panes.into_iter().map(|pane| pane.id).collect::<Vec<_>>();
    assert_eq!(ids(control.cycle(&["%0"]).unwrap().panes), ["%0"]);
}

#[test]
fn a_command_in_several_rows_spoils_no_list() {
    let Some(server) = PrivateServer::start("a_command_in_several_rows_spoils_no_list", "one") else {
        return;
    };
    let named = "exec -a \"$(printf 'a\\nb\\037c')\" sleep 600";
    let pane = server.by_hand(&["new-window", "-d", "-P", "-F", "#{pane_id}", "bash", "-c", named]);
    let mut control = Control::attach(&server.tmux()).unwrap();
    let begun = std::time::Instant::now();
    let command = loop {
        let panes = control.list(true).unwrap();
        assert_eq!(panes.len(), 2);
        let command = panes.into_iter().find(|listed| listed.id == pane).unwrap().command;
        if command == "a b c" || begun.elapsed().as_secs() > 20 {
            break command;
        }
    };
    assert_eq!(command, "a b c");
}

#[test]
fn a_server_that_dies_ends_the_conversation_and_says_nothing_of_panes() {
    let Some(server) = PrivateServer::start("a_server_that_dies_ends_the_conversation", "one") else {
        return;
    };
    let mut control = Control::attach(&server.tmux()).unwrap();
    server.end();
    assert!(matches!(control.cycle(&["%0"]), Err(ControlError::Closed)));
    assert!(matches!(control.cycle(&["%0"]), Err(ControlError::Closed)), "also the next time");
    let again = Control::attach(&server.tmux());
    assert!(matches!(again, Err(ControlError::Tmux(TmuxError::NoServer(_)))), "{again:?}");
    server.new_session("two");
    assert!(Control::attach(&server.tmux()).unwrap().cycle(&["%0"]).is_ok());
}

#[test]
fn the_client_is_no_human_and_keeps_no_session_that_ends_with_its_last() {
    let test = "the_client_is_no_human_and_keeps_no_session";
    let (Some(server), Some(outer)) =
        (PrivateServer::start(test, "one"), PrivateServer::start(test, "outer"))
    else {
        return;
    };
    let session = || server.by_hand(&["list-clients", "-F", "#{client_control_mode} #{session_name}"]);
    server.new_session("two");
    let control = Control::attach(&server.tmux()).unwrap();
    assert!(session().starts_with("1 "), "{}", session());
    let clients = server.tmux().clients().unwrap();
    assert_eq!((clients.len(), clients[0].is_human()), (1, false));
    assert_eq!(watching_clients(&clients, clients[0].activity * 1_000), Vec::<String>::new());
    assert_eq!(choose_client(&clients, None, Some(&clients[0].session)), None);
    drop(control);
    // Where nobody sits, as long as a free session is left for the next one who comes.
    server.attach_from(&outer, "two");
    server.new_session("zwei");
    let control = Control::attach(&server.tmux()).unwrap();
    assert!(session().contains("1 one") && session().contains("0 two"), "{}", session());
    drop(control);
    server.by_hand(&["kill-session", "-t", "zwei"]);
    // Else where a human sits already; of two that show a window, that one is where a jump goes.
    let mut control = Control::attach(&server.tmux()).unwrap();
    assert!(session().contains("1 two") && session().contains("0 two"), "{}", session());
    let shared =
        server.by_hand(&["display-message", "-p", "-t", "two:", "#{window_id} #{session_id} #{pane_id}"]);
    let [window, two, pane] = shared.split(' ').collect::<Vec<_>>()[..] else { panic!("{shared}") };
    server.by_hand(&["link-window", "-d", "-s", window, "-t", "one:"]);
    let binding = Binding { pane: pane.to_owned(), ..Binding::default() };
    assert_eq!(server.tmux().locate(&binding, &Proc::system()).unwrap().session, two);
    assert!(control.cycle(&[pane]).is_ok());
    drop(control);
    // Not where it would stay for us when the human leaves.
    server.by_hand(&["set-option", "-t", "two:", "destroy-unattached", "on"]);
    let control = Control::attach(&server.tmux()).unwrap();
    assert!(session().contains("1 one"), "{}", session());
    drop(control);
    server.by_hand(&["kill-session", "-t", "one"]);
    assert!(matches!(Control::attach(&server.tmux()), Err(ControlError::NoSeat)));
}

#[test]
fn others_may_send_keys_while_ours_is_the_only_client() {
    let Some(server) = PrivateServer::start("others_may_send_keys", "one") else { return };
    let mut control = Control::attach(&server.tmux()).unwrap();
    let is_in_mode = |control: &mut Control| control.cycle(&[]).unwrap().panes[0].in_mode;
    server.by_hand(&["copy-mode", "-t", "%0"]);
    assert!(is_in_mode(&mut control));
    server.by_hand(&["send-keys", "-t", "%0", "q"]);
    assert!(!is_in_mode(&mut control), "a client that is marked read-only makes tmux refuse the key");
}

#[test]
fn the_client_leaves_with_its_owner() {
    let Some(server) = PrivateServer::start("the_client_leaves_with_its_owner", "one") else { return };
    let control = Control::attach(&server.tmux()).unwrap();
    assert_eq!(server.by_hand(&["list-clients", "-F", "#{client_control_mode}"]), "1");
    drop(control);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !server.by_hand(&["list-clients", "-F", "x"]).is_empty() {
        assert!(std::time::Instant::now() < deadline, "the client stays");
        std::thread::yield_now();
    }
}

#[test]
fn the_list_says_which_panes_are_worth_a_look_and_a_look_what_was_true_in_its_moment() {
    let Some(server) = PrivateServer::start("the_list_says_which_panes_are_worth_a_look", "one") else {
        return;
    };
    let asks = "printf 'one\\nProceed? [y/N] '; tmux wait-for -S shown; tmux wait-for more; echo two; \
                tmux wait-for -S shown; exec sleep 600";
    let pane = server.by_hand(&["new-window", "-d", "-c", "/", "-P", "-F", "#{pane_id}", asks]);
    server.by_hand(&["wait-for", "shown"]);
    server.by_hand(&["select-pane", "-t", &pane, "-T", "@hb-a;b 'c"]);
    let mut control = Control::attach(&server.tmux()).unwrap();
    let find = |panes: Vec<ListedPane>| panes.into_iter().find(|listed| listed.id == pane).unwrap();
    let listed = find(control.list(false).unwrap());
    let pid = server.by_hand(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    assert_eq!((listed.pid.to_string(), listed.size, listed.title.as_str()), (pid, (80, 20), "@hb-a;b 'c"));
    assert_eq!((listed.in_mode, listed.is_dead, listed.command.as_str()), (false, false, ""));
    let commands = control.list(true).unwrap();
    assert_eq!(commands.iter().find(|listed| listed.id == "%0").unwrap().command, "sleep");
    let screens = control.screens(&["%77", &pane]).unwrap();
    assert_eq!(screens.len(), 1, "a pane that is not there could not be looked at");
    let screen = &screens[0];
    assert_eq!((screen.id.as_str(), screen.pid, screen.size), (pane.as_str(), listed.pid, (80, 20)));
    assert_eq!((screen.cursor, screen.cwd.as_str(), screen.in_mode), ((15, 1), "/", false));
    assert!(screen.text.starts_with("one\nProceed? [y/N] \n"), "{:?}", screen.text);
    // The activity is told in seconds, so a look counts as later only in the next one.
    let before = listed.activity_s;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while now_s() <= before {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert_eq!(find(control.list(false).unwrap()).activity_s, before, "nothing came");
    server.by_hand(&["wait-for", "-S", "more"]);
    server.by_hand(&["wait-for", "shown"]);
    while find(control.list(false).unwrap()).activity_s == before {
        assert!(std::time::Instant::now() < deadline, "no activity");
    }
    server.by_hand(&["copy-mode", "-t", &pane]);
    assert!(control.screens(&[&pane]).unwrap()[0].in_mode);
    let error = control.screens(&["%0; kill-server"]).unwrap_err();
    assert!(matches!(error, ControlError::Tmux(TmuxError::BadId(_))), "{error}");
    server.end();
    assert!(matches!(control.list(false), Err(ControlError::Closed)));
}

#[expect(clippy::disallowed_methods, reason = "a test compares tmux's clock with the machine's")]
fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}
