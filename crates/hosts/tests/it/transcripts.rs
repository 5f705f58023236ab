//! Transcripts that real clients wrote are read whole, and tell what their runs were about.

use std::fs;

use herdbook_events::{Told, WaitKind};
use herdbook_hosts::transcript::{Known, Reader};

use crate::shared::folder;

#[test]
fn recorded_transcripts_are_read_whole_and_tell_each_interrupt_once() {
    let Some(shared) = folder("recorded_transcripts_are_read_whole_and_tell_each_interrupt_once") else {
        return;
    };
    let (mut files, mut lines, mut children) = (0, 0, Vec::new());
    let mut interrupted = Vec::new();
    for host in ["claude", "codex", "copilot", "gemini"] {
        let folders = fs::read_dir(shared.join("transcripts")).unwrap().map(|entry| entry.unwrap().path());
        let of_host = folders.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(host));
        let mut paths: Vec<_> =
            of_host.flat_map(|path| fs::read_dir(path).unwrap()).map(|e| e.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.sort();
        for path in paths {
            let (mut reader, mut known) = (Reader::new(host), Known::default());
            let name = format!("{host} {}", path.file_stem().unwrap().to_string_lossy());
            files += 1;
            for line in fs::read(&path).unwrap().split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
            {
                lines += 1;
                let read = reader.line(line, &mut known);
                assert!(
                    !read.skipped && read.records.len() == 1,
                    "{name}: {}",
                    String::from_utf8_lossy(line)
                );
                for told in &read.records[0].told {
                    if matches!(told, Told::TurnEnded { kind: WaitKind::Interrupted, .. }) {
                        interrupted.push(name.clone());
                    }
                }
            }
            assert!(reader.session().is_some(), "{name} names its session");
            if reader.is_child() {
                children.push(name);
            }
        }
    }
    let expected = [
        "claude interrupt-streaming",
        "claude interrupt-tool",
        "claude permission-deny",
        "claude sigint-print",
        "codex interrupt-streaming",
        "codex interrupt-tool",
        "codex permission-deny",
        "codex request-user-input-esc",
        "copilot interrupt-streaming",
        "gemini interrupt-streaming",
    ];
    assert_eq!(interrupted, expected);
    assert_eq!(children, ["claude subagent.agent1", "codex subagent.2"]);
    assert!(files > 100 && lines > 3_000, "{files} files, {lines} lines");
}
