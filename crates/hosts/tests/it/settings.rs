//! Our entries in hosts' settings: theirs survive to the byte, ours come and go.

use herdbook_hosts::settings::{Before, Entry, Needs, SettingsError, events, granted, is_ours, list, remove};
use herdbook_hosts::{Form, HostTable, Setup, Unit, claude, codex, cursor, installable};

/// A version that has everything.
pub const VERSION: Option<&str> = Some("99.0.0");

/// What `machine::guarded_command` makes; that text is frozen there.
pub fn command(args: &[&str]) -> String {
    let program = "/opt/herdbook/bin/herdbook-hook";
    format!("[ -x {program} ] && exec {program} {}; exit 0", args.join(" "))
}

/// As [`herdbook_hosts::settings::install`], where nobody knows what was there before.
pub fn install(
    table: &HostTable,
    version: Option<&str>,
    needs: &Needs,
    command: &dyn Fn(&[&str]) -> String,
    text: Option<&str>,
) -> Result<String, SettingsError> {
    herdbook_hosts::settings::install(table, version, needs, command, text, Before::Unknown)
}

/// Something waits for a long time at every event that can be registered at all.
fn all_needs(table: &HostTable) -> Needs {
    let mut needs = Needs::default();
    table.events.iter().for_each(|event| needs.add(event, 60_000));
    needs
}

fn moved(args: &[&str]) -> String {
    command(args).replace("/opt/herdbook", "/srv/new")
}

/// A table of each form, and every host's own.
pub fn tables() -> Vec<HostTable> {
    let with = |host, form| HostTable { host, setup: Setup { form, ..claude::TABLE.setup }, ..claude::TABLE };
    let own = installable().map(|table| HostTable { host: table.host, ..*table });
    let forms = [
        with("gemini", Form::Groups { matcher: Some("*"), unit: Unit::Millis, named: true, placed: false }),
        with("copilot", Form::OwnFile),
    ];
    own.chain(forms).filter(|table| !matches!(table.setup.form, Form::Plugin(_))).collect()
}

/// True for a host whose whole file is ours.
pub fn is_own_file(table: &HostTable) -> bool {
    table.setup.form == Form::OwnFile
}

/// Settings as they are met, without entries of ours. `EVENT` stands for the host's first event.
const SETTINGS: &[&str] = &[
    "{}",
    "{ }",
    "{\n}\n",
    "{\r\n}\r\n",
    "\u{feff}{}",
    "\u{feff}{\r\n\t\"model\": \"large\"\r\n}\r\n",
    "{\"model\":\"large\"}",
    "{\"model\":\"large\",\"hooks\":{}}",
    "{\n  \"model\": \"large\"\n}\n",
    "{\n    \"model\": \"large\",\n    \"permissions\": { \"allow\": [\"a\", \"b\"] }\n}",
    "{\n\t\"model\": \"large\", // mine\n\t/* keep */ \"x\": [1, 2, 3,],\n}\n",
    "// first\n{\n  // in\n  \"model\": \"large\" // at the end\n  // last\n}\n// after",
    "{ // c\n}",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": { /* none yet */ }\n}\n",
    "{\n  \"hooks\": {\n    // none yet\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"EVENT\": []\n  },\n  \"z\": 1\n}\n",
    "{\n  \"hooks\": {\n    \"EVENT\": [\n    ],\n  },\n}\n",
    "{\n  \"hooks\": {\n    \"EVENT\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}]\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"EVENT\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"theirs\", // why\n            \"timeout\": 10\n          }\n        ]\n      } // group\n    ]\n  }\n}\n",
    "{\"hooks\":{\"EVENT\":[{\"command\":\"theirs\"}, // c\n{\"command\":\"more\"} // d\n]}}",
    "{\"hooks\":{\"Other\":[{\"command\":\"theirs\"}],\"EVENT\":[{\"command\":\"x\"},]}}",
    "{\n  \"version\": 1,\n  \"hooks\": {\n    \"EVENT\": [\n      { \"command\": \"./theirs.sh\", \"timeout\": 30 }, /* one */\n      { \"command\": \"echo '{'\" },\n    ]\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"Unheard\": \"of\",\n    \"EVENT\": [null, 7, \"text\", {\"hooks\": null}, {\"hooks\": [null, {\"command\": 7}]}]\n  }\n}\n",
    "{\r\n  \"hooks\": {\r\n    \"EVENT\": [\r\n      {\"hooks\": []} // c\r\n    ]\r\n  }\r\n}\r\n",
    "{\"a\\u0041\\n\": \"\\\"//no comment\", \"ü\": \"漢字\"}",
];

