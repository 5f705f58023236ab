//! Ids of records that were read, over all files of a project: copied history is no news (case F-054).

use std::collections::{HashSet, VecDeque};

/// A bounded set of record ids. The oldest are forgotten first.
#[derive(Clone, Debug, Default)]
pub struct Known {
    ids: HashSet<u64>,
    order: VecDeque<u64>,
}

/// Some days of heavy work, half a megabyte.
const REMEMBERED: usize = 16_384;

impl Known {
    /// Remembers an id. False: it is known.
    pub fn insert(&mut self, id: &str) -> bool {
        let hash = hash(id);
        if !self.ids.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// FNV-1a, 64 bits: ids are random, and nobody gains from making two that collide in his own file.
fn hash(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
