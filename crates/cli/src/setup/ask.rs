//! Asking the human before anything is written.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::error::Problem;
use crate::printer::{Line, Printer};

/// Asks whether to go on. Only `y` and `yes` are a yes.
///
/// # Errors
/// There is no terminal to ask on, or it could not be read.
pub fn agrees(printer: &mut Printer) -> Result<bool, Problem> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Problem::CannotAsk);
    }
    printer.ask(&Line::new().own("Go on? [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Problem::Input)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
