//! The scripted agent in memory: it dies behind every event, also while it resumes, and its log stays in order.

use std::collections::{BTreeMap, HashSet};

use herdbook_conformance::agent::tale::tale;
use herdbook_conformance::agent::{
    Book, Ending, Keeper, MemoryBook, Mortal, Page, Stopped, Trouble, Witness, run,
};
use herdbook_events::catalog::EventType;
use herdbook_story::{Checker, History, Line, Options, Templates};

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

/// More than a resumption and the longest scene have, together.
const A_SCENE: usize = 32;

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
            go_on(&mut book, &mut sent, A_SCENE);
            assert_eq!(book.warnings, [""; 0], "torn behind its event {written}");
            assert_told_the_same(&book, &sent);
        }
    }
    println!("{torn} torn");
    assert!(torn > 300, "{torn}");
}

#[test]
fn one_session_dies_at_every_event_and_comes_to_its_end() {
    let (mut book, mut sent, mut died) = (MemoryBook::default(), Sent::default(), HashSet::new());
    let mut after = |page: &Page<'_>, _: &MemoryBook| {
        let label = format!("{} {}", page.session, page.label);
        let dies = page.label != "resume" && died.insert(label.clone());
        if dies { Err(Trouble::Killed(label)) } else { Ok(()) }
    };
    let mut deaths = 0;
    loop {
        let end = go(&mut Watched { book: &mut book, after: &mut after }, &mut sent);
        if end == Ok(Ending::Over) {
            break;
        } else if end != Ok(Ending::Left) {
            assert!(matches!(end, Err(Stopped::Book(Trouble::Killed(_)))), "{end:?}");
            deaths += 1;
        }
    }
    // One event of the plain story is the resumption behind the shutdown.
    assert_eq!(deaths, behind_each_event().len() - 1, "every event killed once");
    assert_sealed(&book);
    println!("{deaths} deaths, {} lines", book.lines("s").len());
    assert_told_the_same(&book, &sent);
}