/// `{ }` and `{\n}` are `{}`: how an emptied object was spaced is not kept by the structural way.
fn squeezed(text: &str) -> String {
    let mut text = text.to_owned();
    for (open, close) in [('{', '}'), ('[', ']')] {
        let mut at = 0;
        while let Some(found) = text[at..].find(open) {
            let start = at + found + 1;
            let space = text[start..].len() - text[start..].trim_start().len();
            if text[start + space..].starts_with(close) {
                text.replace_range(start..start + space, "");
            }
            at = start;
        }
    }
    text
}

/// True when `part` can be had out of `whole` by leaving letters out.
fn is_within(part: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    part.chars().all(|letter| whole.any(|other| other == letter))
}

/// Installs into a text, again, from elsewhere, and uninstalls: theirs is there all the time and alone at the end.
pub fn check(table: &HostTable, theirs: &str) {
    let name = format!("{}: {theirs:?}", table.host);
    let installed = install(table, VERSION, &Needs::NONE, &command, Some(theirs))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(is_within(theirs, &installed), "{name} became {installed:?}");
    assert_eq!(
        install(table, VERSION, &Needs::NONE, &command, Some(&installed)).unwrap(),
        installed,
        "{name}"
    );
    let ours = list(table, &installed).unwrap();
    let mut listed: Vec<&str> = ours.iter().map(|entry| entry.event.as_str()).collect();
    let mut wanted: Vec<&str> = events(table, VERSION, &Needs::NONE).map(|event| event.name).collect();
    listed.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(listed, wanted, "{name}");
    assert!(ours.iter().all(|entry| entry.alone && is_ours(&entry.command)), "{name}");
    let removed = remove(table, &installed, Before::Text(theirs)).unwrap().unwrap();
    assert_eq!(squeezed(&removed), squeezed(theirs), "{name}");
    check_needs(table, theirs, &installed);
    let elsewhere = install(table, VERSION, &Needs::NONE, &moved, Some(&installed)).unwrap();
    assert_eq!(elsewhere, installed.replace("/opt/herdbook", "/srv/new"), "{name}");
}

/// Routes come, and go again: what was installed without them is there again.
fn check_needs(table: &HostTable, theirs: &str, installed: &str) {
    let name = format!("{}: {theirs:?}", table.host);
    let before = Before::Text(theirs);
    let install = |needs: &Needs, text: &str| {
        herdbook_hosts::settings::install(table, VERSION, needs, &command, Some(text), before).unwrap()
    };
    let needs = all_needs(table);
    let routed = install(&needs, installed);
    assert_eq!(install(&needs, &routed), routed, "{name}");
    let ours = list(table, &routed).unwrap();
    assert_eq!(ours.len(), events(table, VERSION, &needs).count(), "{name}");
    for granted in granted(table, &routed).unwrap() {
        let event = table.event(&granted.event).unwrap();
        assert_eq!(granted.limit_ms, Some(event.most_ms.unwrap_or(62_000)), "{name}: {}", event.name);
    }
    assert_eq!(install(&Needs::NONE, &routed), installed, "{name}");
    let removed = remove(table, &routed, before).unwrap().unwrap();
    assert_eq!(squeezed(&removed), squeezed(theirs), "{name}");
}

#[test]
fn theirs_survive_ours_come_once_and_go() {
    for table in tables() {
        for theirs in SETTINGS {
            let first = events(&table, VERSION, &Needs::NONE).next().unwrap().name;
            let theirs = theirs.replace("EVENT", first);
            if !is_own_file(&table) || !theirs.contains("hooks") {
                check(&table, &theirs);
            }
        }
    }
}

