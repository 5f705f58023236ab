//! Plugin files: whole files of ours, in which the command stands as a JSON string.

use super::command::is_ours;
use super::{Entry, SettingsError};

/// Where the template takes the command.
const PLACE: &str = "@@COMMAND@@";

/// Returns the plugin's text, unless a file that is not ours is in its place.
pub(super) fn install(template: &str, command: &str, text: Option<&str>) -> Result<String, SettingsError> {
    if let Some(text) = text
        && !text.trim().is_empty()
        && our_command(text).is_none()
    {
        return Err(SettingsError::Foreign);
    }
    Ok(template.replace(PLACE, &super::layout::quoted(command)))
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
