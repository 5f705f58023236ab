//! The line reader of the log: reading, opening after damage, checksums of a file alone, heads of lines.
//!
//! The input is a log as text. A line `# 0000000004.jsonl` begins another segment. Where a line ends in
//! `"crc":"........"}`, the right checksum is put in, so that a mutation reaches what lies behind it; any other checksum
//! stays as it is. The first line of another segment continues the one with the seq before its name. A last line `! KIND A B …` then changes the sealed text: see [`damage`].

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use herdbook_events::catalog::Members;
use herdbook_log::{
    Damage, DamageKind, Durability, Head, Line, NewRecord, OnDamage, OpenError, Options, Reader, Seals, Store,
};

const SESSION: &str = "s-1";
const NOW_MS: u64 = 1_767_225_603_000;
const FIRST_SEGMENT: &str = "0000000001.jsonl";
/// What no line of a log continues.
const NOBODYS: u32 = 1;
/// A line without a line feed doubles when it is repeated: more changes than these could make a log of many MB.
const MAX_CHANGES: usize = 8;
const UNSEALED: &[u8] = b",\"crc\":\"........\"}";

/// The input is a log, as the module says.
pub fn run(data: &[u8]) {
    let segments = segments(data);
    let folder = Folder::new();
    for (name, bytes) in &segments {
        for line in bytes.split(|byte| *byte == b'\n') {
            head(line);
        }
        folder.put(name, bytes);
    }
    let (lines, damage) = folder.read();
    assert!(lines.windows(2).all(|pair| pair[0].seq < pair[1].seq), "readable lines come with rising seq");
    if let [(_, bytes)] = &segments[..] {
        sealed(bytes, &damage);
        cut(&folder, bytes, &lines);
    }
    let is_text = segments.iter().all(|(_, bytes)| std::str::from_utf8(bytes).is_ok());
    session(&folder, &segments, &lines, is_text);
    for (name, bytes) in &segments {
        folder.put(name, bytes);
    }
    reopened(&folder, &lines, is_text);
}

