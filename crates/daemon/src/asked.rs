//! What Claude Code itself says of its sessions, where its hooks do not: `claude agents --json`, which needs neither
//! login nor network.
//!
//! It is asked only about sessions that wait for an answer which no hook may tell, or whose state is lost. An answer
//! costs about 0.2 s of processor time, so it is asked when such a session is new, moved, or its file under `sessions/`
//! changed, and else once a minute. Those files are only looked at for their times: what is in them is not documented.
//!
//! The program is the one that the session itself runs, and only if it says that it has the option. What it does not
//! list says nothing.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use herdbook_engine::Input;
use herdbook_engine::view::Doubted;
use herdbook_events::{PostedStatus, Report, SessionKey, StatusPlace};
use herdbook_hosts::claude::agents::listed;
use herdbook_log::Durability;
use herdbook_machine::{Command, Proc, Process};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::clock;
use crate::config::until_stopped;
use crate::core::Core;

/// Between two looks at what is in doubt and at its files.
const EVERY: Duration = Duration::from_secs(1);
/// Without any sign that something changed it is asked after this time.
const AGAIN_MS: u64 = 60_000;
/// An answer is there within this time or not at all.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// The engine has this long to take one answer.
const STEP_TIME: Duration = Duration::from_secs(5);
/// It shall neither look for a newer version of itself nor talk to anybody.
const QUIET: [&str; 3] =
    ["DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"];

/// Asks until the daemon ends. Sessions are known to the program only by the human's own folder of settings.
pub(crate) async fn follow(core: Core, home: Option<PathBuf>, stop: watch::Receiver<bool>) {
    let Some(home) = home else { return };
    until_stopped(ask_again_and_again(&core, &home.join(".claude")), stop).await;
}

async fn ask_again_and_again(core: &Core, folder: &Path) {
    let mut asker = Asker::new(folder.to_owned());
    loop {
        let Ok(doubted) = core.look(|engine, _| engine.doubted("claude")).await else { return };
        let asked_ms = clock::wall_ms();
        let answered = tokio::task::spawn_blocking(move || {
            let answer = asker.ask(&doubted, clock::now().mono_ms);
            (asker, answer)
        });
        asker = match answered.await {
            Ok((asker, answer)) => {
                for (session, report) in answer {
                    let place = StatusPlace { session: Some(session), ..StatusPlace::default() };
                    let said = PostedStatus { report, place, written_ms: Some(asked_ms) };
                    // The journal is full, or the engine is behind: it will be asked again.
                    drop(timeout(STEP_TIME, core.step(Input::Status(said), Durability::Written)).await);
                }
                asker
            }
            // A panic costs one answer.
            Err(_) => Asker::new(folder.to_owned()),
        };
        sleep(EVERY).await;
    }
}

/// Whom to ask, and when.
struct Asker {
    /// The folder of settings whose sessions the program lists.
    folder: PathBuf,
    table: Proc,
    /// How each session in doubt was when it was asked about, and when that was.
    asked: HashMap<SessionKey, (Mark, u64)>,
    /// Whether a program, as it was written then, has the option.
    able: HashMap<PathBuf, (SystemTime, bool)>,
}

/// What changes when there may be something new: when the session moved last, and its file.
type Mark = (u64, Option<SystemTime>);

impl Asker {
    fn new(folder: PathBuf) -> Asker {
        Asker { folder, table: Proc::system(), asked: HashMap::new(), able: HashMap::new() }
    }

