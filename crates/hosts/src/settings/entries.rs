//! Entries in a host's JSON settings: which are ours, and one edit after the other until they are as they should be.

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged as _;

use super::command::is_ours;
use super::document::{Document, Splice, apply};
use super::layout::{Layout, quoted};
use super::{Before, Entry, SettingsError, Wanted};
use crate::table::HostTable;

/// One of our entries in a parsed file.
struct Found<'d, 'a> {
    event: &'d str,
    list: &'d Array<'a>,
    /// Its place in the event's list: its own or its group's.
    index: usize,
    /// The list in the group, and its place in there.
    inner: Option<(&'d Array<'a>, usize)>,
    object: &'d Object<'a>,
    command: &'d str,
}

impl Found<'_, '_> {
    fn is_alone(&self) -> bool {
        self.inner.is_none_or(|(inner, _)| inner.elements.len() == 1)
    }
}

/// Puts our entries in.
pub(super) fn install(
    table: &HostTable,
    wanted: &[Wanted],
    text: &str,
    before: Before<'_>,
) -> Result<String, SettingsError> {
    let layout = Layout::of(table);
    let theirs = Theirs::of(before);
    let mut text = text.to_owned();
    loop {
        let document = Document::parse(&text)?;
        match next_edit(&layout, wanted, &document, &theirs)? {
            Some(splices) => text = apply(&text, splices),
            None => return Ok(text),
        }
    }
}

/// Finds the next thing to do. Each makes one thing right that stays right, so the caller's loop ends.
fn next_edit(
    layout: &Layout,
    wanted: &[Wanted],
    document: &Document<'_>,
    theirs: &Theirs,
) -> Result<Option<Vec<Splice>>, SettingsError> {
    let Some(root) = root(document)? else {
        // Nothing but space and comments: they stay in front.
        let newline = document.newline();
        let end = document.text.len();
        let lead =
            if document.text.trim().is_empty() || document.text.ends_with('\n') { "" } else { newline };
        return Ok(Some(vec![Splice::replace(end..end, format!("{lead}{{}}{newline}"))]));
    };
    if layout.versioned && root.get("version").is_none() {
        return Ok(Some(document.append(&root.into(), "\"version\": 1", true)));
    }
    let Some(hooks) = hooks(document, root)? else {
        return Ok(Some(document.append(&root.into(), "\"hooks\": {}", true)));
    };
    let ours = ours(layout, hooks);
    if layout.own_file && ours.is_empty() && !hooks.properties.is_empty() {
        return Err(SettingsError::Foreign);
    }
    let mut seen: Vec<&str> = Vec::new();
    for found in &ours {
        let Some(wanted) =
            wanted.iter().find(|wanted| wanted.event == found.event && !seen.contains(&wanted.event))
        else {
            let is_unwanted = !wanted.iter().any(|wanted| wanted.event == found.event);
            let is_all = is_unwanted && !theirs.has(found.event) && is_all_of_its_list(document, found);
            let whole = if is_all { take_property(document, hooks, found.event) } else { None };
            return Ok(Some(whole.unwrap_or_else(|| take_out(layout, document, found))));
        };
        seen.push(wanted.event);
        if let Some(splices) = mend(layout, document, found, wanted) {
            return Ok(Some(splices));
        }
    }
    for wanted in wanted {
        let list = match hooks.get(wanted.event) {
            None => {
                let property = format!("{}: [{}]", quoted(wanted.event), layout.item(wanted));
                return Ok(Some(document.append(&hooks.into(), &property, true)));
            }
            Some(property) => list_of(document, wanted.event, &property.value)?,
        };
        if !seen.contains(&wanted.event) {
            return Ok(Some(document.append(&list.into(), &layout.item(wanted), false)));
        }
    }
    Ok(None)
}

/// Writes what differs in an entry of ours, and leaves what a user added to it.
fn mend(
    layout: &Layout,
    document: &Document<'_>,
    found: &Found<'_, '_>,
    wanted: &Wanted,
) -> Option<Vec<Splice>> {
    layout.members(wanted).into_iter().find_map(|(key, value)| {
        let Some(property) = found.object.get(key) else {
            return Some(document.append(&(found.object).into(), &format!("\"{key}\": {value}"), false));
        };
        let range = property.value.start()..property.value.end();
        let is_same = match &property.value {
            Value::StringLit(literal) => quoted(&literal.value) == value,
            other => other.text(document.text) == value,
        };
        (!is_same).then(|| vec![Splice::replace(range, value)])
    })
}

