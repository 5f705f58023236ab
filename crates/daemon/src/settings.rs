//! The human's own settings: `config.toml` in his folder for Herdbook, read once at the start.
//!
//! A file that is not there is none. One that cannot be read changes nothing: the daemon starts without it and says so,
//! and `herdbook doctor` names the line.

use std::io;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use herdbook_hosts::detector::{Pattern, Rule, Rules};
use herdbook_log::{Durability, Options};
use herdbook_wire::env::Env;
use herdbook_wire::paths;
use serde::Deserialize;
use toml::Spanned;

use crate::config::Notice;
use crate::error::whole;
use crate::own_file;

/// The file's name in the folder of the human's settings.
pub const FILE: &str = "config.toml";

/// So long a screen is the same before its pane waits, in seconds.
const QUIET_S: RangeInclusive<u64> = 1..=3_600;
/// Between two looks at panes, in seconds.
const POLL_S: RangeInclusive<u64> = 1..=60;

/// Days that something is kept; 0 is no limit.
const DAYS: RangeInclusive<u64> = 0..=36_500;

/// All settings; defaults are the product's.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The detector for harnesses without hooks.
    pub detector: Detector,
    /// When appends to session logs are answered.
    pub policy: Policy,
    /// How long what is kept.
    pub retention: Retention,
}

/// When an append to a session's log is answered (eventlog 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Once it survives a power cut.
    Always,
    /// Intents before their effects and what a human decided: once they survive a power cut, and all before them. The
    /// rest once it survives a killed daemon; it is synced within 100 ms.
    #[default]
    Barrier,
    /// Once it survives a killed daemon; the system syncs when it likes.
    Os,
}

impl Policy {
    const ALL: [(&str, Policy); 3] =
        [("always", Policy::Always), ("barrier", Policy::Barrier), ("os", Policy::Os)];

    /// Says when an append is answered. Who asks for a sync gets one, whatever the policy.
    pub(crate) fn durability(self, is_barrier: bool, synced: bool) -> Durability {
        let is_due = match self {
            Policy::Always => true,
            Policy::Barrier => is_barrier,
            Policy::Os => false,
        };
        if is_due || synced { Durability::Synced } else { Durability::Written }
    }

    /// Opens a log under this policy.
    pub(crate) fn options(self, options: Options) -> Options {
        match self {
            Policy::Always | Policy::Barrier => options,
            Policy::Os => Options { sync_within: None, ..options },
        }
    }
}

/// How long logs are kept, in days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Raw payloads of hook calls in the journal; 0: for good.
    pub journal_payload_days: u64,
    /// Sessions, by their last event; 0: for good.
    pub session_days: u64,
    /// Until the log of a session is compressed, by its last event; 0: never.
    pub compress_after_days: u64,
}

impl Retention {
    /// Nothing is deleted or changed, whatever its age is.
    pub const ALL_STAYS: Retention =
        Retention { journal_payload_days: 0, session_days: 0, compress_after_days: 0 };
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { journal_payload_days: 30, session_days: 0, compress_after_days: 14 }
    }
}

/// Settings of the detector.
#[derive(Clone, Debug)]
pub struct Detector {
    /// Between two looks at panes.
    pub poll: Duration,
    /// Sockets of tmux servers that are looked at beside the usual one and those of known sessions.
    pub servers: Vec<PathBuf>,
    /// Which panes are watched, and when they wait.
    pub rules: Rules,
}