/// A folder for logs, in memory where there is such a place.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Folder {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!("herdbook-fuzz-{}", std::process::id()));
        // What an earlier run left that was stopped in its middle.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a scratch folder");
        Folder { path }
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path.join(name), bytes).expect("a scratch file");
    }

    /// Takes out all files, and so the indexes too.
    fn clear(&self) {
        for name in self.names() {
            let _ = fs::remove_file(name);
        }
    }

    fn indexes(&self) -> Vec<PathBuf> {
        self.names().into_iter().filter(|name| name.extension().is_some_and(|end| end == "idx")).collect()
    }

    fn names(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).expect("a scratch folder");
        entries.map(|entry| entry.expect("a scratch file").path()).collect()
    }

    fn read(&self) -> (Vec<Line>, Vec<Damage>) {
        let (mut lines, mut damage) = (Vec::new(), Vec::new());
        for item in Reader::open(&self.path) {
            match item {
                Ok(line) => lines.push(line),
                Err(place) => damage.push(place),
            }
        }
        (lines, damage)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What is read of a log that was cut is the beginning of what is read of the whole one.
fn cut(folder: &Folder, bytes: &[u8], whole: &[Line]) {
    for end in [bytes.len() / 3, bytes.len() * 2 / 3, bytes.len().saturating_sub(1)] {
        folder.put(FIRST_SEGMENT, &bytes[..end]);
        let (lines, _) = folder.read();
        assert!(whole.starts_with(&lines), "a log cut at {end} reads as the beginning of the whole one");
    }
    folder.put(FIRST_SEGMENT, bytes);
}

/// A log that opens takes an append, keeps what could be read, and reads on to what was appended.
fn reopened(folder: &Folder, before: &[Line], is_text: bool) {
    let (store, opened) = match Store::open(&folder.path, options()) {
        Ok(opened) => opened,
        Err(OpenError::NewerFormat { .. } | OpenError::OtherSession { .. }) => return,
        Err(error) => panic!("a log opens, whatever is in its files: {error}"),
    };
    assert!(before.last().is_none_or(|line| line.seq <= opened.last_seq), "no seq is given twice");
    let seq = append(&store);
    assert_eq!(seq, opened.last_seq + 1);
    let (after, damage) = folder.read();
    assert!(after.starts_with(before), "what could be read can be read after the log was opened");
    let last = after.last().expect("what was appended can be read");
    assert_eq!((last.seq, last.kind.as_str()), (seq, "note"));
    let (store, again) = Store::open(&folder.path, options()).expect("what was appended to opens again");
    store.close();
    assert_eq!((again.last_seq, &again.torn[..]), (seq, &[][..]), "opening it again changes nothing");
    // Only the reader looks whether a line is UTF-8.
    if is_text {
        assert_eq!(again.damage, damage, "the writer finds what the reader finds");
    }
}

/// A session's log either opens and goes on, or is refused and left as it is. A damaged index changes nothing.
fn session(folder: &Folder, segments: &[(String, Vec<u8>)], before: &[Line], is_text: bool) {
    let options = || Options { on_damage: OnDamage::Refuse, ..options() };
    let opened = match Store::open(&folder.path, options()) {
        Ok((store, opened)) => {
            store.close();
            opened
        }
        Err(OpenError::NewerFormat { .. } | OpenError::OtherSession { .. } | OpenError::Damaged { .. }) => {
            for (name, bytes) in segments {
                let now = fs::read(folder.path.join(name)).expect("a scratch file");
                assert!(now == *bytes, "a refused log stays as it is");
            }
            return folder.clear();
        }
        Err(error) => panic!("a session's log opens or is refused for what it is: {error}"),
    };
    assert_eq!(opened.damage, [], "a damaged log is refused");
    let named = segments.iter().filter_map(|(name, _)| first_seq(name));
    assert!(
        named.max().is_none_or(|named| named <= opened.last_seq + 1),
        "a segment's name proves what was there"
    );
    assert!(before.last().is_none_or(|line| line.seq <= opened.last_seq), "no seq is given twice");
    for index in folder.indexes() {
        let mut bytes = fs::read(&index).expect("an index");
        if let Some(at) = before.len().checked_mul(37).and_then(|at| at.checked_rem(bytes.len())) {
            bytes[at] ^= 1 << (before.len() % 8);
        }
        fs::write(&index, bytes).expect("an index");
    }
    let (store, again) = Store::open(&folder.path, options()).expect("a log opens whatever its index says");
    assert_eq!(
        (again.last_seq, &again.torn[..]),
        (opened.last_seq, &[][..]),
        "a damaged index changes nothing"
    );
    assert_eq!(append(&store), opened.last_seq + 1);
    let (after, damage) = folder.read();
    // Only the reader looks whether a line is UTF-8. Lines of a newer version may stand before the last one.
    let is_right = damage.iter().all(|place| matches!(place.kind, DamageKind::NewerVersion(_)));
    assert!(is_right || !is_text, "what was opened is right: {damage:?}");
    assert!(after.starts_with(before), "what could be read can be read after the log was opened");
    assert_eq!(after.last().map(|line| line.seq), Some(opened.last_seq + 1));
    folder.clear();
}

/// Appends one record, closes the log, and returns the record's seq.
fn append(store: &Store) -> u64 {
    let id = "01KDWS62XR0000000000000009".to_owned();
    let record = NewRecord { id, ts_ms: NOW_MS, kind: "note".to_owned(), payload: r#"{"n":0}"#.to_owned() };
    let (sender, receiver) = channel();
    store.append(vec![record], Durability::Written, move |answer| drop(sender.send(answer)));
    let ack = receiver.recv().expect("an answer").expect("a log that is open takes an append");
    store.close();
    assert_eq!(ack.first_seq, ack.last_seq);
    ack.last_seq
}

fn options() -> Options {
    Options { lock: None, ..Options::new(SESSION, Path::new(""), NOW_MS) }
}

/// A file alone is judged as the log that it is: same places, same kinds.
fn sealed(bytes: &[u8], damage: &[Damage]) {
    let Some(whole) = bytes.strip_suffix(b"\n") else { return };
    let mut seals = Seals::new(FIRST_SEGMENT);
    let mut found: Vec<Damage> = Vec::new();
    for line in whole.split(|byte| *byte == b'\n') {
        found.extend(seals.push(line));
        // Where the first line has no checksum, or is not that of seq 1, a file is taken for another thing.
        let is_line = found.iter().all(|place| matches!(place.kind, DamageKind::NewerVersion(_)));
        if !seals.is_sealed() || Head::read(line).is_some_and(|head| head.seq > 1 && is_line) {
            return;
        }
        break;
    }
    for line in whole.split(|byte| *byte == b'\n').skip(1) {
        found.extend(seals.push(line));
    }
    found.extend(seals.finish());
    // Only the reader looks whether a line is UTF-8.
    let is_text = std::str::from_utf8(bytes).is_ok();
    if is_text {
        assert_eq!(found, damage, "a file alone is judged as the log that it is");
    }
}

/// The members found by bytes are those that a JSON parser finds.
fn head(line: &[u8]) {
    let Some(head) = Head::read(line) else { return };
    assert!(line[..head.payload].ends_with(b",\"payload\":"));
    let Ok(text) = std::str::from_utf8(line) else { return };
    let Ok(members) = Members::read(text) else { return };
    if members.repeated().next().is_some() {
        return;
    }
    assert_eq!(members.read_as::<u64>("v"), Some(head.version));
    assert_eq!(members.read_as::<u64>("seq"), Some(head.seq));
    assert_eq!(members.read_as::<u64>("ts"), Some(head.ts_ms));
    assert_eq!(members.read_as::<String>("id").as_deref(), Some(&text[head.id]));
    assert_eq!(members.read_as::<String>("type").as_deref(), Some(&text[head.kind]));
    assert_eq!(members.get("sessionId").map(|raw| raw.get()), Some(&text[head.session]));
    let payload = members.get("payload").map(|raw| raw.get());
    assert!(payload.is_some_and(|payload| text[head.payload..].trim_ascii_start().starts_with(payload)));
}

/// Reads the input: the segments with their bytes, sealed and then changed.
fn segments(data: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (data, changes) = match data.strip_suffix(b"\n").unwrap_or(data) {
        text if text.starts_with(b"! ") => (&[][..], &text[2..]),
        text => match text.windows(3).rposition(|mark| mark == b"\n! ") {
            Some(at) => (&data[..=at], &text[at + 3..]),
            None => (data, &[][..]),
        },
    };
    let mut segments = vec![(FIRST_SEGMENT.to_owned(), Vec::new())];
    let mut previous = None;
    let mut crcs = HashMap::new();
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        if let Some(name) = segment_name(line) {
            if segments.iter().all(|(other, _)| *other != name) {
                let before = first_seq(&name).and_then(|seq| seq.checked_sub(1));
                match before.map(|seq| (seq, crcs.get(&seq))) {
                    Some((_, Some(crc))) => previous = Some(*crc),
                    Some((0, None)) => previous = None,
                    _ => {}
                }
                segments.push((name, Vec::new()));
            }
            continue;
        }
        let bytes = &mut segments.last_mut().expect("there is a first one").1;
        let (text, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |text| (text, &b"\n"[..]));
        match text.strip_suffix(UNSEALED) {
            Some(body) => {
                let crc = crc32c::crc32c_append(previous.unwrap_or_else(|| first_crc(body)), body);
                previous = Some(crc);
                if let Some(head) = Head::read(body) {
                    crcs.insert(head.seq, crc);
                }
                bytes.extend_from_slice(body);
                bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}").as_bytes());
            }
            None => bytes.extend_from_slice(text),
        }
        bytes.extend_from_slice(end);
    }
    for change in changes.chunks_exact(3).take(MAX_CHANGES) {
        for (_, bytes) in &mut segments {
            damage(bytes, change[0], usize::from(change[1]), usize::from(change[2]));
        }
    }
    segments
}

