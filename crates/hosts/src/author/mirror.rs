//! The tables as JSON.

use herdbook_events::{Family, Field};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::lines::json_lines;
use super::{decode_word, install_word, kind_word, spoken};
use crate::answer::{Answer, Nearest};
use crate::detail::{Can, Detail, Key};
use crate::table::{Form, HostTable, Identity, Install, NativeEvent};
use crate::{HOSTS, Refusal};

/// Returns the whole reference as JSON: families, then hosts, each in its order.
pub fn reference_json() -> String {
    let families = Family::ALL.iter().map(|family| of_family(*family)).collect();
    let fields = Members(Field::ALL.iter().map(|field| (field.as_str(), kind_word(field.kind()))).collect());
    let hosts = HOSTS.iter().map(|table| of_host(table)).collect();
    let mut text = json_lines(&Reference { families, fields, hosts }, 4);
    text.push('\n');
    text
}

/// An object whose members keep their order.
pub(super) struct Members<T>(pub Vec<(&'static str, T)>);

impl<T: Serialize> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Reference {
    families: Vec<FamilyPart>,
    fields: Members<&'static str>,
    hosts: Vec<HostPart>,
}

#[derive(Serialize)]
struct FamilyPart {
    family: &'static str,
    fields: Vec<&'static str>,
    native: Members<Vec<&'static str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HostPart {
    host: &'static str,
    title: &'static str,
    documented: &'static str,
    seen_live: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never_installed: Option<&'static str>,
    on_failure: &'static str,
    on_timeout: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_ms: Option<u32>,
    common_keys: Vec<KeyPart>,
    layout: LayoutPart,
    events: Vec<EventPart>,
}

/// How to read what the host sends.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LayoutPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<&'static str>,
    identity: IdentityPart,
    wrappers: &'static [&'static str],
    spellings: &'static [(&'static str, &'static str)],
    aliases: Members<&'static str>,
    folds_case: bool,
}

#[derive(Serialize)]
struct IdentityPart {
    event: &'static [&'static str],
    session: &'static [&'static str],
    turn: &'static [&'static str],
    agent: &'static [&'static str],
    parent: &'static [&'static str],
}

#[derive(Serialize)]
pub(super) struct KeyPart {
    key: &'static str,
    #[serde(rename = "type")]
    shape: &'static str,
    required: bool,
    nullable: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MappingPart {
    native_key: &'static str,
    decode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventPart {
    native: &'static str,
    family: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<&'static str>,
    seen_live: &'static [&'static str],
    install: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    never_installed: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_ms: Option<u32>,
    payload: Members<MappingPart>,
    keys: Vec<KeyPart>,
    values: Members<&'static [&'static str]>,
    blocks: Option<&'static str>,
    hold_safe: bool,
    answers: Members<AnswerPart>,
    forms: Members<Vec<FormPart>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnswerPart {
    Can {
        forms: Vec<FormPart>,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<&'static str>,
    },
    Refused {
        refused: &'static str,
        nearest: NearestPart,
    },
}

#[derive(Serialize)]
struct NearestPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    answer: &'static str,
}

#[derive(Serialize)]
struct FormPart {
    via: &'static str,
    says: String,
}

fn of_family(family: Family) -> FamilyPart {
    let native = HOSTS.iter().filter_map(|table| {
        let events = table.events.iter().filter(|event| event.family == Some(family));
        let names: Vec<&str> = events.map(|event| event.name).collect();
        (!names.is_empty()).then_some((table.host, names))
    });
    FamilyPart {
        family: family.as_str(),
        fields: family.fields().iter().map(|field| field.as_str()).collect(),
        native: Members(native.collect()),
    }
}

fn of_host(table: &'static HostTable) -> HostPart {
    let never_installed = match table.setup.form {
        Form::Never(reason) => Some(reason),
        _ => None,
    };
    HostPart {
        host: table.host,
        title: table.title,
        documented: table.documented,
        seen_live: table.seen(),
        never_installed,
        on_failure: table.on_failure,
        on_timeout: table.on_timeout,
        limit_ms: table.limit_ms,
        common_keys: table.common.iter().map(of_key).collect(),
        layout: layout(table),
        events: table.events.iter().map(|event| of_event(table, event)).collect(),
    }
}

pub(super) fn layout(table: &'static HostTable) -> LayoutPart {
    let Identity { event, session, turn, agent, parent, .. } = table.identity;
    LayoutPart {
        mark: table.mark,
        identity: IdentityPart { event, session, turn, agent, parent },
        wrappers: table.layout.wrappers,
        spellings: table.layout.spellings,
        aliases: Members(table.aliases.to_vec()),
        folds_case: table.folds_case,
    }
}

pub(super) fn of_key(key: &Key) -> KeyPart {
    KeyPart { key: key.name, shape: key.shape.as_str(), required: key.required, nullable: key.nullable }
}

/// The mapped fields of an event in its family's order.
pub(super) fn payload(event: &NativeEvent) -> Members<MappingPart> {
    let fields = event.family.map_or(&[][..], Family::fields).iter();
    let mapped = fields.filter_map(|field| {
        let mapping = event.mapping(*field)?;
        let part = MappingPart { native_key: mapping.key, decode: decode_word(mapping.decode) };
        Some((field.as_str(), part))
    });
    Members(mapped.collect())
}

fn of_event(table: &HostTable, event: &'static NativeEvent) -> EventPart {
    let detail = table.detail(event);
    let can = detail.map_or(&[][..], |detail| detail.can);
    EventPart {
        native: event.name,
        family: event.family.map(Family::as_str),
        outside: event.outside,
        seen_live: detail.map_or(&[], |detail| detail.seen),
        install: install_word(event.install),
        never_installed: match event.install {
            Install::Never(reason) => Some(reason),
            Install::Always | Install::OnRoute => None,
        },
        since: event.since,
        limit_ms: event.limit_ms,
        payload: payload(event),
        keys: detail.into_iter().flat_map(Detail::keys).map(of_key).collect(),
        values: Members(detail.map_or(Vec::new(), |detail| detail.values.to_vec())),
        blocks: detail.and_then(|detail| detail.effect),
        hold_safe: detail.is_some_and(|detail| detail.hold_safe),
        answers: Members(
            Answer::ALL.iter().map(|answer| (answer.as_str(), answered(table, event, *answer))).collect(),
        ),
        forms: Members(can.iter().map(|can| (can.intent.as_str(), forms(can, event.name))).collect()),
    }
}

fn forms(can: &Can, event: &str) -> Vec<FormPart> {
    let part = |wording| {
        let (via, says) = spoken(wording, event);
        FormPart { via, says }
    };
    can.wordings.iter().map(part).collect()
}

fn answered(table: &HostTable, event: &NativeEvent, answer: Answer) -> AnswerPart {
    match table.answer(event, answer) {
        Ok(can) => AnswerPart::Can { forms: forms(can, event.name), note: can.note },
        Err(Refusal { why, nearest }) => {
            let nearest = match nearest {
                Nearest::Continue => NearestPart { event: None, answer: "continue" },
                Nearest::Answer(other) => NearestPart { event: None, answer: other.as_str() },
                Nearest::At(event, other) => NearestPart { event: Some(event), answer: other.as_str() },
            };
            AnswerPart::Refused { refused: why, nearest }
        }
    }
}
