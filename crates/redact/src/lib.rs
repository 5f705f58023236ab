//! Marks secrets in what hosts send us, and makes foreign text safe to show.
//!
//! What it is: two pure functions of text. [`Redactor`] replaces what looks like a secret by a mark
//! `[redacted:<kind>:<8 hex>]` before anything is kept; [`clean_line`] and its relatives take control characters
//! out of text on its way to a terminal or into tmux.
//!
//! What it never does: no IO, no clock; it never fails, never makes invalid JSON of valid JSON, and takes time
//! linear in its input, whatever the input is.
//!
//! Start at [`Redactor::json`]; the formats are the table in `formats.rs`, the rules that look at the words around a
//! value are `context.rs` and `names.rs`.

mod clean;
mod context;
mod find;
mod formats;
mod json;
mod names;
mod patched;
mod pem;
mod redactor;
mod scrub;

pub use clean::{clean_line, clean_text, clip, tmux_job_text, tmux_option_text};
pub use json::{Value, map_values};
pub use redactor::Redactor;
pub use scrub::Scrub;
