//! Pure parts on texts that a person can check, the conversation with a stand-in, and all of it with the real client.

mod real;

use super::config::{positions, with_trust, without_trust};
use super::server::answer;
use super::*;

const OURS: &str = "[ -x '/opt/our bin/herdbook-hook' ] && exec '/opt/our bin/herdbook-hook' codex; exit 0";

fn is_ours(command: &str) -> bool {
    command == OURS
}

fn keys(positions: &[&str]) -> Vec<String> {
    positions.iter().map(|position| format!("/home/dev/.codex/hooks.json:{position}")).collect()
}

fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("hb-codex-").tempdir().unwrap()
}

mod text {
    use super::*;

    const BEFORE: &str = "# mine\nmodel = \"gpt-5\"   # odd\n\n[tui]\n# last words\n";

    #[test]
    fn trust_is_added_at_the_end_and_taken_out_to_the_byte() {
        let ours = keys(&["stop:0:0", "pre_tool_use:1:0"]);
        let entries = [(ours[0].as_str(), "sha256:aa"), (ours[1].as_str(), "sha256:bb")];
        let after = with_trust(Some(BEFORE), &entries).unwrap();
        let added = "\n[hooks.state.\"/home/dev/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:aa\"\n\
                     \n[hooks.state.\"/home/dev/.codex/hooks.json:pre_tool_use:1:0\"]\ntrusted_hash = \"sha256:bb\"\n";
        assert_eq!(after, format!("{BEFORE}{added}"));
        assert_eq!(with_trust(Some(&after), &entries).unwrap(), after, "twice is once");
        for before in
            [BEFORE, "", "\n", "a = 1", "a = 1\r\nb = 2\r\n", "a = 1\r\nb = 2", "[tui]\nx = 1\n\n\n"]
        {
            let after = with_trust(Some(before), &entries).unwrap();
            assert_eq!(without_trust(&after, &ours).unwrap(), (before.to_owned(), vec![]), "{before:?}");
        }
        let made = with_trust(None, &entries).unwrap();
        assert_eq!(made, added[1..]);
        assert_eq!(without_trust(&made, &ours).unwrap().0, "");
    }

    #[test]
    fn entries_of_others_stay_before_between_and_after_ours() {
        let theirs =
            |key: &str| format!("\n[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:99\" # theirs\n");
        let ours = keys(&["stop:1:0", "stop:2:0"]);
        let before = format!("{BEFORE}{}", theirs("/home/dev/.codex/hooks.json:stop:0:0"));
        let one = with_trust(Some(&before), &[(&ours[0], "sha256:aa")]).unwrap();
        let later = theirs("/home/dev/.codex/hooks.json:stop:3:0") + "\n[hooks.state]\n";
        let two = with_trust(Some(&format!("{one}{later}")), &[(&ours[1], "sha256:bb")]).unwrap();
        assert_eq!(without_trust(&two, &ours).unwrap(), (format!("{before}{later}"), vec![]));
    }

    #[test]
    fn a_changed_hook_of_ours_changes_its_hash_only_and_a_switched_off_one_stays() {
        let text = "[hooks.state.'K']\r\nenabled = true # on\r\ntrusted_hash = 'sha256:old' # why\r\n";
        assert_eq!(
            with_trust(Some(text), &[("K", "sha256:new")]).unwrap(),
            "[hooks.state.'K']\r\nenabled = true # on\r\ntrusted_hash = \"sha256:new\" # why\r\n"
        );
        let off = "[hooks.state.\"K\"]\nenabled = false\n";
        assert_eq!(with_trust(Some(off), &[("K", "sha256:new")]).unwrap(), off);
    }

    #[test]
    fn a_table_without_an_empty_line_above_leaves_the_line_before_it_whole() {
        let text = "a = 1\n[hooks.state.\"K\"]\nenabled = true\ntrusted_hash = \"h\" # x\n[tui]\n";
        assert_eq!(without_trust(text, &["K".to_owned()]).unwrap().0, "a = 1\n[tui]\n");
    }