#[test]
fn a_missing_or_empty_file_is_begun_and_given_back() {
    for table in tables() {
        let fresh = install(&table, VERSION, &Needs::NONE, &command, None).unwrap();
        let parsed: serde_json::Value = serde_json::from_str(&fresh).unwrap();
        assert_eq!(parsed["hooks"].as_object().unwrap().len(), events(&table, VERSION, &Needs::NONE).count());
        assert_eq!(remove(&table, &fresh, Before::NoFile).unwrap(), None, "{}", table.host);
        for blank in ["", "\n", "  \r\n", "\u{feff}"] {
            let installed = install(&table, VERSION, &Needs::NONE, &command, Some(blank)).unwrap();
            let removed = remove(&table, &installed, Before::Text(blank)).unwrap();
            assert_eq!(removed.as_deref(), Some(blank), "{}", table.host);
        }
    }
}

#[test]
fn the_written_text_is_frozen() {
    let two = |table: &HostTable| {
        let events: &'static [_] = table.events.split_at(1).0;
        install(&HostTable { host: table.host, events, ..*table }, VERSION, &Needs::NONE, &command, None)
            .unwrap()
    };
    let program = "/opt/herdbook/bin/herdbook-hook";
    let expected = [
        (
            "claude",
            format!(
                "{{\n  \"hooks\": {{\n    \"SessionStart\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"[ -x {program} ] && exec {program} claude; exit 0\", \"timeout\": 5}}]}}]\n  }}\n}}\n"
            ),
        ),
        (
            "codex",
            format!(
                "{{\n  \"hooks\": {{\n    \"SessionStart\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"[ -x {program} ] && exec {program} codex; exit 0\", \"timeout\": 5}}]}}]\n  }}\n}}\n"
            ),
        ),
        (
            "cursor",
            format!(
                "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"sessionStart\": [{{\"command\": \"[ -x {program} ] && exec {program} cursor; exit 0\", \"timeout\": 5}}]\n  }}\n}}\n"
            ),
        ),
        (
            "gemini",
            format!(
                "{{\n  \"hooks\": {{\n    \"SessionStart\": [{{\"matcher\": \"*\", \"hooks\": [{{\"type\": \"command\", \"name\": \"herdbook\", \"command\": \"[ -x {program} ] && exec {program} gemini; exit 0\", \"timeout\": 5000}}]}}]\n  }}\n}}\n"
            ),
        ),
        (
            "copilot",
            format!(
                "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"SessionStart\": [{{\"type\": \"command\", \"bash\": \"[ -x {program} ] && exec {program} copilot; exit 0\", \"timeoutSec\": 5}}]\n  }}\n}}\n"
            ),
        ),
    ];
    for (host, text) in expected {
        let table = tables().into_iter().rfind(|table| table.host == host).unwrap();
        assert_eq!(two(&table), text, "{host}");
    }
}

#[test]
fn new_entries_are_laid_out_as_the_file_is() {
    let table = HostTable { events: claude::TABLE.events.split_at(1).0, ..claude::TABLE };
    let tabs = "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [],\r\n\t},\r\n}\r\n";
    let installed = install(&table, VERSION, &Needs::NONE, &command, Some(tabs)).unwrap();
    let ours = format!(
        "{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{}\", \"timeout\": 5}}]}}",
        command(&["claude"])
    );
    let expected = format!(
        "{{\r\n\t\"hooks\": {{\r\n\t\t\"Stop\": [],\r\n\t\t\"SessionStart\": [{ours}],\r\n\t}},\r\n}}\r\n"
    );
    assert_eq!(installed, expected);
    let list = "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": []} // theirs\n    ]\n  }\n}\n";
    let installed = install(&table, VERSION, &Needs::NONE, &command, Some(list)).unwrap();
    let expected = list.replace("} // theirs", &format!("}}, // theirs\n      {ours}"));
    assert_eq!(installed, expected);
}

