//! What the picker holds, and what a key does to it. Pure.

use herdbook_api::v1::{Item, Pane};

use crate::choice::is_same_pane;
use crate::model::{Row, sort};

/// A key, as the picker knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character.
    Char(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// Go to the chosen row.
    Enter,
    /// Take a letter off the filter.
    Backspace,
    /// Give up the filter, or leave.
    Escape,
    /// Leave, whatever is going on.
    Interrupt,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing but to draw again.
    Stay,
    /// Close the picker.
    Leave,
    /// Go to that session.
    Go(Box<Row>),
    /// Skip the session of that key.
    Skip(String),
}

/// The picker.
#[derive(Debug, Default)]
pub struct Picker {
    rows: Vec<Row>,
    /// The key of the chosen session.
    chosen: Option<String>,
    filter: String,
    is_typing: bool,
    notice: Option<String>,
    failure: Option<String>,
    is_loaded: bool,
    home: Option<String>,
    here: Option<Pane>,
    /// First row that is drawn.
    top: usize,
}

impl Picker {
    /// Starts without a list. The home folder is shown as `~`; the pane one is in is not the first choice.
    pub fn new(home: Option<String>, here: Option<Pane>) -> Picker {
        Picker { home, here, ..Picker::default() }
    }

    /// Takes a new list. The choice stays with its session; when that is gone, with its place.
    pub fn update(&mut self, rows: Vec<Row>) {
        let place = self.place();
        self.rows = rows;
        self.rows.retain(|row| row.entry.is_some() || row.session.state != "ended");
        sort(&mut self.rows);
        self.failure = None;
        self.is_loaded = true;
        if self.place().is_none() {
            self.choose(place.unwrap_or_else(|| self.first_choice()));
        }
    }

    /// Says why there is no new list; the old one stays.
    pub fn fail(&mut self, words: String) {
        self.failure = Some(words);
    }

    /// Says something until the next key.
    pub fn notice(&mut self, words: String) {
        self.notice = Some(words);
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key) -> Act {
        self.notice = None;
        match key {
            Key::Interrupt => return Act::Leave,
            Key::Up => self.step(-1),
            Key::Down => self.step(1),
            Key::First => self.choose(0),
            Key::Last => self.choose(usize::MAX),
            Key::Enter => return self.chosen_row().cloned().map_or(Act::Stay, |row| Act::Go(Box::new(row))),
            Key::Escape if self.is_typing => self.stop_typing(),
            Key::Escape => return Act::Leave,
            Key::Backspace if self.is_typing => {
                if self.filter.pop().is_none() {
                    self.stop_typing();
                }
                self.keep_choice();
            }
            Key::Char(letter) if self.is_typing => {
                self.filter.push(letter);
                self.keep_choice();
            }
            Key::Char('q') => return Act::Leave,
            Key::Char('k') => self.step(-1),
            Key::Char('j') => self.step(1),
            Key::Char('/') => self.is_typing = true,
            Key::Char('s') => {
                let entry = self.chosen_row().and_then(|row| row.entry.as_ref());
                match entry {
                    Some(entry) => return Act::Skip(entry.session_id.clone()),
                    None => self.notice("that session does not wait".to_owned()),
                }
            }
            Key::Char(digit @ '1'..='9') => {
                let number = digit.to_digit(10).map(|digit| digit as usize);
                match self.rows.iter().find(|row| row.number() == number) {
                    Some(row) => return Act::Go(Box::new(row.clone())),
                    None => self.notice(format!("the queue has no entry {digit}")),
                }
            }
            Key::Char(_) | Key::Backspace => {}
        }
        Act::Stay
    }

