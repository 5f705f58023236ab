//! What authors of hooks and routes read: the tables as one JSON mirror, as a reference page, as JSON Schema and as
//! TypeScript. All of it is made from the tables and the vocabulary alone, and committed; a test holds the copies.

mod lines;
mod mirror;
mod page;
mod schema;
mod typescript;

pub use mirror::reference_json;
pub use page::reference_page;
pub use schema::json_schema;
pub use typescript::{tables_module, types_module};

use herdbook_events::FieldKind;

use crate::detail::Wording;
use crate::table::{Decode, Install};

/// The reference's word for a field's kind.
fn kind_word(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Boolean => "boolean",
        FieldKind::Json => "json",
        FieldKind::NullableString => "nullable-string",
        FieldKind::String => "string",
        FieldKind::StringArray => "string-array",
        FieldKind::Trigger => "trigger",
    }
}

/// The reference's word for a decode.
fn decode_word(decode: Decode) -> &'static str {
    match decode {
        Decode::None => "none",
        Decode::JsonString => "json-string",
        Decode::PositiveCount => "positive-count",
    }
}

fn install_word(install: Install) -> &'static str {
    match install {
        Install::Always => "always",
        Install::OnRoute => "route",
        Install::Never(_) => "never",
    }
}

/// How a host is told something: the way, and the text with the event's name in its place.
fn spoken(wording: &Wording, event: &str) -> (&'static str, String) {
    let named = |text: &str| text.replace("$event", event);
    match wording {
        Wording::Json(json) => ("stdout", named(json)),
        Wording::Text(text) => ("stdout text", named(text)),
        Wording::ExitTwo(text) => ("exit 2, stderr", named(text)),
        Wording::Throw(text) => ("throw", named(text)),
        Wording::Return(json) => ("return", named(json)),
        Wording::Set(place, value) => ("set", format!("{place} = {value}")),
    }
}
