//! How it stands with our block, for `doctor`: looks, and changes nothing.

use std::path::PathBuf;

use super::file::{ConfigFile, in_use};
use super::servers::{self, Running};
use super::{Place, block, clashes, has_all, program};
use crate::env::Env;
use crate::error::whole;

/// How it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The configuration that is in use.
    pub path: PathBuf,
    /// The block in it.
    pub block: Block,
    /// The sockets of running servers that do not have the keys of the block.
    pub without: Vec<PathBuf>,
}

/// The block in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// There is none.
    Absent,
    /// It is as this program writes it.
    Current,
    /// It is of another version, or runs another program.
    Stale,
    /// It is broken: how.
    Damaged(String),
}

/// Looks at the configuration that is in use, and at the running servers.
///
/// # Errors
/// There is no home, or the configuration cannot be read: why, in words.
pub fn standing(env: &Env) -> Result<Standing, String> {
    let servers = servers::running(env);
    let path = in_use(env, &servers).map_err(|error| whole(&error))?;
    let config = ConfigFile::read(&path).map_err(|error| whole(&error))?;
    let program = program().map_err(|error| whole(&error))?;
    let bytes = config.bytes.as_deref().unwrap_or_default();
    match block::find(bytes) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(Standing { path, block: Block::Absent, without: Vec::new() }),
        Err(damage) => {
            return Ok(Standing { path, block: Block::Damaged(damage.to_string()), without: Vec::new() });
        }
    }
    let asked = block::keys(bytes).unwrap_or_default();
    let mut bound = asked.clone();
    // As `install` would: what the user has bound stays theirs.
    for clash in clashes(&asked, &config, env.home(), &servers, &[]) {
        if clash.place != Place::Default {
            bound.drop(clash.verb);
        }
    }
    // With `--force` the keys were taken all the same.
    let is_as_written = |keys| block::put(Some(bytes), &program, &asked, keys).is_ok_and(|new| new == bytes);
    let keys = if is_as_written(&asked) { &asked } else { &bound };
    let block = if is_as_written(keys) { Block::Current } else { Block::Stale };
    let lacks = |server: &&Running| !has_all(server, &program, keys);
    let without = servers.iter().filter(lacks).map(|server| server.socket.clone()).collect();
    Ok(Standing { path, block, without })
}
