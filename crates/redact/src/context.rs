//! Secrets that are known by the words around them: passwords in URLs, `Authorization`, and `name = value` in the
//! forms in which people, shells, configuration and nested JSON write it.

use crate::find::{Look, Span, begins_token};
use crate::names::{Class, after_scheme, class_of, is_key, is_placeholder};

/// The rules of this file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// `scheme://user:password@host`: the password.
    Url,
    /// `Bearer <token>` wherever it stands.
    Bearer,
    /// A name that says that its value is secret.
    Named,
    /// `AccountKey=…` and the like live in [`Rule::Named`]; this is curl's `-u user:password`.
    CurlUser,
}

/// The rules with the words that wake them.
pub(crate) const RULES: &[(Rule, &[&str])] = &[
    (Rule::Url, &["://"]),
    (Rule::Bearer, &["bearer "]),
    (Rule::CurlUser, &["curl "]),
    (
        Rule::Named,
        &[
            "password",
            "passwd",
            "passphrase",
            "pass",
            "_pwd",
            "secret",
            "token",
            "api_key",
            "apikey",
            "api-key",
            "secret_key",
            "secretkey",
            "secret-key",
            "secret_key_base",
            "access_key",
            "accesskey",
            "access-key",
            "private_key",
            "privatekey",
            "private-key",
            "signing_key",
            "encryption_key",
            "master_key",
            "account_key",
            "accountkey",
            "auth_key",
            "authkey",
            "authorization",
        ],
    ),
];

/// Asks a rule about its keyword at `start..end`.
pub(crate) fn look(rule: Rule, text: &str, start: usize, end: usize) -> Look {
    match rule {
        Rule::Url => url(text, start, end),
        Rule::Bearer => bearer(text, start, end),
        Rule::Named => named(text, end),
        Rule::CurlUser => curl_user(text, end),
    }
}

fn miss(resume: usize) -> Look {
    Look { span: None, resume }
}

fn hit(class: Class, start: usize, end: usize) -> Look {
    Look { span: Some(Span { start, end, kind: class.kind() }), resume: end }
}

const URL_PASSWORD: crate::find::Kind = crate::find::Kind::context("url-password");

fn url(text: &str, start: usize, end: usize) -> Look {
    if !text[..start].ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return miss(end);
    }
    let rest = &text[end..];
    let length = rest
        .find(|c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>' | '\\')
        })
        .unwrap_or(rest.len());
    let resume = end + length;
    let authority = &rest[..length];
    let Some(at) = authority.rfind('@') else { return miss(resume) };
    let Some(colon) = authority[..at].find(':') else { return miss(resume) };
    let password = &authority[colon + 1..at];
    if is_placeholder(password) {
        return miss(resume);
    }
    Look { span: Some(Span { start: end + colon + 1, end: end + at, kind: URL_PASSWORD }), resume }
}

/// A token after `Bearer`, where no header name says so: long, and not a word.
fn bearer(text: &str, start: usize, end: usize) -> Look {
    let value_end = end + credentials(&text[end..]);
    let value = &text[end..value_end];
    let telling = value.len() >= 16 && value.bytes().any(|byte| byte.is_ascii_digit());
    if begins_token(text, start) && telling && !is_placeholder(value) {
        return hit(Class::Authorization, end, value_end);
    }
    miss(value_end.max(end))
}

/// Length of a run of characters that credentials are written in (RFC 6750, 7617).
fn credentials(text: &str) -> usize {
    text.find(|c: char| {
        !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '+' | '/' | '=' | ':'))
    })
    .unwrap_or(text.len())
}

/// `curl … -u user:password` or `--user`: the password, on the same line.
fn curl_user(text: &str, end: usize) -> Look {
    let rest = &text[end..];
    let line = rest.find('\n').unwrap_or(rest.len());
    let line_text = &rest[..line];
    let resume = end + line;
    for flag in [" -u ", " --user ", " -u", " --user="] {
        // The word `curl` ate its space, so the first flag may stand at the very beginning.
        let place = if line_text.starts_with(&flag[1..]) {
            Some(flag.len() - 1)
        } else {
            line_text.find(flag).map(|index| index + flag.len())
        };
        let Some(place) = place else { continue };
        let (open, value) = open_quote(&line_text[place..]);
        let value_start = place + open;
        let length = match value {
            Some(quote) => closing_quote(&line_text[value_start..], quote),
            None => {
                line_text[value_start..].find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\'))
            }
        }
        .unwrap_or(line - value_start);
        let user = &line_text[value_start..value_start + length];
        let Some(colon) = user.find(':') else { continue };
        let password = &user[colon + 1..];
        if password.contains('/') || is_placeholder(password) {
            continue;
        }
        let start = end + value_start + colon + 1;
        return Look {
            span: Some(Span { start, end: start + password.len(), kind: Class::Password.kind() }),
            resume,
        };
    }
    miss(resume)
}

