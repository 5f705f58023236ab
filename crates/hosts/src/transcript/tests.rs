use herdbook_events::{Told, WaitKind};

use super::{Known, Line, Reader, child_place, is_child_file, place, rollout_root, root};

fn read(host: &str, lines: &[&str]) -> (Reader, Vec<Line>) {
    let (mut reader, mut known) = (Reader::new(host), Known::default());
    let read = lines.iter().map(|line| reader.line(line.as_bytes(), &mut known)).collect();
    (reader, read)
}

fn told(lines: &[Line]) -> Vec<&Told> {
    lines.iter().flat_map(|line| &line.records).flat_map(|record| &record.told).collect()
}

fn ended(kind: WaitKind, message: &str) -> Told {
    Told::TurnEnded { kind, message: message.into() }
}

#[test]
fn claude_a_refusal_answers_and_its_marker_interrupts() {
    let (reader, lines) = read(
        "claude",
        &[
            r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"}]}}"#,
            r#"{"type":"user","uuid":"u2","sessionId":"s","timestamp":"1970-01-01T00:00:09.000Z","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#,
            r#"{"type":"user","uuid":"u3","sessionId":"s","promptSource":"typed","message":{"role":"user","content":"[Request interrupted by user]"}}"#,
            r#"{"type":"assistant","uuid":"u4","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#,
            r#"{"type":"user","uuid":"u5","sessionId":"s","isSidechain":true,"message":{"role":"user","content":"[Request interrupted by user]"}}"#,
            r#"{"type":"assistant","uuid":"u6","sessionId":"s","isApiErrorMessage":true,"message":{"role":"assistant","content":[{"type":"text","text":"API Error: 529"}]}}"#,
        ],
    );
    assert_eq!(
        told(&lines),
        [
            &Told::Answered { tool: "t1".into(), failed: true },
            &ended(WaitKind::Interrupted, ""),
            &ended(WaitKind::Error, "API Error: 529"),
        ]
    );
    assert_eq!(lines[1].records[0].at_ms, Some(9_000));
    assert_eq!((reader.session(), reader.is_child()), (Some("s"), false));
}

#[test]
fn welded_lines_are_split_and_bad_ones_counted() {
    let one = r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"a"}}"#;
    let two = one.replace("u1", "u2");
    let (_, lines) = read(
        "claude",
        &[&format!("{one}{two}"), "", r#"{"type":"#, "\u{0} x", one, "7", r#"{"type":"mode"}"#],
    );
    let ids = |line: &Line| line.records.iter().filter_map(|record| record.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&lines[0]), ["u1", "u2"]);
    let skipped: Vec<bool> = lines.iter().map(|line| line.skipped).collect();
    assert_eq!(skipped, [false, true, true, true, false, true, false]);
    assert!(lines[4].records[0].known && !lines[0].records[0].known);
}

