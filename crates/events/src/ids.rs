//! Session keys and ULIDs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest session id that is accepted, in bytes (overview D6).
pub const MAX_SESSION_ID_BYTES: usize = 1024;

/// Names one session for good: `<host>-<native session id>`, or a posted session's id as it was posted.
///
/// The text is foreign: it is never used as a file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionKey(String);

impl SessionKey {
    /// Returns the key of a session that a host's hooks report, or nothing for an empty or over-long id.
    pub fn hooked(host: &str, native_id: &str) -> Option<SessionKey> {
        Self::posted(native_id).map(|id| SessionKey(format!("{host}-{}", id.0)))
    }

    /// Returns the key of a session that was posted as normalized events: its id as posted.
    pub fn posted(id: &str) -> Option<SessionKey> {
        (!id.is_empty() && id.len() <= MAX_SESSION_ID_BYTES).then(|| SessionKey(id.to_owned()))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A 128-bit ULID: 48 bits of Unix milliseconds, 80 random bits. Prints as 26 characters of Crockford base 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid(u128);

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// What each letter of the alphabet is worth, 255 for any other byte; a table, because a replay reads every id.
static DIGITS: [u8; 256] = {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < ALPHABET.len() {
        table[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

impl Ulid {
    /// Makes a ULID from its two parts. Only the low 48 bits of the time and the low 80 of the rest count.
    pub fn from_parts(time_ms: u64, random: u128) -> Ulid {
        Ulid((u128::from(time_ms & 0xFFFF_FFFF_FFFF) << 80) | (random & RANDOM_MASK))
    }

    /// Reads 26 characters of Crockford base 32, as [`Ulid`] prints them (upper case).
    pub fn parse(text: &str) -> Option<Ulid> {
        if text.len() != 26 || text.as_bytes()[0] > b'7' {
            return None;
        }
        let (mut value, mut is_right) = (0u128, true);
        for byte in text.bytes() {
            let digit = DIGITS[usize::from(byte)];
            is_right &= digit < 32;
            value = (value << 5) | u128::from(digit & 31);
        }
        is_right.then_some(Ulid(value))
    }

    /// Makes a ULID of its 128 bits.
    pub fn from_bits(bits: u128) -> Ulid {
        Ulid(bits)
    }

    /// Returns its 128 bits, which sort as it does.
    pub fn to_bits(self) -> u128 {
        self.0
    }

    /// Returns the time part in Unix milliseconds.
    pub fn time_ms(self) -> u64 {
        (self.0 >> 80) as u64
    }
}

impl fmt::Display for Ulid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in (0..26).rev() {
            let digit = (self.0 >> (place * 5)) & 31;
            write!(formatter, "{}", ALPHABET[digit as usize] as char)?;
        }
        Ok(())
    }
}

const RANDOM_MASK: u128 = (1 << 80) - 1;

/// Makes ULIDs that only rise, whatever the clock does (eventlog 1.4).
///
/// Time is the larger of the clock and the last id's time. In the same millisecond, or when the clock steps back,
/// the random part is the last one plus 1; its top bit is clear when a millisecond begins, so there is room for
/// 2^79 of them, and on overflow the time part moves on by 1 ms. Above the very last ULID there is none: then it begins
/// anew at the clock, since an id that differs matters more than one that rises.
#[derive(Clone, Debug)]
pub struct UlidGenerator {
    last: Option<Ulid>,
    state: u64,
}

impl UlidGenerator {
    /// Starts with a seed for the random parts, above `last` if that is given.
    pub fn new(seed: u64, last: Option<Ulid>) -> UlidGenerator {
        UlidGenerator { last, state: seed }
    }

    /// Never makes an id at or below `floor` from here on.
    pub fn start_above(&mut self, floor: Ulid) {
        self.last = self.last.max(Some(floor));
    }

    /// Returns the next id for a wall clock in Unix milliseconds.
    pub fn generate(&mut self, wall_ms: u64) -> Ulid {
        let risen = self.last.filter(|last| wall_ms <= last.time_ms());
        let next = match risen.and_then(|last| last.0.checked_add(1)) {
            Some(next) => Ulid(next),
            None => {
                let random = (u128::from(self.next_random()) << 64) | u128::from(self.next_random());
                Ulid::from_parts(wall_ms, random & (RANDOM_MASK >> 1))
            }
        };
        self.last = Some(next);
        next
    }

    /// SplitMix64: ids need to differ between machines, not to be secret.
    fn next_random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_ids_in_one_millisecond_rise() {
        let mut generator = UlidGenerator::new(7, None);
        let mut last = generator.generate(1_767_225_603_000);
        for _ in 0..100_000 {
            let next = generator.generate(1_767_225_603_000);
            assert!(next > last);
            last = next;
        }
        assert_eq!(last.time_ms(), 1_767_225_603_000);
    }

    #[test]
    fn a_clock_that_steps_back_an_hour_does_not_lower_ids() {
        let mut generator = UlidGenerator::new(7, None);
        let before = generator.generate(1_767_225_603_000);
        let after = generator.generate(1_767_225_603_000 - 3_600_000);
        assert!(after > before);
    }

    #[test]
    fn above_the_last_ulid_ids_differ_all_the_same() {
        let mut generator = UlidGenerator::new(7, Ulid::parse("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
        let first = generator.generate(1_767_225_603_000);
        assert_eq!(first.time_ms(), 1_767_225_603_000);
        assert!(generator.generate(1_767_225_603_000) > first);
    }

    #[test]
    fn text_is_crockford_base_32() {
        // The ULID specification's example time: 1469918176385 ms prints as 01ARYZ6S41.
        assert_eq!(&Ulid::from_parts(1_469_918_176_385, 0).to_string(), "01ARYZ6S410000000000000000");
        let id = Ulid::from_parts(1_469_918_176_385, 12345);
        assert_eq!(Ulid::parse(&id.to_string()), Some(id));
        assert_eq!(Ulid::parse("8ZZZZZZZZZZZZZZZZZZZZZZZZZ"), None);
        assert_eq!(Ulid::parse("short"), None);
    }

    #[test]
    fn empty_and_giant_session_ids_are_refused() {
        assert_eq!(SessionKey::hooked("claude", ""), None);
        assert_eq!(SessionKey::posted(&"x".repeat(1025)), None);
        let key = SessionKey::hooked("codex", "../../etc").unwrap();
        assert_eq!(key.as_str(), "codex-../../etc");
    }
}
