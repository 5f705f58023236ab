//! The only writer to the terminal: data to stdout, talk to stderr.

use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};
use std::process::ChildStdin;

use herdbook_redact::{clean_line, clip, tmux_job_text};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::env::Env;

/// Meaning of a piece of text; shown only where colour is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No meaning.
    Plain,
    /// Less important.
    Dim,
    /// More important.
    Bold,
    /// Needs a human.
    Alarm,
    /// Goes well.
    Good,
    /// A name to copy.
    Name,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dim => "2",
            Style::Bold => "1",
            Style::Alarm => "31",
            Style::Good => "32",
            Style::Name => "36",
        }
    }
}

/// One line of output, made of our own words and of foreign text, which is cleaned when it is put in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pieces: Vec<(String, Style)>,
}

impl Line {
    /// Starts an empty line.
    pub fn new() -> Line {
        Line::default()
    }

    /// Adds words of ours.
    #[must_use]
    pub fn own(mut self, text: &'static str) -> Line {
        self.pieces.push((text.to_owned(), Style::Plain));
        self
    }

    /// Adds words of ours with a meaning.
    #[must_use]
    pub fn styled(mut self, text: &'static str, style: Style) -> Line {
        self.pieces.push((text.to_owned(), style));
        self
    }

    /// Adds text from elsewhere, or text that may contain some.
    #[must_use]
    pub fn text(mut self, text: &str, style: Style) -> Line {
        self.pieces.push((clean_line(text), style));
        self
    }

    /// Adds so many spaces.
    #[must_use]
    pub fn spaces(mut self, count: usize) -> Line {
        self.pieces.push((" ".repeat(count), Style::Plain));
        self
    }

    /// Adds another line's pieces.
    #[must_use]
    pub fn join(mut self, other: Line) -> Line {
        self.pieces.extend(other.pieces);
        self
    }

    /// Returns the columns it takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(text, _)| text.width()).sum()
    }

    /// The columns it takes without the blanks at its end.
    fn seen_width(&self) -> usize {
        let mut width = self.width();
        for (text, _) in self.pieces.iter().rev() {
            let seen = text.trim_end();
            width -= text.width() - seen.width();
            if !seen.is_empty() {
                break;
            }
        }
        width
    }

    /// Cuts it to so many columns; what was cut shows as `…`.
    #[must_use]
    pub fn cut(mut self, columns: usize) -> Line {
        let mut left = columns;
        let is_wider = self.width() > columns;
        for (text, _) in self.pieces.iter_mut().filter(|_| is_wider) {
            *text = clip(text, left);
            left = left.saturating_sub(text.width());
        }
        self
    }

    /// Returns it as text, cut to so many columns.
    pub fn render(&self, colour: bool, limit: Option<usize>) -> String {
        let limit = limit.unwrap_or(usize::MAX);
        let is_cut = self.seen_width() > limit;
        // The mark of a cut takes a column, wherever the cut is.
        let mut left = if is_cut { limit.saturating_sub(1) } else { usize::MAX };
        let mut rendered = String::new();
        for (text, style) in &self.pieces {
            let mut shown = text.clone();
            let is_last = is_cut && shown.width() > left;
            if is_last {
                shown = if limit == 0 { String::new() } else { format!("{}…", head(text, left)) };
            }
            left = left.saturating_sub(shown.width());
            if colour && *style != Style::Plain && !shown.is_empty() {
                let _ = write!(rendered, "\u{1b}[{}m{shown}\u{1b}[0m", style.code());
            } else {
                rendered.push_str(&shown);
            }
            if is_last {
                break;
            }
        }
        rendered.trim_end().to_owned()
    }
}

/// Where data goes.
enum Out {
    Own(Stdout),
    Pager(ChildStdin),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Own(out) => out.write(bytes),
            Out::Pager(pipe) => pipe.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Own(out) => out.flush(),
            Out::Pager(pipe) => pipe.flush(),
        }
    }
}

/// Writes to the terminal.
pub struct Printer {
    out: BufWriter<Out>,
    err: Stderr,
    out_colour: bool,
    err_colour: bool,
    out_terminal: bool,
    width: Option<usize>,
}

