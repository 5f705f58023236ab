//! TypeScript: the types of canonical and normalized events, and the tables that the package in `clients/ts` projects by.

use std::fmt::Write as _;

use herdbook_events::{Family, Field, FieldKind};
use serde::Serialize;

use super::kind_word;
use super::lines::json_lines;
use super::mirror::{KeyPart, LayoutPart, MappingPart, Members, layout, of_key, payload};
use crate::HOSTS;
use crate::answer::Answer;
use crate::detail::Detail;
use crate::table::{HostTable, NativeEvent};

/// The four normalized events and their guards: they are no table, so they stand as they are.
const NORMALIZED: &str = include_str!("normalized.ts");

/// Returns a module with the types of canonical events, one payload a family, and the four normalized events with their
/// guards. It needs no other module.
pub fn types_module() -> String {
    let mut module = "// Made by `herdbook schema --lang ts`; do not edit.\n".to_owned();
    // Writing to a string cannot fail.
    let _ = types(&mut module);
    module.push('\n');
    module.push_str(NORMALIZED);
    module
}

/// Returns a module with the kinds of all fields and the tables of all hosts.
pub fn tables_module() -> String {
    let tables = Members(HOSTS.iter().map(|table| (table.host, of_host(table))).collect());
    let kinds = Members(Field::ALL.iter().map(|field| (field.as_str(), kind_word(field.kind()))).collect());
    let tables = json_lines(&tables, 3);
    let kinds = json_lines(&kinds, 1);
    format!(
        "// Made by `herdbook schema --lang ts-tables`; do not edit.\n\
         import type {{ FieldKinds, Tables }} from \"./tables.types.js\";\n\n\
         export const fieldKinds: FieldKinds = {kinds};\n\n\
         export const tables: Tables = {tables};\n"
    )
}

fn value_type(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Boolean => "boolean",
        FieldKind::Json => "Json",
        FieldKind::NullableString => "string | null",
        FieldKind::String => "string",
        FieldKind::StringArray => "readonly string[]",
        FieldKind::Trigger => "\"manual\" | \"auto\"",
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" | ")
}

