//! Maps the roles that tables name to functions of the product.

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
    let _ = (role, input);
    Err(CallError::NotBuilt)
}
