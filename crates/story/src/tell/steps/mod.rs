//! What each event adds to a telling.

mod session;
mod tool;
mod work;
