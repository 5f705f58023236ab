//! Paths into an observed value: `a.b`, `a[0].b`, `a[*].b`.

use std::borrow::Cow;

use serde_json::Value;

/// Checks that a path can be read.
///
/// # Errors
/// An empty path, or an index that is neither a number nor `*`.
pub fn check(path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("is empty".into());
    }
    let mut rest = path;
    while let Some(start) = rest.find('[') {
        let end = rest[start..].find(']').ok_or("'[' without ']'")? + start;
        let index = &rest[start + 1..end];
        if index != "*" && index.parse::<usize>().is_err() {
            return Err(format!("index '{index}' is neither a number nor *"));
        }
        rest = &rest[end + 1..];
    }
    Ok(())
}

/// Returns what lies at the path, or nothing. `a[*].b` is the list of all `b` that are there.
///
/// A key may itself contain dots (session ids do): where the part up to the next dot is not a key, a longer one is
/// tried.
pub fn find<'a>(value: &'a Value, path: &str) -> Option<Cow<'a, Value>> {
    if path.is_empty() {
        return Some(Cow::Borrowed(value));
    }
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let members = value.as_array()?;
        if index != "*" {
            return find(members.get(index.parse::<usize>().ok()?)?, rest);
        }
        let several = rest.contains("[*]");
        let mut all = Vec::new();
        for found in members.iter().filter_map(|member| find(member, rest)) {
            match found.into_owned() {
                Value::Array(inner) if several => all.extend(inner),
                one => all.push(one),
            }
        }
        return Some(Cow::Owned(Value::Array(all)));
    }
    let members = value.as_object()?;
    let ends = path.match_indices(['.', '[']).map(|(index, _)| index).chain([path.len()]);
    ends.filter_map(|end| members.get(&path[..end]).map(|member| (member, &path[end..])))
        .find_map(|(member, rest)| find(member, rest.strip_prefix('.').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(path: &str) -> Option<Value> {
        let value = json!({
            "a": {"b": 1, "null": null},
            "list": [{"b": 1, "c": [{"d": 1}, {"d": 2}]}, {"x": 2}, {"b": 3, "c": [{"d": 3}]}],
            "sessions": {"conv.1": {"state": "stuck"}, "5e-1": {"state": "working"}},
            "headers": {"access-control-allow-origin": "*"},
        });
        find(&value, path).map(Cow::into_owned)
    }

    #[test]
    fn keys_indexes_and_stars() {
        assert_eq!(at("a.b"), Some(json!(1)));
        assert_eq!(at("a.null"), Some(json!(null)));
        assert_eq!(at("a.c"), None);
        assert_eq!(at("a.b.c"), None);
        assert_eq!(at("list[0].b"), Some(json!(1)));
        assert_eq!(at("list[9].b"), None);
        assert_eq!(at("list[*].b"), Some(json!([1, 3])), "members without the key are left out");
        assert_eq!(at("list[*].nothing"), Some(json!([])));
        assert_eq!(at("list[*].c[*].d"), Some(json!([1, 2, 3])));
        assert_eq!(at("list[1]"), Some(json!({"x": 2})));
        assert_eq!(at("nothing[*].b"), None);
        assert_eq!(at("a[*].b"), None);
    }

    #[test]
    fn keys_may_hold_dashes_and_dots() {
        assert_eq!(at("sessions.5e-1.state"), Some(json!("working")));
        assert_eq!(at("sessions.conv.1.state"), Some(json!("stuck")));
        assert_eq!(at("headers.access-control-allow-origin"), Some(json!("*")));
    }

    #[test]
    fn broken_paths_are_refused() {
        assert!(check("a[*].b[0]").is_ok());
        assert_eq!(check(""), Err("is empty".into()));
        assert_eq!(check("a[x]"), Err("index 'x' is neither a number nor *".into()));
        assert_eq!(check("a[0"), Err("'[' without ']'".into()));
    }
}
