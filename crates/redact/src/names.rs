//! Names under which secrets stand, and values that are none.

use crate::find::Kind;

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Chosen by a person: any text can be one.
    Password,
    /// Made by a machine: no white space, not short.
    Key(Kind),
    /// A header value: scheme, then credentials.
    Authorization,
    /// Cursor puts the account's address into every event (hosts' NOTES section 3). In JSON only.
    Email,
}

const PASSWORD: Kind = Kind::context("password");
const AUTHORIZATION: Kind = Kind::context("authorization");
const EMAIL: Kind = Kind::context("email");
const TOKEN: Kind = Kind::context("token");
const SECRET: Kind = Kind::context("secret");
const API_KEY: Kind = Kind::context("api-key");

impl Class {
    pub fn kind(self) -> Kind {
        match self {
            Self::Password => PASSWORD,
            Self::Key(kind) => kind,
            Self::Authorization => AUTHORIZATION,
            Self::Email => EMAIL,
        }
    }
}

/// Endings of names, without `_` and `-`, in lower case. The longest that fits decides.
const ENDINGS: &[(&str, Class)] = &[
    ("password", Class::Password),
    ("passwd", Class::Password),
    ("passphrase", Class::Password),
    ("authorization", Class::Authorization),
    ("secret", Class::Key(SECRET)),
    ("secretkeybase", Class::Key(SECRET)),
    ("token", Class::Key(TOKEN)),
    ("apikey", Class::Key(API_KEY)),
    ("secretkey", Class::Key(API_KEY)),
    ("accesskey", Class::Key(API_KEY)),
    ("privatekey", Class::Key(API_KEY)),
    ("signingkey", Class::Key(API_KEY)),
    ("encryptionkey", Class::Key(API_KEY)),
    ("masterkey", Class::Key(API_KEY)),
    ("accountkey", Class::Key(API_KEY)),
    ("authkey", Class::Key(API_KEY)),
];

/// Names that end like a secret and are none: marks of a tokenizer, places in a listing.
const NOT_SECRET: &[&str] = &[
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "stoptoken",
    "padtoken",
    "eostoken",
    "bostoken",
    "unktoken",
    "masktoken",
    "septoken",
    "clstoken",
    "cancellationtoken",
    "pertoken",
];

/// Endings that are too common as part of words: only after `_`, or as the whole name in capitals.
const SHORT: &[&str] = &["pass", "pwd"];

/// Classifies a member name, variable or flag: `DB_PASSWORD`, `clientSecret`, `x-api-key`.
pub(crate) fn class_of(name: &str) -> Option<Class> {
    // Longer ones are no names; the bound keeps the work per name constant.
    if name.len() > 128 || !name.is_ascii() {
        return None;
    }
    let folded: String =
        name.chars().filter(|c| *c != '_' && *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let found = ENDINGS
        .iter()
        .filter(|(ending, _)| folded.ends_with(ending))
        .max_by_key(|(ending, _)| ending.len())
        .map(|(_, class)| *class);
    if found.is_some() {
        return found.filter(|_| !NOT_SECRET.iter().any(|other| folded.ends_with(other)));
    }
    let lower = name.to_ascii_lowercase();
    SHORT
        .iter()
        .any(|short| {
            lower
                .strip_suffix(short)
                .is_some_and(|head| head.ends_with('_') || (head.is_empty() && name == "PASS"))
        })
        .then_some(Class::Password)
}

/// Classifies the name of a JSON member.
pub(crate) fn class_of_member(name: &str) -> Option<Class> {
    if name == "user_email" { Some(Class::Email) } else { class_of(name) }
}

/// The secret part of a JSON string that stands under a name of `class`, as a byte range.
pub(crate) fn secret_part(class: Class, value: &str) -> Option<(usize, usize)> {
    match class {
        Class::Authorization => {
            let start = after_scheme(value).unwrap_or(0);
            let rest = value[start..].trim_end();
            (!is_placeholder(rest)).then_some((start, start + rest.len()))
        }
        Class::Password | Class::Email => (!is_placeholder(value)).then_some((0, value.len())),
        Class::Key(_) => is_key(value).then_some((0, value.len())),
    }
}

/// Length of an authentication scheme and the white space after it at the head of a header value.
pub(crate) fn after_scheme(value: &str) -> Option<usize> {
    const SCHEMES: &[&str] = &[
        "bearer",
        "basic",
        "token",
        "digest",
        "negotiate",
        "apikey",
        "aws4-hmac-sha256",
        "key",
        "dpop",
        "hawk",
    ];
    let length = value.bytes().take(20).position(|byte| matches!(byte, b' ' | b'\t'))?;
    if !SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(&value[..length])) {
        return None;
    }
    let rest = &value[length..];
    Some(length + rest.len() - rest.trim_start_matches([' ', '\t']).len())
}

