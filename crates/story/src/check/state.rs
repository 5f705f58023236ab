//! What a checker knows, as bytes: whoever keeps them beside a log need not read that from its first line again.

use std::hash::{DefaultHasher, Hash, Hasher};

use herdbook_events::Ulid;

use crate::check::checker::{Checker, Options};

/// To be raised when a checker remembers something else, or means something else by it. The version of the program counts
/// too, so this tells apart what lies between two of them.
const FORMAT: u32 = 1;

/// Who wrote a state. Digests are the standard library's, which another compiler may make otherwise.
fn writer() -> (u32, &'static str, Digest) {
    (FORMAT, env!("CARGO_PKG_VERSION"), digest("a text"))
}

/// Tells a value from others in the same log.
pub(super) type Digest = [u8; 8];

/// Makes the digest of a value.
pub(super) fn digest(value: impl Hash) -> Digest {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().to_le_bytes()
}

/// Digests by id as one text of bytes, 24 for each: nearly all of a state, and read faster than a map of values.
pub(super) mod packed {
    use std::collections::HashMap;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Digest;

    pub fn serialize<S: Serializer>(map: &HashMap<u128, Digest>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(map.len() * 24);
        for (id, digest) in map {
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.extend_from_slice(digest);
        }
        serializer.serialize_bytes(&bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HashMap<u128, Digest>, D::Error> {
        let (entries, rest) = <&[u8]>::deserialize(deserializer)?.as_chunks::<24>();
        if !rest.is_empty() {
            return Err(D::Error::custom("half an entry"));
        }
        let mut map = HashMap::with_capacity(entries.len());
        for entry in entries {
            // Both are there: an entry has 16 and 8 bytes.
            if let (Some(id), Some(digest)) = (entry.first_chunk(), entry.last_chunk()) {
                map.insert(u128::from_le_bytes(*id), *digest);
            }
        }
        Ok(map)
    }
}

impl Checker {
    /// Returns all that it knows of the lines so far, for [`Checker::restore`]; about 35 bytes a line. There are texts of
    /// the log in it (paths, what a human answered): what is scrubbed out of the log must go from here. Nothing where it
    /// cannot be written.
    pub fn state(&self) -> Option<Vec<u8>> {
        let Checker {
            options: _,
            found: _,
            lines,
            session,
            user,
            model,
            tools,
            permissions,
            work,
            context,
            tasks,
            phases,
            live,
        } = self;
        let known = (lines, session, user, model, tools, permissions, work, context, tasks, phases, live);
        postcard::to_allocvec(&(writer(), known)).ok()
    }

    /// Goes on where another checker with the same options stood. Nothing where the bytes are of another version, or no state.
    pub fn restore(options: Options, state: &[u8]) -> Option<Checker> {
        let (wrote, state): ((u32, &str, Digest), &[u8]) = postcard::take_from_bytes(state).ok()?;
        if wrote != writer() {
            return None;
        }
        let (known, rest) = postcard::take_from_bytes(state).ok()?;
        let (lines, session, user, model, tools, permissions, work, context, tasks, phases, live) = known;
        let checker = Checker {
            lines,
            session,
            user,
            model,
            tools,
            permissions,
            work,
            context,
            tasks,
            phases,
            live,
            ..Checker::new(options)
        };
        rest.is_empty().then_some(checker)
    }

    /// The highest seq, 0 before the first line.
    pub fn last_seq(&self) -> u64 {
        self.lines.seqs.last()
    }

    /// Whose log it is, as its first line said.
    pub fn session_id(&self) -> Option<&str> {
        self.lines.session_id.as_deref()
    }

    /// The highest id of all lines; ids that are no ULIDs do not count.
    pub fn highest_id(&self) -> Option<Ulid> {
        self.lines.highest_id()
    }
}
