//! The lines of a log that comes in, as records of ours.

use std::borrow::Cow;
use std::path::Path;

use herdbook_events::catalog::Members;
use herdbook_log::{Damage, NewRecord};
use herdbook_story::reference::from_zero;
use herdbook_story::{Checker, Finding, Level, Options, Rule, canonical};

use crate::commands::log::file::FileLine;
use crate::commands::log::lines::{Lines, Seal};
use crate::error::Problem;
use crate::printer::{Line, Printer, Style};
use crate::text::counted;

/// How many breaches are told one by one.
const SHOWN: u64 = 20;

/// Reads the lines of a file and makes records of them.
pub struct Incoming {
    lines: Lines,
    seal: Seal,
    /// Nothing before the first line.
    is_from_zero: Option<bool>,
}

/// What a whole file is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Whose log its first line says it is.
    pub session_id: String,
    /// How many lines it has.
    pub lines: u64,
    /// It begins at seq 0.
    pub is_from_zero: bool,
}

/// The rules that a line must keep to become one of ours (overview D8).
const MUST: [Rule; 8] = [Rule::E1, Rule::E2, Rule::E3, Rule::E4, Rule::E5, Rule::E6, Rule::E7, Rule::E8];

impl Incoming {
    /// Opens a file; it is called by that name in messages.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path, name: &str) -> Result<Incoming, Problem> {
        let lines = Lines::of_file(path)?.0;
        Ok(Incoming { lines, seal: Seal::of_file(name), is_from_zero: None })
    }

    /// Returns the next record. Its seq is its place, from 1.
    ///
    /// # Errors
    /// The file cannot be read, or a line is damaged or cannot be kept.
    pub fn next(&mut self) -> Result<Option<NewRecord>, Problem> {
        let next = next_text(&mut self.lines, &mut self.seal, &mut self.is_from_zero)?;
        next.map(|(number, text)| record(&text).map_err(|why| Problem::LogLine { number, why })).transpose()
    }

    /// Looks at the whole file, and tells the rules that it breaks.
    ///
    /// # Errors
    /// As [`Incoming::next`]; the file is empty, or breaks a rule that it must keep.
    pub fn survey(mut self, rules: Options, printer: &mut Printer) -> Result<Survey, Problem> {
        let mut checker = Checker::new(rules);
        let mut survey = Survey::default();
        let mut told = Told { printer, errors: 0, others: 0 };
        while let Some((number, text)) = next_text(&mut self.lines, &mut self.seal, &mut self.is_from_zero)? {
            let findings = checker.push(&text);
            let must = findings.iter().filter(|finding| is_must(finding)).count();
            findings.iter().for_each(|finding| told.finding(number, finding));
            if must == 0 {
                record(&text).map_err(|why| Problem::LogLine { number, why })?;
            }
            if number == 1 {
                let members = Members::read(&text).ok();
                survey.session_id =
                    members.and_then(|members| members.read_as("sessionId")).unwrap_or_default();
            }
            survey.lines = number;
        }
        if survey.lines == 0 {
            return Err(Problem::Log("there is no event in the file".to_owned()));
        }
        survey.is_from_zero = self.is_from_zero == Some(true);
        let open = checker.finish();
        open.iter().for_each(|finding| told.finding(survey.lines, finding));
        refuse(self.seal.finish())?;
        told.finish(survey.lines)?;
        Ok(survey)
    }
}

fn is_must(finding: &Finding) -> bool {
    finding.level == Level::Error && MUST.contains(&finding.rule)
}

struct Told<'a> {
    printer: &'a mut Printer,
    errors: u64,
    others: u64,
}

