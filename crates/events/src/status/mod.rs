//! Program status: what a program says of itself to its terminal (the Program Status Protocol, OSC 7501, revision 0.4;
//! <https://www.superlogical.com/rex/docs/build/program-status>).
//!
//! [`Report`] is one report and how its body is read, [`Scanner`] finds them in a terminal's bytes, [`PostedStatus`] is
//! one posted as JSON. Start with [`Report`].

mod posted;
mod report;
mod scan;

pub use posted::{InvalidStatus, PostedStatus, StatusPlace};
pub use report::{Discarded, Needs, ProgramState, Report};
pub use scan::{Found, Scanner};