    /// Asks if there may be something new, and returns what was said of sessions in doubt.
    fn ask(&mut self, doubted: &[Doubted], now_ms: u64) -> Vec<(SessionKey, Report)> {
        let root = self.folder.join("projects");
        let ours: Vec<&Doubted> = doubted.iter().filter(|doubted| doubted.root == root).collect();
        self.asked.retain(|known, _| ours.iter().any(|doubted| doubted.session == *known));
        let marks: Vec<Mark> = ours.iter().map(|doubted| self.mark(doubted)).collect();
        let is_due = |(doubted, mark): (&&Doubted, &Mark)| {
            let asked = self.asked.get(&doubted.session);
            asked.is_none_or(|(known, at_ms)| known != mark || at_ms + AGAIN_MS <= now_ms)
        };
        if !ours.iter().zip(&marks).any(is_due) {
            return Vec::new();
        }
        // One answer tells of all, whoever gives it.
        let program = ours.iter().find_map(|doubted| self.program(doubted));
        for (doubted, mark) in ours.iter().zip(marks) {
            self.asked.insert(doubted.session.clone(), (mark, now_ms));
        }
        let Some(answer) = program.and_then(|program| run(&program, &["agents", "--json"])) else {
            return Vec::new();
        };
        let of_doubted = |(id, report): (String, Report)| {
            let doubted = ours.iter().find(|doubted| doubted.native_id == id)?;
            Some((doubted.session.clone(), report))
        };
        listed(&answer).into_iter().filter_map(of_doubted).collect()
    }

    fn mark(&self, doubted: &Doubted) -> Mark {
        let file = self.folder.join("sessions").join(format!("{}.json", doubted.process.pid));
        (doubted.moved_ms, fs::metadata(file).and_then(|file| file.modified()).ok())
    }

    /// The program that the session runs: Claude Code as one executable, which has the option.
    fn program(&mut self, doubted: &Doubted) -> Option<PathBuf> {
        let process = Process { pid: doubted.process.pid, start: doubted.process.start };
        let program = self.table.program(process)?;
        if !is_claude(&program) {
            return None;
        }
        // Another version may take its place, and one that did not answer may do so later.
        let written = fs::metadata(&program).and_then(|file| file.modified()).ok()?;
        let able = match self.able.get(&program) {
            Some((known, able)) if *known == written => *able,
            _ => {
                let help = run(&program, &["agents", "--help"])?;
                let able = String::from_utf8_lossy(&help).contains("--json");
                self.able.insert(program.clone(), (written, able));
                able
            }
        };
        able.then_some(program)
    }
}

fn run(program: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let command = QUIET.iter().fold(Command::new(program).args(args), |command, name| command.env(name, "1"));
    let output = command.timeout(ANSWER_TIME).run().ok()?;
    output.is_success().then_some(output.stdout)
}

/// True for Claude Code's own executable: nothing else of that process, a shell or `node`, is ever run.
fn is_claude(program: &Path) -> bool {
    let name = program.file_name().is_some_and(|name| name == "claude" || name == "claude.exe");
    let installed = program.parent().is_some_and(|folder| folder.ends_with("claude/versions"));
    name || installed
}

#[cfg(test)]
mod tests {
    use herdbook_events::ProgramState;

    use super::*;

    /// A human's folder with a client that answers, and the process that runs it.
    struct Place {
        dir: tempfile::TempDir,
        asker: Asker,
    }

    impl Place {
        fn new(help: &str) -> Place {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            for folder in ["proc/10", "home/.claude/sessions"] {
                fs::create_dir_all(at(folder)).unwrap();
            }
            let stat = "10 (claude) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n";
            fs::File::create(at("proc/10/stat"))
                .and_then(|mut file| std::io::Write::write_all(&mut file, stat.as_bytes()))
                .unwrap();
            std::os::unix::fs::symlink(at("claude"), at("proc/10/exe")).unwrap();
            let table = Proc::at(at("proc"));
            let asker = Asker { table, ..Asker::new(at("home/.claude")) };
            let place = Place { dir, asker };
            place.install(help);
            place.write("answer", r#"[{"sessionId":"s","kind":"interactive","status":"busy"}]"#);
            place
        }

        /// Puts a client there whose help says this.
        fn install(&self, help: &str) {
            let at = |name: &str| self.dir.path().join(name);
            // Written by a process that starts no other: a file that is open for writing cannot be run.
            let script = format!(
                "#!/bin/sh\necho \"$*\" >> {log}\ncase $2 in --help) echo '{help}';; --json) cat {answer};; esac\n",
                log = at("log").display(),
                answer = at("answer").display(),
            );
            let write = "cat > \"$1\" && chmod 755 \"$1\"";
            let writer = Command::new("/bin/sh").args(["-c", write, "sh"]).arg(at("claude")).stdin(script);
            assert!(writer.run().unwrap().is_success());
        }

        fn write(&self, name: &str, text: &str) {
            let mut file = fs::File::create(self.dir.path().join(name)).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        }

        fn doubted(&self, moved_ms: u64) -> Doubted {
            Doubted {
                session: SessionKey::hooked("claude", "s").unwrap(),
                native_id: "s".into(),
                process: herdbook_events::Process { pid: 10, start: Some(77) },
                root: self.dir.path().join("home/.claude/projects"),
                moved_ms,
            }
        }

        /// What is said of the session, if it is asked about.
        fn ask(&mut self, moved_ms: u64, now_ms: u64) -> Option<ProgramState> {
            let doubted = self.doubted(moved_ms);
            let said = self.asker.ask(&[doubted], now_ms);
            said.first().map(|(_, report)| report.state)
        }

        fn calls(&self) -> String {
            fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
        }
    }

