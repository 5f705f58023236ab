//! What is bound to a key already: read from a configuration's lines, and from `list-keys`. Pure.

use super::block::find;
use super::keys::spelled;

/// A binding in tmux's prefix table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The key, in its one spelling.
    pub key: String,
    /// What it does.
    pub command: String,
    /// Line of the configuration, from 1.
    pub line: usize,
    /// The whole line, which binds it again.
    pub text: String,
}

impl Bound {
    /// True for a binding of ours.
    pub fn is_ours(&self) -> bool {
        self.command.contains("@herdbook_program")
    }
}

/// Returns the bindings of the prefix table that a configuration leaves, our block passed over. Lines under conditions and
/// what plugins bind it cannot know: a running server tells those.
pub fn of_config(config: &[u8]) -> Vec<Bound> {
    let ours = find(config).ok().flatten().unwrap_or(0..0);
    let mut bound: Vec<Bound> = Vec::new();
    let mut start = 0;
    for (place, line) in config.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let is_ours = ours.contains(&start);
        start += line.len();
        if is_ours {
            continue;
        }
        let text = String::from_utf8_lossy(line);
        for command in commands(&text) {
            match Line::read(command) {
                Some(Line::Bind(key, command)) => {
                    bound.retain(|bound| bound.key != key);
                    bound.push(Bound { key, command, line: place + 1, text: text.trim().to_owned() });
                }
                Some(Line::Unbind(key)) => bound.retain(|bound| bound.key != key),
                Some(Line::UnbindAll) => bound.clear(),
                None => {}
            }
        }
    }
    bound
}

/// Returns the files that a configuration reads in, as they are named there. Patterns and formats are left out.
pub fn sources(config: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(config);
    let mut files = Vec::new();
    for mut rest in text.lines().flat_map(commands) {
        if !matches!(word(&mut rest).as_deref(), Some("source" | "source-file")) {
            continue;
        }
        while let Some(file) = word(&mut rest) {
            if !file.starts_with('-') && !file.contains(['*', '?', '#']) {
                files.push(file);
            }
        }
    }
    files
}

/// Splits a line into its commands: at each `;` outside of quotes that no backslash makes part of a binding.
fn commands(line: &str) -> Vec<&str> {
    let (mut commands, mut start, mut quote, mut before) = (Vec::new(), 0, None, ' ');
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => break,
            (None, ';') if before != '\\' => {
                commands.push(&line[start..at]);
                start = at + 1;
            }
            (None, '\'' | '"') if before != '\\' => quote = Some(letter),
            (Some(open), letter) if open == letter && (before != '\\' || open == '\'') => quote = None,
            _ => {}
        }
        before = letter;
    }
    commands.push(&line[start..]);
    commands
}

/// Returns the bindings that `list-keys -T prefix` lists.
pub fn of_list(list: &str) -> Vec<Bound> {
    of_config(list.as_bytes())
}

/// A line about the prefix table.
enum Line {
    Bind(String, String),
    Unbind(String),
    UnbindAll,
}

impl Line {
    fn read(line: &str) -> Option<Line> {
        let mut rest = line;
        let verb = word(&mut rest)?;
        let is_bind = match verb.as_str() {
            "bind" | "bind-key" => true,
            "unbind" | "unbind-key" => false,
            _ => return None,
        };
        let mut all = false;
        let key = loop {
            let next = word(&mut rest)?;
            let Some(flags) = next.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break next };
            let mut letters = flags.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    // Bound without the prefix: another table.
                    'n' => return None,
                    'a' => all = true,
                    'T' | 'N' | 't' => {
                        let tail = letters.as_str();
                        let value = if tail.is_empty() { word(&mut rest)? } else { tail.to_owned() };
                        if letter != 'N' && value != "prefix" {
                            return None;
                        }
                        break;
                    }
                    _ => {}
                }
            }
            if all && rest.trim().is_empty() {
                return Some(Line::UnbindAll);
            }
        };
        let key = spelled(&key).unwrap_or(key);
        let command = without_comment(rest).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(if is_bind { Line::Bind(key, command) } else { Line::Unbind(key) })
    }
}

