//! What entries need beyond the standard, for routes and for a hold.

use super::layout::timeout_ms;
use super::{SettingsError, list, plugin};
use crate::table::{Form, HostTable, Install, NativeEvent};

/// How much longer than what it waits for an entry's time-out is, in milliseconds: one second that the daemon leaves
/// before the host ends the hook (overview D2), and one for the hook's start and way back.
pub const MARGIN_MS: u32 = 2_000;

/// What somebody waits for at a host's events: which of those that only a route needs are registered, and which entries
/// get more time than the standard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    rows: Vec<(&'static str, u32)>,
}

impl Needs {
    /// Nothing waits.
    pub const NONE: Needs = Needs { rows: Vec::new() };

    /// Adds that at this event something waits for so many milliseconds at most. Of several the longest counts, since
    /// they wait side by side.
    pub fn add(&mut self, event: &NativeEvent, wait_ms: u32) {
        match self.rows.iter_mut().find(|(name, _)| *name == event.name) {
            Some((_, known)) => *known = wait_ms.max(*known),
            None => self.rows.push((event.name, wait_ms)),
        }
    }

    /// True when an event is registered: always, or because something waits there.
    pub fn registers(&self, event: &NativeEvent) -> bool {
        match event.install {
            Install::Always => true,
            Install::OnRoute => self.wait_ms(event).is_some(),
            Install::Never(_) => false,
        }
    }

    /// Returns the time-out in milliseconds that our entry of an event asks for: the standard, or whole seconds that
    /// suffice for what waits there. Never more than the host grants.
    pub fn entry_ms(&self, table: &HostTable, event: &NativeEvent) -> u32 {
        let standard = table.entry_ms(event);
        let most = match event.most_ms {
            // A plugin waits only where it can be answered.
            _ if is_plugin(table) && !plugin::waits(table, event) => standard,
            most_ms => most_ms.unwrap_or(u32::MAX).max(standard),
        };
        let wanted = |wait_ms: u32| wait_ms.saturating_add(MARGIN_MS).div_ceil(1000).saturating_mul(1000);
        self.wait_ms(event).map_or(standard, |wait_ms| wanted(wait_ms).clamp(standard, most))
    }

    /// Returns how long something may wait at an event with the entry that it gets, in milliseconds, where that is
    /// shorter than what was asked for.
    pub fn cut_to_ms(&self, table: &HostTable, event: &NativeEvent) -> Option<u32> {
        let most = self.entry_ms(table, event).saturating_sub(MARGIN_MS);
        self.wait_ms(event).filter(|wait_ms| *wait_ms > most).map(|_| most)
    }

    fn wait_ms(&self, event: &NativeEvent) -> Option<u32> {
        self.rows.iter().find(|(name, _)| *name == event.name).map(|(_, wait_ms)| *wait_ms)
    }
}

/// How long an entry of ours in a file lets the hook take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The event as it is written there.
    pub event: String,
    /// In milliseconds; none where the entry does not say.
    pub limit_ms: Option<u32>,
}

/// Reads what our entries in a file grant.
///
/// # Errors
/// As [`super::install`].
pub fn granted(table: &HostTable, text: &str) -> Result<Vec<Granted>, SettingsError> {
    if is_plugin(table) {
        return Ok(plugin::granted(text));
    }
    let entries = list(table, text)?.into_iter().map(|entry| {
        let limit_ms = entry.timeout.and_then(|written| timeout_ms(table, &written));
        Granted { event: entry.event, limit_ms }
    });
    Ok(entries.collect())
}

/// Returns the events whose entries do not fit what waits: they grant another time, are missing, or nothing needs them
/// any more. What a host's version has to do with it is left out.
pub fn unfit<'a>(
    table: &'a HostTable,
    needs: &'a Needs,
    granted: &'a [Granted],
) -> impl Iterator<Item = &'a NativeEvent> {
    table.events.iter().filter(move |event| {
        let mut ours = granted.iter().filter(|granted| granted.event == event.name).peekable();
        if event.install == Install::OnRoute && needs.registers(event) != ours.peek().is_some() {
            return !is_plugin(table);
        }
        ours.any(|granted| granted.limit_ms != Some(needs.entry_ms(table, event)))
    })
}

