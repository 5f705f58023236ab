//! Real clients and routes: what a host is told, and what becomes of it.

pub mod facts;
pub mod forms;
pub mod probes;
pub mod scene;
