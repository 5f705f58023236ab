//! What a route is given on standard input.

use herdbook_events::{CanonicalEvent, Family, Lineage, Payload};
use serde::Serialize;
use serde_json::value::RawValue;

/// Returns `{"canonical": …, "native": …}`, as `createEventRouteInput` of the TypeScript package makes it: the event
/// without the native object, and that beside it. `family` is the one that the route is for.
pub fn input(event: &CanonicalEvent, family: Family) -> Vec<u8> {
    #[derive(Serialize)]
    struct Input<'a> {
        canonical: Canonical<'a>,
        native: &'a RawValue,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Canonical<'a> {
        event: &'static str,
        host: &'a str,
        native_event: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<&'a str>,
        payload: &'a Payload,
        #[serde(skip_serializing_if = "is_empty")]
        lineage: &'a Lineage,
    }
    fn is_empty(lineage: &&Lineage) -> bool {
        **lineage == Lineage::default()
    }
    let canonical = Canonical {
        event: family.as_str(),
        host: &event.host,
        native_event: event.native_event.as_deref(),
        idempotency_key: event.idempotency_key.as_deref(),
        payload: &event.payload,
        lineage: &event.lineage,
    };
    // All members have string keys, so it always prints.
    serde_json::to_vec(&Input { canonical, native: &event.native }).unwrap_or_default()
}