fn is_plugin(table: &HostTable) -> bool {
    matches!(table.setup.form, Form::Plugin(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{claude, codex, opencode};

    #[test]
    fn a_time_out_is_the_standard_unless_somebody_waits_longer() {
        let table = &claude::TABLE;
        let event = |name| table.event(name).unwrap();
        let mut needs = Needs::default();
        assert_eq!(needs.entry_ms(table, event("PreToolUse")), 5_000);
        for (wait_ms, entry_ms) in [(100, 5_000), (3_000, 5_000), (3_001, 6_000), (600_000, 602_000)] {
            needs.add(event("PreToolUse"), wait_ms);
            assert_eq!(needs.entry_ms(table, event("PreToolUse")), entry_ms, "{wait_ms}");
        }
        needs.add(event("PreToolUse"), 10);
        assert_eq!(needs.entry_ms(table, event("PreToolUse")), 602_000, "the longest counts");
        assert_eq!(needs.entry_ms(table, event("PostToolUse")), 5_000);
        assert_eq!(needs.cut_to_ms(table, event("PreToolUse")), None);
    }

    #[test]
    fn a_host_that_grants_less_cuts_it() {
        let mut needs = Needs::default();
        let end = codex::TABLE.event("SessionEnd").unwrap();
        needs.add(end, 3_000);
        assert_eq!(
            (needs.entry_ms(&codex::TABLE, end), needs.cut_to_ms(&codex::TABLE, end)),
            (3_000, Some(1_000))
        );
        let event = |name| opencode::TABLE.event(name).unwrap();
        needs.add(event("tool.execute.before"), 60_000);
        needs.add(event("session.idle"), 60_000);
        assert_eq!(needs.cut_to_ms(&opencode::TABLE, event("tool.execute.before")), None);
        assert_eq!(
            needs.cut_to_ms(&opencode::TABLE, event("session.idle")),
            Some(3_000),
            "nobody is answered"
        );
    }

    #[test]
    fn a_plugin_grants_what_stands_in_it() {
        let table = &opencode::TABLE;
        let before = table.event("tool.execute.before").unwrap();
        let mut needs = Needs::default();
        let command =
            |_: &[&str]| "[ -x /a/herdbook-hook ] && exec /a/herdbook-hook opencode; exit 0".to_owned();
        let text = |needs: &Needs| {
            super::super::install(table, None, needs, &command, None, super::super::Before::NoFile).unwrap()
        };
        let plain = text(&needs);
        needs.add(before, 60_000);
        let longer = text(&needs);
        let granted_in = |text: &str| granted(table, text).unwrap();
        let of_before = |text: &str| {
            granted_in(text).into_iter().find(|granted| granted.event == before.name).unwrap().limit_ms
        };
        assert_eq!((of_before(&plain), of_before(&longer)), (Some(5_000), Some(62_000)));
        let names = |text: &str| -> Vec<&str> {
            unfit(table, &needs, &granted_in(text)).map(|event| event.name).collect()
        };
        assert_eq!(names(&plain), ["tool.execute.before"]);
        assert!(names(&longer).is_empty());
        assert!(granted_in("const LIMITS = {\"a\": 1}").is_empty(), "it is not ours");
    }

    #[test]
    fn entries_that_do_not_fit_are_named() {
        let table = &claude::TABLE;
        let entry = |event: &str, limit_ms: u32| Granted { event: event.into(), limit_ms: Some(limit_ms) };
        let names = |needs: &Needs, entries: &[Granted]| -> Vec<&str> {
            unfit(table, needs, entries).map(|event| event.name).collect()
        };
        let standard = [entry("PreToolUse", 5_000), entry("Stop", 5_000)];
        assert!(names(&Needs::NONE, &standard).is_empty());
        let mut needs = Needs::default();
        needs.add(table.event("Stop").unwrap(), 60_000);
        needs.add(table.event("FileChanged").unwrap(), 10);
        assert_eq!(names(&needs, &standard), ["Stop", "FileChanged"]);
        let fitted = [entry("PreToolUse", 5_000), entry("Stop", 62_000), entry("FileChanged", 5_000)];
        assert!(names(&needs, &fitted).is_empty());
        assert_eq!(names(&Needs::NONE, &fitted), ["Stop", "FileChanged"]);
    }

    #[test]
    fn an_event_for_routes_alone_is_registered_while_one_waits_there() {
        let event = |name| claude::TABLE.event(name).unwrap();
        let mut needs = Needs::default();
        assert!(needs.registers(event("Stop")) && !needs.registers(event("FileChanged")));
        needs.add(event("FileChanged"), 100);
        needs.add(event("Setup"), 100);
        assert!(needs.registers(event("FileChanged")) && !needs.registers(event("Setup")), "never is never");
    }
}
