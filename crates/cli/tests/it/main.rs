//! Tests of the real `herdbook` binary, each in an environment of its own.

mod down;
mod normalize;
mod readme;
mod support;
mod words;
