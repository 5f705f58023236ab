//! Tests of the host tables and the projection against the shared reference data.

#[cfg(test)]
mod amp;
#[cfg(test)]
mod author;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod details;
#[cfg(test)]
mod ecmascript;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod said;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod settings_generated;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod transcripts;
#[cfg(test)]
mod typescript;
