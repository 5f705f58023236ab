//! Where a replayed hook ran, as the hook command would have told it.

use herdbook_events::origin::Terminal;
use herdbook_events::{Origin, Process};
use herdbook_wire::env::ORIGIN_VARS;

use crate::replay::step::HookStep;

/// Makes the origin of a hook step. No pid and an empty environment mean that nothing is known.
pub fn origin_of(hook: &HookStep) -> Origin {
    let nothing_known = hook.pid.is_none() && hook.env.is_empty();
    let tty = match &hook.tty {
        Some(None) => Terminal::None,
        Some(Some(name)) => Terminal::Named(name.clone()),
        None if nothing_known => Terminal::Unknown,
        None => Terminal::Some,
    };
    // The start time is made up, but stays the same for a pid: a replay does not reuse one.
    let process = |pid: u32| Process { pid, start: Some(u64::from(pid)) };
    let ancestors = hook.pid.into_iter().chain(hook.ancestors.iter().copied()).map(process).collect();
    let mut vars = Vec::new();
    for (name, value) in &hook.env {
        if ORIGIN_VARS.contains(&name.as_str()) {
            // Of the address a human came from only the presence is passed on.
            let value = if name == "SSH_CONNECTION" { "1".to_owned() } else { value.clone() };
            vars.push((name.clone(), value));
        }
    }
    Origin { ancestors, tty, cwd: None, vars, machine: hook.machine.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn hook(pid: Option<u32>, env: &[(&str, &str)], tty: Option<Option<&str>>) -> HookStep {
        HookStep {
            agent: "claude".into(),
            pid,
            env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            payload: RawValue::from_string("{}".into()).unwrap(),
            origin_ms: None,
            tty: tty.map(|name| name.map(str::to_owned)),
            ancestors: vec![7],
            machine: None,
            event: None,
        }
    }

    #[test]
    fn the_terminal_is_unknown_only_where_nothing_is_known() {
        assert_eq!(origin_of(&hook(None, &[], None)).tty, Terminal::Unknown);
        assert_eq!(origin_of(&hook(None, &[("TMUX_PANE", "%1")], None)).tty, Terminal::Some);
        assert_eq!(origin_of(&hook(Some(5), &[], None)).tty, Terminal::Some);
        assert_eq!(origin_of(&hook(Some(5), &[], Some(None))).tty, Terminal::None);
        let named = origin_of(&hook(Some(5), &[], Some(Some("/dev/pts/3"))));
        assert_eq!(named.tty, Terminal::Named("/dev/pts/3".into()));
        assert_eq!(named.ancestors.iter().map(|process| process.pid).collect::<Vec<_>>(), [5, 7]);
    }

    #[test]
    fn only_listed_variables_are_passed_on() {
        let origin = origin_of(&hook(
            Some(5),
            &[("TMUX_PANE", "%1"), ("API_KEY", "secret"), ("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")],
            None,
        ));
        assert_eq!(origin.vars, [("TMUX_PANE".into(), "%1".into()), ("SSH_CONNECTION".into(), "1".into())]);
    }
}
