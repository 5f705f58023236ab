//! Which segment a reader reads next: listings of a folder that may change meanwhile.

use super::{Current, Reader};
use crate::chain::Chain;
use crate::cold;
use crate::index::Index;
use crate::opening::open_at;
use crate::segment::{SegmentName, segments_of};
use crate::source::{LineSource, Next};
use crate::storage::{LogFile, Storage};

/// So many listings have to agree that no segment goes on from here.
pub(super) const LOOKS: u32 = 2;

impl Reader {
    /// Finds the next segment that has bytes. A listing serves for many segments, since none is made before one that is
    /// there; another one is asked where that does not lead on.
    pub(super) fn next_segment(
        &mut self,
        after: SegmentName,
        looks: u32,
    ) -> Option<(SegmentName, LineSource)> {
        while self.listed.pop_front_if(|name| *name <= after).is_some() {}
        let next = self.listed.front().copied().filter(|name| self.goes_on(*name));
        let next = next.and_then(|name| Some((name, LineSource::new(filled(&*self.storage, name)?))));
        next.or_else(|| self.list(|name| name > after, looks))
    }

    /// Lists the segments that are wanted, and opens the first of them that has bytes. Where it does not go on from what was
    /// read, or there is none, that is believed when the last of so many looks says so too: a folder that is changed while it is
    /// listed may show neither the old name of a segment nor its new one.
    fn list(
        &mut self,
        wanted: impl Fn(SegmentName) -> bool,
        looks: u32,
    ) -> Option<(SegmentName, LineSource)> {
        let mut found = None;
        for _ in 0..looks {
            let names = segments_of(&self.storage.list().ok()?);
            let start = self.start(&names);
            let wanted = |name: &SegmentName| wanted(*name) && Some(*name) >= start;
            self.listed = names.into_iter().filter(wanted).collect();
            found = self.listed.iter().find_map(|name| Some((*name, filled(&*self.storage, *name)?)));
            if found.as_ref().is_some_and(|(name, _)| self.goes_on(*name)) {
                break;
            }
        }
        found.map(|(name, file)| (name, LineSource::new(file)))
    }

    /// True where a segment begins no later than what is to be read next.
    pub(super) fn goes_on(&self, name: SegmentName) -> bool {
        match self.current {
            Some(_) => self.chain.begins_here(name.first_seq),
            None => name.first_seq <= self.from_seq,
        }
    }

    /// Finds the segment to begin with, before the first one is read.
    fn start(&self, names: &[SegmentName]) -> Option<SegmentName> {
        if self.current.is_some() {
            return None;
        }
        let holds = |name: &&SegmentName| name.copy == 1 && name.first_seq <= self.from_seq;
        let mut before = names.iter().rev().filter(holds);
        // One that has no bytes was passed over: the lines are in the one before it.
        before.find(|name| filled(&*self.storage, **name).is_some()).copied()
    }

    pub(super) fn enter_first(&mut self) -> Option<()> {
        let from = self.from_seq;
        let first = self.list(|_| true, LOOKS)?;
        if let Some((chain, source)) = self.near(first.0) {
            self.chain = chain;
            self.current = Some(Current::new(first.0, source));
            return Some(());
        }
        if first.0.first_seq > 1 && first.0.first_seq <= from {
            self.chain = Chain::from_middle(first.0.first_seq);
        }
        self.enter(first);
        Some(())
    }

    /// Finds the last place of the index at or before the first line that is wanted; nothing where the line there is
    /// not as the index says.
    fn near(&self, name: SegmentName) -> Option<(Chain, LineSource)> {
        let index = Index::read(&*self.storage, name, None).filter(|_| self.from_seq > 1)?;
        let place = *index.entries.iter().rev().find(|entry| entry.seq <= self.from_seq)?;
        let (chain, mut source) = open_at(&*self.storage, name, place)?;
        let Ok(Next::Line(range)) = source.next() else { return None };
        chain.clone().take_next(source.bytes(range.clone()))?;
        source.put_back(range);
        Some((chain, source))
    }
}

/// Opens a segment that has bytes. An empty one may be about to be filled, or passed over for good.
fn filled(storage: &dyn Storage, name: SegmentName) -> Option<Box<dyn LogFile>> {
    let file = cold::open_segment(storage, name).ok()?.file;
    file.length().is_ok_and(|length| length > 0).then_some(file)
}
