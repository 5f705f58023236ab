//! Lines in the reference's form.

use herdbook_story::reference::{from_zero, reference_line};
use herdbook_story::{Checker, Options};

use crate::shared::{self, OWN_EXAMPLE, OWN_WORKFLOW};

#[test]
fn a_line_in_the_references_form_stays_byte_for_byte() {
    let theirs = shared::catalog("a_line_in_the_references_form_stays_byte_for_byte", "example.jsonl");
    for line in [OWN_EXAMPLE, OWN_WORKFLOW].into_iter().chain(theirs.as_deref()).flat_map(str::lines) {
        assert_eq!(reference_line(line).unwrap(), line);
    }
}

#[test]
fn what_the_reference_does_not_have_is_left_out() {
    let ours = r#"{"v":1,"id":"01KDVDNA7T0000000000000010","sessionId":"s","seq":7,"ts":1,"type":"model.request-started",
        "payload":{"requestId":"r","purpose":"main","model":"m","historySha256":"00","mood":1,
        "contextStats":{"sections":[{"name":"a","estimatedTokens":1,"x":2}],"estimatedInputTokens":1}},
        "src":{"host":"claude"},"crc":"9a01f3c2"}"#;
    let expected = r#"{"v":1,"id":"01KDVDNA7T0000000000000010","sessionId":"s","seq":7,"ts":1,"type":"model.request-started","payload":{"contextStats":{"estimatedInputTokens":1,"sections":[{"estimatedTokens":1,"name":"a"}]},"model":"m","purpose":"main","requestId":"r"}}"#;
    assert_eq!(reference_line(ours).unwrap(), expected);
    let unknown = ours.replace("model.request-started", "model.dreamt");
    assert_eq!(
        reference_line(&unknown).unwrap_err().to_string(),
        "type is 'model.dreamt', which the reference has not"
    );
    let later = ours.replace(r#"{"v":1"#, r#"{"v":2"#);
    assert_eq!(reference_line(&later).unwrap_err().to_string(), "v is 2, this build reads 1");
    let headless = r#"{"v":1,"type":"session.renamed","payload":{"title":"x"}}"#;
    assert_eq!(reference_line(headless).unwrap_err().to_string(), "id is missing");
}

/// Takes one off every seq of a line, by text: the inverse of what is tested.
fn to_zero(line: &str) -> String {
    let mut out = line.to_owned();
    for name in ["seq", "replayedSeq", "afterSeq", "fromSeq", "toSeq", "withheldCandidateSeq"] {
        let key = format!("\"{name}\":");
        if let Some(at) = out.find(&key) {
            let start = at + key.len();
            let end = out[start..].find(|character: char| !character.is_ascii_digit()).unwrap() + start;
            let number: u64 = out[start..end].parse().unwrap();
            out.replace_range(start..end, &(number - 1).to_string());
        }
    }
    out
}

#[test]
fn a_log_that_begins_at_0_is_renumbered_with_every_seq_in_it() {
    let theirs =
        shared::catalog("a_log_that_begins_at_0_is_renumbered_with_every_seq_in_it", "example.jsonl");
    for log in [OWN_EXAMPLE, OWN_WORKFLOW].into_iter().chain(theirs.as_deref()) {
        let mut checker = Checker::new(Options::native());
        for line in log.lines() {
            let shifted = from_zero(&to_zero(line)).unwrap();
            assert_eq!(shifted, line);
            assert_eq!(checker.push(&shifted), []);
        }
    }
    let broken = to_zero(OWN_EXAMPLE.lines().next().unwrap()).replace("\"seq\":0", "\"seq\":\"0\"");
    assert_eq!(from_zero(&broken).unwrap_err().to_string(), "seq must be a seq, from 0");
}
