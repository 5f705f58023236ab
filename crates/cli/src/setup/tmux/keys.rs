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

    /// Returns the shell command of its binding. tmux expands the formats, quoted for the shell (`q:`). A program that
    /// cannot be run (126, 127) is told over the pane, where tmux shows what a command prints; how ours ends it has said
    /// itself in the message line, and a picker that goes with its client (129) has nothing to say.
    pub fn shell(self) -> String {
        let before = if self == Verb::Skip { "#{q:@herdbook_program} skip >/dev/null; " } else { "" };
        let words = match self {
            Verb::Next | Verb::Skip => "next",
            Verb::Popup => "popup --open",
            Verb::Return => "return",
        };
        format!(
            "{before}#{{q:@herdbook_program}} {words} --client #{{q:client_tty}} >/dev/null; \
             case $? in 126|127) echo cannot run #{{q:@herdbook_program}}; esac"
        )
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
            keys.0[verb as usize] = match key {
                "none" => None,
                key => Some(spelled(key).ok_or_else(|| BadKeys::Key(key.to_owned()))?),
            };
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

/// Names of keys that tmux knows, as it lists them (key-string.c of tmux 3.3), mouse and keypad left out.
const NAMES: [&str; 26] = [
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "IC", "DC", "Home", "End",
    "NPage", "PPage", "BTab", "Tab", "Space", "BSpace", "Enter", "Escape", "Up", "Down",
];
/// The same, and what else they may be called.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("Left", "Left"),
    ("Right", "Right"),
    ("Insert", "IC"),
    ("Delete", "DC"),
    ("PageUp", "PPage"),
    ("PgUp", "PPage"),
    ("PageDown", "NPage"),
    ("PgDn", "NPage"),
];

/// Returns the one spelling of a key, whatever its writer called it: modifiers in one order, then one printable
/// character or a name that tmux knows. Nothing for what is no key: tmux would refuse the line at every start.
pub fn spelled(key: &str) -> Option<String> {
    let (mut name, mut held) = (key, [false; 3]);
    if let Some(letter) = key.strip_prefix('^').filter(|letter| letter.len() == 1) {
        (name, held[0]) = (letter, true);
    }
    let modifiers = ["C-", "M-", "S-"];
    loop {
        let rest = name.get(2..).filter(|rest| !rest.is_empty());
        let modifier = name
            .get(..2)
            .and_then(|start| modifiers.iter().position(|modifier| modifier.eq_ignore_ascii_case(start)));
        let (Some(rest), Some(modifier)) = (rest, modifier) else { break };
        held[modifier] = true;
        name = rest;
    }
    let known = |name: &str| {
        let one = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        let other = || OTHER_NAMES.into_iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        one.or_else(|| other().map(|(_, known)| known)).map(str::to_owned)
    };
    let mut spelled = match name.as_bytes() {
        [letter] if letter.is_ascii_graphic() => name.to_owned(),
        [_] => return None,
        _ => known(name)?,
    };
    if held[0] && spelled.len() == 1 {
        // A terminal sends one byte for both.
        spelled.make_ascii_lowercase();
        let same = [("i", "Tab"), ("m", "Enter"), ("[", "Escape"), ("@", "Space")];
        if let Some((_, name)) = same.into_iter().find(|(letter, _)| *letter == spelled) {
            held[0] = name == "Space";
            spelled = name.to_owned();
        }
    }
    let held = modifiers.into_iter().zip(held).filter(|(_, held)| *held).map(|(modifier, _)| modifier);
    Some(held.collect::<String>() + &spelled)
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
        for key in ["", "a b", "C-", "g; kill-server", "é", "foo", "F13", "C-foo", "éa", "-é"] {
            assert_eq!(refused(&format!("next={key}")), BadKeys::Key(key.into()));
        }
        assert_eq!(refused("next=g"), BadKeys::Twice("g".into()));
        assert_eq!(refused("skip=C-i"), BadKeys::Twice("Tab".into()));
    }

    #[test]
    fn only_a_program_that_cannot_be_run_is_told_over_the_pane() {
        for verb in Verb::ALL {
            for (code, told) in [
                (0, ""),
                (5, ""),
                (129, ""),
                (126, "cannot run sh -c exit 126 x\n"),
                (127, "cannot run sh -c exit 127 x\n"),
            ] {
                let program = format!("sh -c 'exit {code}' x");
                let shell = verb
                    .shell()
                    .replace("#{q:@herdbook_program}", &program)
                    .replace("#{q:client_tty}", "/dev/null");
                let ran = herdbook_machine::Command::new("sh").args(["-c", &shell]).run().unwrap();
                assert_eq!(
                    (ran.code, String::from_utf8_lossy(&ran.stdout).as_ref()),
                    (Some(0), told),
                    "{shell}"
                );
            }
        }
    }

    #[test]
    fn a_key_has_one_spelling() {
        for (written, key) in [
            ("g", "g"),
            ("S", "S"),
            ("tab", "Tab"),
            ("C-i", "Tab"),
            ("C-S-i", "S-Tab"),
            ("C-M", "Enter"),
            ("c-G", "C-g"),
            ("M-C-x", "C-M-x"),
            ("S-M-up", "M-S-Up"),
            ("PgDn", "NPage"),
            ("Insert", "IC"),
            ("C-@", "C-Space"),
            ("C--", "C--"),
            ("^a", "C-a"),
            ("^", "^"),
            ("-", "-"),
            ("C-", ""),
        ] {
            assert_eq!(spelled(written).unwrap_or_default(), key, "{written}");
        }
    }
}
