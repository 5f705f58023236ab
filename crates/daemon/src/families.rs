//! Which sessions belong together: a session and those it started.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use herdbook_log::{Glance, Reader, Sessions};
use serde::Deserialize;

/// A session that was looked at.
pub(crate) struct Seen {
    pub folder: PathBuf,
    pub glance: Glance,
}

/// Who started whom, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Families {
    /// The sessions that a session started, by its folder, as of its last seq.
    started: HashMap<PathBuf, (u64, Vec<String>)>,
}

impl Families {
    /// Sessions that belong together, by their places in `seen`, those that were started before those that started them.
    /// Beside them the folder of a log that is not wholly readable, where there is one: which sessions that one started
    /// is not known.
    pub(crate) fn of(&mut self, sessions: &Sessions, seen: &[Seen]) -> (Vec<Vec<usize>>, Option<PathBuf>) {
        let place: HashMap<&Path, usize> =
            seen.iter().enumerate().map(|(place, seen)| (&*seen.folder, place)).collect();
        let mut children = vec![Vec::new(); seen.len()];
        let mut family: Vec<usize> = (0..seen.len()).collect();
        let mut unread = None;
        for (parent, log) in seen.iter().enumerate() {
            let Some(started) = self.started_by(log) else {
                unread.get_or_insert_with(|| log.folder.clone());
                continue;
            };
            for child in started {
                if let Some(&child) = place.get(&*sessions.folder(&child)) {
                    children[parent].push(child);
                    let (from, to) = (family[child], family[parent]);
                    family.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
                }
            }
        }
        let mut families: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut placed = vec![false; seen.len()];
        for start in 0..seen.len() {
            place_after_children(start, &children, &mut placed, &mut |place| {
                families.entry(family[place]).or_default().push(place);
            });
        }
        self.started.retain(|folder, _| place.contains_key(&**folder));
        (families.into_values().collect(), unread)
    }

    /// The sessions that one started; nothing where its log cannot be read whole.
    fn started_by(&mut self, seen: &Seen) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Created {
            child_session_id: String,
        }
        if let Some((last_seq, children)) = self.started.get(&seen.folder)
            && *last_seq == seen.glance.last_seq
        {
            return Some(children.clone());
        }
        let mut children = Vec::new();
        let mut reader = Reader::open(&seen.folder);
        for line in &mut reader {
            let line = line.ok()?;
            if line.kind == "subtask.created" {
                let created = serde_json::from_str::<Created>(&line.payload).ok();
                children.extend(created.map(|created| created.child_session_id));
            }
        }
        if reader.last_seq() < seen.glance.last_seq {
            return None;
        }
        self.started.insert(seen.folder.clone(), (seen.glance.last_seq, children.clone()));
        Some(children)
    }
}

fn place_after_children(
    start: usize,
    children: &[Vec<usize>],
    placed: &mut [bool],
    put: &mut dyn FnMut(usize),
) {
    // A session that started itself, over others, is looked at once.
    let mut open = vec![(start, 0)];
    if std::mem::replace(&mut placed[start], true) {
        return;
    }
    while let Some((place, next)) = open.pop() {
        match children[place].get(next) {
            Some(&child) => {
                open.push((place, next + 1));
                if !std::mem::replace(&mut placed[child], true) {
                    open.push((child, 0));
                }
            }
            None => put(place),
        }
    }
}
