//! The tables of `stats`: how long sessions waited and worked, with bars, and the longest waits.

use herdbook_api::stats::{LongWait, Row, Stats};

use crate::listing::short_cwd;
use crate::moment::moment_words;
use crate::printer::{Line, Printer, Style};
use crate::text::{counted, span};

/// Columns of a page whose width is not known.
const PAGE: usize = 80;
/// Columns between two columns of a table.
const GAP: usize = 2;
/// Least and most columns of a bar; the legend above it takes the least.
const BAR: (usize, usize) = (13, 30);
/// Most columns of a row's name.
const NAME: usize = 24;
/// Place of the column that a narrow page does without: the longest waits stand below.
const LONGEST: usize = 4;

/// Prints all of it.
///
/// # Errors
/// stdout could not be written.
pub fn print(printer: &mut Printer, stats: &Stats, home: Option<&str>) -> std::io::Result<()> {
    let total = &stats.total;
    let since = minute(stats.since_at);
    if total.sessions == 0 {
        printer.say(&Line::new().text(&format!("no session worked or waited since {since}"), Style::Plain));
        return Ok(());
    }
    printer.row(&Line::new().text(&format!("since {since}: {}", counts(total)), Style::Plain))?;
    let ends = ends(total);
    if !ends.is_empty() {
        printer.row(&Line::new().text(&ends, Style::Plain))?;
    }
    if let Some(until) = stats.forgotten_at {
        let words = format!("what ended up to {} is not kept any more and is missing", minute(until));
        printer.row(&Line::new().text(&words, Style::Alarm))?;
    }
    printer.line(&Line::new())?;
    for line in rows(stats, home, printer.width().unwrap_or(PAGE)) {
        printer.row(&line)?;
    }
    if !stats.longest.is_empty() {
        printer.line(&Line::new())?;
        for line in longest(&stats.longest, home) {
            printer.row(&line)?;
        }
    }
    Ok(())
}

/// Writes a moment as `2026-11-30 14:05`.
fn minute(ms: u64) -> String {
    let words = moment_words(ms);
    words.rsplit_once(':').map_or(words.clone(), |(minute, _)| minute.to_owned())
}

fn counts(total: &Row) -> String {
    format!("{}, {}", counted(total.sessions, "session"), counted(total.waits, "wait"))
}

