//! Tool uses: what one is about, what it did, what came of it.

use herdbook_events::catalog::{Members, ToolCompleted, UiKind};
use serde_json::value::RawValue;

use super::row::{Row, Tone};
use super::words::{brief, counted, diff_stats};

/// A tool use that has not ended.
#[derive(Clone, Debug)]
pub(super) struct OpenTool {
    pub seq: u64,
    pub ts_ms: Option<u64>,
    pub name: String,
    /// What it is about, from its input.
    pub subject: String,
    /// Its input as text; only where all is told.
    pub input: Option<String>,
    /// What it did so far.
    pub details: Vec<Row>,
    /// Which lines of a file it read.
    pub lines: String,
}

/// Members of inputs that say what a tool use is about, the most telling first.
const TELLING: [&str; 15] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "url",
    "query",
    "goal",
    "entry",
    "symbol",
    "name",
    "description",
    "question",
    "prompt",
    "text",
];

/// Says what a tool use is about.
pub(super) fn subject(input: &RawValue) -> String {
    let whole = || if input.get() == "{}" { String::new() } else { brief(input.get(), false) };
    let Ok(members) = Members::read(input.get()) else { return whole() };
    let text = |name: &str| members.read_as::<String>(name).filter(|text| !text.trim().is_empty());
    if let Some(pattern) = text("pattern") {
        let place = text("path").map(|path| format!(" in {path}")).unwrap_or_default();
        return brief(&format!("{pattern}{place}"), false);
    }
    TELLING.into_iter().find_map(text).map_or_else(whole, |text| brief(&text, false))
}

/// Adds what came of a tool use to its row.
pub(super) fn outcome(row: Row, event: &ToolCompleted, tool: &OpenTool, full: bool) -> Row {
    let ui = &event.ui;
    let mut row = row;
    match ui.exit_code {
        Some(0) | None => {}
        Some(code) => row = row.also(format!("exit {code}"), Tone::Bad),
    }
    if let Some(count) = ui.match_count {
        row = row.also(counted(usize::try_from(count).unwrap_or(usize::MAX), "match"), Tone::Plain);
    }
    if let Some(stats) = &ui.diff_stats {
        row = row.also(diff_stats(stats), Tone::Plain);
    }
    let is_told = match ui.kind {
        UiKind::Read => true,
        UiKind::Search => ui.match_count.is_some(),
        // What a tool did stands below its row.
        UiKind::Edit => ui.diff_stats.is_some() || !tool.details.is_empty(),
        UiKind::Exec | UiKind::Process | UiKind::Other(_) => false,
    };
    row = row.note(&tool.lines);
    if !is_told && !full {
        row = row.also(gist(&event.model_text), Tone::Plain);
    }
    row
}

/// The line of a result that says most: the last one that is not blank.
pub(super) fn gist(text: &str) -> String {
    brief(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(input: &str) -> String {
        subject(&RawValue::from_string(input.to_owned()).unwrap())
    }

    #[test]
    fn the_subject_is_the_most_telling_member() {
        assert_eq!(about(r#"{"timeout":5,"command":"make\ntest"}"#), "make test");
        assert_eq!(about(r#"{"path":"src","pattern":"\\s+"}"#), "\\s+ in src");
        assert_eq!(about(r#"{"pattern":"x","path":7}"#), "x");
        assert_eq!(about(r#"{"content":"x","file_path":"a.rs"}"#), "a.rs");
        assert_eq!(about(r#"{"n":1}"#), r#"{"n":1}"#);
        assert_eq!(about(r#"{"path":" "}"#), r#"{"path":" "}"#);
        assert_eq!((about("{}"), about("[1]"), about("null")), ("".into(), "[1]".into(), "null".into()));
    }

    #[test]
    fn the_gist_of_a_result_is_its_last_line() {
        assert_eq!(gist("running\n148 passed\n\n"), "148 passed");
        assert_eq!(gist(""), "");
    }
}
