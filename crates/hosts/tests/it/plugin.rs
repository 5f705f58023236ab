//! OpenCode's plugin, run by Node where there is one.

use std::process::Command;

use herdbook_hosts::settings::{self, Before, Needs};
use herdbook_hosts::{Install, opencode, table};

#[test]
fn it_forwards_the_events_that_install_registers_and_no_others() {
    for event in table("opencode").unwrap().events {
        let named = opencode::PLUGIN.contains(&format!("\"{}\"", event.name));
        assert_eq!(named, event.install == Install::Always, "{}", event.name);
    }
    assert_eq!(opencode::PLUGIN.matches("@@COMMAND@@").count(), 1);
    assert_eq!(opencode::PLUGIN.matches("@@LIMITS@@").count(), 1);
}

#[test]
fn it_waits_at_the_events_that_can_be_answered() {
    let table = table("opencode").unwrap();
    let command = |_: &[&str]| "true".to_owned();
    let text = settings::install(table, None, &Needs::NONE, &command, None, Before::Unknown).unwrap();
    assert!(
        text.contains(
            "const LIMITS = { \"chat.message\": 5000, \"tool.execute.before\": 5000, \
             \"experimental.session.compacting\": 5000 }\n"
        ),
        "{text}"
    );
}

#[expect(clippy::disallowed_methods, reason = "scratch files, and Node as the host would run it")]
/// Runs the plugin with a command and a script that uses its hooks as `h`; returns what the script printed.
fn run(name: &str, command: &str, script: &str) -> Option<String> {
    let folder = std::env::temp_dir().join(format!("herdbook-plugin-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let command =
        serde_json::to_string(&command.replace("OUT", folder.join("out").to_str().unwrap())).unwrap();
    let limits =
        "{ 'chat.message': 3000, 'tool.execute.before': 1500, 'experimental.session.compacting': 3000 }";
    let plugin = opencode::PLUGIN.replace("@@LIMITS@@", limits).replace("@@COMMAND@@", &command);
    std::fs::write(folder.join("plugin.mjs"), plugin).unwrap();
    let script = format!(
        "import * as plugin from './plugin.mjs'\nconst h = await Object.values(plugin)[0]({{ directory: '/srv' }})\n\
         const before = async (args) => {{
  const output = {{ args }}
  try {{ await h['tool.execute.before']({{ tool: 'bash', sessionID: 's' }}, output) }} catch (error) {{ return 'thrown: ' + error.message }}
  return JSON.stringify(output.args === args ? args : 'another object')
}}
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

#[test]
fn answers_are_done_at_the_events_that_can_be_answered() {
    let script = r#"console.log(await before({ command: 'deny it', n: 1 }))
console.log(await before({ command: 'change it', n: 1 }))
console.log(await before({ command: 'nothing' }))
const message = { message: { id: 'msg_1' }, parts: [{ id: 'prt_1', messageID: 'msg_1', sessionID: 's', type: 'text', text: 'a' }] }
await h['chat.message']({ sessionID: 's' }, message)
console.log(JSON.stringify(message.parts[1]), message.parts.length)
const compacting = { context: ['mine'] }
await h['experimental.session.compacting']({ sessionID: 's' }, compacting)
console.log(JSON.stringify(compacting))
await idle('1')
await h['tool.execute.after']({ tool: 'bash' }, { title: 't' })"#;
    let command = r#"read -r told; case $told in
*deny*) printf '%s' '{"throw":"not\nthat"}';;
*change*) echo '{"set":{"output.args":{"command":"ls","deep":{"a":[1]}}}}';;
*chat.message*) echo '{"append":{"output.parts":"mind the tests"}}';;
*compacting*) echo '{"append":{"output.context":"mind the tests"}}';;
*nothing*) ;;
*) echo '{"throw":"a bus event cannot be answered"}';;
esac"#;
    let Some(told) = run("answers", command, script) else { return };
    assert_eq!(
        told.lines().collect::<Vec<_>>(),
        [
            "thrown: not",
            "that",
            r#"{"command":"ls","deep":{"a":[1]}}"#,
            r#"{"command":"nothing"}"#,
            r#"{"id":"prt_1z","sessionID":"s","messageID":"msg_1","type":"text","synthetic":true,"text":"mind the tests"} 2"#,
            r#"{"context":["mine","mind the tests"]}"#,
        ]
    );
}

#[test]
fn a_route_sees_the_whole_of_what_it_decides_about() {
    let script = "await before({ command: 'x'.repeat(100_000) + 'END' })";
    let Some(told) = run("whole", "cat > OUT", script) else { return };
    assert!(told.contains("xxxEND") && told.len() > 100_000);
}

#[test]
fn no_failure_of_an_answer_reaches_the_host() {
    let script =
        "console.log(await before({ a: 1 })); await h['chat.message'](); await h['tool.execute.before']()
await h['experimental.session.compacting']()";
    for (name, command) in [
        ("no-json", "echo no"),
        ("no-object", "echo null"),
        ("other", r#"echo '{"throw":{"a":1},"set":3,"append":{"output.parts":"x"},"return":{}}'"#),
        ("nowhere", r#"echo '{"append":{"output.nowhere":"x"}}'"#),
        ("failed", r#"echo '{"throw":"x"}'; exit 1"#),
        ("flood", "yes"),
        ("missing", "[ -x /nonexistent/hook ] && exec /nonexistent/hook opencode; exit 0"),
    ] {
        let Some(told) = run(name, command, script) else { return };
        assert_eq!(told, "{\"a\":1}\n", "{name}");
    }
}

#[test]
fn what_is_denied_fails_whatever_else_cannot_be_done() {
    let script = "console.log(await before({ a: 1 }))";
    for (name, rest) in [("append", r#""append":{"output.nowhere":"x"}"#), ("set", r#""set":3,"append":[7]"#)]
    {
        let command = format!("echo '{{{rest},\"throw\":\"no\"}}'");
        let Some(told) = run(&format!("denied-{name}"), &command, script) else { return };
        assert_eq!(told, "thrown: no\n", "{name}");
    }
}

#[test]
fn an_answer_that_takes_too_long_is_not_waited_for_and_the_command_is_ended() {
    // The limit is 1.5 s; the hanging command before it has 5 s of its own.
    let script = "const from = performance.now()
console.log(await before({ a: 1 }), performance.now() - from >= 1400, performance.now() - from < 4000)
idle('1'); console.log(await before({ a: 2 }), performance.now() - from < 6000)";
    if let Some(told) = run("slow", "echo $$ >> OUT; exec sleep 30", script) {
        let (pids, printed) = told.split_at(told.find('{').unwrap());
        assert_eq!(printed, "{\"a\":1} true true\n{\"a\":2} true\n");
        let pid = pids.lines().next().unwrap();
        assert!(!std::path::Path::new("/proc").join(pid).join("exe").exists(), "{pid} is ended");
    }
}

#[test]
fn answers_to_calls_side_by_side_do_not_wait_for_each_other() {
    // One after the other they would take longer than the 1.5 s that each may.
    let script = "const done = []
const calls = Promise.all([before({}), before({}), before({})]).then((said) => { done.push(said.join()) })
await idle('1'); done.push('told')
await calls; console.log(done.join(' '))";
    let command = r#"read -r told; case $told in
*execute.before*) sleep 0.6; echo '{"throw":"no"}';;
esac"#;
    if let Some(told) = run("side-by-side", command, script) {
        assert_eq!(told, "told thrown: no,thrown: no,thrown: no\n");
    }
}