    #[test]
    fn other_forms_are_refused_in_words_and_left() {
        for text in ["hooks = {state = {}}\n", "[hooks]\nstate = {}\n", "[hooks.state.\"K\"]\nx = 1\n"] {
            let why = with_trust(Some(text), &[("K", "sha256:aa")]).unwrap_err();
            assert_eq!(why, "config.toml has hooks.state in a form that we do not edit, for K");
        }
        let why = with_trust(Some("model = \n"), &[("K", "sha256:aa")]).unwrap_err();
        assert!(why.starts_with("config.toml is no TOML as we read it"), "{why}");
        let inline = "[hooks.state]\n\"K\" = { trusted_hash = \"sha256:aa\" }\n";
        let ours = ["K".to_owned()];
        assert_eq!(without_trust(inline, &ours).unwrap(), (inline.to_owned(), ours.to_vec()));
        let dotted = "hooks.state.\"K\".trusted_hash = \"sha256:aa\"\n";
        assert_eq!(without_trust(dotted, &ours).unwrap(), (dotted.to_owned(), ours.to_vec()));
    }

    #[test]
    fn positions_count_what_is_not_ours() {
        let hooks = json_of(&[
            ("PreToolUse", &[&["theirs"], &[], &["theirs", OURS], &[OURS]]),
            ("SessionStart", &[&["theirs"]]),
            ("Stop", &[&[OURS]]),
        ]);
        let found = positions(&hooks, is_ours).unwrap();
        assert_eq!(found, ["pre_tool_use:2:1", "pre_tool_use:3:0", "stop:0:0"]);
        assert!(positions("{", is_ours).unwrap_err().starts_with("the hooks file is no JSON: "));
        assert_eq!(positions("[1]", is_ours).unwrap(), [""; 0]);
    }
}

/// A hooks file: events with their groups of commands.
fn json_of(events: &[(&str, &[&[&str]])]) -> String {
    let hooks: serde_json::Map<String, serde_json::Value> = events
        .iter()
        .map(|(event, groups)| {
            let group = |commands: &&[&str]| {
                let hook = |command| serde_json::json!({"type": "command", "command": command, "timeout": 3});
                serde_json::json!({"hooks": commands.iter().map(hook).collect::<Vec<_>>()})
            };
            ((*event).to_owned(), groups.iter().map(group).collect())
        })
        .collect();
    serde_json::json!({ "hooks": hooks }).to_string()
}

mod conversation {
    use super::*;

    const HOOK: &str = r#"{"key":"/h/hooks.json:stop:0:0","eventName":"stop","handlerType":"command","command":"echo","async":false,"matcher":null,"timeoutSec":600,"sourcePath":"/h/hooks.json","source":"user","displayOrder":0,"enabled":true,"isManaged":false,"currentHash":"sha256:c7","trustStatus":"modified"}"#;

    fn answered(data: &str) -> Result<Listing, String> {
        let told = r#"{"method":"configWarning","params":{"summary":"none of this"}}"#;
        answer(format!("{{\"id\":0,\"result\":{{}}}}\n{told}\n{{\"id\":1,{data}}}\n").as_bytes())
    }

