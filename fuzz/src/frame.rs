//! The frame between hook and daemon, and the answer to it.

use herdbook_wire::frame::{decode, decode_answer, encode, encode_answer, read_delivery};
use herdbook_wire::scan::Scanner;

/// The input is read as a delivery, as an answer, and as a payload that the hook looks through.
pub fn run(data: &[u8]) {
    delivery(data);
    answer(data);
    scan(data);
}

/// Whatever is read as a delivery is that frame, and from a stream the same one is read.
fn delivery(data: &[u8]) {
    let Ok(delivery) = decode(data) else { return };
    assert_eq!(encode(&delivery), data, "a delivery has one frame");
    let streamed = read_delivery(data).expect("what is a frame in one piece is one in a stream");
    assert_eq!(streamed, delivery);
    for end in [0, 23, data.len() / 2, data.len() - 1] {
        assert!(decode(&data[..end.min(data.len() - 1)]).is_err(), "a part of a frame is none");
    }
    let mut longer = data.to_vec();
    longer.push(0);
    assert!(decode(&longer).is_err(), "a frame with more behind it is none");
    assert_eq!(read_delivery(&longer[..]).ok(), Some(delivery), "a stream may go on behind a frame");
}

/// Whatever is read as an answer can be written again, and a part of it is not an answer yet.
fn answer(data: &[u8]) {
    let Ok(Some((answer, length))) = decode_answer(data) else { return };
    assert!(length <= data.len());
    for end in 0..length.min(64) {
        assert!(matches!(decode_answer(&data[..end]), Ok(None)), "a part of an answer asks for more");
    }
    let written = encode_answer(&answer).expect("what was read fits");
    assert_eq!(decode_answer(&written).ok().flatten(), Some((answer, written.len())));
}

/// An object or array is whole at its end, read in one piece or byte by byte, and not before.
fn scan(data: &[u8]) {
    let (mut at_once, mut by_bytes) = (Scanner::default(), Scanner::default());
    at_once.feed(data);
    for byte in data {
        by_bytes.feed(&[*byte]);
    }
    assert_eq!(format!("{at_once:?}"), format!("{by_bytes:?}"));
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = data.iter().position(|byte| !is_space(byte)).unwrap_or(data.len());
    let end = data.iter().rposition(|byte| !is_space(byte)).map_or(start, |at| at + 1);
    let json = &data[start..end];
    if matches!(json.first(), Some(b'{' | b'['))
        && serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok()
    {
        assert!(at_once.is_whole(), "JSON is whole at its end");
        let mut cut = Scanner::default();
        cut.feed(&json[..json.len() - 1]);
        assert!(!cut.is_whole(), "JSON is not whole before its end");
    }
}
