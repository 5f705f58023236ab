//! Settings as text: a parse that knows where everything stands, and edits that touch nothing else.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::SettingsError;

/// A file's text, parsed. Comments and trailing commas are read whatever the host thinks of them; nothing else that
/// JSON does not have.
pub(super) struct Document<'a> {
    /// The text without a byte order mark.
    pub text: &'a str,
    /// Its value; none where there is only space or comments.
    pub root: Option<Value<'a>>,
    tokens: Vec<Piece>,
}

/// A token or a comment.
struct Piece {
    range: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comma,
    Other,
    BlockComment,
    /// Ends with its line, so nothing may be put or left behind it there.
    LineComment,
}

impl Piece {
    fn is_token(&self) -> bool {
        matches!(self.kind, Kind::Comma | Kind::Other)
    }
}

/// One replacement of a part of the text.
#[derive(Debug)]
pub(super) struct Splice {
    range: Range<usize>,
    with: String,
}

impl Splice {
    /// Replaces a part.
    pub fn replace(range: Range<usize>, with: String) -> Splice {
        Splice { range, with }
    }
}

/// An object or array: where it stands, and its properties or elements.
pub(super) struct Container {
    range: Range<usize>,
    items: Vec<Range<usize>>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Container {
        let items = object.properties.iter().map(|property| property.range.start..property.range.end);
        Container { range: object.range.start..object.range.end, items: items.collect() }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Container {
        let items = array.elements.iter().map(|element| element.start()..element.end());
        Container { range: array.range.start..array.range.end, items: items.collect() }
    }
}

impl<'a> Document<'a> {
    /// Parses a text.
    ///
    /// # Errors
    /// It is no JSON, with line and column.
    pub fn parse(text: &'a str) -> Result<Document<'a>, SettingsError> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collect = CollectOptions { tokens: true, comments: CommentCollectionStrategy::AsTokens };
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| SettingsError::Syntax {
            line: error.line_display(),
            column: error.column_display(),
            words: error.kind().to_string(),
        })?;
        let tokens = parsed.tokens.unwrap_or_default().into_iter().map(|token| Piece {
            range: token.range.start..token.range.end,
            kind: match token.token {
                Token::Comma => Kind::Comma,
                Token::CommentLine(_) => Kind::LineComment,
                Token::CommentBlock(_) => Kind::BlockComment,
                _ => Kind::Other,
            },
        });
        Ok(Document { text, root: parsed.value, tokens: tokens.collect() })
    }

    /// Returns line and column of a place, both counted from 1.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }

    /// The file's line end: that of its first line.
    pub fn newline(&self) -> &'static str {
        let first = self.text.split_inclusive('\n').next().unwrap_or_default();
        if first.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    /// What the file indents by: as its first property does, else two spaces.
    fn unit(&self) -> &str {
        let first = match &self.root {
            Some(Value::Object(root)) => root.properties.first().map(|property| property.range.start),
            _ => None,
        };
        let indent = first.filter(|at| self.begins_line(*at)).map_or("", |at| self.indent(at));
        if indent.is_empty() { "  " } else { indent }
    }

    /// The space at the start of the line of a place.
    fn indent(&self, at: usize) -> &str {
        let line = line_start(self.text, at);
        let rest = self.text.get(line..at).unwrap_or_default();
        let width = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest.get(..width).unwrap_or_default()
    }

    fn begins_line(&self, at: usize) -> bool {
        self.text.get(line_start(self.text, at)..at).is_some_and(|lead| lead.trim().is_empty())
    }

    /// The pieces before a place, and those at or after it.
    fn around(&self, at: usize) -> (&[Piece], &[Piece]) {
        self.tokens.split_at(self.tokens.partition_point(|piece| piece.range.start < at))
    }

    /// The comma that is the next token after a place.
    fn comma_after(&self, at: usize) -> Option<&Range<usize>> {
        let (_, after) = self.around(at);
        let next = after.iter().find(|piece| piece.is_token())?;
        (next.kind == Kind::Comma).then_some(&next.range)
    }

    /// The comma that is the last token before a place.
    fn comma_before(&self, at: usize) -> Option<&Range<usize>> {
        let (before, _) = self.around(at);
        let last = before.iter().rfind(|piece| piece.is_token())?;
        (last.kind == Kind::Comma).then_some(&last.range)
    }

