//! `herdbook doctor`: what is wrong, and the command that mends it.

use super::Context;
use crate::doctor::{Check, Level, examine, mend};
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::text::counted;

/// Check the daemon, its folders and every agent's hooks, and say what mends what is wrong
///
/// One line a check: ✓ all is well, ! works but is worth knowing, ✗ does not work. Ends with exit code 1 when anything
/// does not work, else with 0.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do what can be done without you, then check again: start the daemon, close the state folder to others, remove
    /// dead sockets, write stale or missing hooks of agents that have some of ours
    #[arg(long)]
    fix: bool,
    /// Write settings without asking
    #[arg(long, requires = "fix")]
    yes: bool,
    /// One JSON list with an object for each check: `check`, `level` (ok, warning, fault), `finding`, `message`, `fix`
    #[arg(long)]
    json: bool,
}

/// Widest name of a check.
const NAME_COLUMNS: usize = 9;

/// Checks, mends what it may, and prints.
///
/// # Errors
/// The places of state and sockets cannot be told, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let mut checks = examine(&context.env)?;
    if args.fix && mend(&checks, args.yes, context) {
        checks = examine(&context.env)?;
    }
    if args.json {
        context.printer.json(&checks)?;
    } else {
        for check in &checks {
            print(context.printer, check)?;
        }
        context.printer.say(&Line::new().text(&sum(&checks, args.fix), Style::Plain));
    }
    let is_faulty = checks.iter().any(|check| check.level == Level::Fault);
    Ok(if is_faulty { Exit::Failed } else { Exit::Ok })
}

/// Prints a check on one line; what mends it moves to a line of its own where a person's terminal is too narrow.
fn print(printer: &mut Printer, check: &Check) -> Result<(), Problem> {
    let (mark, style) = match check.level {
        Level::Ok => ("✓", Style::Good),
        Level::Warning => ("!", Style::Name),
        Level::Fault => ("✗", Style::Alarm),
    };
    let name = Line::new().styled(mark, style).own(" ").text(&check.check, Style::Dim);
    let indent = 2 + NAME_COLUMNS + 1;
    let pad = indent.saturating_sub(name.width()).max(1);
    let line = name.spaces(pad).text(&check.message, Style::Plain);
    let Some(fix) = &check.fix else { return Ok(printer.line(&line)?) };
    let fix = Line::new().styled("→", Style::Dim).own(" ").text(fix, Style::Bold);
    let is_narrow = printer.width().is_some_and(|width| line.width() + 1 + fix.width() > width);
    if is_narrow {
        printer.line(&line)?;
        printer.line(&Line::new().spaces(indent).join(fix))?;
    } else {
        printer.line(&line.own(" ").join(fix))?;
    }
    Ok(())
}

/// Says how it looks in all.
fn sum(checks: &[Check], was_mended: bool) -> String {
    let count = |level: Level| checks.iter().filter(|check| check.level == level).count() as u64;
    let (faults, warnings) = (count(Level::Fault), count(Level::Warning));
    let words = match (faults, warnings) {
        (0, 0) => return "all is well".to_owned(),
        (0, warnings) => counted(warnings, "warning"),
        (faults, 0) => counted(faults, "fault"),
        (faults, warnings) => format!("{}, {}", counted(faults, "fault"), counted(warnings, "warning")),
    };
    let can_mend = checks.iter().any(|check| check.mend.is_some());
    if can_mend && !was_mended { format!("{words}; `herdbook doctor --fix` mends some of it") } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Mend;

    #[test]
    fn the_sum_counts_and_points_to_fix_where_it_helps() {
        let well = Check::ok("daemon", "up");
        let warning = Check::warning("port", "port-taken", "taken");
        let fault = Check::fault("daemon", "daemon-down", "down").mend(Mend::Start);
        assert_eq!(sum(std::slice::from_ref(&well), false), "all is well");
        assert_eq!(sum(&[well, warning.clone()], false), "1 warning");
        let both = [fault, warning];
        assert_eq!(sum(&both, false), "1 fault, 1 warning; `herdbook doctor --fix` mends some of it");
        assert_eq!(sum(&both, true), "1 fault, 1 warning");
    }
}
