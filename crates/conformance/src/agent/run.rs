//! The agent: reads its log, resumes, and goes on step by step.

use herdbook_events::catalog::{Event, EventType};
use herdbook_events::{Ulid, UlidGenerator};
use herdbook_story::canonical::NotCanonical;
use herdbook_story::{
    CannotResume, Checker, History, Line, Offer, Options, Refusal, Templates, Unreadable, canonical, resume,
};
use sha2::{Digest, Sha256};

use crate::agent::book::{Book, Entry, Page, Trouble};
use crate::agent::fill::Filling;
use crate::agent::place::{NotThisStory, Place};
use crate::agent::script::{Child, Script, Step};

/// How an agent ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The script is at its end.
    Over,
    /// The agent shut down in good order. Started again it goes on.
    Left,
}

/// Why an agent could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Its book.
    #[error(transparent)]
    Book(#[from] Trouble),
    /// A line of its log cannot be read.
    #[error(transparent)]
    Line(#[from] Unreadable),
    /// Its log gives no model history.
    #[error(transparent)]
    History(#[from] Refusal),
    /// Its log is another story.
    #[error(transparent)]
    Story(#[from] NotThisStory),
    /// Its session cannot be resumed.
    #[error(transparent)]
    Resume(#[from] CannotResume),
    /// A payload of its script is no JSON.
    #[error("{0}")]
    Script(String),
}

impl From<NotCanonical> for Stopped {
    fn from(error: NotCanonical) -> Stopped {
        Stopped::Script(error.to_string())
    }
}

/// Sees what a test compares.
pub trait Witness {
    /// The agent is about to ask the model. `messages` is the exact text of what the model will see: the history behind
    /// `seq`.
    fn asks(&mut self, session: &str, seq: u64, messages: &str);
}

/// Who plays the agent: its identity and its clock.
pub struct Keeper<'a> {
    /// Where its ids begin. Two agents of one session need different ones.
    pub seed: u64,
    /// Tells Unix milliseconds.
    pub now_ms: &'a dyn Fn() -> u64,
    /// Sees each request.
    pub witness: &'a mut dyn Witness,
}

/// Runs a session of a script until it is over, the agent leaves, or something stops it.
///
/// # Errors
/// Why it stopped. It can be run again.
pub fn run(
    script: &Script,
    session: &str,
    book: &mut dyn Book,
    keeper: &mut Keeper<'_>,
) -> Result<Ending, Stopped> {
    let mut agent = Agent::new(script, session, keeper.seed);
    for line in book.read(session)? {
        agent.take(&line)?;
    }
    if agent.place.next(script).is_none() {
        return Ok(Ending::Over);
    }
    if agent.place.last_seq > 0 {
        let events = resume(&agent.checker.standing(), &agent.offer())?;
        let mut texts = Vec::new();
        for event in events {
            let payload = event.payload().map_err(|error| Stopped::Script(error.to_string()))?;
            texts.push((event.event_type(), canonical(payload.get())?));
        }
        agent.write("resume", texts, book, keeper)?;
    }
    while let Some((scene, step)) = agent.place.next(script) {
        agent.perform(scene.name, step, book, keeper)?;
        if scene.leaves && agent.place.may_leave(script) {
            return Ok(Ending::Left);
        }
    }
    Ok(Ending::Over)
}

/// What an agent knows: nothing but folds over its log.
struct Agent<'s> {
    script: &'s Script,
    session: &'s str,
    place: Place,
    history: History,
    checker: Checker,
    ids: UlidGenerator,
}

impl<'s> Agent<'s> {
    fn new(script: &'s Script, session: &'s str, seed: u64) -> Agent<'s> {
        Agent {
            script,
            session,
            place: Place::new(script),
            history: History::new(Templates::default()),
            checker: Checker::new(Options::native()),
            ids: UlidGenerator::new(seed, None),
        }
    }

    /// What it goes on with. Its processes are stories, so none outlives it.
    fn offer(&self) -> Offer {
        let standing = self.checker.standing();
        Offer {
            version: "2.0.1".to_owned(),
            model: standing.model.unwrap_or_default(),
            tool_names: self.script.tools.iter().map(|name| (*name).to_owned()).collect(),
            gone: standing.processes.into_iter().map(|process| (process.process_id, 60_000)).collect(),
        }
    }

    /// Takes a line of the log into all folds: those that it reads at its start and those that it writes, alike.
    fn take(&mut self, text: &str) -> Result<(), Stopped> {
        let line = Line::read(text)?;
        let event = line.event()?;
        let closing = match event {
            // How long the batch is follows from what was open before it.
            Event::SessionResumed(_) => resume(&self.checker.standing(), &self.offer())?.len() - 1,
            _ => 0,
        };
        if let Some(id) = Ulid::parse(&line.id) {
            self.ids.start_above(id);
        }
        self.checker.push(text);
        self.history.apply(&line)?;
        self.place.take(self.script, (line.seq, &line.id), &event, closing)?;
        Ok(())
    }

    fn perform(
        &mut self,
        scene: &str,
        step: &Step,
        book: &mut dyn Book,
        keeper: &mut Keeper<'_>,
    ) -> Result<(), Stopped> {
        if let Some(Child { suffix, script }) = step.child {
            let script = script(suffix);
            // Where the child is over already, this finds it so and writes nothing.
            while run(&script, &format!("{}.{suffix}", self.session), book, keeper)? == Ending::Left {}
        }
        let mut history = String::new();
        if step.event_type == EventType::ModelRequestStarted {
            let messages = self.history.messages()?;
            keeper.witness.asks(self.session, self.place.last_seq, &messages);
            history = Sha256::digest(messages).iter().map(|byte| format!("{byte:02x}")).collect();
        }
        let standing = self.checker.standing();
        let (session, place, history) = (self.session, &self.place, history.as_str());
        let filling = Filling { session, scene, place, standing: &standing, history };
        let mut live = Vec::with_capacity(step.live.len());
        for (event_type, payload) in &step.live {
            live.push((*event_type, canonical(&filling.fill(payload).to_string())?));
        }
        let payload = canonical(&filling.fill(&step.payload).to_string())?;
        if !live.is_empty() {
            book.tell(session, &live)?;
        }
        let label = format!("{}/{}", scene, self.place.label());
        self.write(&label, vec![(step.event_type, payload)], book, keeper)
    }

    fn write(
        &mut self,
        label: &str,
        events: Vec<(EventType, String)>,
        book: &mut dyn Book,
        keeper: &Keeper<'_>,
    ) -> Result<(), Stopped> {
        let now_ms = (keeper.now_ms)();
        let entries: Vec<Entry> = events
            .into_iter()
            .map(|(event_type, payload)| Entry {
                id: self.ids.generate(now_ms).to_string(),
                event_type,
                payload,
            })
            .collect();
        let page = Page { session: self.session, expected: self.place.last_seq, label, entries: &entries };
        for line in book.append(&page)? {
            self.take(&line)?;
        }
        Ok(())
    }
}