fn types(module: &mut String) -> std::fmt::Result {
    module.push_str(
        "
/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** An object as a host sent it. */
export type Native = { readonly [key: string]: Json };

",
    );
    writeln!(
        module,
        "/** The hosts. */\nexport type Host = {};\n",
        quoted(HOSTS.iter().map(|table| table.host))
    )?;
    writeln!(
        module,
        "/** What a field's value is, in every family that has it. */\nexport interface FieldTypes {{"
    )?;
    for field in Field::ALL {
        writeln!(module, "  {}: {};", field.as_str(), value_type(field.kind()))?;
    }
    writeln!(module, "}}\n\n/** The fields of each family. */\nexport interface FamilyFields {{")?;
    for family in Family::ALL {
        let fields = quoted(family.fields().iter().map(|field| field.as_str()));
        writeln!(module, "  \"{}\": {fields};", family.as_str())?;
    }
    writeln!(module, "}}\n\n/** The hosts that report each family. */\nexport interface FamilyHosts {{")?;
    for family in Family::ALL {
        let reports = |table: &&&HostTable| table.events.iter().any(|event| event.family == Some(*family));
        let hosts = quoted(HOSTS.iter().filter(reports).map(|table| table.host));
        writeln!(module, "  \"{}\": {hosts};", family.as_str())?;
    }
    module.push_str(
        "}

/** What happened, in one word for all hosts. */
export type Family = keyof FamilyFields;

/** A field that the host sent: its value, and the host's own key for it. Nothing else. */
export interface PayloadField<T> {
  readonly value: T;
  readonly nativeKey: string;
}

/** The fields of a family, or of any where none is named. One that the host did not send is absent. */
export type Payload<F extends Family = Family> = {
  readonly [Name in FamilyFields[F]]?: PayloadField<FieldTypes[Name]>;
};

/** Turn, subagent and parent session, where the host names them. */
export interface Lineage {
  readonly turn?: string;
  readonly agent?: string;
  readonly parent?: string;
}

/** One hook call in canonical form. */
export interface CanonicalEvent<F extends Family = Family> {
  readonly event: F;
  readonly host: FamilyHosts[F];
  /** The host's own name of the event. */
  readonly nativeEvent: string;
  /** SHA-256 of what was sent. Two equal calls have one key. */
  readonly idempotencyKey: string;
  readonly payload: Payload<F>;
  readonly lineage?: Lineage;
}

/** A canonical event of any family, told apart by `event`. */
export type AnyCanonicalEvent = { [F in Family]: CanonicalEvent<F> }[Family];

/** A native event outside the families, or of a host that is not known. */
export interface OutsideEvent {
  readonly event: null;
  readonly host: string;
  readonly nativeEvent: string | null;
  readonly payload: { readonly [name: string]: never };
  readonly lineage?: Lineage;
}

/** A line of `herdbook normalize`: the event and, in one object with it, what the host sent. */
export type NormalizedLine = (AnyCanonicalEvent | OutsideEvent) & { readonly native: Native };

/** What an event route is given: the canonical event, and untouched beside it what the host sent. */
export interface EventRouteInput<F extends Family = Family> {
  readonly canonical: CanonicalEvent<F>;
  readonly native: Native;
}

/** What a route of any family is given. */
export type RouteInput = { [F in Family]: EventRouteInput<F> }[Family];

",
    );
    answers(module)?;
    module.push_str(
        "
/**
 * What a route prints: nothing, or this. Without an outcome, or with `continue`, the host goes by its own rules.
 *
 * `allow` and `updatedInput` must stand in the `may` of the route's toml. What a host cannot be told is left out there.
 */
export type RouteAnswer<F extends Family = Family> = {
  /** Why: for the model where it is denied, for the human where he is asked. */
  readonly reason?: string;
  /** Text for the model. */
  readonly context?: \"context\" extends FamilyAnswers[F] ? string : never;
} & (
  | {
      /** Do not let it happen; of a stop: go on. */
      readonly outcome: Extract<FamilyAnswers[F], \"deny\">;
      readonly updatedInput?: never;
    }
  | {
      readonly outcome?: \"continue\" | Extract<FamilyAnswers[F], \"allow\" | \"ask\">;
      /** Another input, in the place of the whole. Most hosts take it beside `allow` alone. */
      readonly updatedInput?: FamilyInputs[F];
    }
);
",
    );
    Ok(())
}

/// What of each family at least one host can be told, and what another input is there.
fn answers(module: &mut String) -> std::fmt::Result {
    let told = |family: Family, answer| {
        HOSTS.iter().flat_map(move |table| {
            table.routed(family).filter_map(move |event| table.answer(event, answer).ok())
        })
    };
    writeln!(
        module,
        "/** What of each family at least one host can be told, beside `continue`. */\nexport interface FamilyAnswers {{"
    )?;
    for family in Family::ALL {
        let is_told = |answer: &Answer| told(*family, *answer).next().is_some();
        let words = quoted(Answer::ALL.iter().filter(|answer| is_told(answer)).map(|answer| answer.as_str()));
        let words = if words.is_empty() { "never" } else { &words };
        writeln!(module, "  \"{}\": {words};", family.as_str())?;
    }
    writeln!(module, "}}\n\n/** What another input is in each family. */\nexport interface FamilyInputs {{")?;
    for family in Family::ALL {
        let input = match told(*family, Answer::UpdatedInput).next() {
            None => "never",
            Some(can) if can.wants_text() => "string",
            Some(_) => "{ readonly [key: string]: Json }",
        };
        writeln!(module, "  \"{}\": {input};", family.as_str())?;
    }
    module.push_str("}\n");
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HostPart {
    layout: LayoutPart,
    common_keys: Vec<KeyPart>,
    events: Members<EventPart>,
}

#[derive(Serialize)]
struct EventPart {
    family: Option<&'static str>,
    payload: Members<MappingPart>,
    keys: Vec<KeyPart>,
}

fn of_host(table: &'static HostTable) -> HostPart {
    let event = |event: &'static NativeEvent| EventPart {
        family: event.family.map(Family::as_str),
        payload: payload(event),
        keys: table.detail(event).into_iter().flat_map(Detail::keys).map(of_key).collect(),
    };
    HostPart {
        layout: layout(table),
        common_keys: table.common.iter().map(of_key).collect(),
        events: Members(table.events.iter().map(|one| (one.name, event(one))).collect()),
    }
}
