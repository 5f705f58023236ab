//! The keys and the status segment in tmux: a marked block in the configuration that is in use.
//!
//! The block names our program in one user option; the bindings and the segment hold formats of constant text only, and
//! tmux itself quotes the program and the client for the shell (`q:`). So no path, however odd, and no foreign text is
//! ever read as a format, a time code or a shell word.

mod bindings;
mod block;
mod file;
mod keys;
mod servers;
mod standing;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use herdbook_machine::replace_file;
use herdbook_wire::paths::{private_dir, state_dir};

use self::bindings::Bound;
use self::block::Left;
use self::file::ConfigFile;
use self::keys::Verb;
use self::servers::Running;
use crate::clock::now_ms;
use crate::commands::Context;
use crate::env::Env;
use crate::error::{Problem, whole};
use crate::exit::Exit;
use crate::printer::{Line, Style};
use crate::setup::receipt::Receipts;

pub use self::file::Refusal;
pub use self::keys::Keys;
pub use self::standing::{Block, Standing, standing};

/// How to go about it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Show what would change, and change nothing.
    pub dry_run: bool,
    /// Do not ask.
    pub yes: bool,
    /// Take keys that the user has bound to something else.
    pub force: bool,
    /// The keys; nothing keeps those of the block that is there, or the usual ones.
    pub keys: Option<Keys>,
}

/// Puts the block into the configuration that is in use, then into the running servers.
///
/// # Errors
/// The file is one that is not touched ([`Refusal`]), or could not be written; nobody said yes.
pub fn install(context: &mut Context<'_>, options: &Options) -> Result<Exit, Problem> {
    let program = program()?;
    let servers = servers::running(&context.env);
    let config = ConfigFile::read(&file::in_use(&context.env, &servers)?)?;
    let old = config.bytes.as_deref().unwrap_or_default();
    let asked = options.keys.clone().or_else(|| block::keys(old)).unwrap_or_default();

    let mut bound = asked.clone();
    let defaults = servers::defaults();
    for clash in clashes(&asked, &config, context.env.home(), &servers, &defaults) {
        let is_taken = clash.place != Place::Default && !options.force;
        if is_taken {
            bound.drop(clash.verb);
        }
        context.printer.say(&clash.words(is_taken));
    }

    let new = block::put(config.bytes.as_deref(), &program, &asked, &bound)
        .map_err(|damage| config.damaged(damage))?;
    let is_new = config.bytes.as_deref() != Some(&new);
    if is_new {
        if !change(context, options, &config, Some(&new))? {
            return Ok(Exit::Failed);
        }
    } else {
        say(context, "the keys stand already in ", &config.path);
    }
    if options.dry_run {
        return Ok(Exit::Ok);
    }
    let commands = block::commands(&program, &bound);
    let stale = servers.iter().filter(|server| is_new || !has_all(server, &program, &bound));
    let later = format!("source-file {}", config.path.display());
    tell_servers(context, options, stale, "use the keys", &later, |server| {
        server.apply(&commands, &defaults)
    });
    let note = || Line::new().styled("note:", Style::Name);
    if defaults.is_empty() {
        context.printer.say(&note().own(" tmux could not be run: is it on PATH?"));
    }
    for server in &servers {
        if let Some(why) = server.hides_segment() {
            let line = note()
                .own(" the segment is not seen on ")
                .text(&server.socket.to_string_lossy(), Style::Name);
            context.printer.say(&line.own(": ").own(why));
        }
    }
    let pressed: Vec<String> = bound.bound().map(|(verb, key)| format!("{key} {}", verb.name())).collect();
    if !pressed.is_empty() {
        let words = pressed.join(", ");
        context.printer.say(&Line::new().own("keys behind tmux's prefix: ").text(&words, Style::Name));
    }
    Ok(Exit::Ok)
}

