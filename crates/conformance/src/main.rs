//! `herdbook-conformance run DIR…`: one JSON line for each expectation, then the count.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use herdbook_conformance::agent::command;
use herdbook_conformance::needs::{Abilities, NEEDS};
use herdbook_conformance::real::agent;
use herdbook_conformance::real::tools::{Tools, parts};
use herdbook_conformance::report::{Line, Tally, write_summary};
use herdbook_conformance::{Runner, find_cases, transcript_check};

const USAGE: &str = "usage: herdbook-conformance run [--summary] [--with NEED]... DIR...

Runs case folders. DIR is one case (a folder with a case.json) or a folder of cases. Prints one JSON line for each
expectation and `N passed, N failed, N not run` last. Exits with 1 if anything failed or nothing ran, with 2 for a
mistake in the command.

  --summary     one line for each case instead, with the reasons of what was not run
  --with NEED   try checks with this need although the product does not claim to meet it yet

The binaries come from HERDBOOK and HERDBOOK_HOOK in the environment, else from beside this program.";

/// What the command line asks for.
struct Command {
    dirs: Vec<PathBuf>,
    summary: bool,
    with: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = play_a_part(&arguments) {
        return code;
    }
    let command = match parse(arguments.into_iter()) {
        Ok(command) => command,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // A reader that has seen enough is no fault.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the report could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// This program is started again as the stand-in agent, before a hook, or as another uid's client.
fn play_a_part(arguments: &[OsString]) -> Option<ExitCode> {
    let (part, rest) = arguments.split_first()?;
    let number = |index: usize| {
        rest.get(index).and_then(|word| word.to_str()).and_then(|word| word.parse::<u64>().ok())
    };
    let played = match part.to_str()? {
        parts::AGENT => match command::play(rest) {
            Ok(code) => return Some(code),
            Err(problem) => Err(io::Error::other(problem)),
        },
        parts::STAND_IN => std::env::current_exe().and_then(|this| {
            agent::play(std::path::Path::new(rest.first().unwrap_or(&OsString::new())), &this)
        }),
        parts::LAUNCH => Err(agent::launch(rest)),
        parts::TRANSCRIPT => {
            let name = rest.get(1).and_then(|name| name.to_str()).unwrap_or_default();
            let dir = PathBuf::from(rest.first().unwrap_or(&OsString::new()));
            transcript_check(&dir, name)
                .map_err(io::Error::other)
                .and_then(|lines| writeln!(io::stdout(), "{lines}"))
        }
        parts::REQUEST => {
            let port = number(0).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
            agent::request(port, number(1))
        }
        _ => return None,
    };
    Some(match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{}: {error}", part.display());
            ExitCode::FAILURE
        }
    })
}

/// Finds the binaries; without them the checks that need them are not run, and that is said.
fn find_tools() -> Option<Tools> {
    #[expect(clippy::disallowed_methods, reason = "this is where the runner reads its environment")]
    let variable = |name: &str| std::env::var(name).ok();
    let this = std::env::current_exe().ok()?;
    let path = variable("PATH").unwrap_or_default();
    match Tools::find(variable("HERDBOOK").as_deref(), variable("HERDBOOK_HOOK").as_deref(), &this, &path) {
        Ok(tools) => Some(tools),
        Err(problem) => {
            let _ = writeln!(io::stderr(), "checks against the binaries are not run: {problem}");
            None
        }
    }
}

fn run(command: &Command) -> io::Result<bool> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut abilities = Abilities::of_this_product(rustix::process::geteuid().is_root());
    for need in &command.with {
        abilities = abilities.with(need);
    }
    let runner = Runner::new(abilities, find_tools());
    let mut tally = Tally::default();
    let mut of_summary = Vec::new();
    for dir in &command.dirs {
        let folders = match find_cases(dir) {
            Ok(folders) => folders,
            Err(problem) => {
                report(
                    vec![Line::broken(&dir.display().to_string(), "case.json", problem)],
                    command,
                    &mut tally,
                    &mut of_summary,
                    &mut out,
                )?;
                continue;
            }
        };
        for folder in folders {
            report(runner.run_folder(&folder), command, &mut tally, &mut of_summary, &mut out)?;
        }
    }
    if command.summary {
        write_summary(&of_summary, &mut out)?;
    }
    writeln!(out, "{tally}")?;
    out.flush()?;
    Ok(tally.is_good())
}

fn report(
    lines: Vec<Line>,
    command: &Command,
    tally: &mut Tally,
    of_summary: &mut Vec<Line>,
    out: &mut impl Write,
) -> io::Result<()> {
    for line in lines {
        tally.count(&line);
        if command.summary {
            of_summary.push(line);
        } else {
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.peekable();
    match arguments.next() {
        Some(word) if word == "run" => {}
        Some(word) => return Err(format!("'{}' is not a command", word.display())),
        None => return Err("a command is missing".into()),
    }
    let mut command = Command { dirs: Vec::new(), summary: false, with: Vec::new() };
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--summary") => command.summary = true,
            Some("--with") => {
                let need = arguments.next().and_then(|need| need.into_string().ok()).unwrap_or_default();
                if !NEEDS.contains(&need.as_str()) {
                    return Err(format!("--with takes one of {}", NEEDS.join(", ")));
                }
                command.with.push(need);
            }
            Some(option) if option.starts_with('-') => return Err(format!("option '{option}' is not known")),
            _ => command.dirs.push(PathBuf::from(argument)),
        }
    }
    if command.dirs.is_empty() { Err("a folder is missing".into()) } else { Ok(command) }
}
