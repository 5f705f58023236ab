//! Names made from foreign text: folders, shell words, projects (overview D6, field cases F-110, F-113).

use sha2::{Digest as _, Sha256};

/// The folder of a session: the first 16 hex digits of SHA-256 of its key (overview D6). Ids are foreign text; nothing
/// of them gets into a path, and keys that differ only in case get different folders everywhere.
pub fn session_folder(key: &str) -> String {
    Sha256::digest(key.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The command words that stand in a host's settings, quoted for the shell that runs them. `os` is `windows` or a Unix.
///
/// On Windows the shell may be Git Bash, cmd or PowerShell: forward slashes and double quotes mean the same in all
/// (F-113).
pub fn hook_command(os: &str, exe: &str, args: &[&str]) -> String {
    let quote = |word: &str| match os {
        "windows" => windows_word(word),
        _ => shell_word(word),
    };
    let exe = match os {
        "windows" => windows_word(&exe.replace('\\', "/")),
        _ => shell_word(exe),
    };
    std::iter::once(exe).chain(args.iter().map(|word| quote(word))).collect::<Vec<_>>().join(" ")
}

/// The command that stands in a host's settings (overview D1). A program that is gone is silence and exit code 0: hosts
/// show a failing hook, and one of them denies a tool over it.
///
/// The text is frozen: Codex trusts a hook by its text, so another wording asks every user once more.
pub fn guarded_command(exe: &str, args: &[&str]) -> String {
    let exec = hook_command("linux", exe, args);
    format!("[ -x {} ] && exec {exec}; exit 0", shell_word(exe))
}

/// Quotes a word for a POSIX shell where it needs it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = !word.is_empty()
        && word.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b',' | b'+' | b'@' | b'%')
        });
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn windows_word(word: &str) -> String {
    let is_plain = !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':'));
    if is_plain { word.to_owned() } else { format!("\"{word}\"") }
}

/// One key for all spellings of a project's folder: a Windows drive as Windows, Git Bash and WSL write it is one
/// folder, a WSL path seen from Windows is another than the same path here (F-113).
///
/// A top folder of one letter is taken for a drive, as Git Bash has it.
pub fn project_key(path: &str) -> String {
    let path = path.replace('\\', "/");
    let is_share = path.starts_with("//");
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if is_share {
        // `//wsl$/Demo` is the older name of `//wsl.localhost/Demo`; host and share have no case.
        let server = parts.first().map(|server| server.to_ascii_lowercase()).unwrap_or_default();
        let server = if server == "wsl$" { "wsl.localhost".to_owned() } else { server };
        let share = parts.get(1).map(|share| share.to_ascii_lowercase());
        let rest = parts.get(2..).unwrap_or_default().iter().map(|part| (*part).to_owned());
        let all: Vec<String> = std::iter::once(server).chain(share).chain(rest).collect();
        return format!("//{}", all.join("/"));
    }
    let drive = match parts.as_slice() {
        [first, ..] if is_drive(first.strip_suffix(':')) && !path.starts_with('/') => Some((1, *first)),
        ["mnt", first, ..] if path.starts_with('/') && is_drive(Some(first)) => Some((2, *first)),
        [first, ..] if path.starts_with('/') && is_drive(Some(first)) => Some((1, *first)),
        _ => None,
    };
    if let Some((used, letter)) = drive {
        let letter = letter.trim_end_matches(':').to_ascii_lowercase();
        parts.drain(..used);
        return format!("{letter}:/{}", parts.join("/"));
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn is_drive(letter: Option<&str>) -> bool {
    letter.is_some_and(|letter| letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_the_head_of_a_hash() {
        // printf %s claude-abc | sha256sum
        assert_eq!(session_folder("claude-abc"), "57a18fb5da5a1d64");
        assert_ne!(session_folder("claude-ABC"), session_folder("claude-abc"));
    }

    #[test]
    fn words_are_quoted_where_they_need_it() {
        assert_eq!(hook_command("linux", "/opt/a b", &["x", ""]), "'/opt/a b' x ''");
        assert_eq!(
            hook_command("windows", "C:\\a b\\h.exe", &["hook", "claude"]),
            "\"C:/a b/h.exe\" hook claude"
        );
    }

    #[test]
    fn the_guarded_command_is_frozen() {
        assert_eq!(
            guarded_command("/opt/herdbook/bin/herdbook-hook", &["claude"]),
            "[ -x /opt/herdbook/bin/herdbook-hook ] && exec /opt/herdbook/bin/herdbook-hook claude; exit 0"
        );
        assert_eq!(
            guarded_command("/home/dev/it's here/herdbook-hook", &["copilot", "event:subagentStart"]),
            r"[ -x '/home/dev/it'\''s here/herdbook-hook' ] && exec '/home/dev/it'\''s here/herdbook-hook' copilot event:subagentStart; exit 0"
        );
    }

    #[test]
    fn spellings_of_a_folder_have_one_key() {
        for path in ["/srv/demo", "/srv//demo/", "/srv/./demo"] {
            assert_eq!(project_key(path), "/srv/demo");
        }
        assert_eq!(project_key("C:\\"), "c:/");
        assert_eq!(project_key("\\\\wsl$\\Demo\\srv"), project_key("\\\\WSL.localhost\\demo\\srv"));
        assert_eq!(project_key("/"), "/");
        assert_eq!(project_key("demo/x"), "demo/x");
    }
}
