//! The stand-in agent: the program in each pane of the demonstration. It does what it is told over a unix socket: says
//! a line on its screen, runs the real hook with a payload, or posts a normalized event. When the director is gone, for
//! whatever reason, its socket ends and so does the stand-in: nothing is left behind.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a stand-in says first.
#[derive(Debug, Deserialize, Serialize)]
pub struct Hello {
    /// Its name.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Its pane, where it has one.
    pub pane: Option<String>,
}

/// What a stand-in is told to do.
#[derive(Debug, Deserialize, Serialize)]
pub struct Order {
    /// A line for its screen.
    pub say: String,
    /// What it sends.
    pub act: Act,
}

/// What a stand-in sends.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Run these words with the payload on stdin, as a host runs its hook.
    Hook {
        /// The program and its arguments.
        words: Vec<String>,
        /// Variables the host sets for its hooks.
        vars: Vec<(String, String)>,
        /// The payload.
        payload: Value,
    },
    /// Post this normalized event to the daemon at that address.
    Post {
        /// `HOST:PORT`.
        address: String,
        /// The event.
        event: Value,
    },
}

/// What a stand-in answers.
#[derive(Debug, Deserialize, Serialize)]
pub struct Done {
    /// Why it did not work; nothing when it did.
    pub error: Option<String>,
}

/// Where the director listens, and who the stand-in is.
#[derive(Debug, Clone)]
pub struct Part {
    /// The name.
    pub name: String,
    /// The director's socket.
    pub socket: PathBuf,
    /// `TMUX_PANE`.
    pub pane: Option<String>,
}

/// Plays until the director closes the socket.
///
/// # Errors
/// The director cannot be reached. Nobody reads the words but whoever looks at the pane.
pub fn play(part: &Part) -> io::Result<()> {
    let address = herdbook_wire::paths::socket_address(&part.socket)?;
    let stream = UnixStream::connect(&address.path)?;
    let mut answers = stream.try_clone()?;
    send(&mut answers, &Hello { name: part.name.clone(), pid: std::process::id(), pane: part.pane.clone() })?;
    for line in BufReader::new(stream).lines() {
        let order: Order = serde_json::from_str(&line?)?;
        // The pane's terminal, for whoever attaches to it; the words are the director's.
        let _ = writeln!(io::stdout(), "{}", order.say);
        let error = obey(part, order.act).err().map(|error| error.to_string());
        send(&mut answers, &Done { error })?;
    }
    Ok(())
}

/// Makes stdin the controlling terminal of this process, as a terminal emulator does for what it starts.
///
/// # Errors
/// stdin is no terminal, or belongs to another session.
pub fn own_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(io::stdin())?;
    Ok(())
}

/// Sends one JSON value as one line.
///
/// # Errors
/// The other side is gone.
pub fn send<T: Serialize>(stream: &mut UnixStream, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    stream.write_all(line.as_bytes())
}

fn obey(part: &Part, act: Act) -> io::Result<()> {
    match act {
        Act::Hook { words, vars, payload } => run_hook(&words, &vars, &payload),
        Act::Post { address, mut event } => {
            if event.get("paneId").is_some() {
                event["paneId"] = part.pane.clone().unwrap_or_else(|| "demo:nightly".to_owned()).into();
            }
            post(&address, &event)
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "plays a host: hosts run their hooks with their own environment"
)]
fn run_hook(words: &[String], vars: &[(String, String)], payload: &Value) -> io::Result<()> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut hook = Command::new(program)
        .args(arguments)
        .envs(vars.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = hook.stdin.take() {
        stdin.write_all(payload.to_string().as_bytes())?;
    }
    let ended = hook.wait_with_output()?;
    if !ended.status.success() {
        return Err(io::Error::other(format!("the hook ended with {}", ended.status)));
    }
    if !ended.stdout.is_empty() || !ended.stderr.is_empty() {
        return Err(io::Error::other("the hook printed something"));
    }
    Ok(())
}

/// Posts as any harness would: plain HTTP, no token.
fn post(address: &str, event: &Value) -> io::Result<()> {
    let body = event.to_string();
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "POST /event/normalized HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status)?;
    if status.split_whitespace().nth(1) == Some("200") {
        Ok(())
    } else {
        Err(io::Error::other(format!("the daemon answered {}", status.trim())))
    }
}
