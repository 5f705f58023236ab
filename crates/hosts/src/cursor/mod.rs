//! Cursor.

mod table;

pub use table::TABLE;