/// Says how many waits ended in which way.
fn ends(total: &Row) -> String {
    let parts = [
        (total.answered, "answered"),
        (total.settled, "settled"),
        (total.ended, "ended unanswered"),
        (total.stale, "aged out"),
        (total.open, "open"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    parts.join(", ")
}

fn rows(stats: &Stats, home: Option<&str>, width: usize) -> Vec<Line> {
    let is_kind = stats.by == "kind";
    let named = |name: &str| match name {
        "" => "unknown".to_owned(),
        name if stats.by == "project" => short_cwd(name, home),
        name => name.to_owned(),
    };
    let mut table = vec![
        [stats.by.to_uppercase().as_str(), "WAITS", "P50", "P90", "LONGEST", "WAITED", "WORKED"]
            .map(|name| Line::new().text(name, Style::Dim))
            .to_vec(),
    ];
    let total = Row { name: "all".into(), ..stats.total.clone() };
    let shown: Vec<&Row> = stats.rows.iter().chain([&total]).collect();
    for (place, row) in shown.iter().enumerate() {
        let name = if place + 1 == shown.len() { row.name.clone() } else { named(&row.name) };
        table.push(cells(row, &name, is_kind && place + 1 < shown.len()));
    }
    if BAR.0 + taken(&table) > width {
        table.iter_mut().for_each(|cells| cells[LONGEST] = Line::new());
    }
    let room = width.saturating_sub(taken(&table)).clamp(BAR.0, BAR.1);
    let most = stats.rows.iter().map(|row| row.waiting_ms + row.working_ms).max().unwrap_or(0);
    let legend = Line::new().styled("█", Style::Alarm).own(" wait ").styled("▒", Style::Good).own(" work");
    // All together would dwarf every row.
    let bars = stats.rows.iter().map(|row| bar(row, most, room)).chain([Line::new()]);
    let lines = aligned(&table, 1..);
    lines.into_iter().zip([legend].into_iter().chain(bars)).map(|(line, bar)| line.join(bar)).collect()
}

fn cells(row: &Row, name: &str, is_kind: bool) -> Vec<Line> {
    let time = |ms: Option<u64>| {
        let words = ms.map_or("-".to_owned(), span);
        Line::new().text(&words, if ms.is_some() { Style::Plain } else { Style::Dim })
    };
    let some = |ms: u64| Some(ms).filter(|ms| *ms > 0);
    vec![
        Line::new().text(name, Style::Name).cut(NAME),
        Line::new().text(&row.waits.to_string(), Style::Plain),
        time(row.answer_p50_ms),
        time(row.answer_p90_ms),
        time(some(row.longest_ms)),
        time(some(row.waiting_ms)),
        // Work is of no kind.
        if is_kind { Line::new() } else { time(some(row.working_ms)) },
    ]
}

/// A bar of both times, as long as the row's part of the longest row; what is there at all is seen.
fn bar(row: &Row, most: u64, room: usize) -> Line {
    let columns = |ms: u64| {
        let most = u128::from(most.max(1));
        let part = (u128::from(ms) * room as u128 + most / 2) / most;
        usize::try_from(part).unwrap_or(room).max(usize::from(ms > 0))
    };
    let waited = columns(row.waiting_ms).min(room);
    let worked = columns(row.working_ms).min(room - waited);
    Line::new().text(&"█".repeat(waited), Style::Alarm).text(&"▒".repeat(worked), Style::Good)
}

fn longest(waits: &[LongWait], home: Option<&str>) -> Vec<Line> {
    let header = ["LONGEST", "KIND", "OUTCOME", "SINCE", "HOST", "PROJECT"];
    let mut table = vec![header.map(|name| Line::new().styled(name, Style::Dim)).to_vec()];
    for wait in waits {
        let style = if wait.outcome == "open" { Style::Alarm } else { Style::Plain };
        table.push(vec![
            Line::new().text(&span(wait.lasted_ms), Style::Bold),
            Line::new().text(&wait.kind, Style::Plain),
            Line::new().text(&wait.outcome, style),
            Line::new().text(&minute(wait.opened_at), Style::Plain),
            Line::new().text(&wait.host, Style::Plain),
            Line::new().text(&short_cwd(&wait.cwd, home), Style::Dim),
        ]);
    }
    aligned(&table, 0..1)
}

fn widths(table: &[Vec<Line>]) -> Vec<usize> {
    let columns = table.first().map_or(0, Vec::len);
    (0..columns).map(|column| table.iter().map(|cells| cells[column].width()).max().unwrap_or(0)).collect()
}

/// The columns in front of the bar.
fn taken(table: &[Vec<Line>]) -> usize {
    widths(table).into_iter().filter(|width| *width > 0).map(|width| width + GAP).sum()
}

/// Puts cells below each other, those in the columns `right` to the right. An empty column takes no room.
fn aligned(table: &[Vec<Line>], right: impl std::ops::RangeBounds<usize>) -> Vec<Line> {
    let widths = widths(table);
    let line = |cells: &Vec<Line>| {
        let mut line = Line::new();
        for (place, cell) in cells.iter().enumerate().filter(|(place, _)| widths[*place] > 0) {
            let fill = widths[place] - cell.width();
            // The last one is as long as it is.
            let (before, after) = match right.contains(&place) {
                true => (fill, GAP),
                false if place + 1 == cells.len() => (0, 0),
                false => (0, fill + GAP),
            };
            line = line.spaces(before).join(cell.clone()).spaces(after);
        }
        line
    };
    table.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(
        name: &str,
        waits: u64,
        answers_s: Option<(u64, u64)>,
        longest_s: u64,
        times_s: (u64, u64),
    ) -> Row {
        Row {
            name: name.into(),
            sessions: 1,
            waits,
            answered: waits.min(3),
            ended: waits.saturating_sub(3),
            answer_p50_ms: answers_s.map(|(half, _)| half * 1_000),
            answer_p90_ms: answers_s.map(|(_, most)| most * 1_000),
            longest_ms: longest_s * 1_000,
            waiting_ms: times_s.0 * 1_000,
            working_ms: times_s.1 * 1_000,
            ..Row::default()
        }
    }

    fn stats(by: &str, rows: Vec<Row>) -> Stats {
        let total = Row { answered: 4, ended: 1, ..row("", 5, Some((20, 300)), 300, (460, 50)) };
        Stats { by: by.into(), total, rows, ..Stats::default() }
    }

    fn shown(stats: &Stats, width: usize) -> Vec<String> {
        rows(stats, Some("/home/dev"), width).iter().map(|line| line.render(false, Some(width))).collect()
    }

    #[test]
    fn kinds_are_a_table_with_bars_in_80_columns() {
        let rows = vec![
            row("turn_end", 1, Some((300, 300)), 300, (300, 0)),
            row("permission", 4, Some((20, 90)), 90, (160, 0)),
        ];
        let table = shown(&stats("kind", rows), 80);
        assert_eq!(
            table,
            [
                "KIND        WAITS  P50    P90  LONGEST  WAITED  WORKED  █ wait ▒ work",
                "turn_end        1   5m     5m       5m      5m          ████████████████████████",
                "permission      4  20s  1m30s    1m30s   2m40s          █████████████",
                "all             5  20s     5m       5m   7m40s     50s",
            ]
        );
    }

    #[test]
    fn projects_are_shortened_and_the_longest_column_makes_room() {
        let rows = vec![
            row("/home/dev/clients/northern-lights/checkout", 5, Some((20, 300)), 300, (86_400, 43_200)),
            row("", 0, None, 0, (0, 60)),
        ];
        let table = shown(&stats("project", rows), 80);
        assert_eq!(
            table,
            [
                "PROJECT                   WAITS  P50  P90  WAITED  WORKED  █ wait ▒ work",
                "…orthern-lights/checkout      5  20s   5m      1d     12h  ██████████████▒▒▒▒▒▒▒",
                "unknown                       0    -    -       -      1m  ▒",
                "all                           5  20s   5m   7m40s     50s",
            ]
        );
        assert!(shown(&stats("day", Vec::new()), 200)[0].contains("LONGEST"));
        // The bar is the last to be cut.
        assert!(shown(&stats("host", vec![row("claude", 1, None, 1, (1, 1))]), 40)[1].ends_with('…'));
    }

    #[test]
    fn the_head_counts_how_waits_ended() {
        let head = |total: &Row| (counts(total), ends(total));
        let said = |counts: &str, ends: &str| (counts.to_owned(), ends.to_owned());
        let five = stats("kind", vec![]).total;
        assert_eq!(head(&five), said("1 session, 5 waits", "4 answered, 1 ended unanswered"));
        let four = Row { sessions: 2, waits: 4, settled: 1, stale: 1, open: 2, ..Row::default() };
        assert_eq!(head(&four), said("2 sessions, 4 waits", "1 settled, 1 aged out, 2 open"));
        assert_eq!(head(&Row { sessions: 1, ..Row::default() }), said("1 session, 0 waits", ""));
    }
}
