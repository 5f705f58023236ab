//! Lines of a log, a page at a time.

use std::mem;
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
    /// The last seq that was synced when the reading began; 0 once it was looked for.
    promised: u64,
}

impl Pages {
    /// Starts after a seq.
    pub(crate) fn after(folder: &Path, seq: u64) -> Pages {
        Pages::new(folder, Reader::open_from(folder, seq.saturating_add(1)), seq, None)
    }

    /// Starts after a line that is in the log; nothing where that ends before it. `given_seq` is the last one that was given
    /// to an append: it is about to be written.
    pub(crate) fn after_known(folder: &Path, seq: u64, given_seq: u64) -> Option<Pages> {
        let id = match find(folder, seq) {
            Found::Line(id) => Some(id),
            Found::Unknown => None,
            Found::Beyond if seq <= given_seq => None,
            Found::Beyond => return None,
        };
        Some(Pages { id, ..Pages::after(folder, seq) })
    }

    /// Starts after a line that has this id in the log; nothing where it has not.
    pub(crate) fn after_line(folder: &Path, seq: u64, id: &str) -> Option<Pages> {
        let pages = Pages { id: Some(id.to_owned()), ..Pages::after(folder, seq) };
        (!pages.is_over()).then_some(pages)
    }

    /// Starts at the end of the log as it is now: reads over all of it.
    pub(crate) fn at_end(folder: &Path) -> Pages {
        let mut pages = Pages::after(folder, 0);
        let last = pages.reader.by_ref().filter_map(Result::ok).last();
        (pages.seq, pages.id) = last.map_or((0, None), |line| (line.seq, Some(line.id)));
        pages
    }

    /// Starts anew where it is, since another file may be in the place of the one that is read.
    pub(crate) fn again(self) -> Pages {
        let reader = Reader::open_from(&self.folder, self.seq.saturating_add(1));
        Pages::new(&self.folder, reader, self.seq, self.id)
    }

    /// True where the line that was handed out last is not in the log any more: it is another log.
    pub(crate) fn is_over(&self) -> bool {
        match (&self.id, find(&self.folder, self.seq)) {
            (Some(id), Found::Line(found)) => found != *id,
            (Some(_), _) | (None, Found::Beyond) => true,
            (None, _) => false,
        }
    }

    fn new(folder: &Path, reader: Reader, seq: u64, id: Option<String>) -> Pages {
        let promised = reader.promised();
        Pages { folder: folder.to_owned(), reader, held: None, seq, id, promised }
    }

    /// Reads the next lines, none beyond a seq. An empty page is the end for now.
    pub(crate) fn next(&mut self, up_to: u64) -> Vec<Item> {
        let mut items = Vec::new();
        let mut bytes = 0;
        while bytes < PAGE_BYTES {
            let next = self.held.take().map(Ok).or_else(|| self.reader.next());
            // At the end, once: what was synced and is not there any more.
            let promised = if next.is_none() { mem::take(&mut self.promised) } else { 0 };
            let Some(next) = next.or_else(|| self.reader.lost(promised).map(Err)) else { break };
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

/// What there is at a seq.
enum Found {
    /// A line with this id.
    Line(String),
    /// Nothing that can be read, but the log goes on behind it; or it is the place before the first line.
    Unknown,
    /// The log ends before it.
    Beyond,
}

fn find(folder: &Path, seq: u64) -> Found {
    if seq == 0 {
        return Found::Unknown;
    }
    for item in Reader::open_from(folder, seq) {
        match item {
            Ok(line) if line.seq == seq => return Found::Line(line.id),
            Err(damage)
                if damage.seq < seq && !matches!(damage.kind, DamageKind::Missing { to } if to >= seq) => {}
            _ => return Found::Unknown,
        }
    }
    Found::Beyond
}

fn named(damage: &Damage) -> Damaged {
    let to_seq = match damage.kind {
        DamageKind::Missing { to } | DamageKind::Lost { to } => to,
        _ => damage.seq,
    };
    Damaged { corrupt: Span { from_seq: damage.seq, to_seq }, error: format!("the log is damaged: {damage}") }
}
