//! The table of sessions: who waits first, in the order of the queue, then who works, then the rest.

use crate::model::{Row, is_resting, short_names};
use crate::printer::{Line, Printer, Style};
use crate::text::{age, brief};

/// Columns between two columns of the table.
const GAP: usize = 2;
/// Least room for a message that is as long.
const MESSAGE_COLUMNS: usize = 10;
/// Least room beside the host, which tells less than the message.
const MESSAGE_BESIDE_HOST: usize = 20;
/// Least columns of a session's name.
const SESSION_COLUMNS: usize = 8;
/// Place of the session's name.
const SESSION: usize = 1;
/// Places of the columns that a narrow terminal does without.
const KIND: usize = 3;
const HOST: usize = 5;
const PANE: usize = 6;
const CWD: usize = 7;

/// Most columns a directory takes.
const CWD_COLUMNS: usize = 24;

/// Prints the table.
///
/// # Errors
/// stdout could not be written.
pub fn print(printer: &mut Printer, rows: &[Row], home: Option<&str>, now_ms: u64) -> std::io::Result<()> {
    let names = short_names(rows);
    let mut table = vec![header()];
    for (row, name) in rows.iter().zip(&names) {
        table.push(cells(row, name, home, now_ms));
    }
    drop_columns(&mut table, printer.width());
    let columns = table[0].len();
    let widths = widths(&table);
    for cells in table {
        let mut line = Line::new();
        for (place, cell) in cells.into_iter().enumerate() {
            let fill = widths[place] - cell.width();
            // An empty column takes no room; the last one is as long as it is.
            let gap = if place + 1 == columns || widths[place] == 0 { 0 } else { fill + GAP };
            line = line.join(cell).spaces(gap);
        }
        printer.row(&line)?;
    }
    Ok(())
}

fn widths(table: &[Vec<Line>]) -> Vec<usize> {
    (0..table[0].len())
        .map(|column| table.iter().map(|cells| cells[column].width()).max().unwrap_or(0))
        .collect()
}

/// Makes room for the message, the last column, on a narrow terminal: takes columns out, then cuts the sessions' names.
/// Age and message always stay.
fn drop_columns(table: &mut [Vec<Line>], width: Option<usize>) {
    let Some(limit) = width else { return };
    let least = |column| if column == HOST { MESSAGE_BESIDE_HOST } else { MESSAGE_COLUMNS };
    for dispensable in [HOST, CWD, PANE, KIND] {
        if overflow(table, limit, least(dispensable)) == 0 {
            return;
        }
        for cells in table.iter_mut() {
            // Emptied, not removed: the places of the others stay as they are.
            cells[dispensable] = Line::new();
        }
    }
    let room =
        widths(table)[SESSION].saturating_sub(overflow(table, limit, MESSAGE_COLUMNS)).max(SESSION_COLUMNS);
    for cells in table.iter_mut() {
        cells[SESSION] = std::mem::take(&mut cells[SESSION]).cut(room);
    }
}

/// Returns how many columns the table is too wide for this much of the message.
fn overflow(table: &[Vec<Line>], limit: usize, least: usize) -> usize {
    let widths = widths(table);
    let (message, others) = widths.split_last().map_or((0, &[][..]), |(last, others)| (*last, others));
    let taken: usize = others.iter().filter(|width| **width > 0).map(|width| width + GAP).sum();
    (taken + message.min(least)).saturating_sub(limit)
}

fn header() -> Vec<Line> {
    ["#", "SESSION", "STATE", "KIND", "AGE", "HOST", "PANE", "CWD", "MESSAGE"]
        .map(|name| Line::new().styled(name, Style::Dim))
        .into()
}

fn cells(row: &Row, name: &str, home: Option<&str>, now_ms: u64) -> Vec<Line> {
    let (session, entry) = (&row.session, row.entry.as_ref());
    let (state, style) = match session.state.as_str() {
        "stuck" if entry.is_some_and(|entry| is_resting(entry, now_ms)) => ("stuck, later", Style::Dim),
        "stuck" => ("stuck", Style::Alarm),
        "working" => ("working", Style::Good),
        "registered" => ("registered", Style::Plain),
        "ended" => ("ended", Style::Dim),
        _ => ("unknown", Style::Dim),
    };
    let mut state = Line::new().styled(state, style);
    if entry.is_some_and(|entry| entry.pinned) {
        state = state.own(", pinned");
    }
    if row.is_held {
        state = state.own(", held");
    }
    let kind = entry.map(|entry| entry.kind.as_str()).or(session.kind.as_deref()).unwrap_or_default();
    let message = entry.map_or(session.message.as_str(), |entry| entry.last_message.as_str());
    let number = row.number().map(|number| number.to_string()).unwrap_or_default();
    vec![
        Line::new().text(&number, Style::Bold),
        Line::new().text(name, Style::Name),
        state,
        Line::new().text(kind, Style::Plain),
        Line::new().text(&age(now_ms.saturating_sub(row.since())), Style::Plain),
        Line::new().text(&session.host, Style::Plain),
        pane(row),
        Line::new().text(&short_cwd(&session.cwd, home), Style::Dim),
        Line::new().text(&brief(message), Style::Plain),
    ]
}

