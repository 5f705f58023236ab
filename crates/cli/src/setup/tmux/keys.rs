//! Which keys do what.

use std::fmt;
use std::str::FromStr;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Go to who waits.
    Next,
    /// Put the head of the queue off and go to who is next.
    Skip,
    /// The picker.
    Popup,
    /// Back to where the jumps began.
    Return,
}

impl Verb {
    /// All of them, in the order of the block.
    pub const ALL: [Verb; 4] = [Verb::Next, Verb::Skip, Verb::Popup, Verb::Return];

    /// Returns its name in `--keys`.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Next => "next",
            Verb::Skip => "skip",
            Verb::Popup => "popup",
            Verb::Return => "return",
        }
    }

    /// Returns the shell command of its binding. tmux expands the formats, quoted for the shell (`q:`). A command that
    /// cannot be run (126, 127) is told by tmux; how ours ends it has said itself in the message line.
    pub fn shell(self) -> &'static str {
        match self {
            Verb::Next => "#{q:@herdbook_program} next --client #{q:client_tty} >/dev/null || [ $? -lt 126 ]",
            Verb::Skip => {
                "#{q:@herdbook_program} skip >/dev/null; \
                 #{q:@herdbook_program} next --client #{q:client_tty} >/dev/null || [ $? -lt 126 ]"
            }
            Verb::Popup => {
                "#{q:@herdbook_program} popup --open --client #{q:client_tty} >/dev/null || [ $? -lt 126 ]"
            }
            Verb::Return => {
                "#{q:@herdbook_program} return --client #{q:client_tty} >/dev/null || [ $? -lt 126 ]"
            }
        }
    }
}

/// The keys behind tmux's prefix; a verb without one is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys([Option<String>; 4]);

impl Default for Keys {
    fn default() -> Keys {
        Keys(["Tab", "S", "g", "B"].map(|key| Some(key.to_owned())))
    }
}

impl Keys {
    /// Returns the verbs that have a key, with it.
    pub fn bound(&self) -> impl Iterator<Item = (Verb, &str)> {
        Verb::ALL.into_iter().zip(&self.0).filter_map(|(verb, key)| Some((verb, key.as_deref()?)))
    }

    /// Takes a verb's key away.
    pub fn drop(&mut self, verb: Verb) {
        self.0[verb as usize] = None;
    }
}

/// Why keys were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKeys {
    /// Not `verb=key`.
    #[error("'{0}' is no key of ours: write for example next=Tab,skip=S,popup=g,return=B, or popup=none")]
    Pair(String),
    /// tmux has no key of that name.
    #[error("'{0}' is no tmux key: write for example g, Tab, F5, C-g or M-n")]
    Key(String),
    /// One key, two verbs.
    #[error("the key '{0}' is named twice")]
    Twice(String),
}

impl FromStr for Keys {
    type Err = BadKeys;

    /// Reads `next=Tab,skip=S,popup=g,return=B`; what is not named keeps its usual key, `none` leaves one out.
    fn from_str(text: &str) -> Result<Keys, BadKeys> {
        let mut keys = Keys::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let bad = || BadKeys::Pair(pair.to_owned());
            let (name, key) = pair.split_once('=').ok_or_else(bad)?;
            let verb = Verb::ALL.into_iter().find(|verb| verb.name() == name).ok_or_else(bad)?;
            if key != "none" && !is_key(key) {
                return Err(BadKeys::Key(key.to_owned()));
            }
            keys.0[verb as usize] = (key != "none").then(|| key.to_owned());
        }
        let bound: Vec<&str> = keys.bound().map(|(_, key)| key).collect();
        for (place, key) in bound.iter().enumerate() {
            if bound[..place].contains(key) {
                return Err(BadKeys::Twice((*key).to_owned()));
            }
        }
        Ok(keys)
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (verb, key)) in Verb::ALL.into_iter().zip(&self.0).enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", verb.name(), key.as_deref().unwrap_or("none"))?;
        }
        Ok(())
    }
}

/// A name of a key as tmux spells them: modifiers, then one printable character or a word. Those that would need
/// quoting in `--keys` itself are no keys to choose.
fn is_key(key: &str) -> bool {
    let mut name = key;
    while let Some(rest) = ["C-", "M-", "S-"].iter().find_map(|modifier| name.strip_prefix(modifier)) {
        name = rest;
    }
    match name.as_bytes() {
        [letter] => letter.is_ascii_graphic(),
        letters => letters.len() > 1 && letters.iter().all(u8::is_ascii_alphanumeric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        assert_eq!(Keys::default().to_string(), "next=Tab,skip=S,popup=g,return=B");
        let keys: Keys = "popup=M-p,return=none".parse().unwrap();
        assert_eq!(keys.to_string(), "next=Tab,skip=S,popup=M-p,return=none");
        assert_eq!(keys.to_string().parse(), Ok(keys.clone()));
        let bound: Vec<_> = keys.bound().collect();
        assert_eq!(bound, [(Verb::Next, "Tab"), (Verb::Skip, "S"), (Verb::Popup, "M-p")]);
    }

    #[test]
    fn other_words_are_refused_by_name() {
        let refused = |text: &str| text.parse::<Keys>().unwrap_err();
        for text in ["next", "jump=g", "=g"] {
            assert_eq!(refused(text), BadKeys::Pair(text.into()));
        }
        for key in ["", "a b", "C-", "g; kill-server", "é"] {
            assert_eq!(refused(&format!("next={key}")), BadKeys::Key(key.into()));
        }
        assert_eq!(refused("next=g"), BadKeys::Twice("g".into()));
    }
}
