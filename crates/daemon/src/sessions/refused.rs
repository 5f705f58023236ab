//! Why nothing was appended.

use herdbook_api::events::Breach;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The log ends elsewhere.
    WrongSeq { last_seq: u64 },
    /// An id is taken.
    OtherContent { id: String, seq: u64, last_seq: u64 },
    /// Rules of the catalog are broken.
    Breaks(Vec<Breach>),
    /// Nothing can be appended to this log before somebody does something about it.
    Unusable(String),
    /// It may work later.
    Away(String),
    /// The code failed on this request.
    Panicked,
}