/// Takes the block out of every configuration that has it, and the keys from the running servers.
///
/// # Errors
/// As [`install`].
pub fn uninstall(context: &mut Context<'_>, options: &Options) -> Result<Exit, Problem> {
    let servers = servers::running(&context.env);
    let places: Vec<PathBuf> = file::candidates(&context.env, &servers)?
        .into_iter()
        .filter(|place| file::has_block(place))
        .collect();
    if places.is_empty() {
        context.printer.say(&Line::new().own("no tmux configuration has keys of herdbook"));
    }
    for place in &places {
        let config = ConfigFile::read(place)?;
        let left = block::take(config.bytes.as_deref().unwrap_or_default())
            .map_err(|damage| config.damaged(damage))?;
        let new = match &left {
            Left::Same => continue,
            Left::Bytes(bytes) => Some(bytes.as_slice()),
            Left::Nothing => None,
        };
        if !change(context, options, &config, new)? {
            return Ok(Exit::Failed);
        }
    }
    if !options.dry_run {
        let ours = servers.iter().filter(|server| server.program().is_some());
        let defaults = servers::defaults();
        // Without bindings and options of ours, a server that was restarted has forgotten them, too.
        let later = "set-option -gu @herdbook_status";
        tell_servers(context, options, ours, "forget the keys", later, |server| server.forget(&defaults));
    }
    Ok(Exit::Ok)
}

/// Returns the configurations that have the block.
pub fn with_block(env: &Env) -> Vec<PathBuf> {
    let places = file::candidates(env, &servers::running(env)).unwrap_or_default();
    places.into_iter().filter(|place| file::has_block(place)).collect()
}

/// A key that does something else already.
struct Clash {
    verb: Verb,
    bound: Bound,
    place: Place,
}

/// Where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// In the configuration, in the binding's line.
    Config(PathBuf),
    /// On a running server, by its socket: from a file that the configuration reads, a plugin, or by hand.
    Server(PathBuf),
    /// In tmux itself.
    Default,
}

impl Clash {
    fn words(&self, is_taken: bool) -> Line {
        let line =
            Line::new().styled("note:", Style::Name).own(" prefix ").text(&self.bound.key, Style::Bold);
        let command = |line: Line| line.text(&self.bound.command, Style::Dim);
        let line = match &self.place {
            Place::Default => return command(line.own(" hides tmux's own: ")),
            Place::Config(path) => command(line.own(" is yours: "))
                .own(" (")
                .text(&path.to_string_lossy(), Style::Plain)
                .text(&format!(" line {})", self.bound.line), Style::Plain),
            Place::Server(socket) => command(line.own(" is yours: "))
                .own(" (server ")
                .text(&socket.to_string_lossy(), Style::Plain)
                .own(")"),
        };
        if is_taken {
            line.text(
                &format!("; left as it is. Choose --keys {}=KEY, or --force", self.verb.name()),
                Style::Plain,
            )
        } else {
            line.own("; ours takes its place")
        }
    }
}

fn clashes(
    keys: &Keys,
    config: &ConfigFile,
    home: Option<&str>,
    servers: &[Running],
    defaults: &[Bound],
) -> Vec<Clash> {
    let configured = config.bindings(home);
    let running: Vec<(&Running, Vec<Bound>)> =
        servers.iter().map(|server| (server, server.bindings())).collect();
    let of = |list: &[Bound], key: &str| list.iter().find(|bound| bound.key == key).cloned();
    keys.bound()
        .filter_map(|(verb, key)| {
            let own = of(defaults, key);
            let on_server = || {
                running.iter().find_map(|(server, list)| {
                    let bound = of(list, key).filter(|bound| !bound.is_ours())?;
                    let is_own = own.as_ref().is_some_and(|own| own.command == bound.command);
                    (!is_own).then(|| (bound, Place::Server(server.socket.clone())))
                })
            };
            let in_files = configured.iter().find(|(bound, _)| bound.key == key && !bound.is_ours());
            let (bound, place) = in_files
                .map(|(bound, path)| (bound.clone(), Place::Config(path.clone())))
                .or_else(on_server)
                .or_else(|| Some((own.clone()?, Place::Default)))?;
            Some(Clash { verb, bound, place })
        })
        .collect()
}

/// True when a server has our keys as they are to be, and shows our segment.
fn has_all(server: &Running, program: &str, keys: &Keys) -> bool {
    let bindings = server.bindings();
    let ours: Vec<&str> =
        bindings.iter().filter(|bound| bound.is_ours()).map(|bound| bound.key.as_str()).collect();
    let wanted: Vec<&str> = keys.bound().map(|(_, key)| key).collect();
    server.program().as_deref() == Some(program)
        && server.has_segment()
        && ours.len() == wanted.len()
        && wanted.iter().all(|key| ours.contains(key))
}

