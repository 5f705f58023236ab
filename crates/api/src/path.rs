//! Paths with a session key inside. Keys are foreign text and may hold slashes, dots and control characters.

use std::fmt::Write;

/// Returns text as one URL path segment: every byte outside `A-Z a-z 0-9 - _ ~` becomes `%XX`, dots included, so that
/// no key is read as `.` or `..`.
pub fn encode_segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') {
            segment.push(byte as char);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(segment, "%{byte:02X}");
        }
    }
    segment
}

/// Returns `/v1/sessions/{key}` followed by `rest` (empty or `/why`).
pub fn session_path(key: &str, rest: &str) -> String {
    format!("/v1/sessions/{}{rest}", encode_segment(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_leaves_its_segment() {
        assert_eq!(session_path("claude-1_a~", ""), "/v1/sessions/claude-1_a~");
        assert_eq!(session_path("../a b?#\n%", "/why"), "/v1/sessions/%2E%2E%2Fa%20b%3F%23%0A%25/why");
    }
}
