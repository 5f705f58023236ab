//! The form of a host's contract: one declarative table a host, from which everything else is derived.

use herdbook_events::{CanonicalEvent, Family, Field, Origin};

use crate::detail::{Detail, Key};
use crate::observe::Reading;

/// How a native value becomes the value of a payload field (reference: decodes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// The native value as it is.
    None,
    /// A string that holds JSON text: the parsed value, or the string itself where it does not parse.
    JsonString,
    /// A count: true when it is above zero.
    PositiveCount,
}

/// One payload field of one native event: where it is read from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The canonical field.
    pub field: Field,
    /// The host's own top-level key.
    pub key: &'static str,
    /// How its value is read.
    pub decode: Decode,
}

/// Whether `install` registers an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Install {
    /// Always.
    Always,
    /// Only while a route is configured for it: it decides, floods or costs the host.
    OnRoute,
    /// Never, with the reason.
    Never(&'static str),
}

/// One native event of a host.
#[derive(Clone, Copy, Debug)]
pub struct NativeEvent {
    /// The name, as it is configured and sent.
    pub name: &'static str,
    /// The canonical family; none for events outside the 22 families.
    pub family: Option<Family>,
    /// Why it has no family.
    pub outside: Option<&'static str>,
    /// The mapped payload fields, in groups because most events share the same first ones.
    pub fields: &'static [&'static [Mapping]],
    /// A hook can stop or redirect what the event announces.
    pub can_block: bool,
    /// Whether `install` registers it.
    pub install: Install,
    /// The host's own time limit for hooks of this event in milliseconds, where it differs from the host's default.
    pub limit_ms: Option<u32>,
    /// The most that an entry may ask for in milliseconds, where the host caps it.
    pub most_ms: Option<u32>,
    /// The first client version that knows the name; older ones may void the whole file over it.
    pub since: Option<&'static str>,
    /// The payload does not say which event it is: our entry passes the name as the argument `event:NAME`.
    pub told: bool,
}

impl NativeEvent {
    /// Sets the first client version that knows the event.
    #[must_use]
    pub const fn since(mut self, version: &'static str) -> NativeEvent {
        self.since = Some(version);
        self
    }

    /// Marks an event whose payload does not say its name.
    #[must_use]
    pub const fn told(mut self) -> NativeEvent {
        self.told = true;
        self
    }

    /// Marks an event that a hook can block.
    #[must_use]
    pub const fn blocks(mut self) -> NativeEvent {
        self.can_block = true;
        self
    }

    /// Marks an event that is registered only for a route.
    #[must_use]
    pub const fn on_route(mut self) -> NativeEvent {
        self.install = Install::OnRoute;
        self
    }

    /// Marks an event that is never registered.
    #[must_use]
    pub const fn never(mut self, reason: &'static str) -> NativeEvent {
        self.install = Install::Never(reason);
        self
    }

    /// Sets the host's own time limit for this event.
    #[must_use]
    pub const fn limit_ms(mut self, limit_ms: u32) -> NativeEvent {
        self.limit_ms = Some(limit_ms);
        self
    }

    /// Sets the most that an entry of this event may ask for.
    #[must_use]
    pub const fn most_ms(mut self, most_ms: u32) -> NativeEvent {
        self.most_ms = Some(most_ms);
        self
    }

    /// Iterates over the mapped payload fields.
    pub fn mappings(&self) -> impl Iterator<Item = &'static Mapping> + use<> {
        self.fields.iter().flat_map(|group| group.iter())
    }

    /// Returns how a field of the payload is read, or nothing when the host does not report it here.
    pub fn mapping(&self, field: Field) -> Option<&'static Mapping> {
        self.mappings().find(|mapping| mapping.field == field)
    }
}

/// The keys under which a host says what an event belongs to. The first key that holds a non-empty string wins; a
/// dot leads into a member (`info.id`).
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The native event name.
    pub event: &'static [&'static str],
    /// The session.
    pub session: &'static [&'static str],
    /// The turn.
    pub turn: &'static [&'static str],
    /// The subagent.
    pub agent: &'static [&'static str],
    /// The parent session.
    pub parent: &'static [&'static str],
    /// The tool use.
    pub tool_use: &'static [&'static str],
    /// A list of directories whose first one stands in for a missing `cwd`.
    pub roots: Option<&'static str>,
}

