//! Lines of a log, a page at a time.

use std::path::{Path, PathBuf};

use herdbook_api::events::{Damaged, Span};
use herdbook_log::{Damage, DamageKind, Line, Reader};

/// One page has about so many bytes, or one line.
const PAGE_BYTES: usize = 256 << 10;

pub(crate) enum Item {
    Line(Line),
    /// Lines that are not there.
    Damaged(Damaged),
}

pub(crate) struct Pages {
    folder: PathBuf,
    reader: Reader,
    /// Read, and beyond what may be told yet.
    held: Option<Line>,
    /// The last seq that was handed out.
    pub seq: u64,
    /// Its id, once it was read.
    id: Option<String>,
}

impl Pages {
    /// Starts after a seq.
    pub(crate) fn after(folder: &Path, seq: u64) -> Pages {
        let reader = Reader::open_from(folder, seq.saturating_add(1));
        Pages { folder: folder.to_owned(), reader, held: None, seq, id: None }
    }

    /// Starts at the end of the log as it is now: reads over all of it.
    pub(crate) fn at_end(folder: &Path) -> Pages {
        let mut reader = Reader::open(folder);
        let last = reader.by_ref().filter_map(Result::ok).last();
        let (seq, id) = last.map_or((0, None), |line| (line.seq, Some(line.id)));
        Pages { folder: folder.to_owned(), reader, held: None, seq, id }
    }

    /// Starts anew where it is, since another file may be in the place of the one that is read.
    pub(crate) fn again(self) -> Pages {
        let reader = Reader::open_from(&self.folder, self.seq.saturating_add(1));
        Pages { reader, held: None, ..self }
    }

    /// True where the line that was handed out last is not in the log any more: it is another log.
    pub(crate) fn is_over(&self) -> bool {
        self.id.as_ref().is_some_and(|id| !is_there(&self.folder, self.seq, id))
    }

    /// Reads the next lines, none beyond a seq. An empty page is the end for now.
    pub(crate) fn next(&mut self, up_to: u64) -> Vec<Item> {
        let mut items = Vec::new();
        let mut bytes = 0;
        while bytes < PAGE_BYTES {
            let Some(next) = self.held.take().map(Ok).or_else(|| self.reader.next()) else { break };
            match next {
                Ok(line) if line.seq > up_to => {
                    self.held = Some(line);
                    break;
                }
                Ok(line) => {
                    self.seq = line.seq;
                    self.id = Some(line.id.clone());
                    bytes += line.raw.len();
                    items.push(Item::Line(line));
                }
                Err(damage) => {
                    bytes += 256;
                    items.push(Item::Damaged(named(&damage)));
                }
            }
        }
        items
    }
}

/// True where the line of a seq has an id.
pub(crate) fn is_there(folder: &Path, seq: u64, id: &str) -> bool {
    let mut lines = Reader::open_from(folder, seq);
    matches!(lines.next(), Some(Ok(line)) if line.seq == seq && line.id == id)
}

fn named(damage: &Damage) -> Damaged {
    let to_seq = match damage.kind {
        DamageKind::Missing { to } => to,
        _ => damage.seq,
    };
    Damaged { corrupt: Span { from_seq: damage.seq, to_seq }, error: format!("the log is damaged: {damage}") }
}
