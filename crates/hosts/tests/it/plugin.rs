//! OpenCode's plugin, run by Node where there is one.

use std::process::Command;

use herdbook_hosts::{Install, opencode, table};

#[test]
fn it_forwards_the_events_that_install_registers_and_no_others() {
    for event in table("opencode").unwrap().events {
        let named = opencode::PLUGIN.contains(&format!("\"{}\"", event.name));
        assert_eq!(named, event.install == Install::Always, "{}", event.name);
    }
    assert_eq!(opencode::PLUGIN.matches("@@COMMAND@@").count(), 1);
}

#[expect(clippy::disallowed_methods, reason = "scratch files, and Node as the host would run it")]
/// Runs the plugin with a command and a script that uses its hooks as `h`; returns what the script printed.
fn run(name: &str, command: &str, script: &str) -> Option<String> {
    let folder = std::env::temp_dir().join(format!("herdbook-plugin-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let command =
        serde_json::to_string(&command.replace("OUT", folder.join("out").to_str().unwrap())).unwrap();
    std::fs::write(folder.join("plugin.mjs"), opencode::PLUGIN.replace("@@COMMAND@@", &command)).unwrap();
    let script = format!(
        "import * as plugin from './plugin.mjs'\nconst h = await Object.values(plugin)[0]({{ directory: '/srv' }})\n\
         const idle = (id) => h.event({{ event: {{ type: 'session.idle', properties: {{ sessionID: id }} }} }})\n{script}\nprocess.exit(0)\n"
    );
    std::fs::write(folder.join("run.mjs"), script).unwrap();
    let done = Command::new("node").arg("run.mjs").current_dir(&folder).output();
    let told = std::fs::read_to_string(folder.join("out")).unwrap_or_default();
    std::fs::remove_dir_all(&folder).unwrap();
    let Ok(done) = done else {
        eprintln!("{name}: skipped, there is no node");
        return None;
    };
    assert!(done.status.success() && done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(told + &String::from_utf8(done.stdout).unwrap())
}

#[test]
fn events_arrive_in_order_and_trimmed() {
    let script = "await Promise.all([idle('1'), idle('2'), idle('3')])
await h['chat.message']({ sessionID: '1' }, { message: { id: 'm' }, parts: [{ type: 'text', text: 'a' }, { type: 'file' }, { type: 'text', text: 'b' }] })
await h['tool.execute.after']({ tool: 'bash' }, { title: 't', output: 'long', metadata: { exit: 0 } })";
    let Some(told) = run("order", "cat >> OUT; echo >> OUT", script) else { return };
    let idle = |id| {
        format!(
            r#"{{"hook_event_name":"session.idle","properties":{{"sessionID":"{id}"}},"directory":"/srv"}}"#
        )
    };
    let expected = [
        idle(1),
        idle(2),
        idle(3),
        r#"{"hook_event_name":"chat.message","input":{"sessionID":"1","messageID":"m"},"output":{"prompt":"a\nb"},"directory":"/srv"}"#.to_owned(),
        r#"{"hook_event_name":"tool.execute.after","input":{"tool":"bash"},"output":{"title":"t","metadata":{"exit":0}},"directory":"/srv"}"#.to_owned(),
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_missing_program_odd_arguments_and_a_hanging_command_do_not_reach_the_host() {
    let script =
        "await idle('1'); await h.event({}); await h['chat.message'](); await h['tool.execute.after']()
const odd = {}; odd.self = odd
await h.event({ event: { type: 'session.idle', properties: odd } })
console.log('unharmed')";
    let missing = "[ -x /nonexistent/hook ] && exec /nonexistent/hook opencode; exit 0";
    if let Some(told) = run("missing", missing, script) {
        assert_eq!(told, "unharmed\n");
    }
    // The second event does not wait for the first.
    let script = "const from = performance.now(); await idle('1'); await idle('2')
console.log(performance.now() - from < 2900)";
    if let Some(told) = run("hanging", "exec sleep 3", script) {
        assert_eq!(told, "true\n");
    }
}

#[test]
fn what_waits_when_the_host_ends_is_told_and_a_hanging_command_does_not_hold_it() {
    let script = "idle('1'); idle('2'); idle('3'); await new Promise((done) => setTimeout(done, 50))";
    // Each takes longer than the host gives the first one.
    if let Some(told) = run("exit", "sed 's/.*sessionID\":\"//; s/\".*/\\n/' >> OUT; sleep 0.1", script) {
        assert_eq!(told.split_whitespace().collect::<Vec<_>>(), ["1", "2", "3"]);
    }
    let script = "const from = performance.now(); idle('1'); idle('2'); idle('3')
process.on('exit', () => console.log(performance.now() - from < 2500))";
    if let Some(told) = run("exit-hanging", "exec sleep 3", script) {
        assert_eq!(told, "true\n");
    }
}
