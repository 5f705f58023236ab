//! What the checker of a log knows, kept beside a long log while it is closed: then opening it again need not read all of it.
//!
//! It counts only where the log is what it was, to the file and the seq. Any doubt, and the log is read from its first line.

use herdbook_log::{Reader, SessionLog, forget_memo, keep_memo, memo};
use herdbook_story::check::{Checker, Options};

use super::live::damaged;
use super::refused::Refused;

/// A log with fewer lines is read in some 20 ms.
const LONG_LINES: u64 = 2_000;

/// Returns a checker that knows all lines of a log that was just opened, and the seq of what was kept beside the log: 0 where the
/// log was read instead.
pub(super) fn checker(key: &str, log: &SessionLog) -> Result<(Checker, u64), Refused> {
    let kept = memo(log.folder()).and_then(|state| Checker::restore(Options::native(), &state));
    let fits = |checker: &Checker| checker.session_id() == Some(key) && checker.last_seq() == log.last_seq();
    if let Some(checker) = kept.filter(fits) {
        return Ok((checker, log.last_seq()));
    }
    // One that does not count is of no use to anybody; where it cannot be removed it counts no more the next time.
    let _ = forget_memo(log.folder());
    read(key, log).map(|checker| (checker, 0))
}

fn read(key: &str, log: &SessionLog) -> Result<Checker, Refused> {
    let mut checker = Checker::new(Options::native());
    let mut seq = 0;
    for line in Reader::open(log.folder()) {
        let line = line.map_err(|damage| damaged(key, &damage))?;
        checker.push(&line.raw);
        seq = line.seq;
    }
    if seq == log.last_seq() {
        return Ok(checker);
    }
    let words = format!("the log of session '{key}' could be read up to seq {seq} only; try again");
    Err(Refused::Away(words))
}

/// True for a log that takes longer to read than what its checker knows.
pub(super) fn is_worth_keeping(last_seq: u64) -> bool {
    last_seq >= LONG_LINES
}

