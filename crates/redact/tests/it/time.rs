//! Linear time: inputs that make a careless matcher look at every rest of the text from every place in it. With a
//! quadratic rule one of them takes minutes; all of them together take seconds, even unoptimised.

use std::time::{Duration, Instant};

use super::*;

const LENGTH: usize = 1 << 20;

#[test]
fn no_input_takes_more_than_linear_time() {
    let pieces = [
        "eyJ-",
        "eyJa.eyJa.",
        "eyJhbGciOiJI.",
        "sk-",
        "ghp_ghp_",
        "password=",
        "password=\"",
        "password='\\\"",
        "token: ",
        "authorization: bearer ",
        "://",
        "a://b:c",
        "a://b:c@",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\n\"",
        "curl -u ",
        "curl -u a",
        "bearer bearer ",
        "\u{1b}]",
        "\u{1b}[",
        "\u{9d}",
        "\u{1b}P\u{1b}\u{1b}",
        "xapp-1-",
        "hooks.slack.com/services/",
        "\\",
        "\\\\\"",
        "{\"password\":\"",
        "[",
        "é",
    ];
    let redactor = redactor();
    let start = Instant::now();
    for piece in pieces {
        let text = piece.repeat(LENGTH / piece.len());
        let _ = redactor.text(&text);
        let _ = redactor.json(&text);
        let _ = redactor.json(&format!("[\"{}\"]", text.replace('"', "\\\"")));
        let _ = herdbook_redact::clean_line(&text);
        assert!(start.elapsed() < Duration::from_secs(120), "{piece:?} repeated takes {:?}", start.elapsed());
    }
}