impl Identity {
    /// What is tried for a host without a table.
    pub const UNKNOWN_HOST: Identity = Identity {
        event: &["hook_event_name"],
        session: &["session_id"],
        turn: &[],
        agent: &[],
        parent: &[],
        tool_use: &[],
        roots: None,
    };
}

/// How a host lays out what it sends, beyond one flat object.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Members that only hold other members: the arguments of an in-process plugin, as our plugin wraps them. Where
    /// an event has one, every key that is not common is looked for inside them, the last named first.
    pub wrappers: &'static [&'static str],
    /// Keys with a second spelling. Whichever is there is read, and named as the native key.
    pub spellings: &'static [(&'static str, &'static str)],
}

impl Layout {
    /// One object whose keys have one spelling each.
    pub const FLAT: Layout = Layout { wrappers: &[], spellings: &[] };

    /// Returns the other spelling of a key.
    pub fn respelled(&self, key: &str) -> Option<&'static str> {
        self.spellings.iter().find_map(|(one, other)| match key {
            key if key == *one => Some(*other),
            key if key == *other => Some(*one),
            _ => None,
        })
    }
}

/// Where a host keeps its settings folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The variable that moves the folder, if there is one: `CLAUDE_CONFIG_DIR`.
    pub var: Option<&'static str>,
    /// The folder is below `XDG_CONFIG_HOME` (by default `.config`) instead of the home itself.
    pub xdg: bool,
    /// Its name there: `.claude`.
    pub folder: &'static str,
}

/// The unit in which a host's settings count a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
}

/// The form of one of our entries in a host's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `hooks.EVENT` is a list of groups, each `{"matcher"?, "hooks": [{"type": "command", "command", "timeout"}]}`.
    Groups {
        /// What the group matches, where the host wants it said.
        matcher: Option<&'static str>,
        /// Unit of `timeout`.
        unit: Unit,
        /// The entry has a `name`, which the host shows to people.
        named: bool,
        /// The host knows an entry by its place (NOTES 10): what comes after one of ours must not move.
        placed: bool,
    },
    /// `hooks.EVENT` is a list of entries `{"command", "timeout"}`, `"version": 1` beside `hooks`.
    Entries,
    /// A file of our own: `{"version": 1, "hooks": {EVENT: [{"type": "command", "bash", "timeoutSec"}]}}`.
    OwnFile,
    /// A plugin file of our own. Its text holds `@@COMMAND@@` where the command goes, as a JSON string, and
    /// `@@LIMITS@@` for the events whose answer it waits for, as an object of milliseconds.
    Plugin(&'static str),
    /// Nothing is ever registered there, for this reason.
    Never(&'static str),
}

/// A setting of a host's own that switches all hooks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The keys on the way to it.
    pub path: &'static [&'static str],
    /// The value that does.
    pub off: bool,
    /// How a person would name it.
    pub shown: &'static str,
}

/// Where a host keeps the transcripts of its sessions. In a file's name `@` stands for an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcripts {
    /// Their folder, below the settings folder.
    pub folder: &'static str,
    /// The file of a session below it, where hooks do not name the file and its place follows from the session's id.
    pub session: Option<&'static str>,
    /// The file of a subagent, below a folder that is named as the session's file without its ending.
    pub child: Option<&'static str>,
}

/// Where and how a host's hooks are registered.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Names of its program on `PATH`, the usual one first. `--version` prints its version.
    pub programs: &'static [&'static str],
    /// Its settings folder.
    pub home: Home,
    /// The user's settings file, below that folder.
    pub user_file: &'static str,
    /// A project's settings file, below the project's root.
    pub project_file: &'static str,
    /// What stands in it.
    pub form: Form,
    /// What a person should know before the next start, where the host does something of its own about it.
    pub caution: Option<&'static str>,
    /// The setting in that file that switches all hooks off, where the host has one.
    pub switch: Option<Switch>,
}

