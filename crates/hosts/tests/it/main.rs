//! Tests of the host tables and the projection against the shared reference data.

mod captures;
mod ecmascript;
mod shapes;
mod shared;
mod tables;
