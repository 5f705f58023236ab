//! What a telling consists of.

use std::borrow::Cow;

/// One row. Its texts are foreign: whoever shows them cleans them, and they may hold line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The seq of the event that ended the step; of a step that is open at the end of the log, that began it.
    pub seq: u64,
    /// Unix milliseconds of that event, where it has a time.
    pub ts_ms: Option<u64>,
    /// How it stands to the rows around it.
    pub kind: RowKind,
    /// One word, or the name of a tool; empty for details.
    pub label: Cow<'static, str>,
    /// The tone of the label.
    pub tone: Tone,
    /// What there is to say, one piece behind the other without anything between them.
    pub pieces: Vec<Piece>,
}

/// How a row stands to the rows around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A turn begins.
    Turn,
    /// A step.
    Step,
    /// More about the step above.
    Detail,
    /// What a turn, or the whole log, comes to.
    Total,
}

/// Words with a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The words.
    pub text: String,
    /// Their meaning.
    pub tone: Tone,
}

/// A meaning; how it looks is for whoever shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// None.
    Plain,
    /// Less important.
    Dim,
    /// More important.
    Strong,
    /// Goes well; a line that was added.
    Good,
    /// Does not; a line that was removed.
    Bad,
    /// A name.
    Name,
}

impl Row {
    /// Starts a row without words.
    pub(super) fn new(
        kind: RowKind,
        seq: u64,
        ts_ms: Option<u64>,
        label: impl Into<Cow<'static, str>>,
    ) -> Row {
        Row { seq, ts_ms, kind, label: label.into(), tone: Tone::Plain, pieces: Vec::new() }
    }

    /// Gives the label a meaning.
    pub(super) fn toned(mut self, tone: Tone) -> Row {
        self.tone = tone;
        self
    }

    /// Adds words; none where there are none.
    pub(super) fn say(mut self, text: impl Into<String>, tone: Tone) -> Row {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(Piece { text, tone });
        }
        self
    }

    /// Adds less important words behind a dot; none where there are none.
    pub(super) fn note(self, text: impl Into<String>) -> Row {
        self.also(text, Tone::Dim)
    }

    /// Adds words behind a dot; none where there are none.
    pub(super) fn also(self, text: impl Into<String>, tone: Tone) -> Row {
        let text = text.into();
        match (text.is_empty(), self.pieces.is_empty()) {
            (true, _) => self,
            (false, true) => self.say(text, tone),
            (false, false) => self.say(" · ", Tone::Dim).say(text, tone),
        }
    }

    /// The words without their meaning.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}
