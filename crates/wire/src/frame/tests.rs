use proptest::prelude::*;

use super::*;

fn any_delivery() -> impl Strategy<Value = Delivery> {
    let tty = prop_oneof![
        Just(Tty::Unknown),
        Just(Tty::None),
        Just(Tty::Some),
        "/dev/pts/[0-9]{1,4}".prop_map(Tty::Named)
    ];
    let process = (any::<u32>(), any::<Option<u64>>()).prop_map(|(pid, start)| Process { pid, start });
    let origin = (
        prop::collection::vec(process, 0..20),
        tty,
        any::<Option<String>>(),
        prop::collection::vec(any::<(String, String)>(), 0..20),
        any::<Option<String>>(),
    )
        .prop_map(|(ancestors, tty, cwd, vars, machine)| Origin { ancestors, tty, cwd, vars, machine });
    (
        "[a-z0-9-]{0,20}|\\PC{0,40}",
        any::<Option<String>>(),
        any::<u128>(),
        any::<u64>(),
        any::<u64>(),
        origin,
        prop::collection::vec(any::<u8>(), 0..3000),
        any::<bool>(),
    )
        .prop_map(|(host, native_event, delivery, stamp_ms, started_at_ms, origin, body, cut)| {
            Delivery { host, native_event, delivery, stamp_ms, started_at_ms, origin, body, cut }
        })
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(delivery in any_delivery()) {
        let bytes = encode(&delivery);
        prop_assert_eq!(&decode(&bytes).unwrap(), &delivery);
        prop_assert_eq!(&read_delivery(&bytes[..]).unwrap(), &delivery);
    }

    #[test]
    fn a_frame_cut_short_is_never_a_delivery(delivery in any_delivery(), at in any::<prop::sample::Index>()) {
        let bytes = encode(&delivery);
        let short = &bytes[..at.index(bytes.len())];
        prop_assert!(decode(short).is_err());
        prop_assert!(matches!(read_delivery(short), Err(FrameError::Io(_))));
    }

    #[test]
    fn damage_is_an_error_or_another_delivery_but_no_panic(
        delivery in any_delivery(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut bytes = encode(&delivery);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(other) = decode(&bytes) {
            prop_assert_eq!(encode(&other), bytes);
        }
    }

    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(decode(&bytes).is_err());
        prop_assert!(read_delivery(&bytes[..]).is_err());
        let mut framed = encode(&Delivery::default());
        framed.truncate(HEADER_BYTES);
        framed[8..12].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        framed.extend_from_slice(&bytes);
        if let Ok(delivery) = decode(&framed) {
            prop_assert_eq!(encode(&delivery), framed);
        }
    }

    #[test]
    fn answers_come_back_whole(
        answer in prop_oneof![
            Just(Answer::Done),
            Just(Answer::Spool),
            any::<u32>().prop_map(Answer::Wait),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Answer::Decision),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Answer::Refusal)
        ],
        more in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let mut bytes = encode_answer(&answer).unwrap();
        let len = bytes.len();
        for short in 0..len {
            prop_assert!(decode_answer(&bytes[..short]).unwrap().is_none());
        }
        bytes.extend_from_slice(&more);
        prop_assert_eq!(decode_answer(&bytes).unwrap(), Some((answer, len)));
    }

    #[test]
    fn garbage_answers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = decode_answer(&bytes);
        let mut framed = ANSWER_MAGIC.to_vec();
        framed.extend_from_slice(&bytes);
        let _ = decode_answer(&framed);
    }
}

#[test]
fn another_version_is_named_whatever_follows() {
    let mut bytes = encode(&Delivery { host: "claude".into(), ..Delivery::default() });
    bytes[4..6].copy_from_slice(&7u16.to_le_bytes());
    bytes[6..24].fill(0xff);
    assert!(matches!(read_delivery(&bytes[..]), Err(FrameError::Version(7))));
    assert!(matches!(decode(&bytes), Err(FrameError::Version(7))));
}

