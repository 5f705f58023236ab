//! Panes over virtual time.

use herdbook_events::{Detected, PaneProgram};

use super::roster::{At, Look, Roster, Row, ServerId};
use super::rules::{Pattern, Rule, Rules, read};
use super::watch::{Said, Screen, Watch};

const START_MS: u64 = 1_735_689_600_000;
const SIZE: (u32, u32) = (80, 24);

/// A screen with the cursor behind its last row.
fn screen(text: &str) -> Screen<'_> {
    let row = text.lines().count().saturating_sub(1);
    let column = text.lines().last().map_or(0, |row| row.chars().count());
    Screen { text, cursor: (column as u32, row as u32), size: SIZE }
}

fn stuck(prompt: &str) -> Option<Said> {
    Some(Said::Stuck { prompt: prompt.into() })
}

fn is_prompt(text: &str) -> bool {
    Rules::default().prompt(&screen(text)).is_some()
}

#[test]
fn a_screen_is_quiet_after_30_s_and_not_before() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    let asks = screen("line one\nProceed? [y/N] ");
    assert_eq!(watch.look(1_000, &rules, &asks), None);
    assert_eq!(watch.look(30_900, &rules, &asks), None, "29.9 s");
    assert_eq!(watch.look(31_000, &rules, &asks), stuck("Proceed? [y/N] "), "30 s");
    assert_eq!(watch.look(99_000, &rules, &asks), None, "it is said once");
    assert_eq!(watch.look(101_000, &rules, &screen("line one\nProceed? [y/N] y\n")), Some(Said::Unstuck));
    assert_eq!(watch.look(103_000, &rules, &screen("line one\nProceed? [y/N] y\nwell\n")), None);
}

#[test]
fn what_is_quiet_without_a_prompt_does_not_wait() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    for at_ms in [0, 30_000, 600_000] {
        assert_eq!(watch.look(at_ms, &rules, &screen("   Compiling demo v0.1.0")), None);
    }
    assert!(
        !watch.is_due(700_000, rules.quiet_ms),
        "it is judged, and not looked at again until something comes"
    );
    // Each new text has its own time.
    for at_ms in [700_000, 729_999] {
        assert_eq!(watch.look(at_ms, &rules, &screen("$ ")), None);
    }
    assert_eq!(watch.look(730_000, &rules, &screen("$ ")), stuck("$ "));
}

#[test]
fn padding_is_no_news() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    watch.look(0, &rules, &screen("a\n\n> "));
    let padded = Screen { text: "a   \n\n>  \n\n\n", cursor: (2, 2), size: SIZE };
    assert_eq!(watch.look(30_000, &rules, &padded), stuck("> "));
    assert_eq!(watch.look(60_000, &rules, &screen("a\n\n> ")), None);
    // A blank row between two others is none.
    assert_eq!(watch.look(62_000, &rules, &screen("a\n> ")), Some(Said::Unstuck));
}

#[test]
fn a_look_that_failed_is_neither_quiet_nor_news() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    let asks = screen("Proceed? [y/N] ");
    watch.look(0, &rules, &asks);
    watch.lost_sight();
    assert_eq!(watch.look(40_000, &rules, &asks), None, "nobody saw it meanwhile");
    assert_eq!(watch.look(70_000, &rules, &asks), stuck("Proceed? [y/N] "));
    watch.lost_sight();
    assert_eq!(watch.look(80_000, &rules, &asks), None, "the same prompt");
    watch.lost_sight();
    assert_eq!(watch.look(90_000, &rules, &screen("Proceed? [y/N] y\nbusy")), Some(Said::Unstuck));
}

#[test]
fn a_new_size_is_no_news() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    let asks = screen("a long line\nProceed? [y/N] ");
    watch.look(0, &rules, &asks);
    assert_eq!(watch.look(30_000, &rules, &asks), stuck("Proceed? [y/N] "));
    let narrow = |text| Screen { size: (8, 24), ..screen(text) };
    assert_eq!(watch.look(40_000, &rules, &narrow("")), None, "cleared");
    assert_eq!(watch.look(42_000, &rules, &narrow("a long")), None, "half drawn");
    assert_eq!(
        watch.look(44_000, &rules, &narrow("a long l\nine\nProceed?\n [y/N] ")),
        None,
        "the same prompt"
    );
    assert!(watch.is_stuck());
    assert_eq!(watch.look(46_000, &rules, &narrow("[y/N] y\nok\n")), Some(Said::Unstuck));
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let rules = Rules::default();
    let resumed = || Watch::resumed(Some("Proceed? [y/N] ".into()));
    let (mut same, mut other) = (resumed(), resumed());
    assert_eq!(same.look(0, &rules, &screen("x\nProceed? [y/N] ")), None);
    assert!(same.is_stuck());
    assert_eq!(same.look(2_000, &rules, &screen("x\nProceed? [y/N] y")), Some(Said::Unstuck));
    assert_eq!(other.look(0, &rules, &screen("$ ")), Some(Said::Unstuck), "it was answered meanwhile");
    assert_eq!(other.look(30_000, &rules, &screen("$ ")), stuck("$ "));
}

