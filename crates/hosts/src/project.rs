//! Native bytes to a canonical event.

use herdbook_events::CanonicalEvent;

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
    /// The bytes as text, invalid UTF-8 replaced.
    pub text: String,
}

/// Projects one hook call of an adapter. Never fails: another shape means an absent field, broken JSON is salvaged.
///
/// `native_event` is the name the hook was told as its argument, for hosts whose payload does not say it.
pub fn project(host: &str, native_event: Option<&str>, body: &[u8]) -> Projected {
    let _ = native_event;
    Projected::Unreadable(Salvage {
        error: "not read yet".into(),
        host: host.into(),
        text: String::from_utf8_lossy(body).into_owned(),
        ..Salvage::default()
    })
}