    /// True when nothing stands in a container, not even a comment.
    pub fn is_bare(&self, container: &Container) -> bool {
        let inside = container.range.start + 1..container.range.end.saturating_sub(1);
        self.text.get(inside).is_some_and(|inside| inside.trim().is_empty())
    }

    /// True when one item stands in a container and nothing else, not even a comment.
    pub fn holds_one(&self, container: &Container) -> bool {
        let [item] = &container.items[..] else { return false };
        let inside = container.range.start + 1..container.range.end.saturating_sub(1);
        let rest = self.cut(&inside, &[Splice::replace(item.clone(), String::new())]);
        rest.chars().all(|letter| letter.is_whitespace() || letter == ',')
    }

    /// Appends an item to a container, laid out as its last one is. An empty container is opened over several lines
    /// where `spread` says so. After a trailing comma the new item gets one, too, so that taking it out leaves theirs.
    pub fn append(&self, container: &Container, item: &str, spread: bool) -> Vec<Splice> {
        let (start, close) = (container.range.start, container.range.end.saturating_sub(1));
        let last = container.items.last();
        let gap_start = last.map_or(start + 1, |last| last.end);
        let gap = self.text.get(gap_start..close).unwrap_or_default();
        let end = gap_start + gap.trim_end().len();
        let own_line = last.filter(|last| self.begins_line(last.start));
        let many_lines = gap.contains('\n') || own_line.is_some() || (last.is_none() && spread);
        let mut new = String::new();
        if many_lines {
            new.push_str(self.newline());
            match own_line {
                Some(last) => new.push_str(self.indent(last.start)),
                None => {
                    new.push_str(self.indent(start));
                    new.push_str(self.unit());
                }
            }
        } else if last.is_some() || !gap.trim().is_empty() {
            new.push(' ');
        }
        new.push_str(item);
        let mut splices = Vec::new();
        if let Some(last) = last {
            if self.comma_after(last.end).is_some() {
                new.push(',');
            } else {
                splices.push(Splice::replace(last.end..last.end, ",".to_owned()));
            }
        } else if many_lines && gap.trim().is_empty() && !gap.contains('\n') {
            new.push_str(self.newline());
            new.push_str(self.indent(start));
        }
        splices.push(Splice::replace(end..end, new));
        splices
    }

    /// Takes an item out of a container, with the comma and the space that came with it. Comments stay.
    pub fn take(&self, container: &Container, index: usize) -> Vec<Splice> {
        let Some(item) = container.items.get(index) else { return Vec::new() };
        let lead = self.text.get(..item.start).unwrap_or_default().trim_end().len();
        let after = self.comma_after(item.end);
        let comma = after.or(self.comma_before(item.start)).cloned();
        let mut end = item.end;
        if let Some(comma) = after
            && comma.start == item.end
        {
            end = comma.end;
        }
        let rest = self.text.get(end..).unwrap_or_default();
        let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let ends_line = rest.get(space..).is_some_and(|rest| rest.starts_with(['\r', '\n']));
        let (before, _) = self.around(item.start);
        let is_free = before.last().is_none_or(|piece| piece.kind != Kind::LineComment);
        let start = if is_free || ends_line { lead } else { item.start };
        if start == item.start && !ends_line && after.is_some() {
            end += space;
        }
        let mut splices = vec![Splice::replace(start..end, String::new())];
        if let Some(comma) = comma.filter(|comma| comma.end <= start || comma.start >= end) {
            splices.push(Splice::replace(comma, String::new()));
        }
        if container.items.len() == 1 {
            let inside = container.range.start + 1..container.range.end.saturating_sub(1);
            let emptied = self.cut(&inside, &splices);
            if emptied.trim().is_empty() {
                return vec![Splice::replace(inside, String::new())];
            }
        }
        splices
    }

    /// What is left of a part when the splices are taken out of it.
    fn cut(&self, part: &Range<usize>, splices: &[Splice]) -> String {
        let inside = self.text.get(part.clone()).unwrap_or_default();
        let kept = inside.char_indices().filter(|(at, _)| {
            let at = part.start + at;
            !splices.iter().any(|splice| splice.range.contains(&at))
        });
        kept.map(|(_, letter)| letter).collect()
    }
}

/// Applies splices that do not overlap. Two at one place are applied in their order.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut edited = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for splice in splices {
        edited.push_str(text.get(at..splice.range.start).unwrap_or_default());
        edited.push_str(&splice.with);
        at = splice.range.end;
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    edited
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}