/// Whether a value can be a key made by a machine: not short, no white space, no path.
pub(crate) fn is_key(value: &str) -> bool {
    value.len() >= 8 && !value.contains(char::is_whitespace) && !is_path(value) && !is_placeholder(value)
}

/// `/run/secrets/x`, `./token`, `~/.netrc`: where a secret is, not what it is. Base64 can begin with a slash too, but
/// hardly with two of them and no capital letter or digit between.
fn is_path(value: &str) -> bool {
    let Some(rest) = ["/", "./", "../", "~/"].iter().find_map(|head| value.strip_prefix(head)) else {
        return false;
    };
    !value.starts_with('/')
        || rest.split('/').next().is_some_and(|first| {
            first.len() < rest.len() && first.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.')
        })
}

/// Whether a value only stands for a secret: a variable, a blank to fill in, a type, a mark of ours.
pub(crate) fn is_placeholder(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "none",
        "null",
        "nil",
        "true",
        "false",
        "undefined",
        "string",
        "str",
        "bool",
        "boolean",
        "text",
        "bytes",
        "number",
        "int",
        "any",
        "option",
        "optional",
        "required",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "authorization",
        "redacted",
        "placeholder",
        "uint8array",
        "unset",
        "empty",
        "hidden",
        "masked",
        "yes",
        "no",
    ];
    let value = value.trim();
    let Some(first) = value.chars().next() else { return true };
    if matches!(first, '$' | '<' | '{')
        || value.starts_with("%(")
        || matches!(value, "%s" | "%v" | "%d" | "%q")
    {
        return true;
    }
    // Whole runs of one sign are masks: `****`, `xxxx`, `…`.
    if matches!(first, '*' | 'x' | 'X' | '.' | '…' | '•' | '-' | '_' | '?')
        && value.chars().all(|c| c == first)
    {
        return true;
    }
    if is_mark(value) {
        return true;
    }
    let folded: String =
        value.chars().take(32).filter(|c| *c != '_' && *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    if WORDS.contains(&folded.as_str()) {
        return true;
    }
    // `YOUR_API_KEY`, `your-token-here`
    (folded.starts_with("your") || folded.starts_with("my") && value.contains('_'))
        && value.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
}

/// Whether the whole value is a mark that we made.
pub(crate) fn is_mark(value: &str) -> bool {
    let Some(inner) = value.strip_prefix("[redacted:").and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    inner.rsplit_once(':').is_some_and(|(kind, hex)| {
        !kind.is_empty()
            && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && hex.len() == 8
            && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_their_end() {
        for (name, kind) in [
            ("password", Some("password")),
            ("DB_PASSWORD", Some("password")),
            ("DB_PASS", Some("password")),
            ("clientSecret", Some("secret")),
            ("x-api-key", Some("api-key")),
            ("AWS_SECRET_ACCESS_KEY", Some("api-key")),
            ("GITHUB_TOKEN", Some("token")),
            ("Proxy-Authorization", Some("authorization")),
            ("max_tokens", None),
            ("next_page_token", None),
            ("bypass", None),
            ("PWD", None),
            ("AWS_ACCESS_KEY_ID", None),
            ("tool_use_id", None),
            ("key", None),
            ("user_email", None),
        ] {
            assert_eq!(class_of(name).map(|class| class.kind().name), kind, "{name}");
        }
        assert_eq!(class_of_member("user_email"), Some(Class::Email));
        assert_eq!(class_of_member("email"), None);
    }

    #[test]
    fn blanks_are_no_secrets() {
        for value in [
            "",
            "$TOKEN",
            "${{ secrets.X }}",
            "<token>",
            "{token}",
            "****",
            "xxxxxxxx",
            "None",
            "YOUR_API_KEY",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["hunter2", "correct horse", "xyz", "*a*", "[redacted:x] and more"] {
            assert!(!is_placeholder(value), "{value}");
        }
        assert!(is_placeholder("[redacted:github-pat:0123abcd]"));
    }
}
