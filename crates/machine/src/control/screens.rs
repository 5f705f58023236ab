//! A lasting client that lists panes and looks at some of them, in two writes: which ones are worth a look shows in
//! the list.

use super::{Control, ControlError};
use crate::pane::{is_pane_id, parse_panes};
use crate::tmux::{SEPARATOR, TmuxError, number, text};

/// Fields of the list. Free text comes last.
const LISTED: &[&str] = &[
    "pane_id",
    "pane_pid",
    "window_activity",
    "pane_width",
    "pane_height",
    "pane_in_mode",
    "pane_dead",
    "pane_title",
];
/// As above, with the command in front: tmux asks the system for it, pane by pane.
const LISTED_WITH_COMMAND: &[&str] = &[
    "pane_id",
    "pane_pid",
    "window_activity",
    "pane_width",
    "pane_height",
    "pane_in_mode",
    "pane_dead",
    "pane_current_command",
    "pane_title",
];
/// What is asked for beside a screen, in the same moment.
const BESIDE: &[&str] = &[
    "pane_id",
    "pane_pid",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "pane_in_mode",
    "pane_current_path",
];

/// A pane in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPane {
    /// Pane id.
    pub id: String,
    /// The process tmux started in it.
    pub pid: u32,
    /// When something came out of a pane of its window last, Unix seconds.
    pub activity_s: u64,
    /// Columns and rows.
    pub size: (u32, u32),
    /// A human looks through its history, or a menu is open.
    pub in_mode: bool,
    /// Its program has ended and the pane stays.
    pub is_dead: bool,
    /// Foreground command, where it was asked for.
    pub command: String,
    /// Title, not cleaned.
    pub title: String,
}

/// What a pane showed, and what was true of it in the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneScreen {
    /// Pane id.
    pub id: String,
    /// The process tmux started in it.
    pub pid: u32,
    /// Columns and rows.
    pub size: (u32, u32),
    /// The cursor: column and row from 0.
    pub cursor: (u32, u32),
    /// A human looks through its history, or a menu is open.
    pub in_mode: bool,
    /// Working directory.
    pub cwd: String,
    /// The visible text, with the blanks at the ends of rows that the program wrote. Not cleaned.
    pub text: String,
}

impl Control {
    /// Lists all panes of the server, each once.
    ///
    /// # Errors
    /// See [`ControlError`]. After one, every further call says [`ControlError::Closed`].
    pub fn list(&mut self, with_command: bool) -> Result<Vec<ListedPane>, ControlError> {
        let fields = if with_command { LISTED_WITH_COMMAND } else { LISTED };
        let answers = self.ask(&format!("list-panes -a -F '{}'\n", format_of(fields)), 1)?;
        let listed = answers.first().filter(|block| block.ok).map(|block| block.text.as_str());
        let parsed = parse_panes(fields, SEPARATOR, listed.unwrap_or_default());
        if parsed.rows.is_empty() || !parsed.errors.is_empty() {
            // A server without panes does not live, and whatever is not in a list is taken for closed.
            self.is_over = true;
            return Err(ControlError::Garbled("no list of panes".into()));
        }
        let mut panes: Vec<ListedPane> = Vec::with_capacity(parsed.rows.len());
        let mut known = std::collections::HashSet::new();
        for row in &parsed.rows {
            let small = |name: &str| u32::try_from(number(row, name)).unwrap_or(u32::MAX);
            // A pane whose window is linked into several sessions comes once for each.
            if known.insert(text(row, "pane_id")) {
                panes.push(ListedPane {
                    id: text(row, "pane_id"),
                    pid: small("pane_pid"),
                    activity_s: number(row, "window_activity"),
                    size: (small("pane_width"), small("pane_height")),
                    in_mode: number(row, "pane_in_mode") != 0,
                    is_dead: number(row, "pane_dead") != 0,
                    command: text(row, "pane_current_command"),
                    title: text(row, "pane_title"),
                });
            }
        }
        Ok(panes)
    }

    /// Looks at these panes, in one write. One that could not be looked at is not in the answer.
    ///
    /// # Errors
    /// See [`ControlError`]. After one, every further call says [`ControlError::Closed`].
    pub fn screens(&mut self, panes: &[&str]) -> Result<Vec<PaneScreen>, ControlError> {
        if let Some(bad) = panes.iter().find(|pane| !is_pane_id(pane)) {
            return Err(TmuxError::BadId((*bad).to_owned()).into());
        }
        let beside = format_of(BESIDE);
        let look =
            |pane: &&str| format!("display-message -p -t {pane} '{beside}'\ncapture-pane -p -N -t {pane}\n");
        let answers = self.ask(&panes.iter().map(look).collect::<String>(), 2 * panes.len())?;
        let (pairs, _) = answers.as_chunks::<2>();
        let screens = panes.iter().zip(pairs).filter_map(|(pane, [beside, screen])| {
            let parsed = parse_panes(BESIDE, SEPARATOR, beside.text.trim_end_matches('\n'));
            let row = parsed.rows.first().filter(|_| beside.ok && screen.ok)?;
            let small = |name: &str| u32::try_from(number(row, name)).unwrap_or(u32::MAX);
            // tmux answers about another pane where a target is gone (F-066).
            (text(row, "pane_id") == **pane).then(|| PaneScreen {
                id: text(row, "pane_id"),
                pid: small("pane_pid"),
                size: (small("pane_width"), small("pane_height")),
                cursor: (small("cursor_x"), small("cursor_y")),
                in_mode: number(row, "pane_in_mode") != 0,
                cwd: text(row, "pane_current_path"),
                text: screen.text.clone(),
            })
        });
        Ok(screens.collect())
    }
}

fn format_of(fields: &[&str]) -> String {
    let field = |name: &&str| match *name {
        // A program names itself as it likes, also in several rows, which would spoil the list of all panes.
        "pane_current_command" => format!("#{{s/[^ -~]/ /:{name}}}"),
        _ => format!("#{{{name}}}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(SEPARATOR)
}
