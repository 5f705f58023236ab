//! The queue: who waits, in the order to be visited.

use herdbook_events::SessionKey;

use crate::herd::Attention;
use crate::session::{Moment, Session};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the entry: it lives as long as the session is stuck.
    pub id: u64,
    /// The session.
    pub session: SessionKey,
    /// Shown as `stuck_at`, Unix milliseconds; skip never changes it.
    pub stuck_at_ms: u64,
    /// In cooldown until, on the fold's clock; none when the cooldown is over.
    pub skip_until_ms: Option<u64>,
    /// Kept at the front.
    pub pinned: bool,
}

impl Attention {
    /// Returns the queue: pinned first, those in cooldown last, else by order value, then by arrival.
    ///
    /// Sessions that are stale, headless, detached or stand behind a hook-fed one are not in it.
    pub fn queue(&self, at: Moment) -> Vec<Entry> {
        let mut keyed: Vec<((bool, bool, u64, u64), Entry)> = self
            .sessions()
            .filter(|session| !session.is_headless() && !session.is_detached() && session.hidden_by.is_none())
            .filter_map(|session| entry(session, at))
            .collect();
        keyed.sort_by_key(|(order, _)| *order);
        keyed.into_iter().map(|(_, entry)| entry).collect()
    }
}

fn entry(session: &Session, at: Moment) -> Option<((bool, bool, u64, u64), Entry)> {
    let place = session.place.as_ref().filter(|place| !place.stale)?;
    let skip_until_ms = place.skip_until_ms.filter(|until| *until > at.at_ms);
    let order = (skip_until_ms.is_some(), !place.pinned, place.order_ms, place.arrival);
    let entry = Entry {
        id: place.id,
        session: session.key.clone(),
        stuck_at_ms: place.stuck_at_ms,
        skip_until_ms,
        pinned: place.pinned,
    };
    Some((order, entry))
}
