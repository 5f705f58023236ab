//! A log told to people.

use herdbook_story::Line;
use herdbook_story::tell::{Row, RowKind, Teller, Telling};

use crate::shared;

/// Tells lines; each row as seq, label and words, details with a bar.
fn told(lines: &[String], telling: Telling) -> Vec<String> {
    let mut teller = Teller::new(telling);
    let mut rows: Vec<Row> = lines.iter().flat_map(|line| teller.push(&Line::read(line).unwrap())).collect();
    rows.extend(teller.finish());
    rows.iter().map(print).collect()
}

fn print(row: &Row) -> String {
    match row.kind {
        RowKind::Detail => format!("  | {}", row.text()),
        RowKind::Total => format!("= {} {}", row.label, row.text()),
        RowKind::Turn | RowKind::Step => format!("{} {}: {}", row.seq, row.label, row.text()),
    }
}

fn brief(lines: &[String]) -> Vec<String> {
    told(lines, Telling::default())
}

/// Makes the line of an event.
fn line(seq: u64, event_type: &str, payload: &str) -> String {
    let ts = 1_767_225_600_000 + 1_000 * seq;
    format!(
        r#"{{"v":1,"id":"01KDVDNA7T00000000000000{seq:02}","sessionId":"s","seq":{seq},"ts":{ts},"type":"{event_type}","payload":{payload}}}"#
    )
}

fn requested(seq: u64, id: &str, name: &str, input: &str) -> String {
    let payload = format!(
        r#"{{"blockIndex":0,"input":{input},"requestId":"r","toolName":"{name}","toolUseId":"{id}"}}"#
    );
    line(seq, "tool.requested", &payload)
}

