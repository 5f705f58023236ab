//! Which panes are watched, and which texts are prompts.

use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;

use super::watch::Screen;

/// Titles that ask for a pane to be watched begin with one of these: ours, and the reference's.
pub const TITLES: [&str; 2] = ["@hb-", "@tb-"];

/// So much of a prompt is told, in letters.
const MESSAGE_LETTERS: usize = 256;

/// So much of a title or a command is told, in letters.
const NAME_LETTERS: usize = 80;

/// A regular expression of the human's, as he wrote it.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Reads one.
    ///
    /// # Errors
    /// It is no regular expression; the text says what is wrong with it, in one line.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        Regex::new(text).map(Pattern).map_err(|error| {
            // The crate draws an arrow below the pattern; its last line has the words.
            let error = error.to_string();
            error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })
    }
}

/// Names panes that are watched whatever their title is: all that is said must hold.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Found in the pane's title.
    pub title: Option<Pattern>,
    /// Found in the name of the command in front.
    pub command: Option<Pattern>,
}

/// What is watched, and when it waits.
#[derive(Clone, Debug)]
pub struct Rules {
    /// So long a screen must be the same, in milliseconds.
    pub quiet_ms: u64,
    /// Prompts beside the known ones.
    pub prompts: Vec<Pattern>,
    /// Panes beside those that their title names.
    pub rules: Vec<Rule>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { quiet_ms: 30_000, prompts: Vec::new(), rules: Vec::new() }
    }
}

impl Rules {
    /// True when the command in front of a pane must be known to tell whether the pane is watched.
    pub fn ask_for_command(&self) -> bool {
        self.rules.iter().any(|rule| rule.command.is_some())
    }

    /// Why a pane is watched, in words; nothing where it is not.
    pub fn watch(&self, title: &str, command: &str) -> Option<String> {
        let told = |text: &str| text.chars().take(NAME_LETTERS).collect::<String>();
        if TITLES.iter().any(|prefix| title.starts_with(prefix)) {
            return Some(format!("is titled '{}'", told(title)));
        }
        let fits = |pattern: &Option<Pattern>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.0.is_match(text))
        };
        let says = |rule: &&Rule| rule.title.is_some() || rule.command.is_some();
        let rule = self
            .rules
            .iter()
            .filter(says)
            .find(|rule| fits(&rule.title, title) && fits(&rule.command, command))?;
        Some(match rule.command {
            Some(_) => format!("runs '{}', as a rule of config.toml asks", told(command)),
            None => format!("is titled '{}', as a rule of config.toml asks", told(title)),
        })
    }

    /// The prompt that a screen ends in, if it does: the text up to the cursor in its row, else the last row that is
    /// not blank. What stands behind the cursor nobody wrote: a hint, or a prompt at the right.
    pub fn prompt(&self, screen: &Screen<'_>) -> Option<String> {
        let (column, row) = screen.cursor;
        let rows: Vec<&str> = screen.text.lines().collect();
        let in_front: Option<String> =
            rows.get(row as usize).map(|row| row.chars().take(column as usize).collect());
        let last = rows.iter().rev().find(|row| !row.trim().is_empty()).map(|row| (*row).to_owned());
        in_front.into_iter().chain(last).map(|text| ending(&text)).find(|text| self.is_prompt(text))
    }

    fn is_prompt(&self, text: &str) -> bool {
        !text.trim().is_empty()
            && (known().iter().any(|known| known.is_match(text))
                || self.prompts.iter().any(|own| own.0.is_match(text)))
    }
}

/// A row without the blanks at its end but one, and not longer than what is told: a prompt is at the end of its row.
fn ending(row: &str) -> String {
    let text = row.trim_end();
    let blank = if text.len() < row.len() { " " } else { "" };
    let letters = text.chars().count();
    let from = text.char_indices().nth(letters.saturating_sub(MESSAGE_LETTERS)).map_or(0, |(at, _)| at);
    format!("{}{blank}", &text[from..])
}

fn known() -> &'static [Regex] {
    static KNOWN: OnceLock<Vec<Regex>> = OnceLock::new();
    // A test reads the file, so nothing is missing here.
    KNOWN.get_or_init(|| read(include_str!("prompts.toml")).unwrap_or_default())
}

pub(super) fn read(text: &str) -> Result<Vec<Regex>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        prompt: Vec<WrittenPrompt>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct WrittenPrompt {
        name: String,
        #[serde(rename = "match")]
        pattern: String,
    }
    let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
    let compile = |prompt: WrittenPrompt| {
        Regex::new(&prompt.pattern).map_err(|error| format!("[[prompt]] '{}': {error}", prompt.name))
    };
    written.prompt.into_iter().map(compile).collect()
}
