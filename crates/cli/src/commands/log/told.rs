//! A told log on the terminal.

use herdbook_story::tell::{Row, RowKind, Tone};

use crate::moment::moment_words;
use crate::printer::{Line, Printer, Style};

/// Columns of a seq.
const SEQ_COLUMNS: usize = 6;

/// Columns of a label, the blank behind it included; a longer one pushes its text to the right.
const LABEL_COLUMNS: usize = 9;

/// How far details stand to the right of labels.
const DETAIL_COLUMNS: usize = 2;

/// Prints rows, one a line.
pub struct Told {
    /// Lines are printed whole, not cut to the terminal.
    is_whole: bool,
    /// The day of the row before.
    day: String,
    is_first: bool,
}

impl Told {
    /// Starts before the first row.
    pub fn new(is_whole: bool) -> Told {
        Told { is_whole, day: String::new(), is_first: true }
    }

    /// Prints a row.
    ///
    /// # Errors
    /// stdout could not be written.
    pub fn print(&mut self, row: &Row, printer: &mut Printer) -> std::io::Result<()> {
        for line in self.lines(row) {
            if self.is_whole { printer.line(&line)? } else { printer.row(&line)? }
        }
        Ok(())
    }

    /// Makes lines of a row: a blank one before a turn, and the day before the first row of a day.
    fn lines(&mut self, row: &Row) -> Vec<Line> {
        let mut lines = Vec::new();
        let moment = row.ts_ms.map(moment_words).unwrap_or_default();
        let (day, time) = moment.split_once(' ').unwrap_or_default();
        if row.kind == RowKind::Turn && !self.is_first {
            lines.push(Line::new());
        }
        let is_head = !matches!(row.kind, RowKind::Detail);
        if is_head && !day.is_empty() && day != self.day {
            lines.push(Line::new().spaces(SEQ_COLUMNS + 2).text(day, Style::Dim));
            day.clone_into(&mut self.day);
        }
        self.is_first = false;
        let mut line = Line::new();
        if is_head {
            let seq = row.seq.to_string();
            let is_total = row.kind == RowKind::Total;
            let (seq, time) = if is_total { ("", "") } else { (seq.as_str(), time) };
            line = line.spaces(SEQ_COLUMNS.saturating_sub(seq.len())).text(seq, Style::Dim).spaces(2);
            line = line.text(time, Style::Dim).spaces("00:00:00".len() - time.len().min(8) + 2);
            let label = Line::new().text(&row.label, style(row.tone));
            let fill = LABEL_COLUMNS.saturating_sub(label.width()).max(1);
            line = line.join(label).spaces(fill);
        } else {
            line = line.spaces(SEQ_COLUMNS + 2 + "00:00:00".len() + 2 + DETAIL_COLUMNS);
        }
        for piece in &row.pieces {
            line = line.text(&piece.text, style(piece.tone));
        }
        lines.push(line);
        lines
    }
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::Plain,
        Tone::Dim => Style::Dim,
        Tone::Strong => Style::Bold,
        Tone::Good => Style::Good,
        Tone::Bad => Style::Alarm,
        Tone::Name => Style::Name,
    }
}
