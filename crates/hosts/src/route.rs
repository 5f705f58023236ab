//! Routes: scripts of the human's that see events of one family, and may answer. What is written beside one, and what of
//! it each host can be told.

mod notes;

use std::fmt;
use std::ops::RangeInclusive;

use herdbook_events::{CanonicalEvent, Family, Field};
use serde::Deserialize;
use toml::Spanned;

use crate::answer::{Answer, Nearest};
use crate::decision::{Decision, Outcome};
use crate::detail::Can;
use crate::table::{HostTable, NativeEvent};
use crate::{Refusal, installable, table};

/// How long a route may take where it does not say, in milliseconds.
pub const TIMEOUT_MS: u64 = 3_000;
/// What it may say, in milliseconds.
const TIMEOUTS_MS: RangeInclusive<u64> = 100..=600_000;
/// What a route may answer where it does not say: nothing that makes more possible than the host's own rules do.
const USUAL: [Answer; 3] = [Answer::Deny, Answer::Ask, Answer::Context];

/// A route, by what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The family and its own name: `tool/before/no-force-push`.
    pub id: String,
    /// The family.
    pub family: Family,
    /// The hosts at which it runs; without it all that have hooks and the family.
    pub hosts: Option<Vec<String>>,
    /// The tools at which it runs, each a name in which `*` stands for any text; none means all.
    pub tools: Vec<String>,
    /// What it may answer, each of it possible at each host; without it deny, ask and context as far as a host goes.
    pub may: Option<Vec<Answer>>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Where it fails, it denies.
    pub closed: bool,
}

/// What is wrong with the file beside a route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct RouteError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what may stand there.
    pub what: String,
}

/// Something a route wants that a host cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFault {
    /// The host.
    pub host: &'static str,
    /// Its event.
    pub event: &'static str,
    /// The line of the file that wants it: `may = ["ask"]`.
    pub wants: String,
    /// Why it is not possible, and the nearest thing.
    pub refusal: Refusal,
}

impl fmt::Display for RouteFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RouteFault { host, event, wants, refusal } = self;
        write!(
            formatter,
            "{wants}: {host} cannot be told that at {event}: {}; the nearest is {}",
            refusal.why, refusal.nearest
        )
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    hosts: Option<Spanned<Vec<Spanned<String>>>>,
    tools: Option<Spanned<Vec<Spanned<String>>>>,
    may: Option<Vec<Spanned<String>>>,
    timeout_ms: Option<Spanned<i64>>,
    #[serde(default)]
    fail: Fail,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fail {
    #[default]
    Open,
    Closed,
}

/// A fault with the byte at which it stands.
type Fault = (usize, String);

impl Route {
    /// Reads what stands beside a route: none where there is no such file.
    ///
    /// # Errors
    /// Something in it is not as it must be: with the line, and what may stand there.
    pub fn parse(id: &str, family: Family, toml: Option<&str>) -> Result<Route, RouteError> {
        let text = toml.unwrap_or_default();
        let at = |(at, what): Fault| {
            let before = text.as_bytes().iter().take(at);
            RouteError { line: 1 + before.filter(|byte| **byte == b'\n').count(), what }
        };
        let written: Written = toml::from_str(text).map_err(|error| {
            let what = error.message().replace('\n', " ").replace("expected i64", "expected a whole number");
            let what = what.replace("expected a sequence", "expected a list in [ ]");
            at((error.span().map_or(0, |span| span.start), what))
        })?;
        let may = written.may.map(|words| words.into_iter().map(answer).collect()).transpose();
        Ok(Route {
            id: id.to_owned(),
            family,
            hosts: written.hosts.map(|names| hosts(family, names)).transpose().map_err(at)?,
            tools: written.tools.map_or(Ok(Vec::new()), |names| tools(family, names)).map_err(at)?,
            may: may.map_err(at)?,
            timeout_ms: written.timeout_ms.map_or(Ok(TIMEOUT_MS), timeout).map_err(at)?,
            closed: matches!(written.fail, Fail::Closed),
        })
    }

    /// Returns what a host at which it runs cannot do of what it wants. While there is any, it does not run.
    pub fn faults(&self) -> Vec<RouteFault> {
        let mut faults = Vec::new();
        for table in self.tables() {
            let mut demand = |answer: Answer, wants: String| {
                if let Some((event, refusal)) = self.refused(table, answer) {
                    faults.push(RouteFault { host: table.host, event: event.name, wants, refusal });
                }
            };
            for answer in self.may.iter().flatten() {
                demand(*answer, format!("may = [\"{}\"]", answer.as_str()));
            }
            if self.closed {
                demand(Answer::Deny, "fail = \"closed\"".to_owned());
            }
        }
        faults
    }

    /// Returns in words why it is refused, and the hosts at which it would not be; none where it may run.
    pub fn refusal(&self) -> Option<String> {
        let faults = self.faults();
        let mut words: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let is_able = |host: &&str| faults.iter().all(|fault| fault.host != *host);
        let able: Vec<&str> = self.tables().map(|table| table.host).filter(is_able).collect();
        if !able.is_empty() {
            words.push(format!("all of it works with hosts = {able:?}"));
        }
        (!faults.is_empty()).then(|| words.join("; "))
    }

    /// True when it runs at events of a host.
    pub fn is_for(&self, host: &str) -> bool {
        self.tables().any(|table| table.host == host)
    }

    /// True when it runs at an event. A call of a tool whose name the host does not say may be of any tool.
    pub fn matches(&self, event: &CanonicalEvent) -> bool {
        event.event == Some(self.family)
            && self.is_for(&event.host)
            && self.is_for_tool(event.payload.text(Field::ToolName).as_deref())
    }