    /// Returns the rows that the filter leaves, the queue first.
    pub fn visible(&self) -> Vec<&Row> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        self.rows.iter().filter(|row| words.iter().all(|word| holds(row, word))).collect()
    }

    /// Returns the place of the choice among the visible rows.
    pub fn place(&self) -> Option<usize> {
        let chosen = self.chosen.as_deref()?;
        self.visible().iter().position(|row| row.key() == chosen)
    }

    /// Returns the chosen row, if one is visible.
    pub fn chosen_row(&self) -> Option<&Row> {
        self.visible().get(self.place()?).copied()
    }

    /// Returns the first of `height` rows to draw, so that the choice is among them.
    pub fn scroll(&mut self, height: usize) -> usize {
        let place = self.place().unwrap_or(0);
        let most = self.visible().len().saturating_sub(height);
        self.top = self.top.min(most).min(place).max((place + 1).saturating_sub(height));
        self.top
    }

    /// Returns the entries of the queue; nothing before there is a list.
    pub fn queue(&self) -> Option<impl Iterator<Item = &Item>> {
        self.is_loaded.then(|| self.rows.iter().filter_map(|row| row.entry.as_ref()))
    }

    /// Returns the filter while it is typed.
    pub fn typed(&self) -> Option<&str> {
        self.is_typing.then_some(self.filter.as_str())
    }

    /// Returns what is to be said now, and whether it is a failure.
    pub fn said(&self) -> Option<(&str, bool)> {
        let notice = self.notice.as_deref().map(|words| (words, false));
        notice.or_else(|| self.failure.as_deref().map(|words| (words, true)))
    }

    /// Returns what stands in place of an empty list.
    pub fn empty_words(&self) -> &'static str {
        match (self.is_loaded, self.rows.is_empty()) {
            (false, _) => "…",
            (true, true) => "no sessions",
            (true, false) => "no session fits the filter",
        }
    }

    /// Returns the home folder.
    pub fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    fn stop_typing(&mut self) {
        self.is_typing = false;
        self.filter.clear();
    }

    fn step(&mut self, by: isize) {
        let place = self.place().unwrap_or(0);
        self.choose(place.saturating_add_signed(by));
    }

    fn choose(&mut self, place: usize) {
        let visible = self.visible();
        let row = visible.get(place.min(visible.len().saturating_sub(1)));
        self.chosen = row.map(|row| row.key().to_owned());
    }

    fn keep_choice(&mut self) {
        if self.place().is_none() {
            self.choose(0);
        }
    }

    fn first_choice(&self) -> usize {
        let here = self.here.as_ref();
        let is_here = |row: &Row| {
            let pane = row.pane();
            here.zip(pane).is_some_and(|(here, pane)| is_same_pane(here, pane))
        };
        self.visible().iter().position(|row| !is_here(row)).unwrap_or(0)
    }
}

