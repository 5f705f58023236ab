//! Which commands in a host's settings are ours.

/// The file name of the program that our entries run.
pub const PROGRAM: &str = "herdbook-hook";

/// True for a command that runs our hook and nothing else, wherever the program lies: the guarded command (overview D1)
/// or the bare words `P HOST …`. So an entry that was written by another version, or before a move, is known as ours.
pub fn is_ours(command: &str) -> bool {
    program(command).is_some()
}

/// Returns the program that a command of ours runs, as the shell would read it.
pub fn program(command: &str) -> Option<String> {
    let command = command.trim();
    let exec = match command.strip_prefix("[ -x ") {
        None => command,
        Some(guarded) => {
            let guarded = guarded.strip_suffix("; exit 0")?;
            let (tested, exec) = guarded.split_once(" ] && exec ")?;
            let tested = words(tested)?;
            let run = words(exec)?;
            if tested.len() != 1 || tested.first() != run.first() {
                return None;
            }
            exec
        }
    };
    let words = words(exec)?;
    let program = words.first()?;
    let is_ours = program.rsplit('/').next() == Some(PROGRAM) && words.len() >= 2;
    is_ours.then(|| program.clone())
}

/// Reads plain and quoted words; nothing for a text in which a shell would do more than split and unquote.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' | '`' if letter == '"' => return None,
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#'
            | '\n' => {
                return None;
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_commands_are_known_wherever_the_program_lies() {
        for (command, expected) in [
            (
                "[ -x /opt/bin/herdbook-hook ] && exec /opt/bin/herdbook-hook claude; exit 0",
                "/opt/bin/herdbook-hook",
            ),
            (
                r"[ -x '/home/dev/it'\''s/herdbook-hook' ] && exec '/home/dev/it'\''s/herdbook-hook' copilot event:subagentStart; exit 0",
                "/home/dev/it's/herdbook-hook",
            ),
            (
                "[ -x \"$HOME/.cargo/bin/herdbook-hook\" ] && exec \"$HOME/.cargo/bin/herdbook-hook\" codex; exit 0",
                "$HOME/.cargo/bin/herdbook-hook",
            ),
            ("/opt/bin/herdbook-hook claude", "/opt/bin/herdbook-hook"),
            ("\"$HOME/.cargo/bin/herdbook-hook\" codex", "$HOME/.cargo/bin/herdbook-hook"),
        ] {
            assert_eq!(program(command).as_deref(), Some(expected), "{command}");
        }
    }

    #[test]
    fn a_command_that_does_more_is_not_ours() {
        for command in [
            "",
            "echo hi",
            "herdbook-hook",
            "/opt/bin/herdbook-hooks claude",
            "/opt/bin/other /opt/bin/herdbook-hook claude",
            "/opt/bin/herdbook-hook claude | tee log",
            "/opt/bin/herdbook-hook claude; notify-send done",
            "[ -x /a/herdbook-hook ] && exec /b/herdbook-hook claude; exit 0",
            "[ -x /a/herdbook-hook ] && exec /a/herdbook-hook claude; exit 1",
            "[ -x /a/herdbook-hook ] && /a/herdbook-hook claude; exit 0",
            "/opt/bin/herdbook-hook 'claude",
        ] {
            assert!(!is_ours(command), "{command}");
        }
    }
}