    /// Checks what it answered to an event of a host.
    ///
    /// # Errors
    /// It may not answer that: why, and what it may.
    pub fn admit(
        &self,
        table: &HostTable,
        event: &NativeEvent,
        decision: Decision,
    ) -> Result<Decision, String> {
        let outcome = decision.outcome.answer();
        let context = decision.context.as_ref().map(|_| Answer::Context);
        let input = decision.updated_input.as_ref().map(|_| Answer::UpdatedInput);
        for answer in [outcome, context, input].into_iter().flatten() {
            if !self.answers().contains(&answer) {
                let word = answer.as_str();
                return Err(format!("answered {word}, which it may not: may of its toml has no \"{word}\""));
            }
        }
        if let (Some(input), Ok(can)) = (&decision.updated_input, table.answer(event, Answer::UpdatedInput)) {
            crate::say::check_input(can, input).map_err(|why| format!("updatedInput: {why}"))?;
        }
        Ok(decision)
    }

    /// The answers it may give.
    pub fn answers(&self) -> &[Answer] {
        self.may.as_deref().unwrap_or(&USUAL)
    }

    /// The hosts at which it runs.
    fn tables(&self) -> impl Iterator<Item = &'static HostTable> + '_ {
        let is_named =
            |host: &str| self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|named| named == host));
        installable().filter(move |table| is_named(table.host) && has(table, self.family))
    }

    fn is_for_tool(&self, tool: Option<&str>) -> bool {
        let Some(tool) = tool else { return true };
        self.tools.is_empty() || self.tools.iter().any(|pattern| covers(pattern, tool))
    }

    /// Why a host cannot be told something at any event at which this route runs: as its first event says.
    fn refused(&self, table: &HostTable, answer: Answer) -> Option<(&'static NativeEvent, Refusal)> {
        let mut first = None;
        for event in table.routed(self.family) {
            let refusal = match table.answer(event, answer) {
                Err(_) if answer == Answer::Allow && self.allows_by_rewriting(table, event) => return None,
                Err(refusal) => refusal,
                Ok(can)
                    if answer != Answer::UpdatedInput
                        || can.beside.iter().any(|outcome| self.may_say(*outcome)) =>
                {
                    return None;
                }
                Ok(_) => Refusal { why: crate::say::ALLOWS, nearest: Nearest::Continue },
            };
            first = first.or(Some((event, refusal)));
        }
        first
    }

    /// Nothing says `allow` there but another input, which this route may give.
    fn allows_by_rewriting(&self, table: &HostTable, event: &NativeEvent) -> bool {
        let rewrites = table.answer(event, Answer::UpdatedInput);
        self.answers().contains(&Answer::UpdatedInput) && rewrites.is_ok_and(Can::allows)
    }

    fn may_say(&self, outcome: Outcome) -> bool {
        outcome.answer().is_none_or(|answer| self.answers().contains(&answer))
    }
}

fn has(table: &HostTable, family: Family) -> bool {
    table.routed(family).next().is_some()
}

fn hosts(family: Family, names: Spanned<Vec<Spanned<String>>>) -> Result<Vec<String>, Fault> {
    let known: Vec<&str> = installable().filter(|table| has(table, family)).map(|table| table.host).collect();
    let known_words = || format!("those with hooks for {} are {}", family.as_str(), known.join(", "));
    if names.get_ref().is_empty() {
        return Err((names.span().start, format!("hosts: names none; {}", known_words())));
    }
    let check = |name: Spanned<String>| {
        let at = name.span().start;
        let name = name.into_inner();
        if known.contains(&name.as_str()) {
            return Ok(name);
        }
        let why = match table(&name) {
            None => "is no host that is known",
            Some(table) if !table.is_installable() => "is a host for which there are no hooks",
            Some(_) => "has no such event",
        };
        Err((at, format!("hosts: '{name}' {why}; {}", known_words())))
    };
    names.into_inner().into_iter().map(check).collect()
}

fn tools(family: Family, names: Spanned<Vec<Spanned<String>>>) -> Result<Vec<String>, Fault> {
    let at = names.span().start;
    if !family.fields().contains(&Field::ToolName) {
        return Err((at, format!("tools: events of {} are of no tool; leave it out", family.as_str())));
    }
    if names.get_ref().is_empty() {
        return Err((at, "tools: names none; leave it out for all tools".to_owned()));
    }
    let check = |name: Spanned<String>| match name.get_ref().as_str() {
        "" => Err((name.span().start, "tools: '' is no name; write a tool's name, or one with *".to_owned())),
        _ => Ok(name.into_inner()),
    };
    names.into_inner().into_iter().map(check).collect()
}

fn answer(word: Spanned<String>) -> Result<Answer, Fault> {
    let all = Answer::ALL.map(Answer::as_str).join(", ");
    let at = word.span().start;
    Answer::parse(word.get_ref()).ok_or_else(|| (at, format!("may: '{}' is none of {all}", word.get_ref())))
}

fn timeout(written: Spanned<i64>) -> Result<u64, Fault> {
    let at = written.span().start;
    let timeout_ms = u64::try_from(written.into_inner()).ok().filter(|timeout| TIMEOUTS_MS.contains(timeout));
    let what = || format!("timeout_ms: must be from {} to {}", TIMEOUTS_MS.start(), TIMEOUTS_MS.end());
    timeout_ms.ok_or_else(|| (at, what()))
}

/// True when a pattern, in which `*` stands for any text, is the whole name.
fn covers(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(tail)
}
