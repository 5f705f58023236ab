//! The tables as a page for people, in Markdown.

use std::fmt::Write as _;

use herdbook_events::{Family, Field};

use super::{install_word, kind_word, spoken};
use crate::answer::{Answer, Nearest};
use crate::detail::{Detail, Intent, Key};
use crate::table::{Decode, Form, HostTable, Install, NativeEvent};
use crate::{HOSTS, Refusal};

const INTRO: &str = "\
# Events, hosts and answers

Made by `herdbook reference` from the tables in `crates/hosts`; do not edit. `herdbook reference --format json` says the
same to programs.

A **family** is what happened, in one word for all hosts; a **native event** is a host's own name for it. A canonical
event carries its family's fields, each with the host's value and the host's own key. A field that a host did not send is
absent: never a default, never taken from another key.

*Seen live* names the versions of a client that were seen sending an event; without one there are only documents. Of
Cursor there are recordings, Amp and Droid were never run here.

An **answer** is what a hook may say: `allow`, `ask`, `deny` (of a stop: go on), `context` for the model, or another input.
To say nothing, `continue`, prints nothing and is always possible; it is not `allow`, which skips the human on several
hosts. Where a host cannot be told something, `→` names the nearest thing that works; why stands with the host.
";

/// What a route reads, as the page shows it.
const ROUTE_INPUT: &str = r#"{"canonical": {"event": "tool/before", "host": "claude", "nativeEvent": "PreToolUse",
   "idempotencyKey": "7493e12a3dedf45e53b0c5a0d120534ab708c18d1267618731c34b90f40b1043",
   "payload": {"sessionId": {"value": "s-1", "nativeKey": "session_id"},
               "toolName": {"value": "Bash", "nativeKey": "tool_name"},
               "toolInput": {"value": {"command": "git push -f"}, "nativeKey": "tool_input"}}},
 "native": {"hook_event_name": "PreToolUse", "session_id": "s-1", "tool_name": "Bash",
            "tool_input": {"command": "git push -f"}}}"#;

const ROUTES: &str = r#"
## Routes

A **route** is a script of the human's, `~/.config/herdbook/routes/<family>/NAME`. `NAME.toml` beside it, if it is there,
names the hosts and tools for which it runs and what it may answer (see the manual). It reads one JSON object on standard
input, the event and untouched beside it what the host sent:

```json
INPUT
```

It prints nothing, or one JSON object:

| member | what |
| --- | --- |
| `outcome` | `continue` (as without one), `allow`, `ask` or `deny`: the host goes by its own rules, or lets it happen, asks the human, does not let it happen; of a stop, `deny` is to go on |
| `reason` | why: for the model where it is denied, for the human where he is asked |
| `context` | text for the model, with any outcome or none |
| `updatedInput` | another input for the tool, in the place of the whole (of a prompt: another text) |

- `allow` and `updatedInput` are taken only of a route whose toml names them in `may`. On most hosts the form of another
  input allows the call by the same word: there it is given with `allow` only (on Claude Code with `ask`, too).
- Of several routes the strictest outcome counts (`deny`, then `ask`, `allow`, `continue`), with the reasons of those who
  gave it and the other input of the first of them; all contexts are told.
- Of what a host cannot be told, two things become something nearer at the same event: `ask` becomes `deny` where the table
  says so, and the reason of a `deny` that comes too late becomes `context`. All else is left out. Nothing ever becomes
  `allow`, and where an `allow` came with another input that cannot be told, neither is told.
- A member that is not one of these, an exit code other than 0 and bad JSON are failures, and so is an answer that the route
  may not give: nothing is told, or `deny` where its toml says `fail = "closed"`.

The types are `EventRouteInput` and `RouteAnswer` in `herdbook schema --lang ts`, and `routeInput` and `routeAnswer` in
`--lang json-schema`.
"#;

/// Returns the reference as a Markdown page.
pub fn reference_page() -> String {
    let mut page = INTRO.to_owned();
    page.push_str(&ROUTES.replace("INPUT", ROUTE_INPUT));
    // Writing to a string cannot fail.
    let _ = hosts(&mut page);
    let _ = families(&mut page);
    for family in Family::ALL {
        let _ = of_family(&mut page, *family);
    }
    for table in HOSTS {
        let _ = of_host(&mut page, table);
    }
    page
}

