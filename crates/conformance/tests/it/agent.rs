//! The scripted agent in memory: it dies behind every event, also while it resumes, and its log stays in order.

use std::collections::{BTreeMap, HashSet};

use herdbook_conformance::agent::tale::tale;
use herdbook_conformance::agent::{
    Book, Ending, Entry, Keeper, MemoryBook, Mortal, Page, Stopped, Trouble, Witness, run,
};
use herdbook_events::catalog::EventType;
use herdbook_story::{Checker, History, Line, Options, Templates};
use serde_json::Value;

/// What the agent was about to send, by session and the seq before it.
#[derive(Clone, Default)]
struct Sent(BTreeMap<(String, u64), String>);

impl Witness for Sent {
    fn asks(&mut self, session: &str, seq: u64, messages: &str) {
        let earlier = self.0.insert((session.to_owned(), seq), messages.to_owned());
        assert!(
            earlier.is_none_or(|earlier| earlier == messages),
            "two histories behind seq {seq} of {session}"
        );
    }
}

/// Lets the agent go on until it ends, leaves or dies.
fn go(book: &mut dyn Book, sent: &mut Sent) -> Result<Ending, Stopped> {
    let script = tale();
    run(&script, "s", book, &mut Keeper { seed: 7, now_ms: &|| 1_767_225_600_000, witness: sent })
}

/// Lets it go on to the end of its story, started again where it leaves.
fn go_to_the_end(book: &mut dyn Book, sent: &mut Sent) {
    while go(book, sent).unwrap() == Ending::Left {}
}

/// Folds every log anew and compares: the history behind each seq is what the agent was about to send there.
fn assert_told_the_same(book: &MemoryBook, sent: &Sent) -> usize {
    let mut requests = 0;
    for session in book.sessions() {
        let mut history = History::new(Templates::default());
        for line in book.lines(session) {
            let line = Line::read(line).unwrap();
            if line.event_type == "model.request-started" {
                let live = sent.0.get(&(session.to_owned(), line.seq - 1));
                assert_eq!(live, Some(&history.messages().unwrap()), "{session} seq {}", line.seq);
                requests += 1;
            }
            history.apply(&line).unwrap();
        }
    }
    requests
}

/// The whole of a log, checked as one that is closed for good.
fn assert_sealed(book: &MemoryBook) {
    for session in book.sessions() {
        let mut checker = Checker::new(Options { strict: true, ..Options::native() });
        let mut found: Vec<_> = book.lines(session).iter().flat_map(|line| checker.push(line)).collect();
        found.extend(checker.finish());
        assert_eq!(found, [], "{session}");
    }
    assert_eq!(book.warnings, [""; 0]);
}

/// What a parent says of its children is what their own logs begin with (B2).
fn assert_children_are_where_they_belong(book: &MemoryBook) {
    let lines = |session: &str| -> Vec<Value> {
        book.lines(session).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let created: Vec<Value> =
        lines("s").into_iter().filter(|line| line["type"] == "subtask.created").collect();
    assert_eq!(created.len(), 2);
    for created in created {
        let child = &lines(created["payload"]["childSessionId"].as_str().unwrap())[0];
        assert_eq!(child["type"], "session.started");
        assert_eq!(child["payload"]["workingDirectory"], created["payload"]["worktreePath"]);
        assert_eq!(child["payload"]["gitBranch"], created["payload"]["branch"]);
    }
}

fn types(book: &MemoryBook) -> BTreeMap<String, u64> {
    let mut types = BTreeMap::new();
    for line in book.sessions().flat_map(|session| book.lines(session)) {
        *types.entry(Line::read(line).unwrap().event_type).or_default() += 1;
    }
    types
}

#[test]
fn the_agent_walks_through_all_types() {
    let (mut book, mut sent) = (MemoryBook::default(), Sent::default());
    assert_eq!(go(&mut book, &mut sent), Ok(Ending::Left));
    assert_eq!(go(&mut book, &mut sent), Ok(Ending::Over));
    assert_sealed(&book);
    let types = types(&book);
    for event_type in EventType::DURABLE {
        assert!(types.get(event_type.as_str()).is_some_and(|count| *count > 0), "{event_type:?} is missing");
    }
    for event_type in EventType::EPHEMERAL {
        assert!(
            book.told.get(event_type.as_str()).is_some_and(|count| *count > 0),
            "{event_type:?} is missing"
        );
    }
    assert_eq!(assert_told_the_same(&book, &sent), sent.0.len());
    let lines = book.lines("s").len();
    assert_eq!(go(&mut book, &mut sent), Ok(Ending::Over));
    assert_eq!(book.lines("s").len(), lines, "a story that is over stays as it is");
}

/// Looks at each append: keeps what is there after it, or kills the agent there.
struct Watched<'a> {
    book: &'a mut MemoryBook,
    after: &'a mut dyn FnMut(&Page<'_>, &MemoryBook) -> Result<(), Trouble>,
}

