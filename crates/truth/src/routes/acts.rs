//! What is played with real routes, and what must be seen.

use super::forms::Sees::{self, Asked, Blocked, NotAsked, Ran, Rewritten, Unwritten, WentOn};
use super::forms::WORD;
use super::live::{Act, Script};
use super::scene::{HOSTS, Mode};

const fn script(id: &'static str, text: &'static str, toml: &'static str) -> Script {
    Script { id, text, toml, fails: false }
}

const fn failing(id: &'static str, text: &'static str, toml: &'static str) -> Script {
    Script { id, text, toml, fails: true }
}

const NOTHING: Script = script("tool/before/nothing", "#!/bin/sh\nexec cat >/dev/null\n", "");
const DENY: Script = script(
    "tool/before/deny",
    "#!/bin/sh\ncat >/dev/null\necho '{\"outcome\":\"deny\",\"reason\":\"The quagga says so.\"}'\n",
    "",
);
const ASK: Script = script(
    "tool/before/ask",
    "#!/bin/sh\ncat >/dev/null\necho '{\"outcome\":\"ask\",\"reason\":\"The quagga says so.\"}'\n",
    "",
);
const ALLOW: Script = script(
    "tool/before/allow",
    "#!/bin/sh\ncat >/dev/null\necho '{\"outcome\":\"allow\"}'\n",
    "hosts = [\"claude\", \"copilot\"]\nmay = [\"allow\"]\n",
);
const REWRITE: Script = script(
    "tool/before/rewrite",
    "#!/bin/sh\ncat >/dev/null\necho '{\"outcome\":\"allow\",\"updatedInput\":{\"command\":\"touch other.txt\",\"description\":\"Touch\"}}'\n",
    "hosts = [\"claude\", \"codex\", \"copilot\"]\nmay = [\"allow\", \"updatedInput\"]\n",
);
const REWRITE_ONLY: Script = script(
    "tool/before/rewrite",
    "#!/bin/sh\ncat >/dev/null\necho '{\"updatedInput\":{\"command\":\"touch other.txt\",\"description\":\"Touch\"}}'\n",
    "hosts = [\"gemini\", \"opencode\"]\nmay = [\"updatedInput\"]\n",
);
const TELL: Script = script(
    "prompt/submit/tell",
    "#!/bin/sh\ncat >/dev/null\necho '{\"context\":\"The quagga says so.\"}'\n",
    "",
);
const GO_ON: Script = script(
    "stop/go-on",
    "#!/bin/sh\ncase $(cat) in *'\"stop_hook_active\":true'*) ;; *) echo '{\"outcome\":\"deny\",\"reason\":\"The quagga says so.\"}' ;; esac\n",
    "",
);
/// It crashes, says something that is none of its business, and leaves a child behind that holds its output open.
const CRASH: Script = failing(
    "tool/before/crash",
    "#!/bin/sh\necho 'herdbook: {broken'\necho 'herdbook: hook failed' >&2\nsleep 100 &\nkill -SEGV $$\n",
    "",
);
const HANG: Script = failing("tool/before/hang", "#!/bin/sh\nsleep 100\n", "timeout_ms = 1000\n");
const CLOSED: Script = failing("tool/before/closed", "#!/bin/sh\nexit 3\n", "fail = \"closed\"\n");
const CLOSED_HANG: Script =
    failing("tool/before/closed", "#!/bin/sh\nsleep 100\n", "fail = \"closed\"\ntimeout_ms = 1000\n");

const IN_SHELL: Script = script(
    "tool/before/no-force-push.sh",
    include_str!("../../../../examples/routes/tool/before/no-force-push.sh"),
    include_str!("../../../../examples/routes/tool/before/no-force-push.sh.toml"),
);
const IN_TYPESCRIPT: Script = script(
    "tool/before/protect-files.ts",
    include_str!("../../../../examples/routes/tool/before/protect-files.ts"),
    "",
);

const READ: &[&str] = &[WORD];

/// All acts of all hosts.
pub fn acts() -> Vec<Act> {
    HOSTS.into_iter().flat_map(of_host).collect()
}

fn of_host(host: &'static str) -> Vec<Act> {
    let act = |name, scripts, mode, sees: &'static [Sees]| Act {
        name,
        host,
        scripts,
        mode,
        sees,
        reads: &[],
        traceless: false,
    };
    let mut acts = vec![
        Act { traceless: true, ..act("no route", &[], Mode::Print, &[Ran]) },
        Act { traceless: true, ..act("route that does nothing", &[NOTHING], Mode::Print, &[Ran]) },
        Act { reads: READ, ..act("deny", &[DENY, NOTHING, CRASH], Mode::Print, &[Blocked]) },
        Act { reads: READ, ..act("context", &[TELL], Mode::Print, &[Ran]) },
        Act { traceless: true, ..act("dialog without a route", &[], Mode::Asked, &[Asked, Ran]) },
        Act { traceless: true, ..act("dialog with a route", &[NOTHING], Mode::Asked, &[Asked, Ran]) },
        Act { traceless: true, ..act("crash", &[CRASH], Mode::Print, &[Ran]) },
        Act { traceless: true, ..act("hang", &[HANG], Mode::Print, &[Ran]) },
        Act { reads: &["tool/before/closed"], ..act("closed crash", &[CLOSED], Mode::Print, &[Blocked]) },
        Act { reads: &["tool/before/closed"], ..act("closed hang", &[CLOSED_HANG], Mode::Print, &[Blocked]) },
        Act {
            reads: &["Force pushes are not allowed", "the package manager writes it"],
            ..act("examples", &[IN_SHELL, IN_TYPESCRIPT], Mode::Examples, &[Blocked, Unwritten])
        },
    ];
    match host {
        "claude" | "copilot" => acts.extend([
            act("allow", &[ALLOW], Mode::Asked, &[NotAsked, Ran]),
            act("ask", &[ASK], Mode::Pane, &[Asked, Ran]),
            act("other input", &[REWRITE], Mode::Asked, &[NotAsked, Rewritten]),
        ]),
        "codex" => acts.extend([
            // What it cannot be told becomes stricter.
            Act { reads: READ, ..act("ask", &[ASK], Mode::Print, &[Blocked]) },
            act("other input", &[REWRITE], Mode::Print, &[Rewritten]),
        ]),
        "gemini" => acts.extend([
            Act { reads: READ, ..act("ask", &[ASK], Mode::Print, &[Blocked]) },
            act("other input", &[REWRITE_ONLY], Mode::Print, &[Rewritten]),
        ]),
        _ => acts.push(act("other input", &[REWRITE_ONLY], Mode::Print, &[Rewritten])),
    }
    if host != "opencode" {
        acts.push(Act { reads: READ, ..act("stop", &[GO_ON], Mode::Print, &[WentOn]) });
    }
    acts
}

/// What Codex cannot be told is refused before it comes to that.
pub const REFUSED: Script = script(
    "tool/before/allow",
    "#!/bin/sh\necho '{\"outcome\":\"allow\"}'\n",
    "hosts = [\"codex\"]\nmay = [\"allow\"]\n",
);