/// How a name and its value are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `name=value`
    Tight,
    /// `name: value`, `name = value`, `"name": value`
    Loose,
    /// `--name value`
    Flag,
}

fn named(text: &str, end: usize) -> Look {
    let bytes = text.as_bytes();
    if bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return miss(0);
    }
    let name_start = name_start(bytes, end);
    let name = &text[name_start..end];
    let bare = name.trim_start_matches('-');
    let Some(class) = class_of(bare) else { return miss(0) };
    // The name of a kind in a mark of ours is no name of a value.
    if text[..name_start].ends_with("[redacted:") && is_mark_tail(&bytes[end..]) {
        return miss(end);
    }

    // `\"name\": \"value\"`: the quotes of a nested text still carry their backslashes.
    let mut at = end;
    let (quoted_name, _) = open_quote(&text[at..]);
    at += quoted_name;
    let before_joint = at;
    at += spaces(bytes, at);
    let joint = match bytes.get(at) {
        Some(b'=' | b':') => {
            // `==`, `=>`, `::`, `:=` and `=~`: of these only `:=` and `=>` give a value.
            let sign = bytes[at];
            at += 1;
            match (sign, bytes.get(at)) {
                (b':', Some(b'=')) | (b'=', Some(b'>')) => at += 1,
                (b'=', Some(b'=' | b'~')) | (b':', Some(b':')) => return miss(0),
                _ => {}
            }
            let gap = spaces(bytes, at);
            let tight = sign == b'=' && before_joint == at - 1 && quoted_name == 0 && gap == 0;
            at += gap;
            if tight { Joint::Tight } else { Joint::Loose }
        }
        Some(_) if name.starts_with("--") && at > before_joint && quoted_name == 0 => Joint::Flag,
        _ => return miss(0),
    };

    let (open, quote) = open_quote(&text[at..]);
    let value_start = at + open;
    let rest = &text[value_start..];
    if let Some(quote) = quote
        && let Some(length) = closing_quote(rest, quote)
    {
        return quoted_value(class, &rest[..length], value_start);
    }
    if class == Class::Authorization {
        return header_value(rest, value_start);
    }
    let length = rest
        .find(|c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(
                    c,
                    '"' | '\''
                        | '`'
                        | ';'
                        | '&'
                        | '|'
                        | '<'
                        | '>'
                        | '('
                        | ')'
                        | '{'
                        | '}'
                        | '['
                        | ']'
                        | ','
                        | '\\'
                )
        })
        .unwrap_or(rest.len());
    let value = &rest[..length];
    let value_end = value_start + length;
    // What goes on with a bracket is a call or an index: code, not a value.
    if rest[length..].starts_with(['(', '[', '<', '{']) || is_placeholder(value) {
        return miss(value_end);
    }
    // `password: *const u16`, `token: TOKEN_ID = 7`: a type.
    if joint == Joint::Loose && (value.starts_with(['*', '&']) || is_constant(value)) {
        return miss(value_end);
    }
    let telling = match (class, joint) {
        (Class::Password, Joint::Tight) => {
            is_shell_value(bytes, name_start, bare) || !is_expression(value, bare)
        }
        (Class::Password, _) => value.len() >= 6 && is_mixed(value) && !is_expression(value, bare),
        (_, Joint::Tight) => is_key(value) && !is_expression(value, bare),
        (_, _) => value.len() >= 16 && is_key(value) && is_mixed(value) && !is_expression(value, bare),
    };
    if telling { hit(class, value_start, value_end) } else { miss(value_end) }
}

/// A value in quotes: a text with white space is a sentence, and a name repeated is a label.
fn quoted_value(class: Class, value: &str, start: usize) -> Look {
    let end = start + value.len();
    match class {
        Class::Authorization => header_value(value, start),
        Class::Password if !value.contains(char::is_whitespace) && !is_placeholder(value) => {
            hit(class, start, end)
        }
        Class::Key(_) if is_key(value) => hit(class, start, end),
        _ => miss(start),
    }
}

