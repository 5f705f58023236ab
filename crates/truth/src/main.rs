//! `herdbook-truth`: plays scenarios and prints how long the queue was wrong.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use herdbook_truth::harm::{self, Fault, SCENES};
use herdbook_truth::jump::Jump;
use herdbook_truth::latency::{self, HOSTS, Way, median};
use herdbook_truth::play::{Places, Played, STUCK, play, scenarios};
use herdbook_truth::routes::report;
use herdbook_truth::score::HOOK;

/// What the gate plays: three clients, and each kind of wait that a hook can prove.
const GATE: [&str; 8] = [
    "claude-plain-turn",
    "claude-permission-allow",
    "claude-ask-user-question",
    "claude-subagent",
    "codex-permission-allow",
    "codex-interrupt-streaming",
    "codex-plain-turn",
    "gemini-permission-allow",
];

/// Plays scenarios of real clients against the real programs and counts seconds of wrong state
///
/// Each scenario has a daemon of its own; `herdbook install` writes the hooks; the queue is held against the truth of
/// the recorded run. Exit status: 0 when no hook could have known better and `next` landed wherever it was tried, 1
/// otherwise, 2 when a scenario could not be played.
///
/// With no scenario named, some routes are played as well: they deny, do nothing, and hang.
///
/// With `--harm`: our hook program is removed, our daemon is stopped, our daemon is frozen, and each client works on.
/// Exit status: 0 when none was harmed and nothing was lost, 1 otherwise, 2 when a scenario could not be played.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder with `tools/` and `real-cases/`
    #[arg(long)]
    shared: PathBuf,
    /// Folder made by `real_clients.sh install`
    #[arg(long)]
    clients: PathBuf,
    /// Scratch folder with a short path; a folder for each scenario is made anew in it
    #[arg(long)]
    out: PathBuf,
    /// Folder with `herdbook` and `herdbook-hook`
    #[arg(long)]
    programs: PathBuf,
    /// Search path for the clients, tmux, node and python3
    #[arg(long, default_value = "/usr/local/bin:/usr/bin:/bin")]
    path: String,
    /// Every scenario that has a truth
    #[arg(long)]
    all: bool,
    /// Break something of ours and see whether a client is harmed
    #[arg(long, conflicts_with = "all")]
    harm: bool,
    /// Measure what our hooks add to each step of a client
    #[arg(long, conflicts_with_all = ["all", "harm"])]
    latency: bool,
    /// Tell each client each form of the tables, and see what it makes of it
    #[arg(long, conflicts_with_all = ["all", "harm", "latency"])]
    forms: bool,
    /// Play each client with routes that deny, tell, crash and hang; `gate` is a short selection
    #[arg(long, conflicts_with_all = ["all", "harm", "latency", "forms"])]
    routes: bool,
    /// How often each way is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Names of scenarios, or beginnings of names such as `codex-`; by default those of the gate, or every client
    scenarios: Vec<String>,
}

