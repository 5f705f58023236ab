//! How many events of each type there are, and whether their envelopes are right.

use std::borrow::Cow;
use std::collections::BTreeMap;

use herdbook_events::Ulid;
use herdbook_events::catalog::{EventType, Members};
use herdbook_log::{Damage, Head, LINE_VERSION};
use herdbook_story::Numbering;

use super::Args;
use crate::commands::Context;
use crate::commands::log::file::FileLine;
use crate::commands::log::target::Target;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};

/// Counts.
///
/// # Errors
/// The file cannot be read, or at least one line is wrong.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let (mut file, mut seals) = Target::find(&args.target, &context.env)?.open()?;
    let (is_news, mut count) = (seals.is_news(), Count::new());
    let (mut lines, mut bad) = (0, 0);
    while let Some(FileLine { number, bytes, is_ended }) = file.next()? {
        lines = number;
        bad += damage(context.printer, seals.push(bytes), is_news);
        if let Err(why) = count.take(bytes, is_ended, seals.take_head()) {
            bad += 1;
            context.printer.complain(&format!("line {number}: {why}"));
        }
    }
    bad += damage(context.printer, seals.finish(), is_news);
    for (event_type, count) in count.by_name() {
        let event_type = Line::new().text(&event_type, Style::Plain).own("\t");
        context.printer.line(&event_type.text(&count.to_string(), Style::Plain))?;
    }
    if bad > 0 { Err(Problem::BadLog { bad, lines }) } else { Ok(Exit::Ok) }
}

/// Names what the checksums tell and the envelopes do not, and returns how much it is.
fn damage(printer: &mut Printer, found: Vec<Damage>, is_news: fn(&Damage) -> bool) -> u64 {
    let new =
        found.iter().filter(|damage| is_news(damage)).inspect(|damage| printer.complain(&damage.to_string()));
    new.count() as u64
}

/// What was counted.
struct Count {
    seqs: Numbering,
    /// The session id of the first line, as JSON text.
    session: Vec<u8>,
    /// How many there are of each type of the catalog, in its order.
    known: [u64; EventType::DURABLE.len()],
    /// How many there are of each other type.
    others: BTreeMap<String, u64>,
}

impl Count {
    fn new() -> Count {
        let known = [0; EventType::DURABLE.len()];
        Count { seqs: Numbering::default(), session: Vec::new(), known, others: BTreeMap::new() }
    }

    /// The types that were there, in the order of their names, and how many of each.
    fn by_name(&self) -> BTreeMap<String, u64> {
        let known = EventType::DURABLE.iter().zip(self.known).filter(|(_, count)| *count > 0);
        let known = known.map(|(event_type, count)| (event_type.as_str().to_owned(), count));
        known.chain(self.others.clone()).collect()
    }

    /// Takes one line, and says what is wrong with its envelope. One without an end may be cut, and is read whole. Its head
    /// may have been read already.
    fn take(&mut self, line: &[u8], is_ended: bool, head: Option<Head>) -> Result<(), String> {
        let is_plain = |head: &Head| {
            is_whole(&line[head.payload..]) && memchr::memchr(b'\\', &line[head.session.clone()]).is_none()
        };
        let head = head.or_else(|| Head::read(line));
        let Some(head) = head.filter(|head| is_ended && is_plain(head)) else {
            let envelope = Envelope::read_slowly(line).inspect_err(|_| self.seqs.skip())?;
            return self.look_at(&envelope);
        };
        let name = |range| Cow::from(std::str::from_utf8(&line[range]).unwrap_or_default());
        self.look_at(&Envelope {
            version: head.version,
            id: name(head.id),
            session: Cow::from(&line[head.session]),
            seq: head.seq,
            is_dated: head.ts_ms > 0,
            event_type: name(head.kind),
        })
    }

    fn look_at(&mut self, envelope: &Envelope<'_>) -> Result<(), String> {
        let Envelope { version, id, session, seq, is_dated, event_type } = envelope;
        let durable = EventType::parse(event_type).and_then(|known| self.known.get_mut(known as usize));
        let is_durable = durable.is_some();
        match durable {
            Some(count) => *count += 1,
            None => *self.others.entry(event_type.to_string()).or_default() += 1,
        }
        let numbered = self.seqs.take(*seq);
        if self.session.is_empty() {
            self.session = session.to_vec();
        }
        if *version != LINE_VERSION {
            return Err(format!("'v' is {version}, this build reads {LINE_VERSION}"));
        }
        if Ulid::parse(id).is_none() {
            return Err("'id' is no ULID".to_owned());
        }
        if self.session != **session {
            return Err("'sessionId' is another one than that of the first line".to_owned());
        }
        numbered.map_err(|due| format!("'seq' is {seq}, must be {due}"))?;
        if !is_dated {
            return Err("'ts' must be a positive whole number, Unix milliseconds".to_owned());
        }
        if !is_durable {
            return Err(format!("type '{event_type}' is not in the catalog"));
        }
        Ok(())
    }
}

/// What is looked at of a line.
struct Envelope<'a> {
    version: u64,
    id: Cow<'a, str>,
    /// As JSON text.
    session: Cow<'a, [u8]>,
    seq: u64,
    is_dated: bool,
    event_type: Cow<'a, str>,
}

impl Envelope<'_> {
    /// Reads a line that is spelled in another way than ours.
    fn read_slowly(line: &[u8]) -> Result<Envelope<'static>, String> {
        let text = std::str::from_utf8(line).map_err(|error| format!("is no UTF-8: {error}"))?;
        let text = herdbook_events::replace_lone_surrogates(text);
        let members = Members::read(&text).map_err(|error| format!("is no JSON object: {error}"))?;
        if let Some(repeated) = members.repeated().next() {
            return Err(format!("'{repeated}' stands there twice"));
        }
        let missing = |member: &str| format!("'{member}' is missing or has another type");
        let text = |member| members.read_as::<String>(member).ok_or_else(|| missing(member));
        let number = |member| members.read_as::<u64>(member).ok_or_else(|| missing(member));
        let session = text("sessionId")?;
        let envelope = Envelope {
            version: number("v")?,
            id: text("id")?.into(),
            session: serde_json::to_vec(&session).map_err(|error| error.to_string())?.into(),
            seq: number("seq")?,
            is_dated: members.read_as::<u64>("ts").is_some_and(|ts| ts > 0),
            event_type: text("type")?.into(),
        };
        if !members.get("payload").is_some_and(|payload| payload.get().starts_with('{')) {
            return Err("'payload' is missing or no object".to_owned());
        }
        Ok(envelope)
    }
}

/// True for the rest of a line, from its payload on, that has the look of an object and the end of another. What is
/// between them is for `log check`.
fn is_whole(rest: &[u8]) -> bool {
    rest.starts_with(b"{") && rest.ends_with(b"}") && rest.len() > 2
}
