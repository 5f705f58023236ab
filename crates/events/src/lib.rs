//! The vocabularies of Herdbook as types: canonical hook events, the four normalized attention events, session events,
//! observations (what a canonical event says about waiting), program status, ids.
//!
//! It parses, prints and classifies. It never reads a clock, a file or the environment.
//! Start with [`canonical::CanonicalEvent`], then [`observation::Observation`], then [`normalized::NormalizedEvent`].

pub mod canonical;
pub mod catalog;
pub mod detected;
pub mod ids;
pub mod normalized;
pub mod observation;
pub mod origin;
pub mod pane;
pub mod read;
pub mod status;
pub mod surrogates;
pub mod told;
pub mod vocabulary;

pub use canonical::{CanonicalEvent, Lineage, Payload, PayloadField};
pub use detected::{Detected, PaneProgram};
pub use ids::{SessionKey, Ulid, UlidGenerator};
pub use normalized::{InvalidEvent, NormalizedEvent, Reason};
pub use observation::{Observation, Signal, WaitKind};
pub use origin::{Origin, Process};
pub use pane::{PaneSeen, Shows};
pub use read::{CompactTrigger, Reported};
pub use status::{PostedStatus, ProgramState, Report, StatusPlace};
pub use surrogates::replace_lone_surrogates;
pub use told::Told;
pub use vocabulary::{Family, Field, FieldKind, typed};
