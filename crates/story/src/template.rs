//! The two texts of a model history that are in no event: around a checkpoint, and the nudge to verify.

/// Texts with places to fill in. They belong to the program that wrote the log; a line that brings its own text
/// (`wrapper` of a compaction, `nudgeText` of a verification) comes before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    /// Around a checkpoint; `{checkpointYaml}` is the checkpoint.
    pub checkpoint: String,
    /// The nudge to verify; `{attempt}` is which one it is, `{detectedChecks}` the checks, joined by `, `.
    pub nudge: String,
}

impl Default for Templates {
    fn default() -> Templates {
        Templates {
            checkpoint: "[Earlier work, as a checkpoint]\n{checkpointYaml}".to_owned(),
            nudge: "[Before you finish: verify your changes, attempt {attempt} of 2. Checks found: {detectedChecks}]"
                .to_owned(),
        }
    }
}

/// Fills in a template. What is filled in is not looked at again, and unknown places stay as they are.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    'places: while let Some(brace) = rest.find('{') {
        out.push_str(&rest[..brace]);
        rest = &rest[brace..];
        for (place, value) in values {
            if let Some(behind) = rest.strip_prefix(place) {
                out.push_str(value);
                rest = behind;
                continue 'places;
            }
        }
        out.push('{');
        rest = &rest[1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_places_are_filled_and_only_once() {
        let values = [("{attempt}", "{detectedChecks}"), ("{detectedChecks}", "a, b")];
        assert_eq!(fill("{{attempt}} {x} {detectedChecks}{", &values), "{{detectedChecks}} {x} a, b{");
        assert_eq!(fill("", &values), "");
    }
}