/// Sums over all scenarios.
#[derive(Default)]
struct Sums {
    scored: f64,
    sources: BTreeMap<String, f64>,
    /// Scenarios with wrong time that only another source than a hook could have known.
    open: Vec<String>,
    failed: Vec<String>,
    not_played: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let absolute =
        |path: &PathBuf| std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()));
    let places = Places {
        shared: absolute(&arguments.shared)?,
        clients: absolute(&arguments.clients)?,
        out: absolute(&arguments.out)?,
        programs: absolute(&arguments.programs)?,
        path: arguments.path.clone(),
    };
    if arguments.harm {
        return harm(&arguments.scenarios, &places);
    }
    if arguments.latency {
        return measure(&arguments.scenarios, arguments.rounds, &places);
    }
    if arguments.forms {
        return report::tell_forms(&arguments.scenarios, &places).map(verdict);
    }
    if arguments.routes {
        return report::play_routes(&arguments.scenarios, &places).map(verdict);
    }
    let all = scenarios(&places.shared)?;
    let asked: Vec<String> = if arguments.all {
        all
    } else if arguments.scenarios.is_empty() {
        GATE.map(str::to_owned).into()
    } else {
        all.into_iter().filter(|name| is_asked(&arguments.scenarios, name)).collect()
    };
    if asked.is_empty() {
        return Err("no scenario has such a name".to_owned());
    }
    let mut sums = Sums::default();
    for scenario in &asked {
        let is_gate = GATE.contains(&scenario.as_str());
        // A client that a busy machine kept from a step of the script shows nothing about the product: such a run, and
        // only such a run, is made once more.
        let played = play(scenario, &places, is_gate).or_else(|problem| {
            say(&format!("{scenario}: not played, once more: {problem}"))?;
            play(scenario, &places, is_gate)
        });
        tell(scenario, played, &mut sums)?;
    }
    sum_up(&sums, asked.len())?;
    let is_gate = !arguments.all && arguments.scenarios.is_empty();
    let wrong = if is_gate { report::play_routes(&["gate".to_owned()], &places)? } else { 0 };
    Ok(match (sums.failed.is_empty() && wrong == 0, sums.not_played.is_empty()) {
        (false, _) => ExitCode::from(1),
        (true, false) => ExitCode::from(2),
        (true, true) => ExitCode::SUCCESS,
    })
}

/// Whether a name is asked for, by itself or by its beginning.
fn is_asked(asked: &[String], name: &str) -> bool {
    asked.iter().any(|asked| name.starts_with(asked.as_str()))
}

/// Plays each scenario with each fault and prints what was harmed.
fn harm(asked: &[String], places: &Places) -> Result<ExitCode, String> {
    let scenes: Vec<_> =
        SCENES.iter().filter(|scene| asked.is_empty() || is_asked(asked, scene.name)).collect();
    if scenes.is_empty() {
        return Err("no scenario that can be played with a fault has such a name".to_owned());
    }
    let (mut harmed, mut not_played) = (0, 0);
    for scene in &scenes {
        for fault in Fault::ALL {
            let title = format!("{}, {}", scene.name, fault.words());
            let mut played = harm::play(**scene, fault, places);
            // As above: a client that a busy machine kept from a step of the script is played once more, and no other.
            let problem = match &played {
                Ok(harm) => harm.first().filter(|words| words.starts_with(STUCK)).cloned(),
                Err(problem) => Some(problem.clone()),
            };
            if let Some(problem) = problem {
                say(&format!("{title}: once more: {problem}"))?;
                played = harm::play(**scene, fault, places);
            }
            match played {
                Ok(harm) if harm.is_empty() => say(&format!("{title}: unharmed, nothing lost"))?,
                Ok(harm) => {
                    harmed += 1;
                    say(&format!("{title}: HARMED"))?;
                    harm.iter().try_for_each(|words| say(&format!("    {words}")))?;
                }
                Err(problem) => {
                    not_played += 1;
                    say(&format!("{title}: not played: {problem}"))?;
                }
            }
        }
    }
    let all = scenes.len() * Fault::ALL.len();
    say(&format!(
        "{all} runs: {} unharmed, {harmed} harmed, {not_played} not played",
        all - harmed - not_played
    ))?;
    Ok(match (harmed, not_played) {
        (1.., _) => ExitCode::from(1),
        (0, 1..) => ExitCode::from(2),
        (0, 0) => ExitCode::SUCCESS,
    })
}

