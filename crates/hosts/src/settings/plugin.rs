//! Plugin files: whole files of ours, in which the command stands as a JSON string.

use super::command::is_ours;
use super::{Entry, SettingsError};
use crate::answer::Answer;
use crate::table::{HostTable, Install};

/// Where the template takes the command.
const PLACE: &str = "@@COMMAND@@";
/// Where it takes, by event, how long an answer is waited for.
const LIMITS: &str = "@@LIMITS@@";

/// Returns the plugin's text, unless a file that is not ours is in its place.
pub(super) fn install(
    table: &HostTable,
    template: &str,
    command: &str,
    text: Option<&str>,
) -> Result<String, SettingsError> {
    if let Some(text) = text
        && !text.trim().is_empty()
        && our_command(text).is_none()
    {
        return Err(SettingsError::Foreign);
    }
    Ok(template.replace(LIMITS, &limits(table)).replace(PLACE, &super::layout::quoted(command)))
}

/// The events that can be answered, with how long our command may take there, in milliseconds.
fn limits(table: &HostTable) -> String {
    let is_answered = |answer: &Answer, event| table.answer(event, *answer).is_ok();
    let limits: Vec<String> = table
        .events
        .iter()
        .filter(|event| event.install == Install::Always)
        .filter(|event| Answer::ALL.iter().any(|answer| is_answered(answer, event)))
        .map(|event| format!("{}: {}", super::layout::quoted(event.name), table.entry_ms(event)))
        .collect();
    format!("{{ {} }}", limits.join(", "))
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
