//! The corpus of the redactor, and the rows of the field cases about text.
//!
//! Tokens are put together when the tests run, so that nothing in this repository looks like a secret to a scanner.

mod corpus;
mod field_cases;
mod json;
mod time;

use herdbook_redact::Redactor;

fn redactor() -> Redactor {
    Redactor::new(&[7; 32])
}

/// Characters that look drawn by lot, the same in every run.
fn noise(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            letters[(state >> 11) as usize % letters.len()]
        })
        .collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
