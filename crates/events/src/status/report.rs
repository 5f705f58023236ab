//! One report of the Program Status Protocol, and the text between `7501;` and the end of the sequence.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};

/// Limits of the protocol, in bytes; `id` has segments and levels, too.
const KEY_BYTES: usize = 16;
const NAME_BYTES: usize = 32;
const ID_BYTES: usize = 128;
const ID_LEVELS: usize = 8;
const TITLE_BYTES: usize = 192;
const TITLE_ENCODED_BYTES: usize = 256;
const MESSAGE_BYTES: usize = 2_048;
const MESSAGE_ENCODED_BYTES: usize = 2_732;

/// Standard alphabet; padding may be left away.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a program says it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramState {
    /// At rest, for the user's next instruction.
    Idle,
    /// At work.
    Working,
    /// Finished, and the user has not seen the result.
    Done,
    /// It cannot go on before the user acts.
    Blocked,
    /// It failed and stopped.
    Error,
    /// No state: what the program said so far is void.
    Clear,
}

impl ProgramState {
    /// All words, in the order of the protocol.
    pub const ALL: [ProgramState; 6] = [
        ProgramState::Idle,
        ProgramState::Working,
        ProgramState::Done,
        ProgramState::Blocked,
        ProgramState::Error,
        ProgramState::Clear,
    ];

    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            ProgramState::Idle => "idle",
            ProgramState::Working => "working",
            ProgramState::Done => "done",
            ProgramState::Blocked => "blocked",
            ProgramState::Error => "error",
            ProgramState::Clear => "clear",
        }
    }

    /// Reads the word; an unknown one is none.
    pub fn parse(word: &str) -> Option<ProgramState> {
        ProgramState::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// True when the program works no more and asks nothing.
    pub fn is_rest(self) -> bool {
        matches!(self, ProgramState::Idle | ProgramState::Done | ProgramState::Error)
    }
}

/// What a blocked program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// A yes.
    Permission,
    /// An answer.
    Question,
    /// A login or a secret.
    Auth,
}

impl Needs {
    /// All words, in the order of the protocol.
    pub const ALL: [Needs; 3] = [Needs::Permission, Needs::Question, Needs::Auth];

    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Needs::Permission => "permission",
            Needs::Question => "question",
            Needs::Auth => "auth",
        }
    }

    /// Reads the word; an unknown one is none.
    pub fn parse(word: &str) -> Option<Needs> {
        Needs::ALL.into_iter().find(|needs| needs.as_str() == word)
    }
}

/// One report. It replaces all that was said before under the same `id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What the program does.
    pub state: ProgramState,
    /// What it needs; only with [`ProgramState::Blocked`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Needs>,
    /// A part of the program (`a`, `a/b`); none is the program as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The program's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// A short label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One line for the human.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg: Option<String>,
}

