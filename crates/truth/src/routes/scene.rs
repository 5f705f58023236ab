//! The scripts that are played: one tool call that makes a file, then the model's last words.

use serde_json::{Value, json};

/// The hosts that can be played.
pub const HOSTS: [&str; 5] = ["claude", "codex", "gemini", "copilot", "opencode"];
/// The file that the tool makes, in the project.
pub const MADE: &str = "made.txt";
/// The file that the tool makes once its input was replaced.
pub const OTHER: &str = "other.txt";
/// A file that the examples protect. Gemini CLI refuses to write `.env` by itself.
pub const PROTECTED: &str = "package-lock.json";
/// The model's last words.
pub const LAST: &str = "The end.";
/// What it says when it is asked to go on.
pub const MORE: &str = "Went on.";

/// How a client is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In print mode; its own rules let the tool run.
    Print,
    /// In print mode; nobody can be asked, so its own rules refuse the tool.
    PrintAsked,
    /// In a pane; its own rules let the tool run.
    Pane,
    /// In a pane; it asks before the tool runs.
    Asked,
    /// In a pane; it asks, and nobody at the terminal answers.
    Held,
    /// In print mode; the model pushes with force, and writes a lock file.
    Examples,
    /// In a pane; the human compacts the conversation instead.
    Compact,
}

/// What is known of a client's command line and screen.
struct Known {
    tool: &'static str,
    /// Print mode in which the tool is allowed.
    free: &'static [&'static str],
    /// The pane takes words.
    ready: &'static str,
    /// The dialog that asks before a tool runs.
    dialog: &'static str,
    /// What ends it.
    exit: Exit,
}