    #[test]
    fn it_is_asked_only_when_there_may_be_something_new() {
        let mut place = Place::new("  --json  Print active sessions");
        let busy = Some(ProgramState::Working);
        assert_eq!(place.ask(1, 0), busy, "it is new");
        assert_eq!(place.calls(), "agents --help\nagents --json\n");
        assert_eq!(place.ask(1, 59_999), None);
        assert_eq!(place.ask(2, 59_999), busy, "it moved");
        assert_eq!(place.ask(2, 119_999), busy, "a minute went by");
        place.write("home/.claude/sessions/10.json", "{}");
        assert_eq!(place.ask(2, 120_000), busy, "its file changed");
        assert_eq!(place.ask(2, 120_000), None);
        assert!(place.asker.ask(&[], 120_000).is_empty(), "nothing is in doubt");
        assert_eq!(place.ask(2, 120_001), busy, "in doubt again");
        assert_eq!(place.calls().lines().count(), 6);
    }

    #[test]
    fn a_client_without_the_option_is_never_asked() {
        let mut place = Place::new("  -p, --print");
        for moved_ms in 0..3 {
            assert_eq!(place.ask(moved_ms, 0), None);
        }
        assert_eq!(place.calls(), "agents --help\n");
    }

    #[test]
    fn a_client_that_gave_no_help_or_was_replaced_is_looked_at_anew() {
        let mut place = Place::new("'; exit 1; echo '");
        assert_eq!((place.ask(1, 0), place.ask(1, 1)), (None, None));
        assert_eq!(place.calls(), "agents --help\n", "not before it is time");
        let other_time = SystemTime::UNIX_EPOCH;
        place.install("-p, --print");
        assert_eq!(place.ask(2, 0), None);
        place.install("--json");
        let client = fs::File::options().append(true).open(place.dir.path().join("claude")).unwrap();
        client.set_modified(other_time).unwrap();
        drop(client);
        assert_eq!(place.ask(3, 0), Some(ProgramState::Working));
        assert_eq!(place.calls(), "agents --help\n".repeat(3) + "agents --json\n");
    }

    #[test]
    fn another_process_and_another_folder_are_not_the_clients() {
        let mut place = Place::new("--json");
        let doubted = place.doubted(1);
        let reused =
            Doubted { process: herdbook_events::Process { pid: 10, start: Some(78) }, ..doubted.clone() };
        let elsewhere = Doubted { root: "/elsewhere/.claude/projects".into(), ..doubted };
        assert!(place.asker.ask(&[reused], 0).is_empty());
        assert!(place.asker.ask(&[elsewhere], 0).is_empty());
        assert_eq!(place.calls(), "");
    }

    #[test]
    fn only_the_clients_own_executable_is_run() {
        for (path, is) in [
            ("/home/dev/.local/share/claude/versions/2.1.332", true),
            ("/usr/lib/node_modules/@anthropic-ai/claude-code/bin/claude.exe", true),
            ("/home/dev/.local/bin/claude", true),
            ("/usr/bin/node", false),
            ("/usr/bin/bash", false),
            ("/home/dev/claude/versions/old/sh", false),
        ] {
            assert_eq!(is_claude(Path::new(path)), is, "{path}");
        }
    }
}
