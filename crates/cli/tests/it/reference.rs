//! `herdbook reference` and `herdbook schema`.

use crate::support::TestEnv;

#[test]
fn both_print_what_is_committed() {
    let env = TestEnv::new();
    let committed: [(&[&str], &str); 7] = [
        (&["reference"], include_str!("../../../../docs/reference/events.md")),
        (&["reference", "--format", "json"], include_str!("../../../../docs/reference/events.json")),
        (&["schema", "--lang", "json-schema"], include_str!("../../../../docs/reference/events.schema.json")),
        (&["schema", "--lang", "ts"], include_str!("../../../../clients/ts/src/events.ts")),
        (&["schema", "--lang", "ts-tables"], include_str!("../../../../clients/ts/src/tables.ts")),
        (
            &["schema", "--lang", "session-json-schema"],
            include_str!("../../../../docs/reference/session-events.schema.json"),
        ),
        (&["schema", "--lang", "session-ts"], include_str!("../../../../clients/ts/src/session-events.ts")),
    ];
    for (words, text) in committed {
        let ran = env.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
        assert!(ran.stdout == text, "herdbook {words:?} differs from the committed file: `just generate`");
    }
}