#[test]
fn these_are_prompts() {
    for text in [
        "dev@host:~/app$ ",
        "root@host:/# ",
        "host% ",
        "> ",
        "aider> ",
        "│ > ",
        "❯\u{a0}",
        ">>> ",
        "In [3]: ",
        "Proceed? [y/N] ",
        "Continue (yes/no)?",
        "(Y)es/(N)o/(D)on't ask again [Yes]: ",
        "Overwrite? (y/n) ",
        "Are you sure (yes/no/[fingerprint])? ",
        "Stage this hunk [y,n,q,a,d,e,?]? ",
        "Which one?",
        "Branch [main]: ",
        "Password:",
        "[sudo] password for dev: ",
        "Press any key to continue . . .",
        "Hit Enter to go on",
        "--More--",
        "--More--(12%)",
        "(END)",
        ":",
    ] {
        assert!(is_prompt(text), "{text:?}");
    }
}

#[test]
fn these_are_none() {
    for text in [
        "",
        "   Compiling demo v0.1.0",
        "Downloading 50% ",
        "Downloading 50%",
        "<div>",
        "  at /srv/y/main.rs",
        "done.",
        "error: could not compile",
        "Entering directory 'a'",
        "12:01:07 worker: started",
        "y",
        "[=====>    ]",
    ] {
        assert!(!is_prompt(text), "{text:?}");
    }
}

#[test]
fn what_stands_behind_the_cursor_does_not_hide_a_prompt() {
    let rules = Rules::default();
    let at = |text, cursor| rules.prompt(&Screen { text, cursor, size: SIZE });
    assert_eq!(at("╭────╮\n│ > Ask anything │\n╰────╯\n  ? for help", (4, 1)).as_deref(), Some("│ > "));
    assert_eq!(at("~/app ❯                  main  12:01", (8, 0)).as_deref(), Some("~/app ❯ "));
    // What the human wrote already is no prompt.
    assert_eq!(at("~/app ❯ git comm", (16, 0)), None);
    // The question stands above the cursor.
    assert_eq!(at("Proceed?\n\n", (0, 1)).as_deref(), Some("Proceed?"));
    let long = format!("{}Proceed? ", "é".repeat(400));
    assert_eq!(at(&long, (409, 0)).map(|prompt| prompt.chars().count()), Some(257));
}

#[test]
fn the_known_prompts_can_be_read() {
    assert_eq!(read(include_str!("prompts.toml")).unwrap().len(), 8);
}

#[test]
fn a_pane_is_watched_by_title_or_rule() {
    let pattern = |text| Some(Pattern::parse(text).unwrap());
    let rules = Rules {
        rules: vec![
            Rule { title: pattern("^deploy"), command: None },
            Rule { title: pattern("x"), command: pattern("^aider$") },
            Rule::default(),
        ],
        ..Rules::default()
    };
    let why = |title: &str, command: &str| rules.watch(title, command).unwrap_or_default();
    assert_eq!(why("@hb-aider", ""), "is titled '@hb-aider'");
    assert_eq!(why("@tb-3", ""), "is titled '@tb-3'");
    assert_eq!(why(&format!("@tb-{}", "é".repeat(999)), "").chars().count(), "is titled ''".len() + 80);
    assert_eq!(why("deploy", "sh"), "is titled 'deploy', as a rule of config.toml asks");
    assert_eq!(why("x", "aider"), "runs 'aider', as a rule of config.toml asks");
    for (title, command) in [("x", "aider2"), ("y", "aider"), ("my @hb-x", ""), ("@HB-x", ""), ("", "")] {
        assert_eq!(why(title, command), "", "{title} {command}");
    }
    assert_eq!(Pattern::parse("a(b").unwrap_err(), "unclosed group");
}

/// A roster with its clock and server.
struct Bench {
    rules: Rules,
    roster: Roster,
    server: ServerId,
    now_s: u64,
    live: Vec<(String, PaneProgram, Option<String>)>,
}

impl Bench {
    fn new() -> Bench {
        let server = ServerId { socket: "/tmp/t/default".into(), pid: 42, start: 7 };
        Bench { rules: Rules::default(), roster: Roster::default(), server, now_s: 0, live: Vec::new() }
    }

    fn at(&self) -> At {
        At { mono_ms: 5_000 + self.now_s * 1_000, wall_ms: START_MS + self.now_s * 1_000 }
    }