impl Book for Watched<'_> {
    fn read(&mut self, session: &str) -> Result<Vec<String>, Trouble> {
        self.book.read(session)
    }

    fn append(&mut self, page: &Page<'_>) -> Result<Vec<String>, Trouble> {
        let lines = self.book.append(page)?;
        (self.after)(page, self.book)?;
        Ok(lines)
    }

    fn tell(&mut self, session: &str, events: &[(EventType, String)]) -> Result<(), Trouble> {
        self.book.tell(session, events)
    }
}

/// The books of a story in which nobody dies, behind each of its events, and what was sent up to there.
fn behind_each_event() -> Vec<(MemoryBook, Sent)> {
    let (mut book, mut books, mut sent) = (MemoryBook::default(), Vec::new(), Sent::default());
    let mut after = |_: &Page<'_>, book: &MemoryBook| {
        books.push(book.clone());
        Ok(())
    };
    go_to_the_end(&mut Watched { book: &mut book, after: &mut after }, &mut sent);
    let with_sent = |book: MemoryBook| {
        let was_sent = |(session, seq): &(String, u64)| *seq < book.lines(session).len() as u64;
        let sent = sent.0.iter().filter(|(place, _)| was_sent(place));
        let sent = sent.map(|(place, messages)| (place.clone(), messages.clone())).collect();
        (book, Sent(sent))
    };
    books.into_iter().map(with_sent).collect()
}

/// Lets the agent write so many events more at most; it is killed there unless it ends.
fn go_on(book: &mut MemoryBook, sent: &mut Sent, left: usize) {
    let end = go(&mut Mortal { book, left }, sent);
    assert!(matches!(end, Ok(_) | Err(Stopped::Book(Trouble::Killed(_)))), "{end:?}");
}

/// The steps of a story in which nobody dies, in order: the session (`s` or its children), a blank, the label.
pub fn labels() -> Vec<String> {
    let (mut book, mut labels) = (MemoryBook::default(), Vec::new());
    let mut after = |page: &Page<'_>, _: &MemoryBook| {
        labels.push(format!("{} {}", page.session, page.label));
        Ok(())
    };
    go_to_the_end(&mut Watched { book: &mut book, after: &mut after }, &mut Sent::default());
    labels.retain(|label| !label.ends_with(" resume"));
    labels
}

/// More than a resumption and the longest scene have, together.
const A_SCENE: usize = 32;

/// More than a resumption and a request behind it have.
const A_RESUMPTION: usize = 12;

#[test]
fn the_agent_dies_behind_every_event_and_goes_on() {
    let books = behind_each_event();
    for (at, (mut book, mut sent)) in books.into_iter().enumerate() {
        if at % 16 == 0 {
            go_to_the_end(&mut book, &mut sent);
            assert_sealed(&book);
        } else {
            go_on(&mut book, &mut sent, A_SCENE);
        }
        assert_eq!(book.warnings, [""; 0], "killed behind event {}", at + 1);
        assert_told_the_same(&book, &sent);
    }
}

