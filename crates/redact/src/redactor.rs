//! The marks, and the two entrances: plain text and raw JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::find::{Span, spans};
use crate::json;
use crate::patched::Patched;

/// Replaces secrets by marks that name their kind. Equal secrets get equal marks within one store.
///
/// The hex digits of a mark are the head of an HMAC-SHA256 with the store's key (eventlog 1.7), so that a person can
/// see that two places held the same secret, and nobody without the key can test a guess.
#[derive(Clone)]
pub struct Redactor {
    mac: Hmac<Sha256>,
}

impl Redactor {
    /// Makes a redactor with the store's key (`store.json`, `redactKey`).
    pub fn new(key: &[u8; 32]) -> Self {
        // HMAC pads a short key with zeros to one block; doing it here uses the constructor that cannot fail.
        let mut block = [0u8; 64];
        block[..32].copy_from_slice(key);
        Self { mac: <Hmac<Sha256> as KeyInit>::new(&block.into()) }
    }

    /// Marks the secrets in plain text. Text without secrets comes back borrowed.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut patched = Patched::new(text);
        for span in &spans(text) {
            self.push_mark(patched.replace(span.start, span.end), span, text);
        }
        patched.finish()
    }

    /// Marks the secrets in raw JSON text: in the contents of strings only, also by the name of the member they stand
    /// under (`password`, `api_key`, `authorization`, …; `user_email` becomes `[redacted:email:…]`). All other bytes,
    /// escapes and lone surrogates included, stay as they came; valid JSON stays valid, with the same structure.
    ///
    /// For bytes that are not JSON use [`Redactor::text`]: outside of quotes nothing is changed here.
    pub fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        json::redact(text, &mut |out, span, decoded| self.push_mark(out, span, decoded))
    }

    /// Returns the mark of a text that is taken out under this word.
    pub fn mark(&self, kind: &str, text: &str) -> String {
        let mut out = String::new();
        self.push(&mut out, kind, text);
        out
    }

    /// Appends the mark for `text[span]` to `out`.
    fn push_mark(&self, out: &mut String, span: &Span, text: &str) {
        self.push(out, span.kind.name, &text[span.start..span.end]);
    }

    fn push(&self, out: &mut String, kind: &str, text: &str) {
        let mut mac = self.mac.clone();
        mac.update(text.as_bytes());
        let digest = mac.finalize().into_bytes();
        out.push_str("[redacted:");
        out.push_str(kind);
        out.push(':');
        for byte in &digest[..4] {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
        out.push(']');
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(key hidden)")
    }
}
