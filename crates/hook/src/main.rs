//! `herdbook-hook HOST [event:NAME] [JSON]`: what hosts run on every event.
//!
//! It hands its input to the daemon or to the spool and exits 0 in silence, unless a route decided; all of it is in [`herdbook_wire::hook`].
//! It links nothing but `herdbook-wire`, for an agent waits while it starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    herdbook_wire::hook::run_process(std::env::args_os().skip(1))
}
