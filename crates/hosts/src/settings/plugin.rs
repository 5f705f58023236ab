//! Plugin files: whole files of ours, in which the command stands as a JSON string.

use super::command::is_ours;
use std::collections::BTreeMap;

use super::needs::{Granted, Needs};
use super::{Entry, SettingsError};
use crate::answer::Answer;
use crate::table::{HostTable, Install, NativeEvent};

/// Where the template takes the command.
const PLACE: &str = "@@COMMAND@@";
/// Where it takes, by event, how long an answer is waited for.
const LIMITS: &str = "@@LIMITS@@";

/// Returns the plugin's text, unless a file that is not ours is in its place.
pub(super) fn install(
    table: &HostTable,
    template: &str,
    needs: &Needs,
    command: &str,
    text: Option<&str>,
) -> Result<String, SettingsError> {
    if let Some(text) = text
        && !text.trim().is_empty()
        && our_command(text).is_none()
    {
        return Err(SettingsError::Foreign);
    }
    Ok(template.replace(LIMITS, &limits(table, needs)).replace(PLACE, &super::layout::quoted(command)))
}

/// True for an event at which the plugin waits for an answer.
pub(super) fn waits(table: &HostTable, event: &NativeEvent) -> bool {
    event.install == Install::Always && Answer::ALL.iter().any(|answer| table.answer(event, *answer).is_ok())
}

/// The events that can be answered, with how long our command may take there, in milliseconds.
fn limits(table: &HostTable, needs: &Needs) -> String {
    let answered = table.events.iter().filter(|event| waits(table, event));
    let limits: Vec<String> = answered
        .map(|event| format!("{}: {}", super::layout::quoted(event.name), needs.entry_ms(table, event)))
        .collect();
    format!("{{ {} }}", limits.join(", "))
}

/// Reads those limits back, where they stand in a plugin of ours.
pub(super) fn granted(text: &str) -> Vec<Granted> {
    let limits = text.split_once("const LIMITS = ").and_then(|(_, rest)| {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<BTreeMap<String, u32>>();
        values.next()?.ok()
    });
    let limits = limits.filter(|_| our_command(text).is_some()).unwrap_or_default();
    limits.into_iter().map(|(event, limit_ms)| Granted { event, limit_ms: Some(limit_ms) }).collect()
}

/// The whole file goes.
pub(super) fn remove(text: &str) -> Result<Option<String>, SettingsError> {
    if our_command(text).is_some() { Ok(None) } else { Ok(Some(text.to_owned())) }
}

/// Lists the one entry.
pub(super) fn list(text: &str) -> Vec<Entry> {
    let entry = |command| Entry { event: String::new(), command, timeout: None, alone: true };
    our_command(text).map(entry).into_iter().collect()
}

/// Finds the guarded command among the text's string literals.
fn our_command(text: &str) -> Option<String> {
    text.match_indices("\"[ -x ").find_map(|(at, _)| {
        let mut literals = serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<String>();
        literals.next()?.ok().filter(|command| is_ours(command))
    })
}
