//! Settings of the hosts' own that switch all hooks off.

use jsonc_parser::ast::{Object, Value};

use super::document::Document;

/// Returns the setting in this text that switches all hooks of a host off, as a person would name it. A text that is
/// not understood has none.
pub fn switched_off(host: &str, text: &str) -> Option<&'static str> {
    let document = Document::parse(text.strip_prefix(super::MARK).unwrap_or(text)).ok()?;
    let Some(Value::Object(root)) = &document.root else { return None };
    let switch = crate::table(host)?.setup.switch?;
    (value(root, switch.path) == Some(switch.off)).then_some(switch.shown)
}

fn value(object: &Object<'_>, path: &[&str]) -> Option<bool> {
    let (key, rest) = path.split_first()?;
    match &object.get(key)?.value {
        Value::BooleanLit(literal) if rest.is_empty() => Some(literal.value),
        Value::Object(inner) => value(inner, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hosts_switch_is_found_under_comments() {
        for (host, text, expected) in [
            ("claude", "\u{feff}{ // quiet\n\"disableAllHooks\": true }", Some("disableAllHooks")),
            ("claude", "{\"disableAllHooks\": false}", None),
            ("claude", "{\"hooksConfig\": {\"enabled\": false}}", None),
            ("gemini", "{\"hooksConfig\": {\"enabled\": false}}", Some("hooksConfig.enabled = false")),
            ("gemini", "{\"hooksConfig\": {\"enabled\": true}}", None),
            ("gemini", "{\"hooksConfig\": ", None),
        ] {
            assert_eq!(switched_off(host, text), expected, "{host} {text}");
        }
    }
}