/// Takes our entries out; nothing when the file was ours and holds nothing else.
pub(super) fn remove(
    table: &HostTable,
    text: &str,
    before: Before<'_>,
) -> Result<Option<String>, SettingsError> {
    let layout = Layout::of(table);
    let mut text = text.to_owned();
    let mut touched: Vec<String> = Vec::new();
    loop {
        let document = Document::parse(&text)?;
        let Some(root) = root(&document)? else { return Ok(Some(text)) };
        let Some(hooks) = hooks(&document, root)? else { return Ok(Some(text)) };
        let ours = ours(&layout, hooks);
        // From the end: what comes after ours is then theirs.
        let Some(last) = ours.last() else { break };
        touched.push(last.event.to_owned());
        let splices = take_out(&layout, &document, last);
        text = apply(&text, splices);
    }
    if touched.is_empty() { Ok(Some(text)) } else { tidy(&layout, text, &touched, before) }
}

/// Takes away what our entries left empty, unless it was there before them.
fn tidy(
    layout: &Layout,
    mut text: String,
    touched: &[String],
    before: Before<'_>,
) -> Result<Option<String>, SettingsError> {
    let theirs = Theirs::of(before);
    loop {
        let document = Document::parse(&text)?;
        let Some(root) = root(&document)? else { return Ok(Some(text)) };
        let hooks = hooks(&document, root)?;
        let emptied = hooks.and_then(|hooks| {
            let index = hooks.properties.iter().position(|property| {
                let event = property.name.as_str();
                touched.iter().any(|name| name == event)
                    && !theirs.has(event)
                    && property.value.as_array().is_some_and(|list| document.is_bare(&list.into()))
            });
            match index {
                Some(index) => Some(document.take(&hooks.into(), index)),
                None if !theirs.hooks && document.is_bare(&hooks.into()) => {
                    take_property(&document, root, "hooks")
                }
                None => None,
            }
        });
        // Hooks that came in after ours may need the version that we wrote.
        let is_ours = layout.versioned
            && !theirs.version
            && (theirs.hooks || hooks.is_none())
            && (before != Before::Unknown || layout.own_file);
        let version = || if is_ours { take_property(&document, root, "version") } else { None };
        let splices = emptied.or_else(version);
        match splices {
            Some(splices) => text = apply(&text, splices),
            None => {
                let is_bare = document.is_bare(&root.into())
                    && document.text.get(..root.range.start).is_some_and(|lead| lead.trim().is_empty())
                    && document.text.get(root.range.end..).is_some_and(|rest| rest.trim().is_empty());
                return Ok(match before {
                    Before::NoFile if is_bare => None,
                    Before::Unknown if is_bare && layout.own_file => None,
                    Before::Text(blank) if is_bare && blank.trim().is_empty() => Some(blank.to_owned()),
                    _ => Some(text),
                });
            }
        }
    }
}

/// What was in a file before our entries.
#[derive(Default)]
struct Theirs {
    version: bool,
    hooks: bool,
    events: Vec<String>,
}

impl Theirs {
    fn of(before: Before<'_>) -> Theirs {
        let Before::Text(text) = before else { return Theirs::default() };
        let Ok(document) = Document::parse(text) else { return Theirs::default() };
        let Some(Value::Object(root)) = &document.root else { return Theirs::default() };
        let hooks = root.get_object("hooks");
        let events = hooks.map_or(&[][..], |hooks| &hooks.properties).iter();
        Theirs {
            version: root.get("version").is_some(),
            hooks: hooks.is_some(),
            events: events.map(|property| property.name.as_str().to_owned()).collect(),
        }
    }

    fn has(&self, event: &str) -> bool {
        self.events.iter().any(|name| name == event)
    }
}

/// Lists our entries.
pub(super) fn list(table: &HostTable, text: &str) -> Result<Vec<Entry>, SettingsError> {
    let layout = Layout::of(table);
    let document = Document::parse(text)?;
    let Some(root) = root(&document)? else { return Ok(Vec::new()) };
    let Some(hooks) = hooks(&document, root)? else { return Ok(Vec::new()) };
    let entries = ours(&layout, hooks).into_iter().map(|found| Entry {
        event: found.event.to_owned(),
        command: found.command.to_owned(),
        timeout: found.object.get(layout.timeout).map(|timeout| timeout.value.text(text).to_owned()),
        alone: found.is_alone(),
    });
    Ok(entries.collect())
}

