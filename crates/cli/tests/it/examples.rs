//! The example routes, unchanged, under every host that has hooks: what each would be told.

use std::fs;
use std::path::{Path, PathBuf};

use herdbook_events::Family;
use herdbook_hosts::{installable, sample};
use serde_json::{Value, json};

use crate::install::{Machine, put};
use crate::support::{finish, write_program};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> PathBuf {
    project().join("examples/routes/tool/before").join(name)
}

/// Runs a route for the first `tool/before` event of a host, in which a tool is called with that input.
fn tried(machine: &Machine, route: &str, host: &str, tool: Option<&str>, input: &Value) -> Value {
    let table = herdbook_hosts::table(host).unwrap();
    let event = table.routed(Family::ToolBefore).next().unwrap();
    let usual = json!({"command": "git status", "description": "Show what was changed"});
    let native = replaced(sample(table, event, tool), &usual, input);
    let file = machine.env.path().join("payload.json");
    put(&file, native.to_string().as_bytes());
    let ran =
        machine.run(&["route", "test", route, "--host", host, "--event", file.to_str().unwrap(), "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{host}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Puts another input in the place of the usual one, also where it stands in a string.
fn replaced(native: Value, usual: &Value, input: &Value) -> Value {
    match native {
        value if value == *usual => input.clone(),
        Value::String(text) => Value::String(text.replace(&usual.to_string(), &input.to_string())),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, replaced(value, usual, input))).collect()
        }
        other => other,
    }
}

/// What a host would be told, whole.
fn told(shown: &Value) -> String {
    let stdout = shown["stdout"].as_str().unwrap_or_default();
    format!("{stdout}{}", shown["stderr"].as_str().unwrap_or_default())
}

#[test]
fn a_force_push_is_denied_in_the_shell_of_every_host() {
    let machine = Machine::new();
    let folder = machine.home().join(".config/herdbook/routes/tool/before");
    fs::create_dir_all(&folder).unwrap();
    write_program(&folder.join("no-force-push.sh"), &fs::read(example("no-force-push.sh")).unwrap());
    put(&folder.join("no-force-push.sh.toml"), &fs::read(example("no-force-push.sh.toml")).unwrap());
    let listed = machine.run(&["route", "ls", "--json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["routes"][0]["state"], &listed["refused"]), (&json!("new"), &json!([])), "{listed}");
    let mut hosts = 0;
    for table in installable() {
        let shown = |command: &str| {
            tried(&machine, "no-force-push.sh", table.host, None, &json!({"command": command}))
        };
        for command in [
            "git push --force",
            "git push -f origin main",
            "cd \"/srv/my repo\" && git push origin main --force",
            "git -C /srv/repo push origin +main",
            "git push \"--force\"",
            "git status\ngit push -uf origin",
        ] {
            let shown = shown(command);
            assert_eq!(
                (&shown["outcome"], &shown["runs"]),
                (&json!("deny"), &json!(true)),
                "{command}: {shown}"
            );
            assert!(told(&shown).contains("Force pushes are not allowed here"), "{command}: {shown}");
        }
        for command in [
            "git push origin main",
            "git push --force-with-lease",
            "git push origin fix-f && make -f Makefile",
            "git pull --force",
            "digit push -f",
        ] {
            let shown = shown(command);
            assert_eq!(
                (&shown["outcome"], told(&shown).as_str()),
                (&json!("continue"), ""),
                "{command}: {shown}"
            );
        }
        hosts += 1;
    }
    assert_eq!(hosts, 7);
}

/// Compiles the TypeScript example as its README says. Nothing where there is no compiler; says so by the test's name.
#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "asks the compiler of another language")]
fn compiled(test: &str, machine: &Machine) -> Option<Vec<u8>> {
    let package = project().join("clients/ts");
    let tsc = package.join("node_modules/.bin/tsc");
    if !tsc.is_file() {
        println!("skipped: {test}: no TypeScript (npm ci --prefix clients/ts)");
        return None;
    }
    let run = |folder: &Path, words: &[&str]| {
        let mut command = std::process::Command::new(fs::canonicalize(&tsc).unwrap());
        command.current_dir(folder).args(words);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    };
    let scratch = machine.env.path().join("my-routes");
    let installed = scratch.join("node_modules/herdbook");
    fs::create_dir_all(&installed).unwrap();
    fs::copy(package.join("package.json"), installed.join("package.json")).unwrap();
    let built = installed.join("dist");
    run(&package, &["-p", "tsconfig.json", "--outDir", built.to_str().unwrap()]);
    fs::copy(example("protect-files.ts"), scratch.join("protect-files.ts")).unwrap();
    // In the place of @types/node.
    let node = "declare const process: { stdin: { setEncoding(encoding: string): void;\
                on(event: string, listener: (piece: string) => void): void }; stdout: { write(text: string): void } };";
    put(&scratch.join("node.d.ts"), node.as_bytes());
    let flags =
        ["--ignoreConfig", "--strict", "--target", "es2022", "--module", "nodenext", "--outDir", "out"];
    run(
        &scratch,
        &[&flags[..], &["--lib", "es2022", "--types", "", "protect-files.ts", "node.d.ts"]].concat(),
    );
    Some(fs::read(scratch.join("out/protect-files.js")).unwrap())
}

#[test]
fn files_are_protected_from_the_tools_of_every_host() {
    let machine = Machine::new();
    let Some(script) = compiled("files_are_protected_from_the_tools_of_every_host", &machine) else { return };
    let folder = machine.home().join(".config/herdbook/routes/tool/before");
    fs::create_dir_all(&folder).unwrap();
    write_program(&folder.join("protect-files.js"), &script);
    // A busy machine starts Node slowly.
    put(&folder.join("protect-files.js.toml"), b"timeout_ms = 60000\n");
    // How each host names its tool for writing, and the file.
    for (host, tool, key) in [
        ("claude", "Write", "file_path"),
        ("cursor", "Write", "file_path"),
        ("gemini", "write_file", "file_path"),
        ("copilot", "create", "path"),
        ("opencode", "write", "filePath"),
        ("droid", "Create", "file_path"),
    ] {
        let shown = |path: &str| {
            tried(&machine, "protect-files.js", host, Some(tool), &json!({key: path, "content": "x"}))
        };
        let env = shown("/home/dev/project/.env");
        assert_eq!(env["outcome"], "deny", "{host}: {env}");
        assert!(
            told(&env).contains("/home/dev/project/.env is not to be written: it holds secrets."),
            "{host}: {env}"
        );
        let example = shown("/home/dev/project/.env.example");
        assert_eq!(
            (&example["outcome"], told(&example).as_str()),
            (&json!("continue"), ""),
            "{host}: {example}"
        );
    }
    let patch = json!({"command": "*** Begin Patch\n*** Update File: web/package-lock.json\n@@\n-a\n+b\n*** End Patch"});
    let shown = tried(&machine, "protect-files.js", "codex", Some("apply_patch"), &patch);
    assert_eq!(shown["outcome"], "deny", "{shown}");
    assert!(told(&shown).contains("web/package-lock.json is not to be written"), "{shown}");
    let read = tried(
        &machine,
        "protect-files.js",
        "claude",
        Some("Read"),
        &json!({"file_path": "/home/dev/project/.env"}),
    );
    assert_eq!(read["outcome"], "continue", "reading is free: {read}");
}