impl Printer {
    /// Looks at the terminal and at `NO_COLOR`, `TERM` and `COLUMNS`.
    pub fn new(env: &Env) -> Printer {
        let (out, err) = (io::stdout(), io::stderr());
        let out_terminal = out.is_terminal();
        let colour = env.no_color.is_none() && env.term.as_deref() != Some("dumb");
        let terminal_width = || {
            let size = rustix::termios::tcgetwinsize(&out).ok()?;
            (size.ws_col > 0).then_some(usize::from(size.ws_col))
        };
        let width = env.columns.or_else(|| if out_terminal { terminal_width() } else { None });
        Printer {
            out_colour: colour && out_terminal,
            err_colour: colour && err.is_terminal(),
            out: BufWriter::new(Out::Own(out)),
            err,
            out_terminal,
            width,
        }
    }

    /// Prints one line of data, whole.
    ///
    /// # Errors
    /// stdout could not be written; a closed pipe is told apart by the caller of all commands.
    pub fn line(&mut self, line: &Line) -> io::Result<()> {
        writeln!(self.out, "{}", line.render(self.out_colour, None))
    }

    /// Prints one row of a table, cut to the terminal's width.
    ///
    /// # Errors
    /// As [`Printer::line`].
    pub fn row(&mut self, line: &Line) -> io::Result<()> {
        writeln!(self.out, "{}", line.render(self.out_colour, self.width))
    }

    /// Prints one line for a tmux status line: no colour, no cut, and nothing in it that tmux takes for a format.
    ///
    /// # Errors
    /// stdout could not be written.
    pub fn bare(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", tmux_job_text(text))
    }

    /// Draws a whole screen of so many columns from its upper left corner, without a moment of emptiness.
    ///
    /// # Errors
    /// As [`Printer::line`].
    pub fn frame(&mut self, lines: &[Line], columns: usize) -> io::Result<()> {
        self.out.write_all(b"\x1b[H")?;
        for (place, line) in lines.iter().enumerate() {
            let start = if place == 0 { "" } else { "\r\n" };
            // Behind a full line the cursor stands on its last character, which erasing would take.
            let erase = if line.width() < columns { "\x1b[K" } else { "" };
            write!(self.out, "{start}{}{erase}", line.render(self.out_colour, Some(columns)))?;
        }
        self.out.write_all(b"\x1b[J")?;
        self.out.flush()
    }

    /// Prints a document of our own, as it is.
    ///
    /// # Errors
    /// As [`Printer::line`].
    pub fn document(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Prints rows that are clean already.
    ///
    /// # Errors
    /// As [`Printer::line`].
    pub fn bytes(&mut self, rows: &[u8]) -> io::Result<()> {
        self.out.write_all(rows)
    }

    /// Prints one JSON value on a line of its own.
    ///
    /// # Errors
    /// stdout could not be written.
    pub fn json<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        self.json_text(&serde_json::to_string(value)?)
    }

    /// Prints a line that is JSON text already.
    ///
    /// # Errors
    /// stdout failed.
    pub fn json_text(&mut self, text: &str) -> io::Result<()> {
        // Characters that act on a terminal may stand raw inside JSON strings. On a terminal they are written as
        // escapes, which is the same JSON value; a pipe gets the text as it is.
        if self.out_terminal {
            writeln!(self.out, "{}", escape_acting(text))
        } else {
            writeln!(self.out, "{text}")
        }
    }

    /// Prints help, version or a usage error as clap made it. Nothing in it is foreign but the user's own words.
    ///
    /// # Errors
    /// The stream could not be written.
    pub fn usage(&mut self, error: &clap::Error) -> io::Result<()> {
        let text = error.render();
        let (to_err, colour) =
            if error.use_stderr() { (true, self.err_colour) } else { (false, self.out_colour) };
        let rendered = if colour { text.ansi().to_string() } else { text.to_string() };
        if to_err { self.err.write_all(rendered.as_bytes()) } else { self.out.write_all(rendered.as_bytes()) }
    }

    /// Tells the human something that is not data. A stderr that cannot be written is no reason to fail.
    pub fn say(&mut self, line: &Line) {
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{}", line.render(self.err_colour, None));
    }