/// Cuts a comment off: a `#` at the beginning of a word, outside of quotes.
fn without_comment(text: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => return &text[..at],
            (None, '\'' | '"') if before != '\\' => quote = Some(letter),
            (Some(open), letter) if open == letter && (before != '\\' || open == '\'') => quote = None,
            _ => {}
        }
        before = letter;
    }
    text
}

/// Takes one word off, unquoted. A comment or the end of a command ends the line.
fn word(rest: &mut &str) -> Option<String> {
    *rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return None;
    }
    let mut word = String::new();
    let mut quote = None;
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t' | '\r' | '\n') => {
                *rest = &rest[at..];
                return Some(word);
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None | Some('"'), '\\') => word.extend(letters.next().map(|(_, letter)| letter)),
            (_, letter) => word.push(letter),
        }
    }
    *rest = "";
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(config: &str) -> Vec<(String, String, usize)> {
        of_config(config.as_bytes()).into_iter().map(|bound| (bound.key, bound.command, bound.line)).collect()
    }

    #[test]
    fn bindings_behind_the_prefix_are_found() {
        let config = "\
set -g mouse on
bind S choose-session   # mine
  bind-key -r -N 'go on' Tab   next-window
bind -n g display x
bind -T copy-mode-vi y send -X copy
bind -Tprefix '\"' split-window -c '#{pane_current_path} # no'
# bind B kill-server
bind \\; last-pane
";
        assert_eq!(
            keys(config),
            [
                ("S".into(), "choose-session".into(), 2),
                ("Tab".into(), "next-window".into(), 3),
                ("\"".into(), "split-window -c '#{pane_current_path} # no'".into(), 6),
                (";".into(), "last-pane".into(), 8),
            ]
        );
    }

    #[test]
    fn a_key_is_the_same_however_it_is_spelled() {
        assert_eq!(keys("bind C-i last-window\n"), [("Tab".into(), "last-window".into(), 1)]);
        assert_eq!(keys("bind tab x\nunbind Tab\nbind M-C-b y\n"), [("C-M-b".into(), "y".into(), 3)]);
    }

    #[test]
    fn several_commands_of_a_line_are_told_apart() {
        assert_eq!(keys("bind x a ; bind g b\n")[1], ("g".into(), "b".into(), 1));
        assert_eq!(keys("bind x a \\; bind g b\nbind y 'c ; bind S d'\n").len(), 2);
        assert_eq!(keys("set -g @a 1 # ; bind g b\n"), []);
    }

    #[test]
    fn files_that_are_read_in_are_named() {
        let config = b"source-file -q ~/.tmux/keys.conf 'a b'; source $HOME/x\n# source y\nsource ~/*.conf\n";
        assert_eq!(sources(config), ["~/.tmux/keys.conf", "a b", "$HOME/x"]);
    }

    #[test]
    fn what_was_unbound_is_free() {
        assert_eq!(keys("bind S x\nunbind S\n"), []);
        assert_eq!(keys("bind S x\nunbind -a\nbind g y\n"), [("g".into(), "y".into(), 3)]);
        assert_eq!(keys("bind S x\nunbind -n S\n"), [("S".into(), "x".into(), 1)]);
        assert_eq!(keys("bind S x\nbind S y\n"), [("S".into(), "y".into(), 2)]);
        assert_eq!(keys("bind\nbind -T\nunbind\nbind 'S\n"), [("S\n".into(), String::new(), 4)]);
    }

    #[test]
    fn our_block_is_no_binding_of_the_users() {
        let ours =
            super::super::block::put(Some(b"bind S x\n"), "/x", &Default::default(), &Default::default());
        assert_eq!(keys(&String::from_utf8(ours.unwrap()).unwrap()), [("S".into(), "x".into(), 1)]);
    }

    #[test]
    fn a_servers_list_is_read_alike() {
        let list = "bind-key    -T prefix C-b     send-prefix\nbind-key -r -T prefix \\#  list-buffers\n";
        let bound = of_list(list);
        assert_eq!((bound[0].key.as_str(), bound[0].command.as_str()), ("C-b", "send-prefix"));
        assert_eq!((bound[1].key.as_str(), bound[1].command.as_str()), ("#", "list-buffers"));
    }
}