type Written = std::fmt::Result;

fn hosts(page: &mut String) -> Written {
    writeln!(page, "\n## Hosts\n")?;
    writeln!(
        page,
        "| host | described | seen live | a hook that fails | a hook that takes too long | installed |"
    )?;
    writeln!(page, "| --- | --- | --- | --- | --- | --- |")?;
    for table in HOSTS {
        let installed = match table.setup.form {
            Form::Never(reason) => format!("never: {reason}"),
            Form::Plugin(_) => "as a plugin file".to_owned(),
            Form::Groups { .. } | Form::Entries | Form::OwnFile => "as hook commands".to_owned(),
        };
        let limit =
            table.limit_ms.map_or(String::new(), |limit_ms| format!(" (after {} s)", limit_ms / 1000));
        let HostTable { title, documented, on_failure, on_timeout, .. } = table;
        let seen = listed(&table.seen());
        writeln!(
            page,
            "| {title} (`{}`) | {documented} | {seen} | {on_failure} | {on_timeout}{limit} | {installed} |",
            table.host
        )?;
    }
    Ok(())
}

fn families(page: &mut String) -> Written {
    writeln!(page, "\n## Families\n")?;
    let titles: Vec<&str> = HOSTS.iter().map(|table| table.host).collect();
    writeln!(page, "| family | {} |", titles.join(" | "))?;
    writeln!(page, "| --- |{}", " --- |".repeat(HOSTS.len()))?;
    for family in Family::ALL {
        let cells: Vec<String> = HOSTS.iter().map(|table| coded(&names(table, *family))).collect();
        writeln!(page, "| `{}` | {} |", family.as_str(), cells.join(" | "))?;
    }
    Ok(())
}

fn names(table: &HostTable, family: Family) -> Vec<&'static str> {
    table.events.iter().filter(|event| event.family == Some(family)).map(|event| event.name).collect()
}

/// The fields of a family by host, and what each host can be told there.
fn of_family(page: &mut String, family: Family) -> Written {
    let hosts: Vec<&HostTable> =
        HOSTS.iter().copied().filter(|table| !names(table, family).is_empty()).collect();
    writeln!(page, "\n### {}\n", family.as_str())?;
    let titles: Vec<&str> = hosts.iter().map(|table| table.host).collect();
    writeln!(page, "| field | kind | {} |", titles.join(" | "))?;
    writeln!(page, "| --- | --- |{}", " --- |".repeat(hosts.len()))?;
    for field in family.fields() {
        let cells: Vec<String> = hosts.iter().map(|table| keys_of(table, family, *field)).collect();
        writeln!(page, "| `{}` | {} | {} |", field.as_str(), kind_word(field.kind()), cells.join(" | "))?;
    }
    let words: Vec<&str> = Answer::ALL.iter().map(|answer| answer.as_str()).collect();
    writeln!(page, "\n| event | {} |", words.join(" | "))?;
    writeln!(page, "| --- |{}", " --- |".repeat(words.len()))?;
    for table in hosts {
        for event in table.events.iter().filter(|event| event.family == Some(family)) {
            answers(page, table, event)?;
        }
    }
    Ok(())
}