fn failed(seq: u64, id: &str, kind: &str, text: &str) -> String {
    let payload =
        format!(r#"{{"durationMs":0,"errorKind":"{kind}","modelText":"{text}","toolUseId":"{id}"}}"#);
    line(seq, "tool.failed", &payload)
}

fn asked(seq: u64) -> String {
    let payload =
        r#"{"capability":"exec","descriptor":"Run make","permissionRequestId":"p","toolUseId":"t"}"#;
    line(seq, "permission.requested", payload)
}

const GRANTED: &str = r#"{"permissionRequestId":"p","scope":"once"}"#;

/// The lines of a log.
fn lines(log: &str) -> Vec<String> {
    log.lines().map(str::to_owned).collect()
}

#[test]
fn the_example_is_told_step_by_step() {
    let rows = brief(&lines(shared::OWN_EXAMPLE)).join("\n") + "\n";
    assert_eq!(rows, include_str!("tell/example.txt"), "{rows}");
}

#[test]
fn the_workflow_is_told_step_by_step() {
    let rows = brief(&lines(shared::OWN_WORKFLOW)).join("\n") + "\n";
    assert_eq!(rows, include_str!("tell/workflow.txt"), "{rows}");
}

#[test]
fn told_whole_and_live_every_event_has_its_row() {
    let catalog = shared::catalog("told_whole_and_live_every_event_has_its_row", "example.jsonl");
    for log in [shared::OWN_EXAMPLE, shared::OWN_WORKFLOW, catalog.as_deref().unwrap_or_default()] {
        let mut teller = Teller::new(Telling { full: true, live: true });
        for line in lines(log) {
            let line = Line::read(&line).unwrap();
            let rows = teller.push(&line);
            assert!(rows.iter().all(|row| row.seq == line.seq || row.kind == RowKind::Detail), "{rows:?}");
            // These say nothing of their own: what they lead to does.
            let is_silent = matches!(
                line.event_type.as_str(),
                "tool.requested"
                    | "tool.approved"
                    | "file.read"
                    | "file.modified"
                    | "process.started"
                    | "memory.written"
            );
            let is_empty_thought = line.payload.get().ends_with("\"thinking\":\"\"}");
            assert_eq!(rows.is_empty(), is_silent || is_empty_thought, "{} {}", line.seq, line.event_type);
        }
        assert!(teller.finish().iter().all(|row| row.kind == RowKind::Total));
    }
}

#[test]
fn whole_texts_keep_their_lines_and_brief_ones_are_one_line() {
    let text = r#"{"mentions":[],"text":"First line\n\n  indented\tmore"}"#;
    let lines = [line(1, "user.message-created", text)];
    assert_eq!(brief(&lines), ["1 you: First line indented more"]);
    let full = told(&lines, Telling { full: true, live: false });
    assert_eq!(full, ["1 you: First line", "  | ", "  |   indented    more"]);
    let long = format!(r#"{{"mentions":[],"text":"{}"}}"#, "x".repeat(5_000));
    let lines = [line(1, "user.message-created", &long)];
    assert_eq!(brief(&lines), [format!("1 you: {}…", "x".repeat(400))]);
    assert_eq!(told(&lines, Telling { full: true, live: false }), [format!("1 you: {}", "x".repeat(5_000))]);
}

#[test]
fn of_a_long_diff_the_beginning_is_told_and_the_rest_is_counted() {
    let diff = |count: usize| {
        let lines: String = (0..count).map(|n| format!("+{n}\\n")).collect();
        let payload = format!(
            r#"{{"diff":"{lines}","diffStats":{{"added":{count},"removed":0}},"operation":"edit","path":"a.rs","toolUseId":"x"}}"#
        );
        brief(&[line(1, "file.modified", &payload)])
    };
    assert_eq!(diff(2), ["  | edit a.rs · +2 -0", "  | +0", "  | +1"]);
    assert_eq!(diff(13).len(), 14);
    let cut = diff(14);
    assert_eq!((cut.len(), cut[13].as_str()), (14, "  | … 2 more lines"));
}

#[test]
fn waiting_is_measured_within_one_run_only() {
    let answered = |between: &[String]| {
        let mut lines = vec![asked(1)];
        lines.extend_from_slice(between);
        lines.push(line(9, "permission.granted", GRANTED));
        brief(&lines)
    };
    assert_eq!(answered(&[])[0], "9 waited: exec: Run make · granted after 8.0 s");
    let resumed =
        line(5, "session.resumed", r#"{"khaelorVersion":"2","model":"m","replayedSeq":4,"toolNames":[]}"#);
    assert_eq!(answered(&[resumed])[1], "9 waited: exec: Run make · granted");
    // A clock that went back measures nothing.
    let mut back = [asked(1), line(2, "permission.granted", GRANTED)];
    back[1] = back[1].replace("\"ts\":1767225602000", "\"ts\":1767225600000");
    assert_eq!(brief(&back)[0], "2 waited: exec: Run make · granted");
    // The question stands before the telling.
    assert_eq!(brief(&[line(2, "permission.granted", GRANTED)])[0], "2 waited: granted");
}

#[test]
fn what_is_open_at_the_end_is_told() {
    let lines = [requested(1, "t", "bash", r#"{"command":"make"}"#), asked(2)];
    assert_eq!(brief(&lines), ["2 waits: exec: Run make · no answer yet", "1 bash: make · no end yet"]);
    let live = told(&lines, Telling { full: false, live: true });
    assert_eq!(live[0], "2 waits: exec: Run make · for you");
}

#[test]
fn a_failure_says_why_once() {
    let lines = [
        requested(1, "t", "bash", r#"{"command":"make"}"#),
        failed(2, "t", "exec-error", "no make here\\n"),
        failed(3, "u", "permission-denied", "Permission denied: no."),
    ];
    assert_eq!(
        brief(&lines),
        [
            "2 bash: make · failed: exec-error · no make here",
            "3 tool: u · failed: permission-denied",
            "= turn 2 tools (2 failed)"
        ]
    );
}

#[test]
fn what_cannot_be_read_has_a_row_of_its_own() {
    let lines = [
        line(1, "user.sighed", "{}"),
        line(2, "user.message-created", r#"{"text":7}"#),
        line(3, "session.renamed", r#"{"title":"x"}"#).replace("\"v\":1", "\"v\":2"),
    ];
    let rows = brief(&lines);
    assert_eq!(rows[0], "1 unread: user.sighed: type is 'user.sighed', which is not in the catalog");
    assert!(rows[1].starts_with("2 unread: user.message-created: payload"), "{}", rows[1]);
    assert_eq!(rows[2], "3 unread: session.renamed: v is 2, this build reads 1");
}
