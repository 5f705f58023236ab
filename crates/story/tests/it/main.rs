//! Tests of canonical text, history, rules and resumption against the shared example and logs of our own.

#[cfg(test)]
mod canonical;
#[cfg(test)]
mod history;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod state;
#[cfg(test)]
mod tell;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod writer;