    /// One cycle, in which each pane shows its text. Returns what was said and which panes were looked at.
    fn cycle(&mut self, panes: &[(Row, &str)]) -> (Vec<String>, Vec<String>) {
        let rows: Vec<Row> = panes.iter().map(|(row, _)| row.clone()).collect();
        let at = self.at();
        self.roster.resume(self.live.clone());
        let (mut said, wanted) = self.roster.listed(at, &self.rules, &self.server, &rows);
        for (row, text) in panes.iter().filter(|(row, _)| wanted.contains(&row.pane)) {
            let look = Look { pid: row.pid, in_mode: false, cwd: "/home/dev/project", screen: screen(text) };
            said.extend(self.roster.looked(at, &self.rules, &self.server, row, Some(look)));
        }
        (said.into_iter().map(|one| self.keep(&one)).collect(), wanted)
    }

    /// Keeps what was said as the engine does, and returns it as one line.
    fn keep(&mut self, said: &Detected) -> String {
        let id = said.event.session_id().to_owned();
        let program = said.program.clone();
        match said.event.kind() {
            "registered" => self.live.push((id, program, None)),
            "ended" => self.live.retain(|(live, ..)| *live != id),
            _ => {}
        }
        format!("{} | {}", serde_json::to_string(&said.event).unwrap(), said.fact)
    }
}

fn row(pane: &str, pid: u32, title: &str) -> Row {
    let activity_s = START_MS / 1_000 - 10;
    Row { pane: pane.into(), pid, title: title.into(), size: SIZE, activity_s, ..Row::default() }
}

#[test]
fn events_are_the_references_member_for_member() {
    let mut bench = Bench::new();
    let asks = row("%446", 77, "@hb-x");
    let (said, _) = bench.cycle(&[(asks.clone(), "$ ")]);
    assert_eq!(
        said,
        [concat!(
            r#"{"type":"registered","sessionId":"tmux-%446-1735689600000","paneId":"%446","cwd":"/home/dev/project","#,
            r#""transcriptPath":"","timestamp":1735689600000} | pane %446 is titled '@hb-x'"#
        )]
    );
    bench.now_s = 30;
    let (said, _) = bench.cycle(&[(asks.clone(), "$ ")]);
    assert_eq!(
        said,
        [concat!(
            r#"{"type":"stuck","sessionId":"tmux-%446-1735689600000","paneId":"%446","cwd":"/home/dev/project","#,
            r#""transcriptPath":"","reason":"stopped","message":"Quiet at prompt: $ ","timestamp":1735689630000}"#,
            " | pane %446 was quiet for 30 s at a prompt"
        )]
    );
    bench.now_s = 32;
    let moved = Row { activity_s: START_MS / 1_000 + 31, ..asks };
    let (said, _) = bench.cycle(&[(moved, "$ make\n")]);
    assert_eq!(
        said,
        [concat!(
            r#"{"type":"unstuck","sessionId":"tmux-%446-1735689600000","timestamp":1735689632000}"#,
            " | pane %446 shows something else"
        )]
    );
    bench.now_s = 34;
    let (said, _) = bench.cycle(&[(row("%1", 1, ""), "")]);
    assert_eq!(
        said,
        [concat!(
            r#"{"type":"ended","sessionId":"tmux-%446-1735689600000","timestamp":1735689634000}"#,
            " | pane %446 is closed"
        )]
    );
}

/// The kinds and facts of what was said.
fn brief(said: &[String]) -> Vec<String> {
    let kind = |one: &String| one.split('"').nth(3).unwrap().to_owned();
    said.iter().map(|one| format!("{}: {}", kind(one), one.rsplit(" | ").next().unwrap())).collect()
}

#[test]
fn whatever_takes_the_pane_ends_the_session() {
    let watched = row("%3", 77, "@hb-x");
    for (now, expected) in [
        (
            Row { title: "sh".into(), ..watched.clone() },
            "pane %3 is no longer watched: its title and command changed",
        ),
        (Row { is_dead: true, ..watched.clone() }, "the program in pane %3 has ended"),
        (Row { has_hooks: true, ..watched.clone() }, "a session with hooks speaks for pane %3"),
        (Row { pane: "%4".into(), title: "sh".into(), ..watched.clone() }, "pane %3 is closed"),
    ] {
        let mut bench = Bench::new();
        bench.cycle(&[(watched.clone(), "$ ")]);
        let (said, looked) = bench.cycle(&[(now, "$ ")]);
        assert_eq!(brief(&said), [format!("ended: {expected}")]);
        assert!(looked.is_empty() && bench.live.is_empty());
    }
    let mut bench = Bench::new();
    bench.cycle(&[(watched.clone(), "$ ")]);
    let (said, _) = bench.cycle(&[(Row { pid: 78, ..watched.clone() }, "$ ")]);
    assert_eq!(
        brief(&said),
        ["ended: another program runs in pane %3", "registered: pane %3 is titled '@hb-x'"]
    );
    assert_eq!(bench.live[0].0, "tmux-%3-1735689600001", "an id of its own, even in the same millisecond");
    // Another server at that socket, with the same ids and pids.
    bench.server.start += 1;
    let (said, _) = bench.cycle(&[(Row { pid: 78, ..watched }, "$ ")]);
    assert_eq!(
        brief(&said),
        ["ended: the tmux server of pane %3 is gone", "registered: pane %3 is titled '@hb-x'"]
    );
}