/// Takes one entry out: with its group when it is alone in there.
fn take_out(layout: &Layout, document: &Document<'_>, found: &Found<'_, '_>) -> Vec<Splice> {
    if let Some((inner, index)) = found.inner
        && !found.is_alone()
    {
        return document.take(&inner.into(), index);
    }
    match found.list.elements.get(found.index) {
        Some(group) if layout.placed && found.index + 1 < found.list.elements.len() => {
            vec![Splice::replace(group.start()..group.end(), "{\"hooks\": []}".to_owned())]
        }
        _ => document.take(&found.list.into(), found.index),
    }
}

/// True when nothing is left in an event's list without this entry, not even a comment.
fn is_all_of_its_list(document: &Document<'_>, found: &Found<'_, '_>) -> bool {
    found.is_alone() && document.holds_one(&found.list.into())
}

fn take_property(document: &Document<'_>, object: &Object<'_>, key: &str) -> Option<Vec<Splice>> {
    let index = object.properties.iter().position(|property| property.name.as_str() == key)?;
    Some(document.take(&object.into(), index))
}

/// Finds our entries. What has another form than the host's is not ours.
fn ours<'d, 'a>(layout: &Layout, hooks: &'d Object<'a>) -> Vec<Found<'d, 'a>> {
    let mut ours = Vec::new();
    for property in &hooks.properties {
        let Some(list) = property.value.as_array() else { continue };
        for (index, element) in list.elements.iter().enumerate() {
            let Some(object) = element.as_object() else { continue };
            let mut look = |inner, object: &'d Object<'a>| {
                let Some(command) = object.get_string(layout.command).map(|literal| &*literal.value) else {
                    return;
                };
                if is_ours(command) {
                    ours.push(Found { event: property.name.as_str(), list, index, inner, object, command });
                }
            };
            if !layout.grouped {
                look(None, object);
                continue;
            }
            let Some(inner) = object.get_array("hooks") else { continue };
            for (place, handler) in inner.elements.iter().enumerate() {
                if let Some(handler) = handler.as_object() {
                    look(Some((inner, place)), handler);
                }
            }
        }
    }
    ours
}

/// Returns the file's object; none where it has no value at all.
fn root<'d, 'a>(document: &'d Document<'a>) -> Result<Option<&'d Object<'a>>, SettingsError> {
    match &document.root {
        None => Ok(None),
        Some(Value::Object(root)) => {
            no_key_twice(document, root, "", |key| key == "hooks" || key == "version")?;
            Ok(Some(root))
        }
        Some(other) => Err(shape(document, "the file", "object", other)),
    }
}

fn hooks<'d, 'a>(
    document: &Document<'_>,
    root: &'d Object<'a>,
) -> Result<Option<&'d Object<'a>>, SettingsError> {
    match root.get("hooks").map(|property| &property.value) {
        None => Ok(None),
        Some(Value::Object(hooks)) => {
            no_key_twice(document, hooks, "hooks.", |_| true)?;
            Ok(Some(hooks))
        }
        Some(other) => Err(shape(document, "`hooks`", "object", other)),
    }
}

fn list_of<'d, 'a>(
    document: &Document<'_>,
    event: &str,
    value: &'d Value<'a>,
) -> Result<&'d Array<'a>, SettingsError> {
    value.as_array().ok_or_else(|| shape(document, &format!("`hooks.{event}`"), "list", value))
}

fn shape(document: &Document<'_>, what: &str, wanted: &'static str, value: &Value<'_>) -> SettingsError {
    let (line, column) = document.place(value.start());
    SettingsError::Shape { what: what.to_owned(), wanted, line, column }
}

fn no_key_twice(
    document: &Document<'_>,
    object: &Object<'_>,
    path: &str,
    counts: impl Fn(&str) -> bool,
) -> Result<(), SettingsError> {
    for (index, property) in object.properties.iter().enumerate() {
        let key = property.name.as_str();
        let is_known = object.properties.iter().take(index).any(|earlier| earlier.name.as_str() == key);
        if counts(key) && is_known {
            let (line, column) = document.place(property.range.start);
            return Err(SettingsError::Twice { what: format!("`{path}{key}`"), line, column });
        }
    }
    Ok(())
}
