//! The terminal: raw mode, the other screen, keys. Whatever happens, it is given back.

use std::io::{self, Write as _};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::execute;
use crossterm::terminal::{
    DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};

use super::picker::Key;
use crate::printer::{Line, Printer};

/// The terminal while the picker has it.
pub struct Screen {
    is_open: bool,
    /// What it shows, and at which size.
    shown: Option<((usize, usize), Vec<Line>)>,
}

/// What came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A key.
    Key(Key),
    /// The terminal has another size.
    Resized,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It is none, or it refuses.
    pub fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        let screen = Screen { is_open: true, shown: None };
        execute!(io::stdout(), EnterAlternateScreen, Hide, DisableLineWrap)?;
        Ok(screen)
    }

    /// Gives it back.
    ///
    /// # Errors
    /// It refuses.
    pub fn close(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            execute!(io::stdout(), EnableLineWrap, Show, LeaveAlternateScreen)?;
            io::stdout().flush()?;
            disable_raw_mode()?;
        }
        Ok(())
    }

    /// Returns its columns and rows, at least one of each.
    pub fn size(&self) -> (usize, usize) {
        let (columns, rows) = size().unwrap_or((80, 24));
        (usize::from(columns.max(1)), usize::from(rows.max(1)))
    }

    /// Draws, if that changes anything.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn show(&mut self, printer: &mut Printer, size: (usize, usize), lines: Vec<Line>) -> io::Result<()> {
        let frame = Some((size, lines));
        if self.shown != frame {
            if let Some((size, lines)) = &frame {
                printer.frame(lines, size.0)?;
            }
            self.shown = frame;
        }
        Ok(())
    }

    /// Waits for something, at most so long.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn wait(&self, patience: Duration) -> io::Result<Option<Signal>> {
        if !poll(patience)? {
            return Ok(None);
        }
        Ok(match read()? {
            Event::Resize(..) => Some(Signal::Resized),
            Event::Key(event) => key(event).map(Signal::Key),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c' | 'd') if control => Key::Interrupt,
        KeyCode::Char('p') if control => Key::Up,
        KeyCode::Char('n') if control => Key::Down,
        KeyCode::Char('h') if control => Key::Backspace,
        KeyCode::Char(_) if control || event.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home | KeyCode::PageUp => Key::First,
        KeyCode::End | KeyCode::PageDown => Key::Last,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        let with = |code, modifiers| key(KeyEvent::new(code, modifiers));
        assert_eq!(with(KeyCode::Char('c'), KeyModifiers::NONE), Some(Key::Char('c')));
        assert_eq!(with(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(with(KeyCode::Char('S'), KeyModifiers::SHIFT), Some(Key::Char('S')));
        assert_eq!(with(KeyCode::Char('x'), KeyModifiers::ALT), None);
        assert_eq!(with(KeyCode::F(1), KeyModifiers::NONE), None);
    }
}