impl Default for Detector {
    fn default() -> Detector {
        Detector { poll: Duration::from_secs(2), servers: Vec::new(), rules: Rules::default() }
    }
}

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is there and cannot be read.
    #[error("could not read {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// Something in it is not as it must be.
    #[error("{} line {line}: {what}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what may stand there.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    detector: WrittenDetector,
    #[serde(default)]
    sessions: WrittenSessions,
    #[serde(default)]
    retention: WrittenRetention,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSessions {
    policy: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRetention {
    journal_payload_days: Option<Spanned<u64>>,
    session_days: Option<Spanned<u64>>,
    compress_after_days: Option<Spanned<u64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDetector {
    quiet_s: Option<Spanned<u64>>,
    poll_s: Option<Spanned<u64>>,
    #[serde(default)]
    servers: Vec<Spanned<PathBuf>>,
    #[serde(default)]
    patterns: Vec<Spanned<String>>,
    #[serde(default)]
    rule: Vec<Spanned<WrittenRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    title: Option<Spanned<String>>,
    command: Option<Spanned<String>>,
}

/// What is wrong, and where in the text.
type Fault = (String, Range<usize>);

impl Settings {
    /// Returns the file, where there is a place for it.
    pub fn file(env: &Env) -> Option<PathBuf> {
        paths::config_dir(env).ok().map(|folder| folder.join(FILE))
    }

    /// Reads the file in the settings folder. Where it cannot be read the human is told, and all is as it always is, but
    /// for old logs: what he says of those is not known, and they stay as they are. So without a settings folder.
    pub(crate) fn of_folder(folder: Option<&Path>, notice: &dyn Fn(&Notice)) -> Settings {
        let unread = || Settings { retention: Retention::ALL_STAYS, ..Settings::default() };
        let Some(folder) = folder else { return unread() };
        Settings::read(&folder.join(FILE)).unwrap_or_else(|error| {
            notice(&Notice::Warning(format!(
                "{}; none of its settings are used until it is mended and Herdbook restarted, and no old log is changed \
                 or deleted till then",
                whole(&error)
            )));
            unread()
        })
    }

    /// Reads the file; one that is not there gives the defaults.
    ///
    /// # Errors
    /// It cannot be read, or something in it is not as it must be: with the line.
    pub fn read(path: &Path) -> Result<Settings, SettingsError> {
        let text = own_file::read(path)
            .map_err(|source| SettingsError::Io { path: path.to_owned(), source })?
            .unwrap_or_default();
        Settings::parse(&text).map_err(|(what, place)| {
            let line = 1 + text.bytes().take(place.start).filter(|byte| *byte == b'\n').count();
            SettingsError::Wrong { path: path.to_owned(), line, what }
        })
    }

    fn parse(text: &str) -> Result<Settings, Fault> {
        let written: Written = toml::from_str(text)
            .map_err(|error| (error.message().replace('\n', " "), error.span().unwrap_or(0..0)))?;
        Ok(Settings {
            detector: Detector::of(written.detector)?,
            policy: written.sessions.policy.map_or(Ok(Policy::default()), policy)?,
            retention: Retention::of(written.retention)?,
        })
    }
}

impl Retention {
    fn of(written: WrittenRetention) -> Result<Retention, Fault> {
        let normal = Retention::default();
        let of = |name, written, normal| Ok(number(name, written, DAYS, "days")?.unwrap_or(normal));
        Ok(Retention {
            journal_payload_days: of(
                "journal_payload_days",
                written.journal_payload_days,
                normal.journal_payload_days,
            )?,
            session_days: of("session_days", written.session_days, normal.session_days)?,
            compress_after_days: of(
                "compress_after_days",
                written.compress_after_days,
                normal.compress_after_days,
            )?,
        })
    }
}

fn policy(written: Spanned<String>) -> Result<Policy, Fault> {
    let place = written.span();
    let word = written.into_inner();
    let named = Policy::ALL.iter().find(|(name, _)| *name == word);
    named
        .map(|(_, policy)| *policy)
        .ok_or_else(|| ("policy: must be always, barrier or os".to_owned(), place))
}

impl Detector {
    fn of(written: WrittenDetector) -> Result<Detector, Fault> {
        let normal = Detector::default();
        let quiet_s = seconds("quiet_s", written.quiet_s, QUIET_S)?;
        let poll_s = seconds("poll_s", written.poll_s, POLL_S)?;
        let servers = written.servers.into_iter().map(|server| {
            let place = server.span();
            let server = server.into_inner();
            let is_place = server.is_absolute();
            is_place
                .then_some(server)
                .ok_or_else(|| ("servers: must be absolute paths of sockets".to_owned(), place))
        });
        Ok(Detector {
            poll: poll_s.map_or(normal.poll, Duration::from_secs),
            servers: servers.collect::<Result<_, Fault>>()?,
            rules: Rules {
                quiet_ms: quiet_s.map_or(normal.rules.quiet_ms, |quiet_s| quiet_s * 1_000),
                prompts: written
                    .patterns
                    .into_iter()
                    .map(|pattern| compile("patterns", pattern))
                    .collect::<Result<_, Fault>>()?,
                rules: written.rule.into_iter().map(rule).collect::<Result<_, Fault>>()?,
            },
        })
    }
}

fn seconds(
    name: &str,
    written: Option<Spanned<u64>>,
    range: RangeInclusive<u64>,
) -> Result<Option<u64>, Fault> {
    number(name, written, range, "seconds")
}

fn number(
    name: &str,
    written: Option<Spanned<u64>>,
    range: RangeInclusive<u64>,
    unit: &str,
) -> Result<Option<u64>, Fault> {
    let Some(written) = written else { return Ok(None) };
    let place = written.span();
    let value = written.into_inner();
    let what = || format!("{name}: must be from {} to {} {unit}", range.start(), range.end());
    if range.contains(&value) { Ok(Some(value)) } else { Err((what(), place)) }
}

fn rule(written: Spanned<WrittenRule>) -> Result<Rule, Fault> {
    let place = written.span();
    let written = written.into_inner();
    if written.title.is_none() && written.command.is_none() {
        return Err(("detector.rule: needs a title or a command".to_owned(), place));
    }
    Ok(Rule {
        title: written.title.map(|pattern| compile("title", pattern)).transpose()?,
        command: written.command.map(|pattern| compile("command", pattern)).transpose()?,
    })
}

fn compile(name: &str, written: Spanned<String>) -> Result<Pattern, Fault> {
    let place = written.span();
    let text = written.into_inner();
    Pattern::parse(&text)
        .map_err(|error| (format!("{name}: '{text}' is no regular expression: {error}"), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fn fault(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, text).unwrap();
        let error = Settings::read(&path).unwrap_err().to_string();
        error.replace(&path.display().to_string(), FILE)
    }

    #[test]
    fn all_that_may_be_said_is_read() {
        let text = "[detector]\nquiet_s = 45\npoll_s = 5\nservers = ['/tmp/work']\npatterns = ['^READY$']\n\
                    [[detector.rule]]\ntitle = '^deploy'\ncommand = '^sh$'\n";
        let Detector { poll, servers, rules } = Settings::parse(text).unwrap().detector;
        assert_eq!((poll, servers), (Duration::from_secs(5), vec![PathBuf::from("/tmp/work")]));
        assert_eq!((rules.quiet_ms, rules.prompts.len(), rules.ask_for_command()), (45_000, 1, true));
        assert!(rules.watch("deploy", "sh").is_some() && rules.watch("deploy", "vi").is_none());
    }

    #[test]
    fn the_manuals_example_can_be_read() {
        let manual = include_str!("../../../docs/manual.md");
        let example = manual.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let rules = Settings::parse(example).unwrap().detector.rules;
        assert_eq!((rules.quiet_ms, rules.prompts.len()), (30_000, 1));
        assert!(rules.watch("", "aider").is_some());
        // The rules for old logs are shown as they are without a file.
        let example = manual.split("```toml\n[retention]").nth(1).unwrap().split("```").next().unwrap();
        let retention = Settings::parse(&format!("[retention]{example}")).unwrap().retention;
        assert_eq!(retention, Retention::default());
    }

    #[test]
    fn what_is_not_said_is_as_it_always_is() {
        let nothing = tempfile::tempdir().unwrap();
        for settings in [Settings::parse("").unwrap(), Settings::read(&nothing.path().join(FILE)).unwrap()] {
            assert_eq!(settings.detector.poll, Duration::from_secs(2));
            assert_eq!(settings.detector.rules.quiet_ms, 30_000);
            assert!(settings.detector.servers.is_empty());
            let Retention { journal_payload_days, session_days, compress_after_days } = settings.retention;
            assert_eq!((journal_payload_days, session_days, compress_after_days), (30, 0, 14));
        }
    }

    #[test]
    fn faults_are_named_with_their_line_and_what_may_stand_there() {
        for (text, expected) in [
            (
                "[detector]\nquite_s = 3\n",
                "config.toml line 2: unknown field `quite_s`, expected one of `quiet_s`, `poll_s`, `servers`, \
                 `patterns`, `rule`",
            ),
            (
                "# mine\n\n[detectors]\n",
                "config.toml line 3: unknown field `detectors`, expected one of `detector`, `sessions`, `retention`",
            ),
            (
                "[retention]\nsession_days = 36501\n",
                "config.toml line 2: session_days: must be from 0 to 36500 days",
            ),
            ("[detector]\nquiet_s = 0\n", "config.toml line 2: quiet_s: must be from 1 to 3600 seconds"),
            ("[detector]\n\npoll_s = 61\n", "config.toml line 3: poll_s: must be from 1 to 60 seconds"),
            (
                "[detector]\nservers = [\n'/a',\n'b']\n",
                "config.toml line 4: servers: must be absolute paths of sockets",
            ),
            (
                "[detector]\npatterns = ['a',\n'(']\n",
                "config.toml line 3: patterns: '(' is no regular expression: unclosed group",
            ),
            ("[sessions]\npolicy = 'never'\n", "config.toml line 2: policy: must be always, barrier or os"),
            ("[[detector.rule]]\n", "config.toml line 1: detector.rule: needs a title or a command"),
        ] {
            assert_eq!(fault(text), expected);
        }
        assert!(fault("[detector]\nquiet_s = \"3\"\n").starts_with("config.toml line 2: invalid type"));
        assert!(fault("[detector\n").starts_with("config.toml line 1: "));
        assert!(fault("x = '\u{1}'").starts_with("config.toml line 1: "));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fn a_file_that_cannot_be_read_lets_all_old_logs_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let told = std::cell::Cell::new(0);
        let read = |folder| Settings::of_folder(folder, &|_| told.set(told.get() + 1)).retention;
        assert_eq!((read(Some(folder.path())), read(None)), (Retention::default(), Retention::ALL_STAYS));
        assert_eq!(told.get(), 0);
        for text in ["[retention]\nsesion_days = 900\n", "[detector\n[retention]\njournal_payload_days = 0\n"]
        {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(Some(folder.path())), Retention::ALL_STAYS, "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!((read(Some(folder.path())), told.get()), (Retention::ALL_STAYS, 3));
    }

    #[test]
    fn each_part_may_stand_alone() {
        for (text, policy, days) in [
            ("[sessions]\npolicy = 'os'\n", Policy::Os, 0),
            ("[retention]\nsession_days = 7\n", Policy::Barrier, 7),
            ("[detector]\nquiet_s = 9\n", Policy::Barrier, 0),
        ] {
            let settings = Settings::parse(text).unwrap();
            assert_eq!((settings.policy, settings.retention.session_days), (policy, days), "{text}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let error = Settings::read(folder.path()).unwrap_err();
        assert!(matches!(error, SettingsError::Io { .. }), "{error}");
    }
}
