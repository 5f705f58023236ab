//! Waiting on hosts whose tool uses have no ids: Gemini CLI and Droid.

use herdbook_events::Origin;

use crate::Herd;

fn hook(herd: &mut Herd, host: &str, event: &str, members: &str) {
    let body = format!(r#"{{"session_id":"1","hook_event_name":"{event}",{members}}}"#);
    herd.hook(host, &body, Origin::default());
}

fn tool(herd: &mut Herd, event: &str, name: &str, input: &str) {
    hook(
        herd,
        "gemini",
        event,
        &format!(r#""tool_name":"{name}","tool_input":{input},"tool_response":{{}}"#),
    );
}

fn dialog(herd: &mut Herd, details: &str) {
    let members = format!(
        r#""notification_type":"ToolPermission","message":"Tool requires confirmation","details":{details}"#
    );
    hook(herd, "gemini", "Notification", &members);
}

fn shown(herd: &Herd) -> (String, String) {
    let queue = herd.engine.queue(herd.now);
    (herd.state("gemini-1"), queue.first().map(|entry| entry.message.clone()).unwrap_or_default())
}

/// A Gemini session with a prompt in.
fn prompted() -> Herd {
    let mut herd = Herd::new();
    hook(&mut herd, "gemini", "SessionStart", r#""source":"startup""#);
    hook(&mut herd, "gemini", "BeforeAgent", r#""prompt":"x""#);
    herd.wait(1_000);
    herd
}

#[test]
fn each_dialog_of_gemini_waits_until_its_own_tool_is_over() {
    let dialogs = [
        (
            ("run_shell_command", r#"{"command":"touch made.txt","description":"Touch a file"}"#),
            r#"{"type":"exec","title":"Confirm Shell Command","command":"touch made.txt","rootCommand":"touch"}"#,
            ("stuck/permission", "Tool: run_shell_command | Command: touch made.txt"),
        ),
        (
            ("write_file", r#"{"file_path":"src/app.py","content":"x"}"#),
            r#"{"type":"edit","title":"Confirm Write: src/app.py","fileName":"app.py","filePath":"/home/dev/proj/src/app.py"}"#,
            ("stuck/permission", "Tool: Confirm Write: src/app.py | Path: /home/dev/proj/src/app.py"),
        ),
        (
            ("web_fetch", r#"{"prompt":"read it"}"#),
            r#"{"type":"info","title":"Confirm Web Fetch","prompt":"read it","urls":[]}"#,
            ("stuck/permission", "Tool: Confirm Web Fetch | read it"),
        ),
        (
            ("ask_user", r#"{"questions":[{"question":"Which one?","header":"Which"}]}"#),
            r#"{"type":"ask_user","title":"Ask User"}"#,
            ("stuck/question", "Tool: ask_user | Question: Which one?"),
        ),
        (
            ("exit_plan_mode", r#"{"plan_filename":"plan.md"}"#),
            r#"{"type":"exit_plan_mode","title":"Exit Plan Mode"}"#,
            ("stuck/plan", r#"Tool: exit_plan_mode | {"plan_filename":"plan.md"}"#),
        ),
    ];
    for ((name, input), details, (state, message)) in dialogs {
        let mut herd = prompted();
        // A call that was allowed already is over before the dialog opens.
        tool(&mut herd, "BeforeTool", "read_file", r#"{"file_path":"README.md"}"#);
        tool(&mut herd, "AfterTool", "read_file", r#"{"file_path":"README.md"}"#);
        herd.wait(1_000);
        tool(&mut herd, "BeforeTool", name, input);
        herd.wait(200);
        dialog(&mut herd, details);
        assert_eq!(shown(&herd), (state.to_owned(), message.to_owned()));
        assert_eq!(herd.engine.sessions()[0].pending, 1, "{name}: one wait");
        herd.wait(5_000);
        tool(&mut herd, "AfterTool", name, input);
        assert_eq!(herd.state("gemini-1"), "working", "{name}");
    }
}

#[test]
fn a_tool_of_a_server_is_known_by_server_and_name() {
    let mut herd = prompted();
    let call = r#""tool_name":"mcp_my_server_look_up","tool_input":{"q":1},"mcp_context":{"server_name":"my server","tool_name":"look.up"}"#;
    hook(&mut herd, "gemini", "BeforeTool", call);
    dialog(
        &mut herd,
        r#"{"type":"mcp","title":"Confirm MCP Tool Execution","serverName":"my server","toolName":"look.up"}"#,
    );
    assert_eq!(shown(&herd), ("stuck/permission".into(), "Tool: mcp_my server_look.up".into()));
    herd.wait(1_000);
    hook(&mut herd, "gemini", "AfterTool", &format!(r#"{call},"tool_response":{{}}"#));
    assert_eq!(herd.state("gemini-1"), "working");
}

#[test]
fn the_first_end_of_a_batch_answers_all_its_dialogs() {
    let mut herd = prompted();
    // As recorded of 0.61.0: three calls at once, two dialogs one after the other, then all three run.
    let (short, long) = (r#"{"command":"touch a"}"#, r#"{"command":"touch b && sleep 400"}"#);
    tool(&mut herd, "BeforeTool", "read_file", r#"{"file_path":"README.md"}"#);
    tool(&mut herd, "BeforeTool", "run_shell_command", short);
    tool(&mut herd, "BeforeTool", "run_shell_command", long);
    herd.wait(300);
    dialog(&mut herd, r#"{"type":"exec","title":"Confirm Shell Command","command":"touch a"}"#);
    dialog(&mut herd, r#"{"type":"exec","title":"Confirm Shell Command","command":"touch b && sleep 400"}"#);
    assert_eq!((shown(&herd).0.as_str(), herd.engine.sessions()[0].pending), ("stuck/permission", 2));
    herd.wait(5_000);
    tool(&mut herd, "AfterTool", "read_file", r#"{"file_path":"README.md"}"#);
    assert_eq!(herd.state("gemini-1"), "working");
    tool(&mut herd, "AfterTool", "run_shell_command", short);
    herd.wait(400_000);
    tool(&mut herd, "AfterTool", "run_shell_command", long);
    assert_eq!(herd.state("gemini-1"), "working");
}

#[test]
fn a_command_that_the_human_broke_off_ends_the_turn_quietly() {
    // As recorded of 0.61.0; the second one only prints those words.
    for (said, state, calls) in [
        (
            "Command was cancelled by user before it could complete. There was no output",
            "stuck/interrupted",
            1,
        ),
        ("Output: Command was cancelled by user before it could complete.", "working", 1),
    ] {
        let mut herd = prompted();
        let call = r#""tool_name":"run_shell_command","tool_input":{"command":"sleep 6"}"#;
        hook(&mut herd, "gemini", "BeforeTool", call);
        dialog(&mut herd, r#"{"type":"exec","title":"Confirm Shell Command","command":"sleep 6"}"#);
        herd.wait(60_000);
        let response = format!(r#""tool_response":{{"llmContent":"<untrusted_context>\n{said}\n"}}"#);
        hook(&mut herd, "gemini", "AfterTool", &format!("{call},{response}"));
        assert_eq!(herd.state("gemini-1"), state);
        herd.wait(60_000);
        assert_eq!(herd.calls.len(), calls, "the human knows what he did");
    }
}

#[test]
fn a_session_of_gemini_ends_once_and_another_notice_opens_nothing() {
    let mut herd = prompted();
    hook(&mut herd, "gemini", "Notification", r#""notification_type":"Other","message":"m","details":{}"#);
    assert_eq!(herd.state("gemini-1"), "working");
    hook(&mut herd, "gemini", "AfterAgent", r#""prompt":"x","prompt_response":"Touched.""#);
    assert_eq!(shown(&herd), ("stuck/turn_end".into(), "Touched.".into()));
    herd.take_published();
    for second in 0..3 {
        hook(&mut herd, "gemini", "SessionEnd", &format!(r#""reason":"exit","timestamp":"{second}""#));
    }
    assert_eq!(herd.take_published(), ["unstuck gemini-1", "ended gemini-1"]);
}

#[test]
fn droid_tells_by_text_alone_and_its_permission_belongs_to_the_last_call() {
    let mut herd = Herd::new();
    let call = r#""permission_mode":"off","tool_name":"Execute","tool_input":{"command":"make"}"#;
    hook(&mut herd, "droid", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(1_000);
    hook(&mut herd, "droid", "PreToolUse", call);
    herd.wait(1_000);
    let asks = r#""message":"Droid needs your permission to use Execute""#;
    hook(&mut herd, "droid", "Notification", asks);
    herd.wait(10_000);
    hook(&mut herd, "droid", "Notification", asks);
    let queue = herd.engine.queue(herd.now);
    assert_eq!(queue[0].message, "Droid needs your permission to use Execute");
    assert_eq!((herd.state("droid-1").as_str(), herd.engine.sessions()[0].pending), ("stuck/permission", 1));
    hook(&mut herd, "droid", "PostToolUse", call);
    assert_eq!(herd.state("droid-1"), "working");
    hook(&mut herd, "droid", "Stop", r#""stop_hook_active":false"#);
    assert_eq!(herd.state("droid-1"), "stuck/turn_end");
    herd.wait(60_000);
    hook(&mut herd, "droid", "Notification", r#""message":"Droid is waiting for your input""#);
    assert_eq!((herd.queue().len(), herd.calls.len()), (1, 2), "a reminder is no news");
}

#[test]
fn another_notice_of_droid_still_opens_a_wait_after_a_permission() {
    let mut herd = Herd::new();
    let call = r#""tool_name":"Execute","tool_input":{"command":"make"}"#;
    hook(&mut herd, "droid", "UserPromptSubmit", r#""prompt":"x""#);
    herd.wait(1_000);
    hook(&mut herd, "droid", "PreToolUse", call);
    hook(&mut herd, "droid", "Notification", r#""message":"Droid needs your permission to use Execute""#);
    herd.wait(5_000);
    hook(&mut herd, "droid", "PostToolUse", call);
    assert_eq!(herd.state("droid-1"), "working");
    herd.wait(5_000);
    hook(&mut herd, "droid", "Notification", r#""message":"Droid has a question""#);
    assert_eq!(herd.state("droid-1"), "stuck/dialog");
}