/// What follows `Authorization:`: the scheme stays, the credentials go.
fn header_value(rest: &str, start: usize) -> Look {
    let scheme = after_scheme(rest).unwrap_or(0);
    let many = rest[..scheme].trim_end();
    let value = &rest[scheme..];
    let length = if many.eq_ignore_ascii_case("digest") || many.eq_ignore_ascii_case("aws4-hmac-sha256") {
        // A list of parameters, one of which is the proof.
        value.find(['\n', '\r', '\\', '\'', '`']).unwrap_or(value.len())
    } else {
        credentials(value)
    };
    let (start, end) = (start + scheme, start + scheme + length);
    let value = &value[..length];
    // Without a scheme the word may belong to a sentence.
    let telling =
        if scheme > 0 { length >= 4 } else { length >= 8 && is_mixed(value) && !is_constant(value) };
    if telling && !is_placeholder(value) { hit(Class::Authorization, start, end) } else { miss(end) }
}

/// Whether the text goes on as a mark does after its kind.
fn is_mark_tail(bytes: &[u8]) -> bool {
    bytes.len() >= 10 && bytes[0] == b':' && bytes[1..9].iter().all(u8::is_ascii_hexdigit) && bytes[9] == b']'
}

/// Where the name that ends at `end` begins; a name is at most 64 bytes here.
fn name_start(bytes: &[u8], end: usize) -> usize {
    let first = end.saturating_sub(64);
    let head = &bytes[first..end];
    let mut start = first
        + head
            .iter()
            .rposition(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')))
            .map_or(0, |index| index + 1);
    // `\nPASSWORD`: the letter belongs to the escape.
    if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes.get(start), Some(b'n' | b't' | b'r')) {
        start += 1;
    }
    start
}

/// Up to 16 blanks; more is a layout, not an assignment.
fn spaces(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(16).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The quote at the head of a text with the backslashes before it: their common length, and what closes it.
fn open_quote(text: &str) -> (usize, Option<Quote>) {
    let bytes = text.as_bytes();
    let backslashes = bytes.iter().take(8).take_while(|byte| **byte == b'\\').count();
    match bytes.get(backslashes) {
        Some(sign @ (b'"' | b'\'')) => (backslashes + 1, Some(Quote { sign: *sign, backslashes })),
        _ => (0, None),
    }
}

#[derive(Clone, Copy)]
struct Quote {
    sign: u8,
    backslashes: usize,
}

/// Length of the value before its closing quote, on the same line.
fn closing_quote(text: &str, quote: Quote) -> Option<usize> {
    let mut backslashes = 0;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'\\' => backslashes += 1,
            b'\n' => return None,
            _ if byte == quote.sign => {
                // Deeper nested quotes carry more backslashes than the one that opened the value.
                let closes = if quote.backslashes == 0 {
                    backslashes % 2 == 0
                } else {
                    backslashes <= quote.backslashes
                };
                if closes {
                    return Some(index - backslashes.min(quote.backslashes));
                }
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
    }
    None
}

/// `PASSWORD=hunter` in capitals is the environment's way of writing; there any word is a value.
fn is_shell_value(bytes: &[u8], name_start: usize, name: &str) -> bool {
    let apart = name_start == 0 || !matches!(bytes[name_start - 1], b'(' | b'.');
    apart && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether a value reads as code: identifiers joined by dots or colons, or the name itself again.
fn is_expression(value: &str, name: &str) -> bool {
    if value.eq_ignore_ascii_case(name) || value.contains("::") {
        return true;
    }
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            // Identifiers seldom carry many digits; keys do.
            && part.bytes().filter(u8::is_ascii_digit).count() * 4 <= part.len()
    };
    let mut parts = value.split('.');
    let first = parts.next().unwrap_or_default();
    if !part(first) || !parts.all(part) {
        return false;
    }
    value.contains('.') || class_of(value).is_some() || !value.bytes().any(|byte| byte.is_ascii_digit())
}

/// `MAX_TOKEN_LENGTH`: the name of a constant or a type of C.
fn is_constant(value: &str) -> bool {
    value.contains('_')
        && value.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Letters together with digits or signs: no word of a language.
fn is_mixed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| {
            byte.is_ascii_digit()
                || (byte.is_ascii_punctuation() && !matches!(byte, b'.' | b'-' | b'_' | b':' | b'/'))
        })
}
