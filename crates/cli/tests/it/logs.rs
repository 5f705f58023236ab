//! `herdbook log` over files; over sessions in `logs/`.

mod aftercare;
mod import;
mod keys;
mod show;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{Ran, TestEnv};

/// A small log without checksums.
const UNSEALED: &str = include_str!("logs/unsealed.jsonl");

/// The same log with checksums.
const SEALED: &str = include_str!("logs/sealed.jsonl");

/// Runs `herdbook log` over this text.
fn log(verb: &str, text: impl AsRef<[u8]>, more: &[&str]) -> Ran {
    let env = TestEnv::new();
    std::fs::File::create(env.path().join("log"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_ref()))
        .unwrap();
    env.run(&[&["log", verb, "log"], more].concat())
}

/// The findings of `check --json`: rule, level, seq, field.
fn findings(text: impl AsRef<[u8]>, more: &[&str]) -> Vec<(String, String, u64, String)> {
    let ran = log("check", text, &[&["--json"], more].concat());
    assert_eq!(ran.stderr, "");
    let found: Vec<_> = ran
        .stdout
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            let word = |member: &str| value[member].as_str().unwrap().to_owned();
            assert!(!word("message").is_empty(), "{line}");
            assert_eq!(value.as_object().unwrap().len(), 5, "{line}");
            (word("rule"), word("level"), value["seq"].as_u64().unwrap(), word("field"))
        })
        .collect();
    assert_eq!(ran.code, i32::from(found.iter().any(|finding| finding.1 == "error")), "{}", ran.stdout);
    found
}

fn finding(rule: &str, level: &str, seq: u64, field: &str) -> (String, String, u64, String) {
    (rule.to_owned(), level.to_owned(), seq, field.to_owned())
}

#[test]
fn ls_lists_seq_time_and_type() {
    for text in [UNSEALED, SEALED] {
        let ran = log("ls", text, &[]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), 8);
        assert_eq!(lines[0], "1\t1767225600250\tsession.started");
        assert_eq!(lines[7], "8\t1767225602000\tmodel.request-failed");
    }
}

