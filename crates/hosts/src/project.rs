//! Native bytes to a canonical event.

use herdbook_events::{
    CanonicalEvent, Family, Field,
    canonical::{for_each_member, read_text},
};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::ecmascript::canonical_text;
use crate::json::compact;
use crate::native::Native;
use crate::table::Layout;

/// What became of the bytes of one hook call.
#[derive(Clone, Debug)]
pub enum Projected {
    /// A JSON object.
    Event(Box<CanonicalEvent>),
    /// Anything else: kept as `unreadable`, with what could be salvaged.
    Unreadable(Salvage),
}

/// Top-level strings that are whole before the break of broken JSON (overview section 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Why it could not be read, in words, with line and column where there are any.
    pub error: String,
    /// The host it is attributed to.
    pub host: String,
    /// The host's session id.
    pub session: Option<String>,
    /// The native event name.
    pub native_event: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The bytes as text, invalid UTF-8 replaced.
    pub text: String,
}

/// Projects one hook call of an adapter. Never fails: another shape means an absent field, broken JSON is salvaged.
///
/// `native_event` is the name the hook was told as its argument, for hosts whose payload does not say it.
pub fn project(host: &str, native_event: Option<&str>, body: &[u8]) -> Projected {
    match read(host, native_event, body).and_then(|native| {
        let event = native.to_event();
        event.map_err(|error| Box::new(native.salvage(error.to_string(), body)))
    }) {
        Ok(event) => Projected::Event(Box::new(event)),
        Err(salvage) => Projected::Unreadable(*salvage),
    }
}

/// Reads one hook call of an adapter where it lies: [`project()`] up to the point where an event is made that owns its
/// texts. To print it is several times cheaper than to make that event.
///
/// # Errors
/// The body is no JSON object; what could be salvaged of it.
pub fn read<'a>(
    host: &'a str,
    native_event: Option<&'a str>,
    body: &'a [u8],
) -> Result<Native<'a>, Box<Salvage>> {
    let (text, not_utf8) = match std::str::from_utf8(body) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = &body[..error.valid_up_to()];
            (std::str::from_utf8(valid).unwrap_or_default(), Some(error.valid_up_to()))
        }
    };
    // To JSON a byte order mark is no white space, but some transports put one or two in front (case F-024).
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\n', '\r']);
    let (read, broken) = match compact(text) {
        Ok(read) => (read, None),
        Err(broken) => (broken.before, Some(broken.error)),
    };
    let is_object = read.text.starts_with('{');
    let native = Native::new(host, native_event, read);
    match not_utf8 {
        Some(at) => Err(format!("byte {} and what follows is not UTF-8", at + 1)),
        None => match broken {
            Some(broken) => Err(broken),
            None if !is_object => Err("the value is not an object".to_owned()),
            None => Ok(()),
        },
    }
    .map_err(|error| Box::new(native.salvage(error, body)))?;
    Ok(native)
}

pub(crate) fn lower_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Returns the idempotency key of the reference: SHA-256 in lower-case hex over `{"event","native","target"}` as
/// ECMAScript prints it. It names content; two equal events have one key.
pub fn idempotency_key(family: Family, native: &RawValue, host: &str) -> String {
    key_of_canonical(family, &canonical_text(native), host)
}

/// The same, of a native object in its canonical text.
pub(crate) fn key_of_canonical(family: Family, native: &str, host: &str) -> String {
    let mut hash = Sha256::new();
    for part in ["{\"event\":\"", family.as_str(), "\",\"native\":", native, ",\"target\":\"", host, "\"}"] {
        hash.update(part);
    }
    lower_hex(&hash.finalize())
}

/// Returns the working directory an event tells: its own `cwd`, else the first workspace root where the host
/// reports those (case F-030). Empty counts as absent.
pub fn cwd(event: &CanonicalEvent) -> Option<String> {
    let own = event.payload.text(Field::Cwd).or_else(|| event.native_text("cwd"));
    own.filter(|cwd| !cwd.is_empty()).or_else(|| {
        let roots = event.native_member(crate::table(&event.host)?.identity.roots?)?;
        let roots: Vec<&RawValue> = serde_json::from_str(roots.get()).ok()?;
        read_text(roots.first()?).filter(|root| !root.is_empty())
    })
}

/// Returns the value under a key as the event's host lays its keys out; a dot leads into a member.
pub(crate) fn native_at<'a>(event: &'a CanonicalEvent, key: &str) -> Option<&'a str> {
    let layout = crate::table(&event.host).map_or(&Layout::FLAT, |table| &table.layout);
    lookup(layout, key, |name| member(event.native.get(), name))
}

/// Looks a key up inside the wrappers of an event, or beside them where it has none.
pub(crate) fn lookup<'a>(
    layout: &Layout,
    key: &str,
    top: impl Fn(&str) -> Option<&'a str>,
) -> Option<&'a str> {
    let wrapped = layout.wrappers.iter().rev().filter_map(|wrapper| top(wrapper));
    let inside: Vec<&str> = wrapped.filter(|value| value.starts_with('{')).collect();
    let mut steps = key.split('.');
    let first = steps.next()?;
    let found = match inside.as_slice() {
        [] => top(first),
        inside => inside.iter().find_map(|object| member(object, first)),
    };
    steps.try_fold(found?, member)
}

/// Returns a member of an object's text; of repeated members the last one counts.
fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut found = None;
    for_each_member(object, |name, value| {
        if name == key {
            found = Some(value.get());
        }
    });
    found
}
