//! How much longer does each step of a client take with our hooks?
//!
//! A step is from one request to the model to the next: the client runs a tool (`echo`), and before and after it our
//! hooks. The same ten steps are played without any hooks and with ours; the driver captures nothing. A machine that has
//! other things to do makes single steps long, so medians are compared, and the ways take turns.

use std::fs::File;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::harm::Fault;
use crate::herd::Herd;
use crate::lines;
use crate::play::{Places, drive, install};

/// The hosts that can be measured.
pub const HOSTS: [&str; 5] = ["claude", "codex", "gemini", "copilot", "opencode"];
/// How many tools the model calls, one after the other.
const STEPS: usize = 10;

/// With which hooks, and what answers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// No hooks at all.
    Bare,
    /// Ours, and a daemon that answers.
    Up,
    /// Ours, and something is broken.
    Broken(Fault),
}

impl Way {
    /// Each of them, the bare one first.
    pub const ALL: [Way; 5] = [
        Way::Bare,
        Way::Up,
        Way::Broken(Fault::HookRemoved),
        Way::Broken(Fault::DaemonStopped),
        Way::Broken(Fault::DaemonFrozen),
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Way::Bare => "no hooks",
            Way::Up => "daemon up",
            Way::Broken(fault) => fault.words(),
        }
    }
}

/// Plays ten steps and returns how long each took, in milliseconds.
///
/// # Errors
/// They could not be played to the end.
pub fn measure(host: &str, way: Way, places: &Places) -> Result<Vec<f64>, String> {
    let folder = places.anew(&format!("{host}-steps"))?;
    let programs = folder.join("bin");
    crate::harm::copy_programs(&places.programs, &programs)?;
    let script = folder.join("steps.json");
    File::create(&script)
        .and_then(|mut file| file.write_all(scenario(host).to_string().as_bytes()))
        .map_err(|error| format!("{}: {error}", script.display()))?;
    let herd = Herd::start(&folder, &programs, &places.path)?;
    let before = match way {
        Way::Bare => "true".to_owned(),
        Way::Up => install(&programs, host),
        Way::Broken(fault) => format!("{} && {}", install(&programs, host), fault.command(&programs, &herd)),
    };
    let out = folder.join("run");
    drive(&script.display().to_string(), places, &herd, &out, &before, &["--no-capture"])?;
    if way == Way::Up
        && !herd.client.hooks().is_ok_and(|hooks| hooks.hosts.iter().any(|sent| sent.host == host))
    {
        return Err("no hook of ours was called".to_owned());
    }
    let steps = steps(&lines::read(&out.join("mock.ndjson"), usize::MAX));
    if steps.len() != STEPS {
        return Err(format!("the client made {} of {STEPS} steps", steps.len()));
    }
    Ok(steps)
}

/// Milliseconds between the requests of the script, of which other requests of the client are no part.
pub(crate) fn steps(requests: &[Value]) -> Vec<f64> {
    let of_script = requests.iter().filter(|request| lines::text(request, "lane").starts_with("main#"));
    let at: Vec<f64> = of_script.map(lines::seconds).collect();
    at.iter().zip(at.iter().skip(1)).map(|(from, to)| (to - from) * 1000.0).collect()
}

/// The middle one of some numbers, or of the two in the middle the lower; 0 when there are none.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len().saturating_sub(1) / 2;
    numbers.get(middle).copied().unwrap_or_default()
}

/// A model that calls `echo` ten times, for the driver.
fn scenario(host: &str) -> Value {
    let (tool, key, args) = match host {
        "claude" => ("Bash", "command", vec!["--allowedTools", "Bash(echo *)"]),
        "codex" => ("exec_command", "cmd", vec![]),
        "gemini" => ("run_shell_command", "command", vec!["--approval-mode", "yolo"]),
        "copilot" => ("bash", "command", vec!["--allow-all-tools"]),
        _ => ("bash", "command", vec![]),
    };
    let call = |step: usize| {
        let input = json!({key: format!("echo {step}"), "description": "Say a number"});
        json!({"blocks": [{"type": "tool", "name": tool, "input": input}]})
    };
    let end = json!({"blocks": [{"type": "text", "text": "end"}]});
    let turns: Vec<Value> = (0..STEPS).map(call).chain([end]).collect();
    // What Codex and Gemini ask their model besides.
    let title = json!({"blocks": [{"type": "text", "text": "Demo session"}]});
    let router = json!({"blocks": [{"type": "text", "text": "{\"complexity_reasoning\":\"simple\",\"complexity_score\":10}"}]});
    json!({
        "client": host,
        "files": {"README.md": "# demo\n"},
        "model": {
            "lanes": [
                {"match": {"last_user_contains": "Do not answer the request"}, "turns": [title], "repeat_last": true},
                {"match": {"body_contains": "complexity_score"}, "turns": [router], "repeat_last": true},
            ],
            "turns": turns,
        },
        "sessions": [{"mode": "print", "prompt": "go", "args": args}],
        "config_tail": [
            "[notice]",
            "hide_full_access_warning = true",
            "[notice.model_migrations]",
            "\"gpt-5.5\" = \"gpt-6-sol\"",
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_from_one_request_of_the_script_to_the_next() {
        let request = |lane: &str, at: f64| json!({"lane": lane, "ts": at});
        let requests = [
            request("main#0", 10.0),
            request("default", 10.1),
            request("main#1", 10.25),
            json!({"path": "/v1/models", "ts": 10.3}),
            request("main#2", 10.75),
        ];
        assert_eq!(steps(&requests), [250.0, 500.0]);
    }

    #[test]
    fn one_long_step_moves_no_median() {
        assert!((median(vec![9000.0, 1.0, 2.0, 4.0, 3.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }
}