enum Exit {
    Type(&'static str),
    Key(&'static str),
}

fn known(host: &str) -> Known {
    match host {
        "claude" => Known {
            tool: "Bash",
            free: &["--allowedTools", "Bash(touch *)"],
            ready: "❯",
            dialog: "Do you want",
            exit: Exit::Type("/exit"),
        },
        "codex" => Known {
            tool: "exec_command",
            free: &[],
            ready: "›",
            dialog: "Would you like to",
            exit: Exit::Type("/quit"),
        },
        "gemini" => Known {
            tool: "run_shell_command",
            free: &["--approval-mode", "yolo"],
            ready: "Type your message",
            dialog: "Allow execution|Allow once",
            exit: Exit::Type("/quit"),
        },
        "copilot" => Known {
            tool: "bash",
            free: &["--allow-all-tools"],
            ready: "❯|>",
            dialog: "Do you want",
            exit: Exit::Type("/exit"),
        },
        _ => Known {
            tool: "bash",
            free: &[],
            ready: "Ask anything|ctrl\\+p|commands",
            dialog: "Permission required",
            exit: Exit::Key("C-c"),
        },
    }
}

/// The dialog of a host, as a regular expression.
pub fn dialog(host: &str) -> &'static str {
    known(host).dialog
}

/// The input of the host's shell tool that makes a file. `asks` is for hosts whose model asks for leave itself.
pub fn input(host: &str, file: &str, asks: bool) -> Value {
    let command = format!("touch {file}");
    match (host, asks) {
        ("codex", true) => json!({
            "cmd": command,
            "sandbox_permissions": "require_escalated",
            "justification": "Need to write outside the workspace?",
        }),
        ("codex", false) => json!({"cmd": command}),
        _ => json!({"command": command, "description": "Touch a file"}),
    }
}

/// The call that writes the lock file.
fn writes(host: &str) -> Value {
    let text = "{}\n";
    let (name, input) = match host {
        "claude" => ("Write", json!({"file_path": format!("{{WS}}/{PROTECTED}"), "content": text})),
        "gemini" => ("write_file", json!({"file_path": PROTECTED, "content": text})),
        "copilot" => ("create", json!({"path": format!("{{WS}}/{PROTECTED}"), "file_text": text})),
        "opencode" => ("write", json!({"filePath": format!("{{WS}}/{PROTECTED}"), "content": text})),
        _ => {
            let patch = format!("*** Begin Patch\n*** Add File: {PROTECTED}\n+{{}}\n*** End Patch\n");
            return json!({"type": "custom_tool", "name": "apply_patch", "input": patch});
        }
    };
    json!({"type": "tool", "name": name, "input": input})
}

/// Makes the driver's scenario.
pub fn scenario(host: &str, mode: Mode) -> Value {
    let known = known(host);
    let asks = matches!(mode, Mode::Asked | Mode::Held | Mode::PrintAsked);
    let says = |text: &str| json!({"blocks": [{"type": "text", "text": text}]});
    let call = json!({"blocks": [{"type": "tool", "name": known.tool, "input": input(host, MADE, asks)}]});
    let turns = match mode {
        Mode::Compact => vec![says(LAST), says(MORE)],
        Mode::Examples => {
            let push = format!("git push --force origin main; touch {MADE}");
            let push = match host {
                "codex" => json!({"cmd": push}),
                _ => json!({"command": push, "description": "Push"}),
            };
            let push = json!({"blocks": [{"type": "tool", "name": known.tool, "input": push}]});
            vec![push, json!({"blocks": [writes(host)]}), says(LAST), says(MORE)]
        }
        _ => vec![call, says(LAST), says(MORE)],
    };
    // What clients ask their model besides.
    let title = says("Demo session");
    let router = says("{\"complexity_reasoning\":\"simple\",\"complexity_score\":10}");
    let summary = says("Summary: the user said go.");
    let settings = match (host, mode) {
        // Its default is to let a classifier decide.
        ("claude", Mode::Pane) => {
            json!({"permissions": {"defaultMode": "default", "allow": ["Bash(touch *)"]}})
        }
        ("claude", _) => json!({"permissions": {"defaultMode": "default"}}),
        ("opencode", Mode::Asked | Mode::Held | Mode::PrintAsked) => json!({"permission": {"bash": "ask"}}),
        _ => json!({}),
    };
    json!({
        "client": host,
        "files": {"README.md": "# demo\n"},
        "settings": settings,
        "model": {
            "lanes": [
                {"match": {"last_user_contains": "Do not answer the request"}, "turns": [title], "repeat_last": true},
                {"match": {"body_contains": "complexity_score"}, "turns": [router], "repeat_last": true},
                {"match": {"last_user_contains": "CHECKPOINT"}, "turns": [summary], "repeat_last": true},
            ],
            "turns": turns,
        },
        "sessions": [session(&known, mode)],
        "config_tail": [
            "[notice]",
            "hide_full_access_warning = true",
            "[notice.model_migrations]",
            "\"gpt-5.5\" = \"gpt-6-sol\"",
        ],
    })
}

fn session(known: &Known, mode: Mode) -> Value {
    let free = match mode {
        Mode::Examples if known.tool == "Bash" => &["--allowedTools", "Bash", "Write"],
        Mode::Print | Mode::Examples => known.free,
        // Claude's rule is in its settings: a flag that takes many words would swallow the next one.
        Mode::Pane if known.tool != "Bash" => known.free,
        _ => &[],
    };
    if matches!(mode, Mode::Print | Mode::PrintAsked | Mode::Examples) {
        return json!({"mode": "print", "prompt": "go", "args": free, "timeout": 60});
    }
    let enter = json!({"keys": ["Enter"]});
    let mut steps = vec![
        json!({"wait": known.ready, "timeout": 60}),
        json!({"sleep": 2}),
        json!({"type": "go"}),
        enter.clone(),
    ];
    if mode == Mode::Compact {
        steps.extend([
            json!({"wait": regex(LAST), "timeout": 30}),
            json!({"sleep": 1}),
            json!({"type": "/compact"}),
            enter.clone(),
            json!({"wait": "[Cc]ompact(ed|ion)|[Ss]topped|[Bb]locked", "timeout": 15, "optional": true}),
            json!({"sleep": 2}),
        ]);
    } else if mode == Mode::Held {
        steps.extend([
            json!({"wait": known.dialog, "timeout": 60}),
            json!({"wait": regex(LAST), "timeout": 30, "optional": true}),
            json!({"sleep": 1}),
        ]);
    } else {
        steps.extend([
            json!({"wait": format!("{}|{}", known.dialog, regex(LAST)), "timeout": 60, "optional": true}),
            json!({"sleep": 1}),
            json!({"snap": "asked"}),
            enter.clone(),
            json!({"wait": format!("{}|{}", regex(LAST), regex(MORE)), "timeout": 15, "optional": true}),
            json!({"sleep": 1}),
        ]);
    }
    steps.push(json!({"snap": "after"}));
    match known.exit {
        Exit::Type(words) => steps.extend([json!({"type": words}), enter]),
        Exit::Key(key) => steps.push(json!({"keys": [key]})),
    }
    json!({"mode": "tui", "args": free, "steps": steps})
}

fn regex(words: &str) -> String {
    words.replace('.', "\\.")
}
