//! The names under which hosts report their status to a terminal (OSC 7501).

/// Returns the host whose program reports under that name; recorded from the clients themselves.
pub fn host_of_app(app: &str) -> Option<&'static str> {
    match app {
        crate::claude::agents::APP => Some("claude"),
        "codex" => Some("codex"),
        _ => None,
    }
}