/// The native keys of a field, with how they are decoded where they are not taken as they are.
fn keys_of(table: &HostTable, family: Family, field: Field) -> String {
    let events = table.events.iter().filter(|event| event.family == Some(family));
    let mut keys: Vec<String> = Vec::new();
    for mapping in events.filter_map(|event| event.mapping(field)) {
        let decode = match mapping.decode {
            Decode::None => "",
            Decode::JsonString => " (JSON text)",
            Decode::PositiveCount => " (above zero)",
        };
        let key = format!("`{}`{decode}", mapping.key);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() { "—".to_owned() } else { keys.join(", ") }
}

fn answers(page: &mut String, table: &HostTable, event: &NativeEvent) -> Written {
    let cells: Vec<String> = Answer::ALL
        .iter()
        .map(|answer| match table.answer(event, *answer) {
            Ok(can) => can.note.map_or("yes".to_owned(), |note| format!("yes: {note}")),
            Err(Refusal { nearest, .. }) => format!("→ {}", nearest_words(nearest)),
        })
        .collect();
    writeln!(page, "| {} `{}` | {} |", table.host, event.name, cells.join(" | "))
}

fn nearest_words(nearest: Nearest) -> String {
    match nearest {
        Nearest::Continue => "`continue`".to_owned(),
        Nearest::Answer(other) => format!("`{}`", other.as_str()),
        Nearest::At(event, other) => format!("`{}` at `{event}`", other.as_str()),
    }
}

/// A host's events with their keys, and the forms of what it can be told.
fn of_host(page: &mut String, table: &HostTable) -> Written {
    writeln!(page, "\n## {}\n", table.title)?;
    let common: Vec<String> = table.common.iter().map(|one| key(one, &[])).collect();
    writeln!(page, "Keys of every event: {}. `?` may be absent, `null` may be null.\n", common.join(", "))?;
    writeln!(page, "| event | family | seen live | registered | keys of its own |")?;
    writeln!(page, "| --- | --- | --- | --- | --- |")?;
    for event in table.events {
        let detail = table.detail(event);
        let family = match (event.family, event.outside) {
            (Some(family), _) => format!("`{}`", family.as_str()),
            (None, reason) => format!("none: {}", reason.unwrap_or_default()),
        };
        let registered = match event.install {
            Install::Never(reason) => format!("never: {reason}"),
            install => install_word(install).to_owned(),
        };
        let since = event.since.map_or(String::new(), |since| format!(" (since {since})"));
        let values = detail.map_or(&[][..], |detail| detail.values);
        let keys: Vec<String> =
            detail.into_iter().flat_map(Detail::keys).map(|one| key(one, values)).collect();
        let seen = listed(detail.map_or(&[], |detail| detail.seen));
        let keys = if keys.is_empty() { "—".to_owned() } else { keys.join(", ") };
        writeln!(page, "| `{}`{since} | {family} | {seen} | {registered} | {keys} |", event.name)?;
    }
    writeln!(page, "\nWhat it can be told:\n")?;
    for detail in table.details.iter().filter(|detail| !detail.can.is_empty() || !detail.cannot.is_empty()) {
        forms(page, detail)?;
    }
    Ok(())
}

fn forms(page: &mut String, detail: &Detail) -> Written {
    let effect = detail.effect.map_or(String::new(), |effect| format!(": when blocked, {effect}"));
    writeln!(page, "- `{}`{effect}", detail.event)?;
    if detail.hold_safe {
        writeln!(page, "  - the hook may wait for an answer from elsewhere: the dialog is open meanwhile")?;
    }
    for can in detail.can {
        let ways: Vec<String> = can
            .wordings
            .iter()
            .map(|wording| {
                let (via, says) = spoken(wording, detail.event);
                format!("{via} `{says}`")
            })
            .collect();
        let note = can.note.map_or(String::new(), |note| format!(" ({note})"));
        writeln!(page, "  - {}{note}: {}", intent_words(can.intent), ways.join("; or "))?;
    }
    for cannot in detail.cannot {
        writeln!(page, "  - not {}: {}", refused_words(cannot.what), cannot.why)?;
    }
    Ok(())
}

/// An intent, with the answer that leads to it where there is one.
fn intent_words(intent: Intent) -> String {
    match intent {
        Intent::BlockStop => "deny (go on)".to_owned(),
        Intent::AddContext => "context".to_owned(),
        Intent::RewriteInput => "updatedInput".to_owned(),
        other => other.as_str().to_owned(),
    }
}

/// What a host cannot be told, in the same words.
fn refused_words(what: &str) -> &str {
    match what {
        "blockStop" => "deny (go on)",
        "addContext" => "context",
        "rewriteInput" => "updatedInput",
        "denyByExit2" => "deny by exit code 2",
        other => other,
    }
}

fn key(key: &Key, values: &[(&str, &[&str])]) -> String {
    let may = if key.required { "" } else { "?" };
    let null = if key.nullable { " or null" } else { "" };
    let known = values.iter().find(|(name, _)| *name == key.name);
    let known = known.map_or(String::new(), |(_, values)| format!(" ({})", coded(values)));
    format!("`{}`{may} {}{null}{known}", key.name, key.shape.as_str())
}

fn listed(versions: &[&str]) -> String {
    if versions.is_empty() { "documents only".to_owned() } else { versions.join(", ") }
}

fn coded(names: &[&str]) -> String {
    if names.is_empty() {
        return "—".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