impl Told<'_> {
    fn finding(&mut self, number: u64, finding: &Finding) {
        let (count, word, style) = if is_must(finding) {
            (&mut self.errors, "error:", Style::Alarm)
        } else {
            (&mut self.others, "warning:", Style::Name)
        };
        *count += 1;
        if *count <= SHOWN {
            let Finding { rule, seq, field, message, .. } = finding;
            let colon = if field.is_empty() { "" } else { ": " };
            let words = format!(" line {number}, seq {seq}, {}: {field}{colon}{message}", rule.as_str());
            self.printer.say(&Line::new().styled(word, style).text(&words, Style::Plain));
        }
    }

    fn finish(self, lines: u64) -> Result<(), Problem> {
        if self.others > SHOWN {
            let words = format!(" {} more; `herdbook log check` tells all", self.others - SHOWN);
            self.printer.say(&Line::new().styled("warning:", Style::Name).text(&words, Style::Plain));
        }
        if self.errors == 0 {
            return Ok(());
        }
        let lines = counted(lines, "line");
        Err(Problem::Log(format!("nothing was imported: {} in {lines}", counted(self.errors, "error"))))
    }
}

/// Returns the next line as one of a log that begins at 1, with its number.
fn next_text<'a>(
    lines: &'a mut Lines,
    seal: &mut Seal,
    is_from_zero: &mut Option<bool>,
) -> Result<Option<(u64, Cow<'a, str>)>, Problem> {
    let Some(FileLine { number, bytes, .. }) = lines.next()? else { return Ok(None) };
    refuse(seal.push(bytes))?;
    let wrong = |why: String| Problem::LogLine { number, why };
    let text = std::str::from_utf8(bytes).map_err(|error| wrong(format!("no UTF-8: {error}")))?;
    let is_from_zero = *is_from_zero.get_or_insert_with(|| seq_of(text) == Some(0));
    if is_from_zero {
        let shifted = from_zero(text).map_err(|error| wrong(error.to_string()))?;
        return Ok(Some((number, shifted.into())));
    }
    Ok(Some((number, text.into())))
}

fn refuse(found: Vec<Damage>) -> Result<(), Problem> {
    found.first().map_or(Ok(()), |damage| Err(Problem::Log(damage.to_string())))
}

fn seq_of(text: &str) -> Option<u64> {
    Members::read(text).ok()?.read_as("seq")
}

/// Makes a record of a line; says why it cannot be one.
fn record(text: &str) -> Result<NewRecord, String> {
    let text = herdbook_events::replace_lone_surrogates(text);
    let members = Members::read(&text).map_err(|error| format!("is no JSON object: {error}"))?;
    let missing = |member: &str| format!("'{member}' is missing or has another type");
    let payload = members.get("payload").ok_or_else(|| missing("payload"))?;
    if members.get("src").is_some() {
        return Err("'src' cannot be kept: leave it out".to_owned());
    }
    Ok(NewRecord {
        id: members.read_as("id").ok_or_else(|| missing("id"))?,
        ts_ms: members.read_as("ts").ok_or_else(|| missing("ts"))?,
        kind: members.read_as("type").ok_or_else(|| missing("type"))?,
        payload: canonical(payload.get()).map_err(|error| format!("'payload' is {error}"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_id_time_and_the_canonical_payload() {
        let line = r#"{"seq":1, "id":"A","ts":5,"type":"t","payload":{ "b":1.0,"a":"\u0041" }}"#;
        let kept = record(line).unwrap();
        assert_eq!((kept.id.as_str(), kept.ts_ms, kept.kind.as_str()), ("A", 5, "t"));
        assert_eq!(kept.payload, r#"{"a":"A","b":1}"#);
        for (line, why) in [
            (r#"{"id":"A","ts":1.5,"type":"t","payload":{}}"#, "'ts' is missing or has another type"),
            (r#"{"id":"A","ts":-1,"type":"t","payload":{}}"#, "'ts' is missing or has another type"),
            (r#"{"id":"A","ts":1,"type":"t","payload":{},"src":{}}"#, "'src' cannot be kept: leave it out"),
            (r#"{"id":"A","ts":1,"type":"t"}"#, "'payload' is missing or has another type"),
        ] {
            assert_eq!(record(line), Err(why.to_owned()));
        }
    }
}