#[test]
fn the_example_entries_are_ours_and_are_mended_in_place() {
    for (table, example) in [
        (&claude::TABLE, include_str!("../pasted/claude.json")),
        (&codex::TABLE, include_str!("../pasted/codex.json")),
    ] {
        let installed = install(table, VERSION, &Needs::NONE, &command, Some(example)).unwrap();
        let program = "\\\"$HOME/.cargo/bin/herdbook-hook\\\"";
        assert_eq!(installed, example.replace(program, "/opt/herdbook/bin/herdbook-hook"));
        let removed = remove(table, &installed, Before::Unknown).unwrap().unwrap();
        assert_eq!(removed, "{}\n");
    }
}

#[test]
fn stale_entries_are_mended_and_what_a_user_added_stays() {
    let table = HostTable { events: claude::TABLE.events.split_at(1).0, ..claude::TABLE };
    let old = moved(&["claude"]);
    let group = |inner: &str| format!("{{\"hooks\": {{\"SessionStart\": [{{\"hooks\": [{inner}]}}]}}}}");
    let stale = group(&format!(
        "{{\"type\": \"command\", \"timeout\": 60, \"async\": true, \"command\": \"{old}\"}}"
    ));
    let mended = install(&table, VERSION, &Needs::NONE, &command, Some(&stale)).unwrap();
    assert_eq!(mended, stale.replace("/srv/new", "/opt/herdbook").replace("60", "5"));
    let bare = group(&format!("{{\"command\": \"{}\"}}", command(&["claude"])));
    let mended = install(&table, VERSION, &Needs::NONE, &command, Some(&bare)).unwrap();
    let [Entry { timeout, .. }] = &list(&table, &mended).unwrap()[..] else { panic!("{mended}") };
    assert_eq!(timeout.as_deref(), Some("5"));
    // One too many, and one for an event that is not registered.
    let doubled = stale.replace("}]}}", "}, {\"hooks\": [{\"command\": \"/a/herdbook-hook claude\"}]}], \"Setup\": [{\"hooks\": [{\"command\": \"/a/herdbook-hook claude\"}]}]}}");
    assert_eq!(list(&table, &doubled).unwrap().len(), 3);
    let mended = install(&table, VERSION, &Needs::NONE, &command, Some(&doubled)).unwrap();
    assert_eq!(list(&table, &mended).unwrap().len(), 1, "{mended}");
}

#[test]
fn an_entry_in_a_group_of_theirs_is_taken_out_alone() {
    let theirs = "{\"hooks\": {\"Stop\": [{\"matcher\": \"\", \"hooks\": [{\"command\": \"a\"}, OURS{\"command\": \"b\"}]}]}}";
    let ours = format!("{{\"command\": \"{}\"}}, ", command(&["claude"]));
    let text = theirs.replace("OURS", &ours);
    assert!(!list(&claude::TABLE, &text).unwrap()[0].alone);
    let removed = remove(&claude::TABLE, &text, Before::Unknown).unwrap();
    assert_eq!(removed.as_deref(), Some(theirs.replace("OURS", "").as_str()));
}

#[test]
fn codex_entries_that_come_after_ours_keep_their_places() {
    let group = |command: &str| format!("{{\"hooks\": [{{\"command\": \"{command}\"}}]}}");
    let text = |groups: &[String]| format!("{{\"hooks\": {{\"Stop\": [{}]}}}}", groups.join(", "));
    let ours = group(&command(&["codex"]));
    let between = text(&[group("a"), ours.clone(), group("b"), ours.clone()]);
    let removed = remove(&codex::TABLE, &between, Before::Unknown).unwrap();
    assert_eq!(removed, Some(text(&[group("a"), "{\"hooks\": []}".into(), group("b")])));
    let removed = remove(&claude::TABLE, &between, Before::Unknown).unwrap();
    assert_eq!(removed, Some(text(&[group("a"), group("b")])));
}

