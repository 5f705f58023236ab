//! Generated settings: whatever stands in them, theirs survive to the byte.

use herdbook_hosts::settings::{Before, Needs, list, remove};
use herdbook_hosts::{HostTable, Install};
use proptest::prelude::*;

use crate::settings::{VERSION, check, command, install, is_own_file, tables};

/// Space and comments between tokens, by number.
const GAPS: &[&str] =
    &["", "", " ", "\n", "\n    ", "\t", "\r\n  ", " /* { */ ", " // \"c\"\n", "\n// [\n\n", "  \n"];

/// A generated value, written with generated gaps and trailing commas.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(&'static str),
    List(Vec<Tree>, bool),
    Map(Vec<(String, Tree)>, bool),
}

fn write(tree: &Tree, gaps: &mut impl Iterator<Item = usize>, out: &mut String) {
    let mut gap = |out: &mut String| out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
    match tree {
        Tree::Leaf(text) => out.push_str(text),
        Tree::List(items, trailing) => {
            out.push('[');
            gap(out);
            for (index, item) in items.iter().enumerate() {
                write(item, gaps, out);
                out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
                if index + 1 < items.len() || *trailing {
                    out.push(',');
                    out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
                }
            }
            out.push(']');
        }
        Tree::Map(items, trailing) => {
            out.push('{');
            gap(out);
            for (index, (key, item)) in items.iter().enumerate() {
                out.push_str(&serde_json::Value::from(key.as_str()).to_string());
                out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
                out.push(':');
                out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
                write(item, gaps, out);
                out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
                if index + 1 < items.len() || *trailing {
                    out.push(',');
                    out.push_str(GAPS[gaps.next().unwrap_or(0) % GAPS.len()]);
                }
            }
            out.push('}');
        }
    }
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop::sample::select(vec!["1", "null", "true", "\"x\"", "\"// \\\" ]\"", "-2.5e3"]);
    leaf.prop_map(Tree::Leaf).prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..3), any::<bool>())
                .prop_map(|(items, trailing)| Tree::List(items, trailing)),
            (prop::collection::vec(inner, 0..3), any::<bool>()).prop_map(|(items, trailing)| {
                let named = items.into_iter().enumerate().map(|(at, item)| (format!("k{at}"), item));
                Tree::Map(named.collect(), trailing)
            }),
        ]
    })
}

fn any_list() -> impl Strategy<Value = Tree> {
    let handler = Tree::Map(
        vec![("type".into(), Tree::Leaf("\"command\"")), ("command".into(), Tree::Leaf("\"theirs | x\""))],
        false,
    );
    let group = Tree::Map(vec![("hooks".into(), Tree::List(vec![handler.clone()], false))], true);
    let item = prop_oneof![Just(handler), Just(group), any_tree()];
    (prop::collection::vec(item, 0..3), any::<bool>())
        .prop_map(|(items, trailing)| Tree::List(items, trailing))
}

fn any_settings() -> impl Strategy<Value = String> {
    let names = ["SessionStart", "Stop", "stop", "Interrupt", "Unheard"];
    let events = prop::sample::subsequence(names.to_vec(), 0..4)
        .prop_flat_map(|names| {
            let lists = prop::collection::vec(any_list(), names.len());
            (Just(names), lists, any::<bool>())
        })
        .prop_map(|(names, lists, trailing)| {
            let named = names.into_iter().map(str::to_owned).zip(lists);
            ("hooks".to_owned(), Tree::Map(named.collect(), trailing))
        });
    let root = (
        prop::option::of(events),
        prop::collection::vec(any_tree(), 0..3),
        any::<bool>(),
        any::<bool>(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(hooks, others, trailing, has_version, at)| {
            let mut items: Vec<_> =
                others.into_iter().enumerate().map(|(at, item)| (format!("o{at}"), item)).collect();
            if has_version {
                items.push(("version".into(), Tree::Leaf("1")));
            }
            if let Some(hooks) = hooks {
                items.insert(at.index(items.len() + 1), hooks);
            }
            Tree::Map(items, trailing)
        });
    (root, prop::collection::vec(0..GAPS.len(), 0..120)).prop_map(|(root, gaps)| {
        let mut gaps = gaps.into_iter();
        let mut text = GAPS[gaps.next().unwrap_or(0)].to_owned();
        write(&root, &mut gaps, &mut text);
        text.push_str(GAPS[gaps.next().unwrap_or(0)]);
        // A trailing comma in an empty container is no JSON of any kind; `write` makes none.
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_settings_are_theirs_survive(theirs in any_settings()) {
        // A few events stand for all: each is put in and taken out alike.
        for table in tables().into_iter().filter(|table| !is_own_file(table)) {
            let of_routes = table.events.iter().skip(5).find(|event| event.install == Install::OnRoute);
            let events: Vec<_> = table.events.iter().take(5).chain(of_routes).copied().collect();
            let events = Box::leak(events.into_boxed_slice());
            check(&HostTable { events, ..table }, &theirs);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{},:\"/*\\n a1hoks\u{feff}]{0,40}") {
        for table in tables() {
            let table = HostTable { events: table.events.split_at(2).0, ..table };
            let _ = install(&table, VERSION, &Needs::NONE, &command, Some(&text));
            let _ = remove(&table, &text, Before::Unknown);
            let _ = list(&table, &text);
        }
    }
}