/// The crc that the first line of a log continues: that of its session id, where the line says which that is.
fn first_crc(line: &[u8]) -> u32 {
    let session = match Head::read(line) {
        Some(head) => serde_json::from_slice::<String>(&line[head.session]).ok(),
        None => Some(SESSION.to_owned()),
    };
    session.map_or(NOBODYS, |session| crc32c::crc32c(session.as_bytes()))
}

fn segment_name(line: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(line.strip_prefix(b"# ")?).ok()?.trim_end();
    let stem = name.strip_suffix(".jsonl")?;
    let digits = stem.split_once('-').map_or(stem, |(digits, _)| digits);
    let is_name = stem.len() <= 12 && digits.len() == 10 && first_seq(name).is_some();
    (is_name && !stem.contains(['/', '\0'])).then(|| name.to_owned())
}

/// The seq for which a segment was made.
fn first_seq(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".jsonl")?;
    let (digits, copy) = stem.split_once('-').unwrap_or((stem, "2"));
    let is_copy = copy.parse::<u32>().is_ok_and(|number| number > 1 && number.to_string() == copy);
    digits.parse().ok().filter(|seq| *seq > 0 && is_copy && !digits.starts_with('+'))
}

/// Changes sealed text: `-` takes line A out, `+` repeats it behind line B, `x` swaps A and B, `|` cuts at the byte
/// that A and B name, any other byte is put in its place.
fn damage(bytes: &mut Vec<u8>, kind: u8, a: usize, b: usize) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (line_a, line_b) = (a % lines.len(), b % lines.len());
    match kind {
        b'-' => drop(lines.remove(line_a)),
        b'+' => lines.insert(line_b + 1, lines[line_a].clone()),
        b'x' => lines.swap(line_a, line_b),
        _ => {
            let at = (256 * a + b) % bytes.len();
            if kind == b'|' {
                bytes.truncate(at)
            } else {
                bytes[at] = kind
            }
            return;
        }
    }
    *bytes = lines.concat();
}