#[test]
fn a_resumption_that_is_torn_is_resumed() {
    let mut torn = 0;
    for (book, sent) in behind_each_event() {
        for written in 1.. {
            let (mut book, mut sent) = (book.clone(), sent.clone());
            let end = go(&mut Mortal { book: &mut book, left: written }, &mut sent);
            if end != Err(Stopped::Book(Trouble::Killed("resume".to_owned()))) {
                break;
            }
            torn += 1;
            go_on(&mut book, &mut sent, A_RESUMPTION);
            assert_eq!(book.warnings, [""; 0], "torn behind its event {written}");
            assert_told_the_same(&book, &sent);
        }
    }
    assert!(torn > 300, "{torn}");
}

/// So many sessions share the steps: each dies at its part of them, and its log grows with every death.
const SHARES: usize = 4;

#[test]
fn sessions_that_die_again_and_again_come_to_their_end() {
    let labels = labels();
    let mut deaths = 0;
    for share in 0..SHARES {
        let (mut book, mut sent) = (MemoryBook::default(), Sent::default());
        let mut fates: HashSet<&String> = labels.iter().skip(share).step_by(SHARES).collect();
        deaths += fates.len();
        let mut after = |page: &Page<'_>, _: &MemoryBook| {
            let label = format!("{} {}", page.session, page.label);
            if fates.remove(&label) { Err(Trouble::Killed(label)) } else { Ok(()) }
        };
        loop {
            let end = go(&mut Watched { book: &mut book, after: &mut after }, &mut sent);
            if end == Ok(Ending::Over) {
                break;
            }
            assert!(matches!(end, Ok(Ending::Left) | Err(Stopped::Book(Trouble::Killed(_)))), "{end:?}");
        }
        assert_eq!(fates, HashSet::new(), "every step of the share was a death");
        assert_sealed(&book);
        assert_children_are_where_they_belong(&book);
        assert_told_the_same(&book, &sent);
    }
    // One event of the plain story is the resumption behind the shutdown.
    assert_eq!(deaths, behind_each_event().len() - 1);
}

#[test]
fn an_agent_does_not_go_on_with_a_log_of_another_story() {
    let mut book = MemoryBook::default();
    go_on(&mut book, &mut Sent::default(), 3);
    let id = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ".to_owned();
    let payload = r#"{"title":"Not mine"}"#.to_owned();
    let entries = [Entry { id, event_type: EventType::SessionRenamed, payload }];
    book.append(&Page { session: "s", expected: 3, label: "", entries: &entries }).unwrap();
    let stopped = go(&mut book, &mut Sent::default()).unwrap_err().to_string();
    assert_eq!(stopped, "seq 4 is session.renamed, the script has user.message-created of 'first' there");
}

/// Before the agent's own fifth append, another agent resumes the session and writes.
struct Meddled {
    book: MemoryBook,
    appends: usize,
}

impl Book for Meddled {
    fn read(&mut self, session: &str) -> Result<Vec<String>, Trouble> {
        self.book.read(session)
    }

    fn append(&mut self, page: &Page<'_>) -> Result<Vec<String>, Trouble> {
        self.appends += 1;
        if self.appends == 5 {
            go_on(&mut self.book, &mut Sent::default(), 3);
        }
        self.book.append(page)
    }

    fn tell(&mut self, session: &str, events: &[(EventType, String)]) -> Result<(), Trouble> {
        self.book.tell(session, events)
    }
}

#[test]
fn of_two_agents_of_one_session_one_is_refused() {
    let mut one = Meddled { book: MemoryBook::default(), appends: 0 };
    let stopped = go(&mut one, &mut Sent::default()).unwrap_err();
    assert_eq!(stopped, Stopped::Book(Trouble::Refused("the log ends at seq 7".to_owned())));
    go_to_the_end(&mut one.book, &mut Sent::default());
    assert_sealed(&one.book);
}