/// Why a sequence says nothing: the protocol has such a report passed over as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Discarded {
    /// There is no `state`, or an unknown one.
    #[error("'state' is missing or unknown")]
    State,
    /// The `id` is none, or longer than allowed; it never counts for the program as a whole.
    #[error("'id' is not an id")]
    Id,
    /// Something is longer than allowed.
    #[error("'{0}' is too long")]
    TooLong(&'static str),
    /// A text is not base64 of one line of UTF-8.
    #[error("'{0}' is not base64 of one line of text")]
    Text(&'static str),
}

impl Report {
    /// Reads the bytes between `7501;` and the end of the sequence. Nothing: a program asks whether the terminal knows
    /// the protocol, or a terminal says that it does.
    ///
    /// Pairs that are no pairs and unknown keys are passed over, of a key said twice the last counts. `progress` is
    /// such a key here: it says nothing about waiting.
    ///
    /// # Errors
    /// The report breaks a rule for which the protocol has it passed over as a whole.
    pub fn parse(body: &[u8]) -> Result<Option<Report>, Discarded> {
        let mut pairs = body.split(|byte| *byte == b':').peekable();
        if pairs.peek().is_some_and(|first| first.trim_ascii() == b"?") {
            return Ok(None);
        }
        let [mut state, mut kind, mut id, mut app, mut title, mut msg] = [None; 6];
        for pair in pairs {
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
            let (key, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
            if key.len() > KEY_BYTES {
                return Err(Discarded::TooLong("key"));
            }
            match key {
                b"state" => state = Some(value),
                b"kind" => kind = Some(value),
                b"id" => id = Some(value),
                b"app" => app = Some(within(value, NAME_BYTES, "app")?),
                b"title" => title = Some(within(value, TITLE_ENCODED_BYTES, "title")?),
                b"msg" => msg = Some(within(value, MESSAGE_ENCODED_BYTES, "msg")?),
                _ => {}
            }
        }
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let id = id.map(|id| text(id).filter(|id| is_id(id)).ok_or(Discarded::Id)).transpose()?;
        let title = decode(title, TITLE_BYTES, "title")?;
        let msg = decode(msg, MESSAGE_BYTES, "msg")?;
        let state = state.and_then(text).and_then(|word| ProgramState::parse(&word));
        let state = state.ok_or(Discarded::State)?;
        let kind = kind.filter(|_| state == ProgramState::Blocked).and_then(text);
        Ok(Some(Report {
            state,
            kind: kind.and_then(|word| Needs::parse(&word)),
            id,
            app: app.and_then(text).filter(|app| is_name(app)),
            title,
            msg,
        }))
    }

    /// What it says in words, for `why`.
    pub fn words(&self) -> String {
        let app = self.app.as_deref().unwrap_or("the program");
        let part = self.id.as_deref().map(|id| format!(" of {id}")).unwrap_or_default();
        match (self.state, self.kind) {
            (ProgramState::Clear, _) => format!("{app} takes back what it said{part}"),
            (state, Some(needs)) => format!("{app} says {} ({}){part}", state.as_str(), needs.as_str()),
            (state, None) => format!("{app} says {}{part}", state.as_str()),
        }
    }
}

fn within<'a>(value: &'a [u8], limit: usize, field: &'static str) -> Result<&'a [u8], Discarded> {
    if value.len() > limit { Err(Discarded::TooLong(field)) } else { Ok(value) }
}

fn decode(value: Option<&[u8]>, limit: usize, field: &'static str) -> Result<Option<String>, Discarded> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let bytes = BASE64.decode(value).map_err(|_| Discarded::Text(field))?;
    let text = String::from_utf8(bytes).map_err(|_| Discarded::Text(field))?;
    if text.chars().any(char::is_control) {
        return Err(Discarded::Text(field));
    }
    if text.len() > limit {
        return Err(Discarded::TooLong(field));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// A program's name, or one segment of an id: letters, digits and `_.+-`.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
    !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(is_letter)
}

pub(super) fn is_id(text: &str) -> bool {
    text.len() <= ID_BYTES && text.split('/').count() <= ID_LEVELS && text.split('/').all(is_name)
}

/// The text of `title` or `msg` as plain text, by the limits of the protocol.
pub(super) fn is_line(text: &str, is_title: bool) -> bool {
    text.len() <= if is_title { TITLE_BYTES } else { MESSAGE_BYTES } && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn b64(text: impl AsRef<[u8]>) -> String {
        BASE64.encode(text)
    }

    fn read(body: &str) -> Report {
        Report::parse(body.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_protocols_example_is_read() {
        let body = "state=blocked:kind=permission:app=terraform:\
                    msg=QXBwbHkgMyB0byBhZGQsIDEgdG8gY2hhbmdlLCAwIHRvIGRlc3Ryb3k/";
        let report = Report {
            state: ProgramState::Blocked,
            kind: Some(Needs::Permission),
            id: None,
            app: Some("terraform".into()),
            title: None,
            msg: Some("Apply 3 to add, 1 to change, 0 to destroy?".into()),
        };
        assert_eq!(read(body), report);
        assert_eq!(report.words(), "terraform says blocked (permission)");
    }

    #[test]
    fn every_state_and_need_of_the_protocol_is_read_and_no_other() {
        for word in ["idle", "working", "done", "blocked", "error", "clear"] {
            assert_eq!(read(&format!("state={word}")).state.as_str(), word);
        }
        for word in ["permission", "question", "auth"] {
            let needs = read(&format!("state=blocked:kind={word}")).kind.unwrap();
            assert_eq!(needs.as_str(), word);
            assert_eq!(read(&format!("state=working:kind={word}")).kind, None, "only a blocked one needs");
        }
        for body in ["", "state", "state=", "state=Idle", "state=paused", "kind=auth:app=x", "states=idle"] {
            assert_eq!(Report::parse(body.as_bytes()), Err(Discarded::State), "{body}");
        }
        assert_eq!(read("state=blocked:kind=coffee").kind, None, "blocked all the same");
    }

    #[test]
    fn what_is_no_pair_is_passed_over_and_the_last_of_a_key_counts() {
        let report =
            read(" state = idle : junk : =x : Bad=1 : odd=a;b : progress=7 : state=working : app=pi ");
        assert_eq!((report.state, report.app.as_deref()), (ProgramState::Working, Some("pi")));
        assert_eq!(read("state=idle:app=a b").app, None, "no name, and the rest counts");
        assert_eq!(read("state=idle:msg=:title=").msg, None, "empty is absent");
    }

    #[test]
    fn a_bad_id_never_counts_for_the_program_as_a_whole() {
        assert_eq!(read("state=working:id=task/a.1_+-").id.as_deref(), Some("task/a.1_+-"));
        let eight = ["a"; 8].join("/");
        assert_eq!(read(&format!("state=idle:id={eight}")).id, Some(eight.clone()));
        for id in ["", "a//b", "/a", "a/", "a b", "ü", &format!("{eight}/a"), &"x".repeat(33)] {
            let body = format!("state=blocked:id={id}");
            assert_eq!(Report::parse(body.as_bytes()), Err(Discarded::Id), "{id}");
        }
        let long = ["abcdefghijklmnop"; 8].join("/");
        assert_eq!(Report::parse(format!("state=idle:id={long}").as_bytes()), Err(Discarded::Id));
    }

    #[test]
    fn limits_bad_base64_and_control_characters_discard_the_whole_report() {
        let too_long = [
            ("key", format!("state=idle:{}=1", "k".repeat(17))),
            ("app", format!("state=idle:app={}", "a".repeat(33))),
            ("title", format!("state=idle:title={}", b64("t".repeat(193)))),
            ("msg", format!("state=idle:msg={}", b64("m".repeat(2_049)))),
        ];
        for (field, body) in too_long {
            assert_eq!(Report::parse(body.as_bytes()), Err(Discarded::TooLong(field)), "{body}");
        }
        for text in
            ["not*base64".into(), "a b".into(), b64("two\nlines"), b64("\u{9b}31m"), b64([0xff, 0xfe])]
        {
            let body = format!("state=clear:msg={text}");
            assert_eq!(Report::parse(body.as_bytes()), Err(Discarded::Text("msg")), "{text}");
        }
        let longest = "m".repeat(2_048);
        assert_eq!(read(&format!("state=idle:msg={}", b64(&longest))).msg, Some(longest));
        assert_eq!(read("state=done:msg=b2s").msg.as_deref(), Some("ok"), "padding may be left away");
    }

    #[test]
    fn a_question_about_the_protocol_is_no_report() {
        for body in ["?", " ? ", "?:states=idle,done:kinds="] {
            assert_eq!(Report::parse(body.as_bytes()), Ok(None), "{body}");
        }
        assert_eq!(Report::parse(b"??"), Err(Discarded::State));
    }
}