    /// Tells the human what is wrong.
    pub fn complain(&mut self, words: &str) {
        self.say(&Line::new().styled("error:", Style::Alarm).own(" ").text(words, Style::Plain));
    }

    /// Asks the human something: as [`Printer::say`], and the answer is typed on the same line.
    pub fn ask(&mut self, line: &Line) {
        let _ = self.out.flush();
        let _ = write!(self.err, "{} ", line.render(self.err_colour, None)).and_then(|()| self.err.flush());
    }

    /// Hands the data over to the reader.
    ///
    /// # Errors
    /// stdout could not be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Lets a pager read the data from here on. It shows it as the terminal would.
    ///
    /// # Errors
    /// stdout could not be written.
    pub fn divert(&mut self, pipe: ChildStdin) -> io::Result<()> {
        self.out.flush()?;
        self.out = BufWriter::new(Out::Pager(pipe));
        Ok(())
    }

    /// Gives a pager the rest, closes its input, and prints to stdout again. What nobody wants to read is dropped.
    pub fn rejoin(&mut self) {
        let paged = std::mem::replace(&mut self.out, BufWriter::new(Out::Own(io::stdout())));
        // Taken apart, it does not try a second time to write what nobody wants to read.
        let (mut pipe, rest) = paged.into_parts();
        let _ = pipe.write_all(&rest.unwrap_or_default());
    }

    /// Returns the columns that [`Printer::row`] cuts to, where there is a limit.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// True when a person reads along.
    pub fn is_read(&self) -> bool {
        self.out_terminal
    }
}

/// The beginning of a text that fits into so many columns.
fn head(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Prints the line on stdout that tells a script that the daemon listens. Nobody need be there to read it.
pub fn ready(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{}", clean_line(text)).and_then(|()| out.flush());
}

/// Prints a line of the daemon's own on stderr, from any of its threads.
pub fn notice(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", clean_line(text));
}

/// Writes characters that a terminal acts on (control, bidirectional and invisible ones) as JSON escapes. Raw white
/// space is left: it may stand between members.
fn escape_acting(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\0'..='\u{8}'
            | '\u{b}'..='\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_start_a_line_or_act() {
        let line = Line::new().own("> ").text("a\n[3] fake\u{1b}[2Jb\u{9b}1A\u{202e}c", Style::Plain);
        let shown = line.render(false, None);
        assert!(shown.starts_with("> a"), "{shown}");
        assert!(shown.chars().all(|letter| !letter.is_control() && letter != '\u{202e}'), "{shown:?}");
    }

    #[test]
    fn a_line_is_cut_by_columns_not_by_bytes() {
        let line = Line::new().text("漢字漢字", Style::Plain);
        assert_eq!(line.render(false, Some(8)), "漢字漢字");
        assert_eq!(line.render(false, Some(6)), "漢字…");
        // The mark is there also where the cut is between two pieces, and blanks at the end need no room.
        let line = Line::new().own("abc").spaces(2).own("de").spaces(9);
        assert_eq!((line.render(false, Some(3)), line.render(false, Some(4))), ("ab…".into(), "abc…".into()));
        assert_eq!(
            (line.render(false, Some(6)), line.render(false, Some(7))),
            ("abc  …".into(), "abc  de".into())
        );
        assert_eq!((line.render(false, Some(0)), line.render(false, Some(1))), (String::new(), "…".into()));
    }

    #[test]
    fn colour_is_closed_after_each_piece() {
        let line = Line::new().styled("stuck", Style::Alarm).own(" x");
        assert_eq!(line.render(true, None), "\u{1b}[31mstuck\u{1b}[0m x");
        assert_eq!(line.render(false, None), "stuck x");
    }

    #[test]
    fn json_on_a_terminal_is_the_same_value() {
        assert_eq!(escape_acting("{\t\"a\":\"\u{1b}[31m"), "{\t\"a\":\"\\u001b[31m");
        let escaped = escape_acting("{\"a\":\"x\u{9b}y\u{202e}\"}");
        assert_eq!(escaped, "{\"a\":\"x\\u009by\\u202e\"}");
        let value: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(value["a"], "x\u{9b}y\u{202e}");
    }
}
