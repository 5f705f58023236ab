//! Maps the roles that tables name to functions of the product.

use herdbook_redact::Redactor;
use serde_json::Value;

/// The roles a table may name.
pub const ROLES: [&str; 13] = [
    "pane_state",
    "parse_panes",
    "jump_plan",
    "same_process",
    "agent_of_pane",
    "watching_clients",
    "clean_line",
    "tmux_option_text",
    "tmux_job_text",
    "session_folder",
    "hook_command",
    "project_key",
    "redact",
];

/// Why a row could not be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The product has no such function yet.
    NotBuilt,
    /// The row's input has another shape.
    Input(String),
}

/// Calls the function behind a role.
///
/// # Errors
/// The function is not built yet, or the input has another shape.
pub fn call(role: &str, input: &Value) -> Result<Value, CallError> {
    let text = || input.as_str().ok_or_else(|| CallError::Input("must be a text".into()));
    Ok(match role {
        "clean_line" => herdbook_redact::clean_line(text()?).into(),
        "tmux_option_text" => herdbook_redact::tmux_option_text(text()?).into(),
        "tmux_job_text" => herdbook_redact::tmux_job_text(text()?).into(),
        // Any key will do: marks of one run are compared with each other, never with those of another.
        "redact" => Redactor::new(&[0; 32]).text(text()?).into_owned().into(),
        _ => return Err(CallError::NotBuilt),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn roles_take_the_shape_of_input_that_their_tables_have() {
        assert_eq!(call("tmux_job_text", &json!("a #(b)")), Ok(json!("a ##(b)")));
        assert_eq!(call("redact", &json!("nothing here")), Ok(json!("nothing here")));
        assert_eq!(call("clean_line", &json!(1)), Err(CallError::Input("must be a text".into())));
    }
}
