//! `herdbook popup`: choose whom to go to.

mod draw;
mod picker;
mod screen;

use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use herdbook_machine::{Command as Bounded, Tmux, TmuxError};

use self::picker::{Act, Picker};
use self::screen::{Screen, Signal};
use super::Context;
use crate::clock::now_ms;
use crate::daemon::Daemon;
use crate::env::Env;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::jump::{Arrival, Trail, Whereabouts, go};
use crate::model::Row;

/// Choose whom to go to, in a small window
///
/// The queue with what is asked, then the other sessions. 1 to 9 go there, so does Enter; arrows or j and k choose,
/// `/` filters, s skips, q leaves.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The terminal of the tmux client to move; key bindings write #{client_tty}
    #[arg(long, value_name = "TTY")]
    client: Option<String>,
    /// Open the window over that client first; for key bindings
    #[arg(long, requires = "client")]
    open: bool,
}

/// How often the list is read anew.
const REFRESH: Duration = Duration::from_secs(1);
/// How long an answer may take: the list says so when it does not come.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the screen waits for a key before it looks for a new list.
const TICK: Duration = Duration::from_millis(100);

/// Shows it until someone is gone to, or it is left.
///
/// # Errors
/// There is no terminal, or tmux does not open the window.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    if let (true, Some(client)) = (args.open, &args.client) {
        return open(&context.env, client);
    }
    // A dumb terminal would show the escape sequences.
    let is_dumb = context.env.term.as_deref() == Some("dumb");
    if is_dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Problem::NoTerminal);
    }
    let mut whereabouts = Whereabouts::look(&context.env, args.client.as_deref());
    let home = context.env.home().map(str::to_owned);
    let mut picker = Picker::new(home, whereabouts.pane.clone());
    let (lists, wake) = watch(context.env.clone());
    let mut screen = Screen::open().map_err(Problem::Screen)?;
    loop {
        if let Some(list) = lists.try_iter().last() {
            match list {
                Ok(rows) => picker.update(rows),
                Err(words) => picker.fail(words),
            }
        }
        let size = screen.size();
        let lines = draw::lines(&mut picker, size.0, size.1, now_ms());
        screen.show(context.printer, size, lines).map_err(Problem::Screen)?;
        let key = match screen.wait(TICK).map_err(Problem::Screen)? {
            None | Some(Signal::Resized) => continue,
            Some(Signal::Key(key)) => key,
        };
        match picker.press(key) {
            Act::Stay => {}
            Act::Leave => return Ok(Exit::Nothing),
            Act::Skip(session) => {
                match daemon(&context.env).and_then(|daemon| daemon.ask(|client| client.skip(Some(&session))))
                {
                    Ok(_) => {}
                    Err(Problem::Answer(error)) if error.is_not_found() => {
                        picker.notice("that session does not wait".to_owned());
                    }
                    Err(problem) => picker.notice(whole(&problem)),
                }
                // The thread is gone only when we are.
                let _ = wake.send(());
            }
            Act::Go(row) => match visit(context, &mut whereabouts, &row, &mut screen) {
                Ok(Visit::There) => return Ok(Exit::Ok),
                Ok(Visit::NotThere(words)) => picker.notice(words),
                // This terminal was to become a tmux client and did not: the screen is given back already.
                Err(problem @ Problem::Attach(_)) => return Err(problem),
                Err(problem) => picker.notice(whole(&problem)),
            },
        }
    }
}

/// Reads the list anew every second, and when woken. A daemon that hangs does not hold up the keys.
fn watch(env: Env) -> (Receiver<Result<Vec<Row>, String>>, Sender<()>) {
    let (lists, receiver) = channel();
    let (wake, woken) = channel::<()>();
    thread::spawn(move || {
        loop {
            let list = daemon(&env).and_then(|daemon| daemon.rows()).map_err(|problem| whole(&problem));
            if lists.send(list).is_err() {
                return;
            }
            if woken.recv_timeout(REFRESH) == Err(std::sync::mpsc::RecvTimeoutError::Disconnected) {
                return;
            }
        }
    });
    (receiver, wake)
}

/// Looked for anew each time: one that was not there may have been started since, folders and all.
fn daemon(env: &Env) -> Result<Daemon, Problem> {
    Ok(Daemon::of(env)?.with_timeout(PATIENCE))
}

/// How an attempt to go to a session ended.
enum Visit {
    There,
    NotThere(String),
}