fn pane(row: &Row) -> Line {
    let line = match row.pane() {
        None => Line::new().styled("-", Style::Dim),
        Some(pane) => Line::new().text(&pane.pane, Style::Plain),
    };
    let line = match (row.pane(), &row.session) {
        (Some(_), session) if session.detached => line.styled(" closed", Style::Dim),
        (Some(_), session) if session.pane_uncertain => line.own("?"),
        _ => line,
    };
    match &row.session.machine {
        Some(machine) => line.own("@").text(machine, Style::Plain),
        None => line,
    }
}

/// Shortens a directory: `~` for the home, and of a long one the end, which tells more.
pub fn short_cwd(cwd: &str, home: Option<&str>) -> String {
    let tail = home.filter(|home| home.len() > 1).and_then(|home| cwd.strip_prefix(home));
    let short = match tail {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => cwd.to_owned(),
    };
    let length = short.chars().count();
    if length <= CWD_COLUMNS {
        return short;
    }
    let end: String = short.chars().skip(length - CWD_COLUMNS + 1).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use herdbook_api::v1::{Pane, Session};

    use super::*;
    use crate::model::tests::row;

    /// A table as wide as `ls` prints it for a session with long cells.
    fn names_at(width: usize) -> Vec<String> {
        let names = ["#", "SESSION", "STATE", "KIND", "AGE", "HOST", "PANE", "CWD", "MESSAGE"];
        let shown = widths(&table_at(width, "4f1d7c52…")).into_iter().zip(names);
        shown.filter(|(width, _)| *width > 0).map(|(_, name)| name.to_owned()).collect()
    }

    fn table_at(width: usize, name: &str) -> Vec<Vec<Line>> {
        let mut row = row("claude-4f1d7c52-8a36-4be0", 1);
        row.session.cwd = "/srv/clients/northern-lights/services/checkout".into();
        if let Some(entry) = &mut row.entry {
            entry.last_message = "which test first, the slow one?".into();
        }
        let mut table = vec![header(), cells(&row, name, None, 1_000)];
        drop_columns(&mut table, Some(width));
        table
    }

    #[test]
    fn a_narrow_terminal_keeps_age_and_message() {
        let all = ["#", "SESSION", "STATE", "KIND", "AGE", "HOST", "PANE", "CWD", "MESSAGE"];
        assert_eq!(names_at(100), all);
        // 3 + 11 + 7 + 10 + 5 + 8 + 6 + 26 columns stand before a message of at least 20; without the host's 8, of 10.
        assert_eq!(names_at(96), all);
        assert_eq!(names_at(95), ["#", "SESSION", "STATE", "KIND", "AGE", "PANE", "CWD", "MESSAGE"]);
        assert_eq!(names_at(78), ["#", "SESSION", "STATE", "KIND", "AGE", "PANE", "CWD", "MESSAGE"]);
        assert_eq!(names_at(77), ["#", "SESSION", "STATE", "KIND", "AGE", "PANE", "MESSAGE"]);
        assert_eq!(names_at(50), ["#", "SESSION", "STATE", "KIND", "AGE", "MESSAGE"]);
        assert_eq!(names_at(40), ["#", "SESSION", "STATE", "AGE", "MESSAGE"]);
        // 3 + 7 + 5 columns and the message leave 13 for the name and 2 for the gap.
        assert_eq!(widths(&table_at(40, "nightly-checks-2"))[SESSION], 13);
        assert_eq!(widths(&table_at(20, "nightly-checks-2"))[SESSION], SESSION_COLUMNS);
    }

    #[test]
    fn a_pane_says_where_it_is_and_whether_it_can_be_gone_to() {
        let mut row = row("claude-4f1d", 0);
        let mut shown = |change: fn(&mut Session)| {
            change(&mut row.session);
            pane(&row).render(false, None)
        };
        assert_eq!(shown(|_| {}), "-");
        assert_eq!(shown(|session| session.machine = Some("build-7".into())), "-@build-7");
        assert_eq!(
            shown(|session| session.pane = Some(Pane { pane: "%3".into(), ..Pane::default() })),
            "%3@build-7"
        );
        assert_eq!(shown(|session| session.machine = None), "%3");
        assert_eq!(shown(|session| session.pane_uncertain = true), "%3?");
        assert_eq!(shown(|session| session.detached = true), "%3 closed");
    }

    #[test]
    fn a_directory_is_shortened_from_its_front() {
        assert_eq!(short_cwd("/home/dev/shop", Some("/home/dev")), "~/shop");
        assert_eq!(short_cwd("/home/developer", Some("/home/dev")), "/home/developer");
        let long = short_cwd("/srv/clients/northern-lights/services/checkout", None);
        assert_eq!(long, "…ights/services/checkout");
        assert_eq!(long.chars().count(), CWD_COLUMNS);
    }
}