/// The contract of one host.
#[derive(Clone, Copy, Debug)]
pub struct HostTable {
    /// The id used in records, for example `claude`.
    pub host: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What its table describes: a version of its client, or the date of its documents.
    pub documented: &'static str,
    /// What becomes of what a hook was asked about when the hook fails.
    pub on_failure: &'static str,
    /// The same, when it takes too long.
    pub on_timeout: &'static str,
    /// Keys every event may carry.
    pub common: &'static [Key],
    /// A key that only its own payloads have: it also runs the hooks in other hosts' settings (case F-035).
    pub mark: Option<&'static str>,
    /// Keys that say what an event belongs to.
    pub identity: Identity,
    /// How the keys lie in what it sends.
    pub layout: Layout,
    /// Foreign event names the host also sends, each with its own name for the same event.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Event names are compared without regard to ASCII case.
    pub folds_case: bool,
    /// The host's time limit for a hook in milliseconds; none where it is not documented.
    pub limit_ms: Option<u32>,
    /// The time-out that our entries ask for, in milliseconds.
    pub entry_ms: u32,
    /// Keys that are known beyond those of the events: other spellings, wrappers, and what was seen of real clients. A
    /// key in no list is news.
    pub more: &'static [&'static str],
    /// Names of calls that are read although they are no hook events.
    pub beside: &'static [&'static str],
    /// What an event says about waiting.
    pub signals: fn(&CanonicalEvent, &Origin) -> Reading,
    /// The variable in which the host names its process to a hook.
    pub pid_var: Option<&'static str>,
    /// Its transcripts, where we read them.
    pub transcripts: Option<Transcripts>,
    /// How `install` registers its hooks.
    pub setup: Setup,
    /// What its events carry and what it can be told: one row an event, in the same order.
    pub details: &'static [Detail],
    /// All native events.
    pub events: &'static [NativeEvent],
}

impl HostTable {
    /// Returns the native event of that name, following aliases. Nothing for a name the table does not know.
    pub fn event(&self, name: &str) -> Option<&'static NativeEvent> {
        let same = |known: &str| known == name || (self.folds_case && known.eq_ignore_ascii_case(name));
        self.events.iter().find(|event| same(event.name)).or_else(|| {
            let (_, own) = self.aliases.iter().find(|(alias, _)| same(alias))?;
            self.events.iter().find(|event| event.name == *own)
        })
    }

    /// Returns the events of a family: at them its routes run.
    pub fn routed(&self, family: Family) -> impl Iterator<Item = &'static NativeEvent> + use<> {
        self.events.iter().filter(move |event| event.family == Some(family))
    }

    /// Returns what is known of an event beyond its mapping.
    pub fn detail(&self, event: &NativeEvent) -> Option<&'static Detail> {
        self.details.iter().find(|detail| detail.event == event.name)
    }

    /// Returns the versions of its client that were seen, the oldest first.
    pub fn seen(&self) -> Vec<&'static str> {
        let mut versions: Vec<&str> = Vec::new();
        for version in self.details.iter().flat_map(|detail| detail.seen) {
            if !versions.contains(version) {
                versions.push(version);
            }
        }
        versions.sort_unstable();
        versions
    }

    /// True when every event may carry this key.
    pub fn is_common(&self, key: &str) -> bool {
        self.common.iter().any(|common| common.name == key)
    }

    /// True when `install` has hooks for it.
    pub fn is_installable(&self) -> bool {
        !matches!(self.setup.form, Form::Never(_))
    }

    /// Returns the time-out in milliseconds that our entry of an event asks for: never more than the host grants.
    pub fn entry_ms(&self, event: &NativeEvent) -> u32 {
        event.most_ms.map_or(self.entry_ms, |most_ms| most_ms.min(self.entry_ms))
    }
}

/// Describes an event of a family, registered always, that cannot block.
pub(crate) const fn on(
    name: &'static str,
    family: Family,
    fields: &'static [&'static [Mapping]],
) -> NativeEvent {
    NativeEvent {
        name,
        family: Some(family),
        outside: None,
        fields,
        can_block: false,
        install: Install::Always,
        limit_ms: None,
        most_ms: None,
        since: None,
        told: false,
    }
}

/// Describes an event outside the families, with the reason why it is.
pub(crate) const fn outside(name: &'static str, reason: &'static str) -> NativeEvent {
    NativeEvent {
        name,
        family: None,
        outside: Some(reason),
        fields: &[],
        can_block: false,
        install: Install::Always,
        limit_ms: None,
        most_ms: None,
        since: None,
        told: false,
    }
}

/// Maps a field to a key whose value is taken as it is.
pub(crate) const fn is(field: Field, key: &'static str) -> Mapping {
    Mapping { field, key, decode: Decode::None }
}

/// Maps a field to a key that holds JSON text.
pub(crate) const fn json(field: Field, key: &'static str) -> Mapping {
    Mapping { field, key, decode: Decode::JsonString }
}

/// Maps a field to a key that holds a count.
pub(crate) const fn counted(field: Field, key: &'static str) -> Mapping {
    Mapping { field, key, decode: Decode::PositiveCount }
}