    #[test]
    fn a_list_is_read_past_what_nobody_asked() {
        let prompt = HOOK.replace(r#""command":"echo","#, "");
        let data = format!(
            r#""result":{{"data":[{{"cwd":"/","hooks":[{HOOK},{prompt}],"warnings":["w"],"errors":[]}}]}}"#
        );
        let listing = answered(&data).unwrap();
        let of = |hook: &Hook| (hook.command.clone(), hook.is_trusted(), hook.runs());
        let found: Vec<_> = listing.hooks.iter().map(of).collect();
        assert_eq!(found, [(Some("echo".to_owned()), false, false), (None, false, false)]);
        assert_eq!(listing.hooks[0].current_hash, "sha256:c7");
        assert_eq!(listing.warnings, ["w"]);
    }

    #[test]
    fn what_is_no_list_is_said_in_words() {
        let error = r#""error":{"code":-32600,"message":"unknown variant hooks/list"}"#;
        let broken = r#""result":{"data":[{"cwd":"/","hooks":[],"errors":[{"path":"/","message":"config.toml:1:9"}]}]}"#;
        for (got, words) in [
            (answered(error), "codex app-server did not tell its hooks: unknown variant hooks/list"),
            (answered(broken), "codex could not read its settings: config.toml:1:9"),
            (answer(b"\xff\n{\"id\":1"), "codex app-server did not tell its hooks; is it too old?"),
        ] {
            assert_eq!(got.unwrap_err(), words);
        }
        let why = answered(r#""result":{"data":[{"hooks":[{"key":1}]}]}"#).unwrap_err();
        assert!(why.starts_with("the answer of codex app-server is not understood: "), "{why}");
    }

    #[test]
    fn without_a_codex_the_human_gets_a_next_step_and_nothing_is_written() {
        let home = scratch();
        for (program, words) in
            [("/nowhere/codex", "could not start /nowhere/codex"), ("/bin/true", "too old?")]
        {
            let codex = Codex { program: Path::new(program), home: home.path(), project: None, env: &[] };
            let Outcome::NextStep(next) = codex.trust(is_ours, |_| panic!("nothing to write")) else {
                panic!()
            };
            assert!(next.why.contains(words), "{next}");
            assert!(next.to_string().starts_with("start codex and accept the hooks in /hooks: "), "{next}");
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}

mod files {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_change_keeps_mode_and_link_and_leaves_a_private_copy() {
        let folder = scratch();
        let at = |name: &str| folder.path().join(name);
        put(&at("real.toml"), "a = 1\n");
        fs::set_permissions(at("real.toml"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real.toml", at("config.toml")).unwrap();
        let change =
            Change { path: at("config.toml"), before: Some("a = 1\n".into()), after: Some("a = 2\n".into()) };
        write(&change, &at("copy")).unwrap();
        assert!(at("config.toml").is_symlink());
        assert_eq!((get(&at("real.toml")), mode(&at("real.toml"))), ("a = 2\n".to_owned(), 0o640));
        assert_eq!((get(&at("copy")), mode(&at("copy"))), ("a = 1\n".to_owned(), 0o600));
        let why = write(&change, &at("copy")).unwrap_err();
        assert!(why.ends_with("config.toml was changed by another program meanwhile"), "{why}");
        assert_eq!(get(&at("real.toml")), "a = 2\n");
    }

    #[test]
    fn what_is_no_file_of_ours_is_refused() {
        let folder = scratch();
        let at = |name: &str| folder.path().join(name);
        symlink("nothing", at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert_eq!(read(&at("none")).unwrap(), None);
        assert!(read(&at("dangling")).unwrap_err().contains("could not be read"));
        assert!(read(&at("folder")).unwrap_err().ends_with("is no regular file"));
        replace_file(&at("latin"), b"\xe9", 0o600).unwrap();
        assert!(read(&at("latin")).unwrap_err().ends_with("is not UTF-8"));
        put(&at("fixed"), "");
        fs::set_permissions(at("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(read(&at("fixed")).unwrap_err().ends_with("fixed is read-only"));
        put(&at("foreign"), "");
        match std::os::unix::fs::chown(at("foreign"), Some(1), None) {
            Ok(()) => assert!(read(&at("foreign")).unwrap_err().ends_with("belongs to another user (uid 1)")),
            Err(_) => println!("skipped: the foreign file of what_is_no_file_of_ours_is_refused: not root"),
        }
    }

    #[test]
    fn untrust_works_from_the_texts_alone() {
        let folder = scratch();
        let home = folder.path().canonicalize().unwrap();
        let codex = Codex { program: Path::new("/nowhere"), home: &home, project: None, env: &[] };
        let hooks = json_of(&[("Stop", &[&["theirs"], &[OURS]])]);
        assert_eq!(codex.untrust(&hooks, is_ours).unwrap().change, None);
        let key = format!("{}/hooks.json:stop:1:0", home.display());
        let made = with_trust(None, &[(&key, "sha256:aa")]).unwrap();
        put(&home.join("config.toml"), &made);
        let change = codex.untrust(&hooks, is_ours).unwrap().change.unwrap();
        assert_eq!((change.after.as_deref(), change.before.as_deref()), (None, Some(made.as_str())));
        write(&change, &home.join("copy")).unwrap();
        assert!(!home.join("config.toml").exists());
    }
}

fn put(path: &Path, text: &str) {
    replace_file(path, text.as_bytes(), 0o644).unwrap();
}

fn get(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
