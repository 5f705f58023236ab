//! Versions of clients: found in what `--version` prints, and compared.

/// Returns the first `x.y.z` of a text, with what follows it up to the next space or bracket: `0.171.0-alpha.2`.
pub fn find_version(text: &str) -> Option<&str> {
    let begins = |at: usize| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|letter| letter.is_ascii_digit() || letter == '.')
    };
    text.char_indices().filter(|(at, letter)| letter.is_ascii_digit() && begins(*at)).find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let is_of_it = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '+');
        let found = rest.get(..rest.find(|letter| !is_of_it(letter)).unwrap_or(rest.len()))?;
        let found = found.trim_end_matches(['.', '-', '+']);
        parse(found).map(|_| found)
    })
}

/// True when a client of that version has what came with `since`. A pre-release of that very version does not count,
/// nor does a version that cannot be read.
pub fn knows(version: &str, since: &str) -> bool {
    match (parse(version), parse(since)) {
        (Some((version, is_release)), Some((since, _))) => {
            version > since || (version == since && is_release)
        }
        _ => false,
    }
}

/// Reads the three numbers, and whether it is a release.
fn parse(version: &str) -> Option<([u64; 3], bool)> {
    let (numbers, is_release) = match version.split_once(['-', '+']) {
        Some((numbers, _)) => (numbers, version.get(numbers.len()..)?.starts_with('+')),
        None => (version, true),
    };
    let mut parts = numbers.split('.').map(str::parse);
    let parsed = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
    parts.next().is_none().then_some((parsed, is_release))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        for (text, version) in [
            ("2.1.332 (Claude Code)\n", Some("2.1.332")),
            ("codex-cli 0.171.0\n", Some("0.171.0")),
            ("codex-cli 0.150.0-alpha.3\n", Some("0.150.0-alpha.3")),
            ("v1.0.102", Some("1.0.102")),
            ("GitHub Copilot CLI 1.0.102.\nCommit: abc", Some("1.0.102")),
            ("2026.10.02-7ab31c", Some("2026.10.02-7ab31c")),
            ("no 1.2 here", None),
            ("", None),
        ] {
            assert_eq!(find_version(text), version, "{text}");
        }
    }

    #[test]
    fn versions_compare_by_number() {
        for (version, since, expected) in [
            ("0.150.0", "0.150.0", true),
            ("0.171.0", "0.150.0", true),
            ("0.149.9", "0.150.0", false),
            ("0.150.0-alpha.3", "0.150.0", false),
            ("0.150.1-alpha.3", "0.150.0", true),
            ("10.0.0", "9.9.9", true),
            ("?", "0.150.0", false),
        ] {
            assert_eq!(knows(version, since), expected, "{version} {since}");
        }
    }
}
