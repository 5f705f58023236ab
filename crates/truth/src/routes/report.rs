//! Plays and says what came of it: the forms of the tables, and real routes.

use std::io::{self, Write as _};

use super::acts::{REFUSED, acts};
use super::forms;
use super::held::{self, By};
use super::live::{self, Act, Shown};
use super::probes::PROBES;
use crate::herd::Herd;
use crate::play::Places;

/// What the gate plays.
const GATE: [&str; 3] = ["claude", "codex", "gemini"];
const GATE_ACTS: [&str; 3] = ["deny", "dialog with a route", "hang"];

fn is_asked(asked: &[String], name: &str) -> bool {
    asked.is_empty() || asked.iter().any(|asked| name.starts_with(asked.as_str()))
}

/// Tells each form to its client. Returns how many clients did otherwise than the table says.
///
/// # Errors
/// Nothing can be printed.
pub fn tell_forms(asked: &[String], places: &Places) -> Result<usize, String> {
    let mut wrong = 0;
    let probes = PROBES.iter().filter(|probe| is_asked(asked, &probe.name()));
    for probe in probes {
        let played = forms::play(probe, places).or_else(|problem| {
            say(&format!("{}: once more: {problem}", probe.name()))?;
            forms::play(probe, places)
        });
        match played {
            Ok(facts) => {
                let amiss = forms::amiss(probe, &facts);
                wrong += usize::from(!amiss.is_empty());
                match amiss.as_slice() {
                    [] => say(&format!("{}: right", probe.name()))?,
                    _ => say(&format!("{}: WRONG {amiss:?}\n    {facts:?}", probe.name()))?,
                }
            }
            Err(problem) => {
                wrong += 1;
                say(&format!("{}: not played: {problem}", probe.name()))?;
            }
        }
    }
    Ok(wrong)
}

/// Plays clients with routes: all of them, those whose `HOST: NAME` begins with what is asked for, or `gate`. Returns how
/// many were wrong.
///
/// # Errors
/// Nothing can be printed.
pub fn play_routes(asked: &[String], places: &Places) -> Result<usize, String> {
    let is_gate = asked == ["gate"];
    let title = |act: &Act| format!("{}: {}", act.host, act.name);
    let is_played = |act: &Act| match is_gate {
        true => GATE.contains(&act.host) && GATE_ACTS.contains(&act.name),
        false => is_asked(asked, &title(act)),
    };
    let mut wrong = 0;
    let mut dialog = String::new();
    for act in acts().iter().filter(|act| is_played(act)) {
        let played = live::play(act, places).or_else(|problem| {
            say(&format!("{}: once more: {problem}", title(act)))?;
            live::play(act, places)
        });
        let mut shown = played.unwrap_or_else(|problem| Shown { amiss: vec![problem], ..Shown::default() });
        match act.name {
            "dialog without a route" => dialog = shown.dialog.clone(),
            "dialog with a route" if !is_gate && dialog != shown.dialog => {
                shown.amiss.push(format!("the dialog differs:\n{dialog}\n---\n{}", shown.dialog));
            }
            _ => {}
        }
        wrong += usize::from(!shown.amiss.is_empty());
        let step = shown.step_ms.map_or(String::new(), |step_ms| format!(", step {step_ms:.0} ms"));
        tell(&title(act), &step, &shown.amiss)?;
    }
    if !is_gate && is_asked(asked, "codex: refused") {
        let amiss = refused(places).err();
        wrong += usize::from(amiss.is_some());
        tell("codex: refused before it is told what it cannot be told", "", amiss.as_slice())?;
    }
    if !is_gate {
        wrong += play_held(asked, places)?;
    }
    say(&format!("{wrong} wrong"))?;
    Ok(wrong)
}

fn play_held(asked: &[String], places: &Places) -> Result<usize, String> {
    let mut wrong = 0;
    let mut dialog = String::new();
    for by in By::ALL {
        let title = format!("claude: {}", by.words());
        if !is_asked(asked, &title) {
            continue;
        }
        let mut held = held::play(by, places)
            .unwrap_or_else(|problem| held::Held { amiss: vec![problem], ..held::Held::default() });
        match by {
            By::NobodyElse => dialog = held.dialog.clone(),
            _ if !dialog.is_empty() && dialog != held.dialog => {
                held.amiss.push(format!("the dialog differs:\n{dialog}\n---\n{}", held.dialog));
            }
            _ => {}
        }
        wrong += usize::from(!held.amiss.is_empty());
        let gone =
            held.gone_ms.map_or(String::new(), |gone_ms| format!(", gone {gone_ms:.0} ms after the answer"));
        let let_go =
            held.let_go_ms.map_or(String::new(), |ms| format!(", let go {ms:.0} ms after the answer there"));
        let gone = if by == By::TerminalFirst { let_go } else { gone };
        let more = format!(", dialog after {:.0} ms{gone}", held.shown_ms);
        tell(&title, &more, &held.amiss)?;
    }
    Ok(wrong)
}

/// A route that Codex cannot be told is not trusted, and the words say why.
fn refused(places: &Places) -> Result<(), String> {
    let folder = places.anew("act")?;
    let herd = Herd::start(&folder, &places.programs, &places.path)?;
    match live::put(&herd, &[REFUSED]) {
        Ok(()) => Err("it was trusted".to_owned()),
        Err(words) if words.contains("codex cannot be told that at PreToolUse") => Ok(()),
        Err(words) => Err(words),
    }
}

fn tell(title: &str, more: &str, amiss: &[String]) -> Result<(), String> {
    if amiss.is_empty() {
        return say(&format!("{title}: right{more}"));
    }
    say(&format!("{title}: WRONG{more}"))?;
    amiss.iter().try_for_each(|words| say(&format!("    {words}")))
}

fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{line}").map_err(|error| format!("stdout: {error}"))
}
