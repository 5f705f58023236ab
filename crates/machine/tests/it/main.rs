//! Rows of the field cases, programs that misbehave, and real tmux servers.

#[cfg(test)]
mod command;
#[cfg(test)]
mod control;
#[cfg(test)]
mod field_cases;
#[cfg(test)]
mod survey;
#[cfg(test)]
mod tmux;
