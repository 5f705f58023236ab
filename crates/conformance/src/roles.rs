//! Maps the roles that tables name to functions of the product.

use herdbook_machine::{Caller, Client, Identity, JumpTarget, ListAnswer, TreeProcess};
use herdbook_redact::Redactor;
use serde::Deserialize;
use serde_json::{Value, json};

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
    Ok(match role {
        "clean_line" => herdbook_redact::clean_line(text(input)?).into(),
        "tmux_option_text" => herdbook_redact::tmux_option_text(text(input)?).into(),
        "tmux_job_text" => herdbook_redact::tmux_job_text(text(input)?).into(),
        // Any key will do: marks of one run are compared with each other, never with those of another.
        "redact" => Redactor::new(&[0; 32]).text(text(input)?).into_owned().into(),
        "pane_state" => {
            let answer: ListAnswer = read(input)?;
            json!(herdbook_machine::pane_state(text(&input["ask"])?, &answer))
        }
        "parse_panes" => {
            let fields = texts(&input["fields"])?;
            let rows =
                herdbook_machine::parse_panes(&fields, text(&input["separator"])?, text(&input["text"])?);
            json!(rows)
        }
        "jump_plan" => {
            let target: Option<JumpTarget> = read(&input["target"])?;
            json!(herdbook_machine::jump_plan(&read::<Caller>(input)?, target.as_ref()))
        }
        "same_process" => {
            let (recorded, now) = (maybe_identity(&input["recorded"])?, maybe_identity(&input["now"])?);
            json!(herdbook_machine::same_process(recorded.as_ref(), now.as_ref()))
        }
        "agent_of_pane" => {
            let command = input.get("command").or_else(|| input.get("foreground")).unwrap_or(&Value::Null);
            let tree = input.get("tree").or_else(|| input.get("processes")).unwrap_or(&Value::Null);
            json!(herdbook_machine::agent_of_pane(text(command)?, &read::<Vec<TreeProcess>>(tree)?))
        }
        "watching_clients" => {
            let clients: Vec<Client> = read(&input["clients"])?;
            let now_ms = match (input["now_ms"].as_u64(), input["now"].as_u64()) {
                (Some(now_ms), _) => now_ms,
                // tmux tells its times in seconds.
                (None, Some(now)) => now.saturating_mul(1000),
                (None, None) => return Err(CallError::Input("needs now or now_ms".into())),
            };
            json!(herdbook_machine::watching_clients(&clients, now_ms))
        }
        "session_folder" => {
            let host = text(&input["host"])?;
            let folder = |id: &&str| herdbook_machine::session_folder(&format!("{host}-{id}"));
            json!(texts(&input["ids"])?.iter().map(folder).collect::<Vec<_>>())
        }
        "hook_command" => {
            let args = texts(&input["args"])?;
            herdbook_machine::hook_command(text(&input["os"])?, text(&input["exe"])?, &args).into()
        }
        "project_key" => {
            let keys = texts(input)?.into_iter().map(herdbook_machine::project_key);
            json!(keys.collect::<Vec<_>>())
        }
        _ => return Err(CallError::NotBuilt),
    })
}

fn text(value: &Value) -> Result<&str, CallError> {
    value.as_str().ok_or_else(|| CallError::Input(format!("{value} must be a text")))
}

fn texts(value: &Value) -> Result<Vec<&str>, CallError> {
    let members =
        value.as_array().ok_or_else(|| CallError::Input(format!("{value} must be a list of texts")))?;
    members.iter().map(text).collect()
}

fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, CallError> {
    T::deserialize(value).map_err(|error| CallError::Input(error.to_string()))
}

fn maybe_identity(value: &Value) -> Result<Option<Identity>, CallError> {
    read(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn roles_take_the_shape_of_input_that_their_tables_have() {
        assert_eq!(call("tmux_job_text", &json!("a #(b)")), Ok(json!("a ##(b)")));
        let ids = json!({"host": "claude", "ids": ["a", "A"]});
        assert_eq!(call("session_folder", &ids).unwrap().as_array().map(Vec::len), Some(2));
        assert_eq!(call("same_process", &json!({"recorded": null, "now": null})), Ok(json!("unknown")));
        let client = json!({"tty": "/dev/pts/1", "activity": 1_000, "flags": "attached", "pane": "%1"});
        let watched = |now: u64| call("watching_clients", &json!({"clients": [client], "now": now}));
        assert_eq!((watched(1_010), watched(9_000)), (Ok(json!(["/dev/pts/1"])), Ok(json!([]))));
        assert_eq!(call("redact", &json!("nothing here")), Ok(json!("nothing here")));
        assert_eq!(call("clean_line", &json!(1)), Err(CallError::Input("1 must be a text".into())));
    }
}