#[test]
fn a_promise_of_too_many_bytes_is_refused_before_they_are_read() {
    let mut bytes = encode(&Delivery::default());
    bytes[16..24].copy_from_slice(&(SOCKET_BODY_BYTES + 1).to_le_bytes());
    assert!(matches!(read_delivery(&bytes[..]), Err(FrameError::TooLong { limit, .. }) if limit == 8 << 20));
    bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(decode(&bytes), Err(FrameError::TooLong { .. })));
}

#[test]
fn values_over_their_limits_never_make_a_frame_that_cannot_be_read() {
    let long = "ä".repeat(70_000);
    let delivery = Delivery {
        host: long.clone(),
        native_event: Some(long.clone()),
        origin: Origin {
            ancestors: vec![Process { pid: 1, start: None }; 300],
            tty: Tty::Named(long.clone()),
            cwd: Some(long.clone()),
            vars: vec![("TMUX".into(), long.clone()), ("TMUX_PANE".into(), "%3".into())],
            machine: Some(long),
        },
        ..Delivery::default()
    };
    let read = decode(&encode(&delivery)).unwrap();
    assert_eq!(read.host, "ä".repeat(127));
    assert_eq!(read.native_event, Some("ä".repeat(512)));
    assert_eq!(read.origin.ancestors.len(), 64);
    assert_eq!(read.origin.tty, Tty::Some);
    assert_eq!((read.origin.cwd, read.origin.machine), (None, None));
    assert_eq!(read.origin.vars, [("TMUX_PANE".to_owned(), "%3".to_owned())]);
}

#[test]
fn the_layout_is_the_documented_one() {
    let bytes = encode(&Delivery { host: "x".into(), body: b"{}".to_vec(), ..Delivery::default() });
    assert_eq!(&bytes[..8], b"\0HBK\x01\0\x01\0");
    assert_eq!(bytes[16..24], 2u64.to_le_bytes());
    assert_eq!(&bytes[bytes.len() - 2..], b"{}");
    assert_eq!(encode_answer(&Answer::Wait(9)).unwrap(), b"\0HBA\x03\0\0\0\x09\0\0\0");
    assert_eq!(encode_answer(&Answer::Refusal(b"no".to_vec())).unwrap(), b"\0HBA\x05\0\0\0\x02\0\0\0no");
}

/// A frame of version 1, byte for byte as the first hooks sent it: never change it, whatever later versions look like.
const VERSION_1: &[u8] = b"\0HBK\x01\0\x01\0\x81\0\0\0\0\0\0\0\x25\0\0\0\0\0\0\0\
    \x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xe8\x03\0\0\0\0\0\0\x00\xa8\xda\x76\x9b\x01\0\0\
    \x06\0claude\x01\x04\0Stop\x03\x0a\0/dev/pts/3\x01\x0d\0/home/dev/app\x01\x03\0box\
    \x01\xd2\x04\0\0\x01\x2a\0\0\0\0\0\0\0\x02\x09\0TMUX_PANE\x02\0%3\x04\0HOME\x09\0/home/dev\
    {\"session_id\":\"s1\",\"tool\":\"Bash....\"}";

#[test]
fn a_frame_of_the_first_version_is_read_for_ever() {
    let read = decode(VERSION_1).unwrap();
    let origin = Origin {
        ancestors: vec![Process { pid: 1234, start: Some(42) }],
        tty: Tty::Named("/dev/pts/3".into()),
        cwd: Some("/home/dev/app".into()),
        vars: vec![("TMUX_PANE".into(), "%3".into()), ("HOME".into(), "/home/dev".into())],
        machine: Some("box".into()),
    };
    let expected = Delivery {
        host: "claude".into(),
        native_event: Some("Stop".into()),
        delivery: 0x2a,
        stamp_ms: 1_000,
        started_at_ms: 1_767_225_600_000,
        origin,
        body: br#"{"session_id":"s1","tool":"Bash...."}"#.to_vec(),
        cut: false,
    };
    assert_eq!(read, expected);
}

#[test]
fn versions_before_the_oldest_and_after_our_own_are_told_apart() {
    for version in [OLDEST_PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1, u16::MAX] {
        let mut bytes = VERSION_1.to_vec();
        bytes[4..6].copy_from_slice(&version.to_le_bytes());
        assert!(matches!(decode(&bytes), Err(FrameError::Version(found)) if found == version));
    }
}