fn holds(row: &Row, word: &str) -> bool {
    let entry = row.entry.as_ref();
    let ask = entry.map_or(row.session.message.as_str(), |entry| entry.ask.as_str());
    let kind = entry.map_or(row.session.state.as_str(), |entry| entry.kind.as_str());
    [row.key(), kind, &row.session.cwd, ask].iter().any(|text| text.to_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::row;

    fn picker() -> Picker {
        let mut picker = Picker::new(None, None);
        let mut rows = vec![row("codex-w", 0), row("claude-b", 2), row("claude-a", 1), row("gemini-old", 0)];
        rows[3].session.state = "ended".into();
        rows[0].session.cwd = "/srv/shop".into();
        picker.update(rows);
        picker
    }

    fn keys(picker: &Picker) -> Vec<&str> {
        picker.visible().iter().map(|row| row.key()).collect()
    }

    fn gone_to(act: Act) -> String {
        match act {
            Act::Go(row) => row.key().to_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_queue_comes_first_and_numbers_go_there() {
        let mut picker = picker();
        assert_eq!(keys(&picker), ["claude-a", "claude-b", "codex-w"]);
        assert_eq!(picker.queue().map(Iterator::count), Some(2));
        assert_eq!(gone_to(picker.press(Key::Char('2'))), "claude-b");
        assert_eq!(picker.press(Key::Char('3')), Act::Stay);
        assert_eq!(picker.said(), Some(("the queue has no entry 3", false)));
        assert_eq!(picker.press(Key::Char('x')), Act::Stay);
        assert_eq!(picker.said(), None);
    }

    #[test]
    fn arrows_and_letters_choose_and_stop_at_the_ends() {
        let mut picker = picker();
        assert_eq!(gone_to(picker.press(Key::Enter)), "claude-a");
        picker.press(Key::Up);
        assert_eq!(picker.place(), Some(0));
        picker.press(Key::Char('j'));
        picker.press(Key::Down);
        picker.press(Key::Down);
        assert_eq!(gone_to(picker.press(Key::Enter)), "codex-w");
        assert_eq!(picker.press(Key::Char('s')), Act::Stay);
        picker.press(Key::Char('k'));
        assert_eq!(picker.press(Key::Char('s')), Act::Skip("claude-b".into()));
        picker.press(Key::First);
        assert_eq!(picker.place(), Some(0));
        picker.press(Key::Last);
        assert_eq!(picker.place(), Some(2));
    }

    #[test]
    fn a_filter_takes_letters_until_escape() {
        let mut picker = picker();
        picker.press(Key::Char('/'));
        for letter in "SHOP".chars() {
            picker.press(Key::Char(letter));
        }
        assert_eq!((keys(&picker), picker.typed()), (vec!["codex-w"], Some("SHOP")));
        assert_eq!(gone_to(picker.press(Key::Enter)), "codex-w");
        picker.press(Key::Char('q'));
        assert_eq!((keys(&picker).len(), picker.empty_words()), (0, "no session fits the filter"));
        assert_eq!(picker.press(Key::Enter), Act::Stay);
        picker.press(Key::Backspace);
        assert_eq!(keys(&picker), ["codex-w"]);
        assert_eq!(picker.press(Key::Escape), Act::Stay);
        assert_eq!((keys(&picker).len(), picker.typed()), (3, None));
        assert_eq!(picker.press(Key::Escape), Act::Leave);
        assert_eq!(picker.press(Key::Char('q')), Act::Leave);
        picker.press(Key::Char('/'));
        assert_eq!(picker.press(Key::Interrupt), Act::Leave);
    }

    #[test]
    fn the_choice_stays_with_its_session_then_with_its_place() {
        let mut picker = picker();
        picker.press(Key::Down);
        picker.update(vec![row("claude-n", 1), row("claude-a", 2), row("claude-b", 3)]);
        assert_eq!(picker.chosen_row().map(Row::key), Some("claude-b"));
        picker.update(vec![row("claude-n", 1), row("claude-a", 2)]);
        assert_eq!(picker.chosen_row().map(Row::key), Some("claude-a"));
        picker.update(vec![]);
        assert_eq!((picker.chosen_row(), picker.empty_words()), (None, "no sessions"));
        picker.fail("the daemon is not running".into());
        assert_eq!(picker.said(), Some(("the daemon is not running", true)));
        picker.update(vec![row("claude-a", 1)]);
        assert_eq!((picker.said(), picker.place()), (None, Some(0)));
    }

    #[test]
    fn the_pane_you_are_in_is_not_the_first_choice() {
        let pane = |id: &str| Pane { socket: "/tmp/a".into(), server_pid: Some(7), pane: id.into() };
        let mut rows = vec![row("claude-a", 1), row("claude-b", 2)];
        for (row, id) in rows.iter_mut().zip(["%1", "%2"]) {
            row.session.pane = Some(pane(id));
        }
        let mut picker = Picker::new(None, Some(pane("%1")));
        picker.update(rows);
        assert_eq!(picker.place(), Some(1));
    }

    #[test]
    fn the_choice_is_always_on_the_screen() {
        let mut picker = Picker::new(None, None);
        picker.update((1..=9).map(|number| row(&format!("claude-{number}"), number)).collect());
        assert_eq!(picker.scroll(3), 0);
        picker.press(Key::Last);
        assert_eq!(picker.scroll(3), 6);
        picker.press(Key::Up);
        assert_eq!(picker.scroll(3), 6);
        picker.press(Key::First);
        assert_eq!(picker.scroll(3), 0);
        picker.press(Key::Last);
        assert_eq!((picker.scroll(20), picker.scroll(1)), (0, 8));
    }
}