/// Prints how many milliseconds a step of each client takes without hooks, and how many more with ours.
fn measure(asked: &[String], rounds: u32, places: &Places) -> Result<ExitCode, String> {
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    say(&format!("medians of {} steps, milliseconds; load at first {}", rounds * 10, load().trim()))?;
    let hosts: Vec<_> = HOSTS.into_iter().filter(|host| asked.is_empty() || is_asked(asked, host)).collect();
    let mut is_whole = !hosts.is_empty();
    for host in hosts {
        let mut steps = Way::ALL.map(|way| (way, Vec::new()));
        for _ in 0..rounds {
            for (way, steps) in &mut steps {
                let played = latency::measure(host, *way, places).or_else(|problem| {
                    say(&format!("{host}, {}: once more: {problem}", way.words()))?;
                    latency::measure(host, *way, places)
                });
                match played {
                    Ok(more) => steps.extend(more),
                    Err(problem) => {
                        is_whole = false;
                        say(&format!("{host}, {}: not played: {problem}", way.words()))?;
                    }
                }
            }
        }
        let mut bare = 0.0;
        for (way, steps) in steps {
            let step = median(steps);
            match way {
                Way::Bare => {
                    bare = step;
                    say(&format!("{host:9} {:21} {step:7.1}", way.words()))?;
                }
                _ => say(&format!("{host:9} {:21} {step:7.1}  added {:6.1}", way.words(), step - bare))?,
            }
        }
    }
    say(&format!("load at last {}", load().trim()))?;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Exit code of a run that found so many things wrong.
fn verdict(wrong: usize) -> ExitCode {
    ExitCode::from(u8::from(wrong > 0))
}

/// Prints one scenario and adds it up.
fn tell(scenario: &str, played: Result<Played, String>, sums: &mut Sums) -> Result<(), String> {
    let played = match played {
        Ok(played) => played,
        Err(problem) => {
            sums.not_played.push(scenario.to_owned());
            return say(&format!("{scenario}: not played: {problem}"));
        }
    };
    let score = &played.score;
    let sources = score.by_source();
    let wrong = score.stretches.iter().fold(0.0, |sum, stretch| sum + stretch.seconds);
    let by_hook = sources.get(HOOK).copied().unwrap_or_default();
    let landed = match &played.jump {
        Jump::NobodyWaited => String::new(),
        Jump::Landed(pane) => format!(", next landed in {pane}"),
        Jump::Wrong(words) => format!(", next went WRONG: {words}"),
    };
    let is_right = by_hook == 0.0
        && !matches!(played.jump, Jump::Wrong(_))
        && played.left.is_empty()
        && played.second_opinion.is_none();
    let verdict = match (is_right, wrong == 0.0) {
        (true, true) => "right",
        (true, false) => "open",
        (false, _) => "WRONG",
    };
    say(&format!("{scenario}: {verdict}, {wrong:.2} s wrong of {:.1} s{landed}", score.scored))?;
    for stretch in &score.stretches {
        let (words, truth) = (stretch.wrong.words(), &stretch.truth);
        let could = stretch.sources.join(", ");
        say(&format!("    {:6.2} - {:6.2}  {words} {truth}; could know: {could}", stretch.from, stretch.to))?;
    }
    for session in &played.left {
        say(&format!("    still queued when all was over: {session}"))?;
    }
    for note in score.notes.iter().chain(&played.second_opinion) {
        say(&format!("    note: {note}"))?;
    }
    sums.scored += score.scored;
    for (source, seconds) in sources {
        *sums.sources.entry(source).or_default() += seconds;
    }
    if !is_right {
        sums.failed.push(scenario.to_owned());
    } else if wrong > 0.0 {
        sums.open.push(scenario.to_owned());
    }
    Ok(())
}

/// Prints the sums.
fn sum_up(sums: &Sums, asked: usize) -> Result<(), String> {
    let right = asked - sums.failed.len() - sums.open.len() - sums.not_played.len();
    say(&format!(
        "{asked} scenarios, {:.1} s scored: {right} right, {} open, {} wrong, {} not played",
        sums.scored,
        sums.open.len(),
        sums.failed.len(),
        sums.not_played.len()
    ))?;
    for source in [HOOK, "transcript", "process", "screen"] {
        let seconds = sums.sources.get(source).copied().unwrap_or_default();
        say(&format!("  wrong while a {source} could know: {seconds:.2} s"))?;
    }
    for (title, names) in [("open", &sums.open), ("wrong", &sums.failed), ("not played", &sums.not_played)] {
        if !names.is_empty() {
            say(&format!("  {title}: {}", names.join(" ")))?;
        }
    }
    Ok(())
}

fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{line}").map_err(|error| format!("stdout: {error}"))
}