#[test]
fn only_events_that_the_version_knows_are_written() {
    let names = |version| -> Vec<&str> {
        events(&codex::TABLE, version, &Needs::NONE).map(|event| event.name).collect()
    };
    assert!(names(Some("0.150.0")).contains(&"Interrupt"));
    assert!(!names(Some("0.149.0")).contains(&"Interrupt"));
    assert!(!names(None).contains(&"Interrupt"));
    let new = install(&codex::TABLE, Some("0.171.0"), &Needs::NONE, &command, None).unwrap();
    let old = install(&codex::TABLE, Some("0.149.0"), &Needs::NONE, &command, Some(&new)).unwrap();
    assert!(new.contains("\"Interrupt\": [{") && !old.contains("Interrupt\": [{"), "{old}");
    assert_eq!(
        install(&codex::TABLE, None, &Needs::NONE, &command, Some(&new)).unwrap(),
        new,
        "what is there stays"
    );
    assert!(new.contains("\"timeout\": 3}"), "the host grants no more for some events");
}

#[test]
fn an_event_that_the_payload_does_not_name_is_told() {
    let name = claude::TABLE.events[0].name;
    let events = Box::leak(Box::new([claude::TABLE.events[0].told()]));
    let installed =
        install(&HostTable { events, ..claude::TABLE }, VERSION, &Needs::NONE, &command, None).unwrap();
    assert!(installed.contains(&format!("herdbook-hook claude event:{name}; exit 0")), "{installed}");
}

#[test]
fn a_file_that_is_not_understood_is_refused_with_its_place() {
    for (text, words) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2, column 9: Expected comma"),
        ("{", "line 1, column 1: Unterminated object"),
        ("{'a': 1}", "line 1, column 2: Single-quoted strings are not allowed"),
        ("{} {}", "line 1, column 4: Text cannot contain more than one JSON value"),
        ("[]", "line 1, column 1: the file is no object"),
        ("{\n \"hooks\": null}", "line 2, column 11: `hooks` is no object"),
        ("{\"hooks\": []}", "line 1, column 11: `hooks` is no object"),
        ("{\"hooks\": {\"Stop\": {}}}", "line 1, column 20: `hooks.Stop` is no list"),
        ("{\"hooks\": {}, \"hooks\": {}}", "line 1, column 15: `hooks` stands there a second time: keep one"),
        (
            "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
            "line 1, column 24: `hooks.Stop` stands there a second time: keep one",
        ),
    ] {
        let error = install(&claude::TABLE, VERSION, &Needs::NONE, &command, Some(text)).unwrap_err();
        assert_eq!(error.to_string(), words, "{text}");
    }
    let error = herdbook_hosts::settings::text(b"{\n\"a\": \"\xff\"}").unwrap_err();
    assert_eq!(error.to_string(), "line 2 is no UTF-8 text");
}

#[test]
fn a_plugin_is_a_whole_file_of_ours() {
    let form = Form::Plugin("const COMMAND = @@COMMAND@@\nexport const Herdbook = 1\n");
    let table = HostTable { setup: Setup { form, ..cursor::TABLE.setup }, ..cursor::TABLE };
    let installed = install(&table, None, &Needs::NONE, &command, None).unwrap();
    assert_eq!(
        installed,
        format!("const COMMAND = \"{}\"\nexport const Herdbook = 1\n", command(&["cursor"]))
    );
    assert_eq!(install(&table, None, &Needs::NONE, &command, Some(&installed)).unwrap(), installed);
    let old = "// older\nconst C = \"[ -x /a/herdbook-hook ] && exec /a/herdbook-hook cursor; exit 0\"\n";
    assert_eq!(install(&table, None, &Needs::NONE, &command, Some(old)).unwrap(), installed);
    assert_eq!(list(&table, &installed).unwrap()[0].command, command(&["cursor"]));
    assert_eq!(remove(&table, &installed, Before::NoFile).unwrap(), None);
    let foreign = install(&table, None, &Needs::NONE, &command, Some("export const Mine = 1"));
    assert_eq!(foreign.unwrap_err(), SettingsError::Foreign);
    let own_file = tables().into_iter().find(is_own_file).unwrap();
    let foreign = install(
        &own_file,
        None,
        &Needs::NONE,
        &command,
        Some("{\"hooks\": {\"Stop\": [{\"bash\": \"x\"}]}}"),
    );
    assert_eq!(foreign.unwrap_err(), SettingsError::Foreign);
}