/// Keeps what a checker knows of a log that is about to be closed, all of which is written.
pub(super) fn keep(log: &SessionLog, checker: &Checker) {
    if let Some(state) = checker.state().filter(|_| checker.last_seq() == log.last_seq()) {
        // Without it the log is read.
        let _ = keep_memo(log.folder(), &state);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use herdbook_events::{Ulid, UlidGenerator};
    use herdbook_log::{Sessions, scrub};
    use herdbook_redact::Redactor;

    use super::super::live::quoted;
    use super::super::logs::SessionLogs;
    use super::*;
    use crate::settings::Policy;

    const STARTED: &str = r#"{"type":"session.started","payload":{"title":"t","projectHash":"p","workingDirectory":"/w",
        "gitBranch":null,"model":"m","auxModel":"a","khaelorVersion":"1"}}"#;
    const RENAMED: &str = r#"{"type":"session.renamed","payload":{"title":"x"}}"#;

    fn request(id: &str) -> String {
        format!(
            r#"{{"type":"model.request-started","payload":{{"requestId":{},"model":"m","purpose":"main",
            "contextStats":{{"estimatedInputTokens":1,"sections":[]}}}}}}"#,
            quoted(id)
        )
    }

    /// A daemon's logs, begun anew: appends, and closes all at the end.
    async fn append(state: &Path, appends: &[Vec<String>]) -> Vec<Result<u64, Refused>> {
        append_and_close(state, appends, true).await
    }

    async fn append_and_close(
        state: &Path,
        appends: &[Vec<String>],
        remembers: bool,
    ) -> Vec<Result<u64, Refused>> {
        let (redactor, clocks) = (Redactor::new(&[7; 32]), (crate::clock::now as fn() -> _, 1));
        let logs = SessionLogs::new(state, redactor, Policy::Os, clocks, Arc::new(|_| {}));
        let logs = Arc::new(logs);
        let mut answers = Vec::new();
        for events in appends {
            let body = format!(r#"{{"events":[{}]}}"#, events.join(","));
            let asked = logs.read_append(body.as_bytes()).unwrap();
            answers.push(logs.append("s", asked).await.map(|appended| appended.last_seq));
        }
        logs.close(remembers).await;
        answers
    }

    /// A log of `LONG_LINES` lines, the last of which begins request `r1`.
    async fn long_log(state: &Path) {
        let mut events = vec![STARTED.to_owned()];
        events.resize(LONG_LINES as usize - 1, RENAMED.to_owned());
        events.push(request("r1"));
        let appends: Vec<Vec<String>> = events.chunks(500).map(<[String]>::to_vec).collect();
        assert_eq!(append(state, &appends).await.last(), Some(&Ok(LONG_LINES)));
    }

    fn rules(answer: &Result<u64, Refused>) -> Vec<&str> {
        match answer {
            Err(Refused::Breaks(breaches)) => breaches.iter().map(|breach| breach.rule.as_str()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_long_log_goes_on_as_if_it_had_been_read() {
        let state = tempfile::tempdir().unwrap();
        long_log(state.path()).await;
        let folder = Sessions::new(state.path()).folder("s");
        assert!(memo(&folder).is_some());
        let answers =
            append(state.path(), &[vec![request("r1")], vec![STARTED.to_owned()], vec![RENAMED.to_owned()]])
                .await;
        assert_eq!(rules(&answers[0]), ["M1", "M2"]);
        assert_eq!(rules(&answers[1]), ["S1"]);
        assert_eq!(answers[2], Ok(LONG_LINES + 1));
        // What was appended since is known the next time.
        assert!(memo(&folder).is_some());
        let answers = append(state.path(), &[vec![RENAMED.to_owned()]]).await;
        assert_eq!(answers, [Ok(LONG_LINES + 2)]);
        let mut ids: Vec<Ulid> =
            Reader::open(&folder).filter_map(|line| Ulid::parse(&line.ok()?.id)).collect();
        assert!(ids.is_sorted());
        ids.dedup();
        assert_eq!(ids.len() as u64, LONG_LINES + 2);
    }

    #[tokio::test]
    async fn where_the_disk_is_full_nothing_is_kept_and_the_log_is_whole() {
        let state = tempfile::tempdir().unwrap();
        long_log(state.path()).await;
        let folder = Sessions::new(state.path()).folder("s");
        let appends = [vec![RENAMED.to_owned()]];
        assert_eq!(append_and_close(state.path(), &appends, false).await, [Ok(LONG_LINES + 1)]);
        assert!(memo(&folder).is_none());
        assert_eq!(append(state.path(), &appends).await, [Ok(LONG_LINES + 2)]);
        assert!(memo(&folder).is_some());
    }

    #[tokio::test]
    async fn what_was_sent_before_is_found_though_the_log_was_not_read() {
        let state = tempfile::tempdir().unwrap();
        let id = UlidGenerator::new(1, None).generate(1);
        let first = STARTED.replacen('{', &format!(r#"{{"id":"{id}","#), 1);
        let mut events = vec![first.clone()];
        events.resize(LONG_LINES as usize, RENAMED.to_owned());
        let appends: Vec<Vec<String>> = events.chunks(500).map(<[String]>::to_vec).collect();
        append(state.path(), &appends).await;
        let again = append(state.path(), &[vec![first], vec![RENAMED.to_owned()]]).await;
        assert_eq!(again, [Ok(LONG_LINES), Ok(LONG_LINES + 1)]);
    }

    /// Shows that it is used at all: a checker that saw other lines decides.
    #[tokio::test]
    async fn only_one_of_this_log_and_this_seq_counts() {
        let of = |key: &str, lines: u64| {
            let mut checker = Checker::new(Options::native());
            let renamed = r#"{"title":"x"}"#;
            let mut push = |seq: u64, event_type: &str, payload: &str| {
                let id = Ulid::from_parts(1, u128::from(seq));
                checker.push(&format!(
                    r#"{{"v":1,"id":"{id}","sessionId":"{key}","seq":{seq},"ts":1,"type":"{event_type}","payload":{payload}}}"#
                ));
            };
            push(
                1,
                "model.request-started",
                r#"{"contextStats":{"estimatedInputTokens":1,"sections":[]},"model":"m","purpose":"main","requestId":"r2"}"#,
            );
            (2..=lines).for_each(|seq| push(seq, "session.renamed", renamed));
            checker.state().unwrap()
        };
        for (key, lines, counts) in
            [("s", LONG_LINES, true), ("s", LONG_LINES - 1, false), ("other", LONG_LINES, false)]
        {
            let state = tempfile::tempdir().unwrap();
            long_log(state.path()).await;
            keep_memo(&Sessions::new(state.path()).folder("s"), &of(key, lines)).unwrap();
            let answers = append(state.path(), &[vec![request("r2")]]).await;
            // M1: the id was used before; M2: that request, or the log's own r1, is open.
            let expected: &[&str] = if counts { &["M1", "M2"] } else { &["M2"] };
            assert_eq!(rules(&answers[0]), expected, "{key} {lines}");
        }
    }

    #[tokio::test]
    async fn short_logs_keep_none_and_a_scrub_takes_it_away() {
        let state = tempfile::tempdir().unwrap();
        append(state.path(), &[vec![STARTED.to_owned(), RENAMED.to_owned()]]).await;
        let folder = Sessions::new(state.path()).folder("s");
        assert!(folder.is_dir() && memo(&folder).is_none());
        let other = tempfile::tempdir().unwrap();
        long_log(other.path()).await;
        let folder = Sessions::new(other.path()).folder("s");
        // Nothing is changed by it, yet nobody can tell whether a secret was remembered.
        scrub(&folder, 1, &mut |_| None, &|_| None).unwrap();
        assert!(!folder.join("writer.memo").exists());
        assert_eq!(append(other.path(), &[vec![RENAMED.to_owned()]]).await, [Ok(LONG_LINES + 1)]);
    }
}
