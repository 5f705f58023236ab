//! The crcs of a log that lies in one file outside of a store.

use crate::chain::{Chain, Place, Verdict};
use crate::damage::{Damage, DamageKind};
use crate::line::{self, Head, SUFFIX_BYTES, Shape};

/// Checks that each line continues the crc of the line before, in a file whose lines have one.
///
/// A file without crcs is unsealed: nothing is said of it. Where only some lines have one, the others are damage. A file
/// may be a later segment: then its first line is believed.
#[derive(Debug)]
pub struct Seals {
    file: String,
    /// Before the first line with a crc there is none.
    chain: Option<Chain>,
    line: u64,
    offset: u64,
    verdicts: Vec<Verdict>,
    /// Of the line that was pushed last, where it is right.
    head: Option<Head>,
}

impl Seals {
    /// Starts before the first line of the file; damage is told under this name.
    pub fn new(file: &str) -> Seals {
        Seals { file: file.to_owned(), chain: None, line: 0, offset: 0, verdicts: Vec::new(), head: None }
    }

    /// True once a line with a crc was seen.
    pub fn is_sealed(&self) -> bool {
        self.chain.is_some()
    }

    /// Looks at the next line, without its line feed. What cannot be told before the next line is told then.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Damage> {
        self.head = None;
        self.line += 1;
        let offset = self.offset;
        self.offset += bytes.len() as u64 + 1;
        if self.chain.is_none() && !has_crc(bytes) {
            return Vec::new();
        }
        if self.chain.is_none() {
            let seq = Shape::read(bytes).map_or(1, |shape| shape.head.seq);
            self.chain = Some(if seq > 1 { Chain::from_middle(seq) } else { Chain::new() });
            if self.line > 1 {
                let (segment, kind) = (self.file.clone(), DamageKind::Malformed);
                let first = Damage { segment, line: 1, offset: 0, seq: 1, found: None, kind };
                self.verdicts.push(Verdict::Damage(first));
            }
        }
        if let Some(chain) = &mut self.chain {
            self.head = chain.take_next(bytes).map(|shape| shape.head);
            if self.head.is_none() {
                let place = Place { segment: self.file.clone(), line: self.line, offset };
                chain.judge(bytes, place, &mut self.verdicts);
            }
        }
        self.told()
    }

    /// Takes the head of the line that was pushed last, which was read on the way. There is none of a line without a crc, or
    /// that is not simply the next one.
    pub fn take_head(&mut self) -> Option<Head> {
        self.head.take()
    }

    /// Ends the file, and returns what nothing vouches for.
    pub fn finish(mut self) -> Vec<Damage> {
        if let Some(chain) = &mut self.chain {
            chain.reject_held(&mut self.verdicts);
        }
        self.told()
    }

    fn told(&mut self) -> Vec<Damage> {
        let damages = self.verdicts.drain(..).filter_map(|verdict| match verdict {
            Verdict::Damage(damage) => Some(damage),
            Verdict::Line(..) => None,
        });
        damages.collect()
    }
}

/// True for a line that claims a crc, be it spelled wrong.
fn has_crc(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(SUFFIX_BYTES)..];
    line::read_crc(bytes).is_some() || tail.starts_with(b",\"crc\":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{NewRecord, encode, first_crc, quote};

    /// Makes the lines 1 to `count` of a log.
    fn lines(count: u64) -> Vec<Vec<u8>> {
        let mut crc = first_crc("s-1");
        let line = |seq: u64| {
            let (id, kind) = (format!("id-{seq}"), "note".to_owned());
            let record = NewRecord { id, ts_ms: seq, kind, payload: format!(r#"{{"n":{seq}}}"#) };
            let mut bytes = Vec::new();
            crc = encode(&mut bytes, &quote("s-1"), seq, &record, crc);
            bytes.pop();
            bytes
        };
        (1..=count).map(line).collect()
    }

    /// The places of damage: line, expected seq, kind.
    fn damage(lines: &[Vec<u8>]) -> Vec<(u64, u64, DamageKind)> {
        let mut seals = Seals::new("x.jsonl");
        let mut found: Vec<Damage> = lines.iter().flat_map(|line| seals.push(line)).collect();
        found.extend(seals.finish());
        found.into_iter().map(|damage| (damage.line, damage.seq, damage.kind)).collect()
    }

    #[test]
    fn the_head_of_a_right_line_need_not_be_read_again() {
        let lines = lines(3);
        let mut seals = Seals::new("x.jsonl");
        for line in &lines[..2] {
            assert_eq!(seals.push(line), []);
            assert_eq!(seals.take_head(), Head::read(line));
        }
        // Of one that came before, and of one without a crc, nothing is told.
        seals.push(&lines[0]);
        assert_eq!(seals.take_head(), None);
        let mut unsealed = Seals::new("z.jsonl");
        unsealed.push(&lines[0][..lines[0].len() - SUFFIX_BYTES]);
        assert_eq!(unsealed.take_head(), None);
    }

    #[test]
    fn whole_logs_and_later_segments_are_right() {
        let lines = lines(5);
        assert_eq!(damage(&lines), []);
        assert_eq!(damage(&lines[2..]), []);
        assert_eq!(damage(&[]), []);
    }

    #[test]
    fn a_first_line_of_a_newer_version_is_believed_as_any_other() {
        let text = String::from_utf8(lines(2)[1].clone()).unwrap();
        let newer = text.replacen("{\"v\":1", "{\"v\":2", 1).into_bytes();
        assert_eq!(damage(&[newer]), [(1, 2, DamageKind::NewerVersion(2))]);
    }

    #[test]
    fn a_changed_byte_is_named_at_its_line() {
        for at in 0..5 {
            let mut lines = lines(5);
            let text = String::from_utf8(lines[at].clone()).unwrap();
            lines[at] = text.replace("\"n\":", "\"m\":").into_bytes();
            let seq = at as u64 + 1;
            assert_eq!(damage(&lines), [(seq, seq, DamageKind::WrongCrc)]);
        }
    }

    #[test]
    fn a_line_without_a_crc_among_others_is_damage() {
        for at in 0..5 {
            let mut lines = lines(5);
            let cut = lines[at].len() - SUFFIX_BYTES;
            lines[at].truncate(cut);
            lines[at].push(b'}');
            let seq = at as u64 + 1;
            let mut expected = vec![(seq, seq, DamageKind::Malformed)];
            // The last line continues a crc that is gone, and no line after it vouches for it.
            if seq == 4 {
                expected.push((5, 5, DamageKind::Unverified));
            }
            assert_eq!(damage(&lines), expected);
        }
    }

    #[test]
    fn a_log_without_crcs_is_unsealed() {
        assert_eq!(damage(&[b"{}".to_vec(), Vec::new(), b"no json".to_vec()]), []);
    }
}
