//! Routes: scripts of the human's that see hook calls and may answer them.
//!
//! [`load()`] finds them under `routes/` of the settings folder and tells which of them the human trusts as they are
//! now; [`trust()`] is his word. None other is ever run. The daemon keeps what it found and looks again; one run
//! ([`run()`]) has bounds on time and output, and what it answers is checked against what it may.
//!
//! Start with `load.rs`.

mod input;
mod keep;
mod limits;
mod load;
mod run;
mod safe;
mod tally;
mod trust;

pub use input::input;
pub(crate) use keep::{Kept, follow};
pub use load::{Loaded, LoadedRoute, NotRoute, RouteState, load, routes_dir};
pub use run::{Run, run};
pub(crate) use tally::Tally;
pub use trust::{TrustError, distrust, trust, trust_path};