fn visit(
    context: &mut Context<'_>,
    whereabouts: &mut Whereabouts,
    row: &Row,
    screen: &mut Screen,
) -> Result<Visit, Problem> {
    let entry = row.entry.as_ref();
    let Some(pane) = row.pane() else {
        return Ok(Visit::NotThere("no pane is known for it".to_owned()));
    };
    let arrival = go(whereabouts, pane, || screen.close())?;
    Ok(match arrival {
        Arrival::Moved { client, from } => {
            // The jump itself is done; that there is no way back is no reason to stay.
            if let Some(from) = from {
                let old = Trail::read(&context.env).unwrap_or_default();
                let _ = Trail::after(old, from, pane.clone()).keep(&context.env);
            }
            whereabouts.arrived(client, pane);
            let is_guess = row.is_pane_guess();
            let guess = if is_guess { " (the pane is a guess: look before you type)" } else { "" };
            let ask = entry.map(|entry| entry.ask.as_str()).unwrap_or_default();
            whereabouts.show(&format!("{} {ask}{guess}", row.key()), is_guess);
            Visit::There
        }
        Arrival::Type(command) => {
            Visit::NotThere(format!("on another tmux server; type elsewhere: {command}"))
        }
        Arrival::Gone(why) | Arrival::Unknown(why) => Visit::NotThere(whole(&why)),
        Arrival::NoPane => Visit::NotThere(format!("the tmux server of pane {} is not known", pane.pane)),
    })
}

/// Opens the window over a client of the server we were called from: a popup, or before tmux 3.2 a window. This process
/// becomes the tmux that waits for it.
fn open(env: &Env, client: &str) -> Result<Exit, Problem> {
    let server = env.tmux.as_deref().and_then(Tmux::of_env).ok_or(Problem::NoTerminal)?;
    let program = std::env::current_exe().map_err(Problem::Program)?;
    let answer = Bounded::new("tmux")
        .args(["-u", "-S"])
        .arg(server.socket())
        .args(["display-message", "-p", "-c", client, "#{client_width} #{client_height} #{version}"])
        .run()
        .map_err(|error| Problem::Tmux(TmuxError::from(error).into()))?;
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut words = answer.split_ascii_whitespace();
    let mut columns = || words.next().and_then(|word| word.parse::<usize>().ok());
    let (width, height) = (columns().unwrap_or(80), columns().unwrap_or(24));
    let has_popups = has_popups(words.next().unwrap_or_default());
    #[expect(
        clippy::disallowed_methods,
        reason = "tmux waits as long as the popup is open: no limit on time fits"
    )]
    let mut tmux = std::process::Command::new("tmux");
    tmux.arg("-S").arg(server.socket()).env_remove("TMUX");
    if has_popups {
        let (width, height) = popup_size(width, height);
        tmux.args(["display-popup", "-E", "-w", &width, "-h", &height, "-c", client, "--"]);
        tmux.arg(program).args(["popup", "--client", client]);
    } else {
        tmux.args(["new-window", "-n", "herdbook", "--"]).arg(program).arg("popup");
    }
    Err(Problem::Attach(tmux.exec()))
}

/// Most of a small terminal; on a large one no more than is looked at.
fn popup_size(width: usize, height: usize) -> (String, String) {
    ((width * 9 / 10).clamp(3, 140).to_string(), (height * 8 / 10).clamp(3, 28).to_string())
}

/// True from tmux 3.2 on. What a development version is called (`next-3.4`, `master`) is newer.
fn has_popups(version: &str) -> bool {
    let digits = version.trim().trim_start_matches("next-");
    let mut parts = digits.split('.').map(|part| {
        let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse::<u32>().ok()
    });
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), minor) => (major, minor.unwrap_or(0)) >= (3, 2),
        (None, _) => !digits.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::{has_popups, popup_size};

    #[test]
    fn a_popup_leaves_something_to_be_seen() {
        let size = |width, height| popup_size(width, height);
        assert_eq!(size(80, 24), ("72".into(), "19".into()));
        assert_eq!(size(200, 50), ("140".into(), "28".into()));
        assert_eq!(size(2, 1), ("3".into(), "3".into()));
    }

    #[test]
    fn versions_with_popups_are_known() {
        for version in ["3.2", "3.3a\n", "3.10", "4.0", "next-3.4", "master", "openbsd-7.1"] {
            assert!(has_popups(version), "{version}");
        }
        for version in ["2.9a", "3.0", "3.1c", "1.8", ""] {
            assert!(!has_popups(version), "{version}");
        }
    }
}