/// Shows a change, asks, keeps the old bytes, and makes it. Returns false when it was refused.
fn change(
    context: &mut Context<'_>,
    options: &Options,
    config: &ConfigFile,
    new: Option<&[u8]>,
) -> Result<bool, Problem> {
    show_diff(context, config, new)?;
    if options.dry_run {
        return Ok(true);
    }
    if !options.yes {
        if !std::io::stdin().is_terminal() {
            return Err(Refusal::NeedsYes(config.path.clone()).into());
        }
        if !is_yes(context, "Change this file? [y/N]")? {
            context.printer.say(&Line::new().own("nothing was changed"));
            return Ok(false);
        }
    }
    let cannot = |source| Problem::File { what: "write", path: config.path.clone(), source };
    if let Some(old) = &config.bytes {
        let backup = backup_path(context, &config.path)?;
        replace_file(&backup, old, 0o600).map_err(|source| Problem::File {
            what: "write",
            path: backup.clone(),
            source,
        })?;
        say(context, "the file as it was is kept in ", &backup);
    }
    match new {
        Some(bytes) => replace_file(&config.path, bytes, 0o644).map_err(cannot)?,
        None => std::fs::remove_file(&config.path).map_err(cannot)?,
    }
    say(context, if new.is_some() { "wrote " } else { "removed " }, &config.path);
    Ok(true)
}

/// Prints the lines that go and come. Our block is one piece, so everything before and behind it stays.
fn show_diff(context: &mut Context<'_>, config: &ConfigFile, new: Option<&[u8]>) -> Result<(), Problem> {
    let old = lines(config.bytes.as_deref().unwrap_or_default());
    let new = lines(new.unwrap_or_default());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let tail =
        old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(old, new)| old == new).count();
    let path = config.path.to_string_lossy();
    for mark in ["--- ", "+++ "] {
        context.printer.line(&Line::new().styled(mark, Style::Bold).text(&path, Style::Bold))?;
    }
    context.printer.line(&Line::new().text(&format!("@@ line {} @@", same + 1), Style::Dim))?;
    for line in &old[same..old.len() - tail] {
        context.printer.line(&Line::new().styled("-", Style::Alarm).text(line, Style::Alarm))?;
    }
    for line in &new[same..new.len() - tail] {
        context.printer.line(&Line::new().styled("+", Style::Good).text(line, Style::Good))?;
    }
    Ok(context.printer.flush()?)
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// Tells running servers, with consent; where it is not given, says which tmux command does it.
fn tell_servers<'a>(
    context: &mut Context<'_>,
    options: &Options,
    servers: impl Iterator<Item = &'a Running>,
    what: &'static str,
    later: &str,
    tell: impl Fn(&Running) -> Result<(), servers::Refused>,
) {
    for server in servers {
        let socket = server.socket.to_string_lossy();
        let asks = std::io::stdin().is_terminal();
        let line = Line::new().own("tmux server ").text(&socket, Style::Name);
        if !options.yes && asks {
            context.printer.say(&line.clone().own(" runs: shall it ").own(what).own(" now?"));
        }
        let agreed = options.yes || (asks && is_yes(context, "Go on? [y/N]").unwrap_or(false));
        let line = if !agreed {
            let command = format!(" is left alone; for later: tmux -S {socket} {later}");
            line.text(&command, Style::Plain)
        } else {
            match tell(server) {
                Ok(()) => line.own(": was told to ").own(what),
                Err(error) => line.own(": ").text(&whole(&error), Style::Alarm),
            }
        };
        context.printer.say(&line);
    }
}

fn is_yes(context: &mut Context<'_>, question: &'static str) -> Result<bool, Problem> {
    context.printer.ask(&Line::new().styled(question, Style::Bold));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(Problem::Input)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

fn say(context: &mut Context<'_>, words: &'static str, path: &Path) {
    context.printer.say(&Line::new().own(words).text(&path.to_string_lossy(), Style::Name));
}

/// A file in the private state folder: a configuration may lie in a repository of dotfiles, where a copy is litter.
fn backup_path(context: &Context<'_>, config: &Path) -> Result<PathBuf, Problem> {
    let state = state_dir(&context.env.places)?;
    private_dir(&state)?;
    let folder = Receipts::of(&state).backups;
    private_dir(&folder)?;
    let name = config.file_name().unwrap_or_default().to_string_lossy();
    Ok(folder.join(format!("{}-{}", name.trim_start_matches('.'), now_ms())))
}

/// Returns the path of this program, as it can stand in a configuration.
fn program() -> Result<String, Problem> {
    let path = std::env::current_exe().map_err(Problem::Program)?;
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(Refusal::Program(path.to_string_lossy().into_owned()).into()),
    }
}