#[test]
fn ls_reads_lines_that_are_spelled_in_another_way_and_names_those_that_are_none() {
    let text = "{\"type\": \"a\\u0062\\t\", \"seq\": 7, \"ts\": 1.5}\n\nnull\n{\"seq\":1,\"ts\":2}\n\u{ff}";
    let mut bytes = text.as_bytes().to_vec();
    bytes.truncate(bytes.len() - 1);
    let ran = log("ls", bytes, &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.starts_with("7\t1.5\tab"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let errors: Vec<&str> = ran.stderr.lines().collect();
    assert!(errors[0].starts_with("error: line 2: is no JSON object"), "{}", ran.stderr);
    assert!(errors[1].starts_with("error: line 3: is no JSON object"), "{}", ran.stderr);
    assert_eq!(errors[2], "error: line 4: 'type' is missing or has another type");
    assert!(errors[3].starts_with("error: line 5: is no UTF-8"), "{}", ran.stderr);
    assert_eq!(errors[4], "error: 4 faults in 5 lines");
}

#[test]
fn a_right_log_has_no_findings() {
    for (text, sealed) in [(UNSEALED, "unsealed"), (SEALED, "with checksums")] {
        assert_eq!(findings(text, &[]), []);
        let ran = log("check", text, &["--strict"]);
        let words = format!("8 lines, {sealed}, native profile: 0 errors, 0 warnings\n");
        assert_eq!((ran.code, ran.stdout, ran.stderr.as_str()), (0, words, ""));
    }
}

#[test]
fn a_finding_names_its_rule_and_place() {
    let version = UNSEALED.replace(
        "{\"v\":1,\"id\":\"01KDVDNA7T0000000000000080\"",
        "{\"v\":2,\"id\":\"01KDVDNA7T0000000000000080\"",
    );
    assert!(findings(&version, &[]).contains(&finding("E1", "error", 8, "v")));
    let unknown = UNSEALED.replace("task.verification-requested", "task.verification-pondered");
    assert!(findings(&unknown, &[]).contains(&finding("E7", "error", 6, "type")));
    let open = UNSEALED.lines().take(3).collect::<Vec<_>>().join("\n");
    assert_eq!(findings(&open, &[]), []);
    assert_eq!(findings(&open, &["--strict"]), [finding("Z1", "error", 3, "requestId")]);
    let ran = log("check", &unknown, &[]);
    assert!(ran.stdout.starts_with("line 6, seq 6: error E7: type: "), "{}", ran.stdout);
    assert_eq!(ran.code, 1);
}

#[test]
fn rules_about_untold_steps_only_warn_in_an_imported_log() {
    let third = UNSEALED.replace("\"attempt\":1", "\"attempt\":2");
    let level = |profile: &str| {
        let found = findings(&third, &["--profile", profile]);
        found.into_iter().find(|finding| finding.0 == "V1").map(|finding| finding.1)
    };
    assert_eq!((level("native").as_deref(), level("imported").as_deref()), (Some("error"), Some("warn")));
}

#[test]
fn a_changed_byte_of_a_sealed_log_is_found_at_its_line() {
    let changed = SEALED.replace("It rings.", "It sings.");
    assert_eq!(findings(&changed, &[]), [finding("crc", "error", 4, "crc")]);
    let ran = log("replay", &changed, &[]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("error: log line 4 (seq 4): the checksum does not fit\n"),
        "{}",
        ran.stderr
    );
    let ran = log("replay", &changed, &["--as", "messages", "--at", "3"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(log("replay", &changed, &["--as", "messages", "--at", "4"]).code, 1);
}

#[test]
fn replay_counts_types() {
    for text in [UNSEALED, SEALED] {
        let ran = log("replay", text, &[]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert_eq!(
            ran.stdout,
            concat!(
                "model.request-failed\t1\nmodel.request-started\t2\nmodel.response-completed\t1\n",
                "model.text-block-completed\t1\nsession.started\t1\ntask.verification-requested\t1\n",
                "user.message-created\t1\n"
            )
        );
    }
}

#[test]
fn replay_names_wrong_envelopes_by_line() {
    let wrong = |from: &str, to: &str| log("replay", UNSEALED.replace(from, to), &[]).stderr;
    let missing: String =
        UNSEALED.lines().filter(|line| !line.contains("\"seq\":4,")).collect::<Vec<_>>().join("\n");
    assert!(log("replay", &missing, &[]).stderr.starts_with("error: line 4: 'seq' is 5, must be 4\n"));
    assert!(wrong("\"ts\":1767225600500", "\"ts\":0").starts_with("error: line 2: 'ts' must be a positive"));
    assert!(wrong("0000000030", "000000003").starts_with("error: line 3: 'id' is no ULID\n"));
    assert!(
        wrong("user.message-created", "user.sighed").starts_with("error: line 2: type 'user.sighed' is not")
    );
    // A line that cannot be read, a wrong number and an empty line are named once; the lines behind them are right.
    let counted = "error: 1 fault in 8 lines\n";
    for (from, to, why) in [
        ("{\"v\":1,\"id\":\"01KDVDNA7T0000000000000030\"", "{", "is no JSON"),
        ("\"seq\":3,", "\"seq\":30,", "'seq' is 30, must be 3"),
        ("\"seq\":3,", "\"seq\":1,", "'seq' is 1, must be 3"),
        ("\"seq\":3,", "", "'seq' is missing or has another type"),
    ] {
        let stderr = wrong(from, to);
        assert!(stderr.starts_with(&format!("error: line 3: {why}")), "{stderr}");
        assert!(stderr.contains(counted), "{why}: {stderr}");
    }
    let empty = log("replay", UNSEALED.replacen('\n', "\n\n", 1), &[]).stderr;
    assert!(empty.starts_with("error: line 2: is no JSON object"), "{empty}");
    assert!(empty.contains("error: 1 fault in 9 lines\n"), "{empty}");
    let end = UNSEALED.len();
    for cut in 2..12 {
        let ran = log("replay", &UNSEALED[..end - cut], &[]);
        assert!(ran.stderr.starts_with("error: line 8: is no JSON object"), "{cut}: {}", ran.stderr);
    }
}

/// The history of the log, with the nudge as this text.
fn history(nudge: &str) -> String {
    let texts = [
        r#"[{"role":"user","content":[{"type":"text","text":"Ring after 3 minutes"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"It rings."}]},"#,
        r#"{"role":"user","content":[{"type":"text","text":""#,
        nudge,
        "\"}]}]\n",
    ];
    texts.concat()
}

#[test]
fn replay_prints_the_exact_history_as_of_a_line() {
    for text in [UNSEALED, SEALED] {
        let at = |seq: &str| {
            let template = "Verify {attempt}/2: {detectedChecks} {x}";
            let ran = log("replay", text, &["--as", "messages", "--at", seq, "--template-nudge", template]);
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
            ran.stdout
        };
        assert_eq!(at("0"), "[]\n");
        assert_eq!(at("1"), "[]\n");
        let first = r#"[{"role":"user","content":[{"type":"text","text":"Ring after 3 minutes"}]}]"#;
        assert_eq!(at("2"), format!("{first}\n"));
        assert_eq!(at("6"), history("Verify 1/2: make test, make lint {x}"));
        assert_eq!(at("8"), at("6"));
        let whole = log("replay", text, &["--as", "messages", "--template-nudge", "again"]);
        assert_eq!(whole.stdout, history("again"));
    }
}

#[test]
fn export_leaves_out_what_the_reference_does_not_have() {
    for text in [UNSEALED, SEALED] {
        let ran = log("export", text, &["--profile", "khaelor"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, UNSEALED, ""));
    }
    let more = UNSEALED.replace("\"attempt\":1", "\"attempt\":1,\"nudgeText\":\"verify\"");
    assert_eq!(log("export", &more, &["--profile", "khaelor"]).stdout, UNSEALED);
    let changed = SEALED.replace("It rings.", "It sings.");
    let ran = log("export", &changed, &["--profile", "khaelor"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 3));
    assert!(ran.stderr.starts_with("error: log line 4 (seq 4): the checksum does not fit"), "{}", ran.stderr);
}

#[test]
fn replay_refuses_what_the_log_does_not_say() {
    let ran = log("replay", UNSEALED, &["--as", "messages", "--at", "9"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert_eq!(ran.stderr, "error: the log ends at seq 8, there is no seq 9\n");
    let unknown = UNSEALED.replace("user.message-created", "user.sighed");
    let ran = log("replay", &unknown, &["--as", "messages"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.starts_with("error: line 2: the history cannot be told from seq 2 on: "),
        "{}",
        ran.stderr
    );
    assert_eq!(log("replay", UNSEALED, &["--at", "3"]).code, 2);
    let env = TestEnv::new();
    let ran = env.run(&["log", "ls", "./nowhere"]);
    assert!(ran.stderr.starts_with("error: could not read ./nowhere: "), "{}", ran.stderr);
}

#[test]
fn no_bytes_make_a_command_panic() {
    let mut bytes = SEALED.as_bytes().to_vec();
    for at in (0..bytes.len()).step_by(97) {
        bytes[at] ^= 0x80 >> (at % 8);
    }
    for (verb, more) in [
        ("ls", &[][..]),
        ("check", &[]),
        ("replay", &[]),
        ("replay", &["--as", "messages"]),
        ("export", &["--profile", "khaelor"]),
    ] {
        for text in [&bytes[..], b"", b"\n\n", b"{", &[0; 300_000]] {
            let ran = log(verb, text, more);
            assert!(ran.code <= 1 && !ran.stderr.contains("panicked"), "{verb}: {}", ran.stderr);
        }
    }
}

/// The example log of the catalog, and what must be made of it. Says by name which test is skipped without them.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "reference data is found by the environment; a skipped test says so"
)]
fn catalog(test: &str) -> Option<(String, String)> {
    let named = std::env::var_os("HERDBOOK_SHARED").map(std::path::PathBuf::from);
    let folder =
        named.unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into()).join("catalog");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let found = read("example.jsonl").zip(read("example-history.json"));
    if found.is_none() {
        println!("skipped: {test}: no shared catalog");
    }
    found
}

/// The example log of the catalog, and the histories that it must give.
#[test]
fn the_example_of_the_catalog_passes_and_gives_its_histories() {
    let Some((text, known)) = catalog("the_example_of_the_catalog_passes_and_gives_its_histories") else {
        return;
    };
    assert_eq!(log("export", &text, &["--profile", "khaelor"]).stdout, text);
    let errors: Vec<_> = findings(&text, &[]).into_iter().filter(|finding| finding.1 == "error").collect();
    assert_eq!(errors, []);
    let known: Value = serde_json::from_str(&known).unwrap();
    let template = |name: &str| known["templates"][name].as_str().unwrap();
    let requests = known["requests"].as_array().unwrap();
    assert!(!requests.is_empty());
    for request in requests {
        // A request sees what stands before it.
        let at = (request["seq"].as_u64().unwrap() - 1).to_string();
        let more = [
            "--as",
            "messages",
            "--at",
            &at,
            "--template-checkpoint",
            template("checkpoint"),
            "--template-nudge",
            template("nudge"),
        ];
        let ran = log("replay", &text, &more);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let messages = ran.stdout.strip_suffix('\n').unwrap();
        assert_eq!(
            messages.len() as u64,
            request["bytes"].as_u64().unwrap(),
            "before seq {}",
            request["seq"]
        );
        let digest: String = Sha256::digest(messages).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, request["sha256"], "before seq {}", request["seq"]);
        if let Some(exact) = request["messages"].as_str() {
            assert_eq!(messages, exact);
        }
    }
}