#[test]
fn half_surrogates_and_bytes_that_are_no_text_do_not_lose_a_line() {
    let (mut reader, mut known) = (Reader::new("claude"), Known::default());
    let mut line = br#"{"type":"user","uuid":"u1","message":{"content":"cut \ud83c "#.to_vec();
    line.push(0xFF);
    line.extend_from_slice(br#""}}"#);
    let read = reader.line(&line, &mut known);
    assert_eq!((read.skipped, read.records[0].text.as_str()), (false, "cut \u{fffd} \u{fffd}"));
}

#[test]
fn codex_turns_start_end_fail_and_are_aborted() {
    let line = |payload: &str| {
        format!(r#"{{"timestamp":"2026-01-15T09:00:00.500Z","type":"event_msg","payload":{payload}}}"#)
    };
    let texts = [
        r#"{"timestamp":"2026-01-15T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/w","source":"cli"}}"#.to_owned(),
        line(r#"{"type":"task_started"}"#),
        line(r#"{"type":"task_complete","last_agent_message":"Done."}"#),
        line(r#"{"type":"task_complete","last_agent_message":null,"error":{"message":"bad request"}}"#),
        line(r#"{"type":"turn_aborted","reason":"interrupted"}"#),
        line(r#"{"type":"turn_aborted","reason":"replaced"}"#),
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"x"}}"#.to_owned(),
    ];
    let (_, lines) = read("codex", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        told(&lines),
        [
            &Told::Opened { cwd: Some("/w".into()), attended: Some(true) },
            &Told::TurnStarted,
            &ended(WaitKind::TurnEnd, "Done."),
            &ended(WaitKind::Error, "bad request"),
            &ended(WaitKind::Interrupted, ""),
            &Told::Answered { tool: "c1".into(), failed: false },
        ]
    );
}

#[test]
fn codex_a_fork_is_silent_about_its_parents_turns() {
    let (reader, lines) = read(
        "codex",
        &[
            r#"{"timestamp":"2026-01-15T12:00:00.000Z","type":"session_meta","payload":{"id":"child","forked_from_id":"old"}}"#,
            r#"{"timestamp":"2026-01-15T12:00:00.004Z","type":"session_meta","payload":{"id":"old"}}"#,
            r#"{"timestamp":"2026-01-15T12:00:00.020Z","type":"event_msg","payload":{"type":"task_started","turn_id":"0199a000-0000-7000-8000-000000000000"}}"#,
            r#"{"timestamp":"2026-01-15T12:00:00.021Z","type":"event_msg","payload":{"type":"task_complete"}}"#,
            r#"{"timestamp":"2026-01-15T12:03:10.200Z","type":"event_msg","payload":{"type":"task_started"}}"#,
        ],
    );
    assert_eq!((reader.session(), reader.aliases().len()), (Some("child"), 1));
    assert_eq!(told(&lines[1..]), [&Told::TurnStarted]);
    assert_eq!(
        lines.iter().map(|line| line.records[0].past).collect::<Vec<_>>(),
        [false, false, true, true, false]
    );
    // A new build copies nothing: its first turn is younger than the file.
    let (_, lines) = read(
        "codex",
        &[
            r#"{"timestamp":"2026-01-15T12:00:00.000Z","type":"session_meta","payload":{"id":"child","forked_from_id":"old"}}"#,
            r#"{"timestamp":"2026-01-15T12:00:00.020Z","type":"event_msg","payload":{"type":"task_started","turn_id":"019bc1a0-0001-7000-8000-000000000000"}}"#,
        ],
    );
    assert_eq!(told(&lines[1..]), [&Told::TurnStarted]);
    let (reader, lines) =
        read("codex", &[r#"{"type":"session_meta","payload":{"id":"c","parent_thread_id":"p"}}"#]);
    assert_eq!((reader.is_child(), told(&lines)), (true, vec![&Told::ChildOf { parent: "p".into() }]));
}

#[test]
fn copilot_and_gemini_note_an_abort() {
    let (reader, lines) = read(
        "copilot",
        &[
            r#"{"type":"session.start","data":{"sessionId":"s"},"id":"1"}"#,
            r#"{"type":"permission.completed","data":{"toolCallId":"c1","result":{"kind":"approved"}},"id":"2"}"#,
            r#"{"type":"abort","data":{"reason":"user_abort"},"id":"3"}"#,
        ],
    );
    assert_eq!(reader.session(), Some("s"));
    assert_eq!(
        told(&lines),
        [&Told::Answered { tool: "c1".into(), failed: false }, &ended(WaitKind::Interrupted, "")]
    );
    let (reader, lines) = read(
        "gemini",
        &[r#"{"sessionId":"g","kind":"main"}"#, r#"{"id":"5","type":"info","content":"Request cancelled."}"#],
    );
    assert_eq!((reader.session(), told(&lines)), (Some("g"), vec![&ended(WaitKind::Interrupted, "")]));
}

#[test]
fn places_follow_from_what_the_origin_names() {
    let origin = |vars: &[(&str, &str)]| herdbook_events::Origin {
        vars: vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        ..herdbook_events::Origin::default()
    };
    let home = origin(&[("HOME", "/home/dev")]);
    let path = |text: &str| std::path::PathBuf::from(text);
    assert_eq!(root("claude", &home), Some(path("/home/dev/.claude/projects")));
    assert_eq!(root("codex", &origin(&[("CODEX_HOME", "/c")])), Some(path("/c/sessions")));
    assert_eq!(root("claude", &origin(&[])), None);
    assert_eq!(root("claude", &origin(&[("HOME", "home")])), None);
    let state = root("copilot", &home).unwrap();
    assert_eq!(place("copilot", "a-1", &state), Some(state.join("a-1/events.jsonl")));
    assert_eq!(place("copilot", "../a", &state), None);
    let of_agent = |agent| child_place("claude", &path("/p/s.jsonl"), agent);
    assert_eq!(of_agent("a1"), Some(path("/p/s/subagents/agent-a1.jsonl")));
    assert_eq!((of_agent("../x"), of_agent("")), (None, None));
    assert!(is_child_file(&path("/p/s/subagents/x.jsonl")) && is_child_file(&path("/p/agent-1.jsonl")));
    assert!(!is_child_file(&path("/p/s.jsonl")));
    let rollout = path("/h/.codex/sessions/2026/01/15/rollout-x.jsonl");
    assert_eq!(rollout_root(&rollout), Some(&*path("/h/.codex/sessions")));
    assert_eq!(rollout_root(&path("/h/.codex/2026/01/15/rollout-x.jsonl")), None);
    assert_eq!(rollout_root(&path("/h/.codex/sessions/2026/01/15/x.log")), None);
}
