//! Which settings files of which hosts: the user's own or a project's.

use std::fs;
use std::path::{Path, PathBuf};

use herdbook_hosts::{HostTable, installable};

use super::config_folder;
use super::program;
use crate::env::Env;
use crate::error::Problem;

/// One settings file of one host.
#[derive(Clone, Debug)]
pub struct Target {
    /// The host.
    pub table: &'static HostTable,
    /// Its settings folder.
    pub home: PathBuf,
    /// The project whose file it is; none for the user's own.
    pub project: Option<PathBuf>,
    /// The file.
    pub file: PathBuf,
    /// Symlinks may lead anywhere inside one of these.
    pub bases: Vec<PathBuf>,
    /// The same for what lies in the host's folder, whosever file this is.
    pub home_bases: Vec<PathBuf>,
    /// The host's program, if it is on `PATH`.
    pub program: Option<PathBuf>,
}

impl Target {
    /// Asks the installed client for its version, where any event of it depends on that.
    pub fn version(&self) -> Option<String> {
        let depends = self.table.events.iter().any(|event| event.since.is_some());
        let program = self.program.as_deref().filter(|_| depends)?;
        program::version(program)
    }
}

/// Returns the settings files of the named hosts; of every host that is installed or has settings where none is named,
/// and then also those that are `there` whatever became of their host.
///
/// # Errors
/// There is no home; no host is there; the project is no folder.
pub fn targets(
    env: &Env,
    hosts: &[String],
    project: Option<&Path>,
    there: bool,
) -> Result<Vec<Target>, Problem> {
    let user_home = env.places.home.as_ref().map(PathBuf::from).filter(|home| home.is_absolute());
    let user_home = user_home.ok_or(herdbook_wire::paths::PathError::NoHome)?;
    let project = project
        .map(|project| {
            let failed = |source| Problem::File { what: "use", path: project.to_owned(), source };
            let project = fs::canonicalize(project).map_err(failed)?;
            if project.is_dir() {
                return Ok(project);
            }
            Err(Problem::File {
                what: "use",
                path: project,
                source: std::io::ErrorKind::NotADirectory.into(),
            })
        })
        .transpose()?;
    let named = |table: &&HostTable| hosts.is_empty() || hosts.iter().any(|host| host == table.host);
    let mut targets = Vec::new();
    for table in installable().filter(named) {
        let setup = &table.setup;
        let moved = setup.home.var.and_then(|name| {
            let (_, value) = env.host_homes.iter().find(|(known, _)| *known == name)?;
            Some(PathBuf::from(value)).filter(|folder| folder.is_absolute())
        });
        let usual = if setup.home.xdg {
            config_folder(&env.places).unwrap_or_else(|| user_home.join(".config"))
        } else {
            user_home.clone()
        };
        let home = moved.clone().unwrap_or_else(|| usual.join(setup.home.folder));
        let program = program::find(setup.programs, env.path.as_deref());
        let home_bases: Vec<PathBuf> =
            std::iter::once(user_home.clone()).chain(moved).chain([usual]).collect();
        let (file, bases) = match &project {
            Some(project) => (project.join(setup.project_file), vec![project.clone()]),
            None => (home.join(setup.user_file), home_bases.clone()),
        };
        let is_here = program.is_some() || home.is_dir() || (there && file.is_file());
        if hosts.is_empty() && !is_here {
            continue;
        }
        targets.push(Target { table, home, project: project.clone(), file, bases, home_bases, program });
    }
    if targets.is_empty() { Err(Problem::NoHost) } else { Ok(targets) }
}