#[test]
fn a_pane_is_looked_at_when_something_came_out_of_it_or_it_is_time() {
    let mut bench = Bench::new();
    let quiet = row("%3", 77, "@hb-x");
    let looked = |bench: &mut Bench, now_s: u64, row: &Row| {
        bench.now_s = now_s;
        bench.cycle(&[(row.clone(), "working")]).1.len()
    };
    assert_eq!(looked(&mut bench, 0, &quiet), 1);
    assert_eq!((2..30).step_by(2).map(|now_s| looked(&mut bench, now_s, &quiet)).sum::<usize>(), 0);
    assert_eq!(looked(&mut bench, 30, &quiet), 1, "it is time");
    assert_eq!(looked(&mut bench, 600, &quiet), 0);
    // In the second of the look itself more may come.
    let active = Row { activity_s: START_MS / 1_000 + 700, ..quiet.clone() };
    assert_eq!(looked(&mut bench, 700, &active), 1);
    assert_eq!(looked(&mut bench, 702, &active), 1);
    assert_eq!(looked(&mut bench, 704, &active), 0);
    assert_eq!(looked(&mut bench, 706, &Row { size: (70, 24), ..active.clone() }), 1);
    assert_eq!(looked(&mut bench, 710, &Row { in_mode: true, ..active }), 0);
}

#[test]
fn a_crash_keeps_the_id_and_a_lost_event_is_told_again() {
    let mut bench = Bench::new();
    let asks = row("%3", 77, "@hb-x");
    bench.cycle(&[(asks.clone(), "Proceed? [y/N] ")]);
    bench.now_s = 30;
    assert_eq!(
        brief(&bench.cycle(&[(asks.clone(), "Proceed? [y/N] ")]).0)[0].split(':').next(),
        Some("stuck")
    );
    // The daemon was killed: only what is kept is known.
    bench.live[0].2 = Some("Quiet at prompt: Proceed? [y/N] ".into());
    bench.roster = Roster::default();
    bench.now_s = 90;
    assert_eq!(bench.cycle(&[(asks.clone(), "Proceed? [y/N] ")]).0, Vec::<String>::new());
    bench.now_s = 92;
    let moved = Row { activity_s: START_MS / 1_000 + 91, ..asks };
    let (said, _) = bench.cycle(&[(moved.clone(), "Proceed? [y/N] n\nbye")]);
    assert!(said[0].contains(r#""unstuck","sessionId":"tmux-%3-1735689600000""#), "{said:?}");
    // It could not be told: by what is kept it still waits.
    bench.roster.forget("tmux-%3-1735689600000");
    bench.now_s = 94;
    assert_eq!(
        brief(&bench.cycle(&[(moved, "Proceed? [y/N] n\nbye")]).0),
        ["unstuck: pane %3 shows something else"]
    );
}

#[test]
fn a_session_that_somebody_else_ended_is_registered_anew() {
    let mut bench = Bench::new();
    let asks = row("%3", 77, "@hb-x");
    bench.cycle(&[(asks.clone(), "$ ")]);
    bench.live.clear();
    bench.now_s = 4;
    assert_eq!(brief(&bench.cycle(&[(asks, "$ ")]).0), ["registered: pane %3 is titled '@hb-x'"]);
    assert_eq!(bench.live[0].0, "tmux-%3-1735689604000");
}

#[test]
fn a_server_that_is_gone_takes_its_own_sessions_with_it() {
    let mut bench = Bench::new();
    bench.cycle(&[(row("%3", 77, "@hb-x"), "$ "), (row("%4", 78, "@tb-1"), "$ ")]);
    assert_eq!(bench.roster.sockets().len(), 2);
    assert_eq!(bench.roster.servers_at("/tmp/t/default"), [42, 42]);
    assert!(bench.roster.server_gone(bench.at(), "/tmp/t/other", 42).is_empty());
    bench.roster.lost_sight("/tmp/t/default");
    assert_eq!(bench.roster.server_gone(bench.at(), "/tmp/t/default", 42).len(), 2);
    assert!(bench.roster.sockets().is_empty());
}
