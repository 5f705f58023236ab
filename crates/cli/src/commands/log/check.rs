//! `herdbook log check`: a log held against the rules of the catalog.

use std::path::PathBuf;

use clap::ValueEnum;
use herdbook_log::{Damage, DamageKind, Head, LINE_VERSION};
use herdbook_story::{Checker, Finding, Level, Options, Rule};
use serde::Serialize;

use super::file::FileLine;
use super::target::Target;
use crate::commands::Context;
use crate::error::Problem;
use crate::exit::Exit;
use crate::printer::{Line, Printer, Style};
use crate::text::counted;

/// Hold a log against the rules of the event catalog, and its checksums against its lines
///
/// The exit code is 1 when there is an error; warnings alone are 0. A log without checksums is checked as unsealed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A session's key, or a file
    target: PathBuf,
    /// Who wrote it
    #[arg(long, default_value = "native")]
    profile: Profile,
    /// It is sealed: nothing may be open at its end
    #[arg(long)]
    strict: bool,
    /// One JSON object a finding
    #[arg(long)]
    json: bool,
}

/// Who wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// A producer of session events
    Native,
    /// Herdbook, of what a host told: rules about steps that hosts do not tell only warn
    Imported,
}

/// One finding, for scripts: the members of a finding of the checker.
#[derive(Serialize)]
struct Shown<'a> {
    rule: &'a str,
    level: Level,
    seq: u64,
    field: &'a str,
    message: &'a str,
}

/// What stands in `rule` for a checksum; the catalog has no rule for it.
const CRC: &str = "crc";

/// Prints what it finds.
///
/// # Errors
/// The file cannot be read, or stdout could not be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let by_profile = match args.profile {
        Profile::Native => Options::native(),
        Profile::Imported => Options::imported(),
    };
    let mut checker = Checker::new(Options { strict: args.strict, ..by_profile });
    let (mut file, mut seals) = Target::find(&args.target, &context.env)?.open()?;
    let is_news = seals.is_news();
    let mut report = Report { printer: context.printer, json: args.json, is_news, errors: 0, warnings: 0 };
    let (mut lines, mut last_seq) = (0, 0u64);
    while let Some(FileLine { number, bytes, .. }) = file.next()? {
        lines = number;
        report.damage(seals.push(bytes))?;
        last_seq = Head::read(bytes).map_or(last_seq.saturating_add(1), |head| head.seq);
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = std::str::from_utf8(bytes) {
            let message = format!("the line is no UTF-8: {error}");
            let (rule, level, field) = (Rule::E8, Level::Error, String::new());
            report.finding(Some(number), &Finding { rule, level, seq: last_seq, field, message })?;
        }
        for finding in checker.push(&text) {
            report.finding(Some(number), &finding)?;
        }
    }
    let is_sealed = seals.is_sealed();
    report.damage(seals.finish())?;
    for finding in checker.finish() {
        report.finding(None, &finding)?;
    }
    let Report { errors, warnings, .. } = report;
    if !args.json {
        let words = format!(
            "{}, {}, {} profile: {}, {}",
            counted(lines, "line"),
            if is_sealed { "with checksums" } else { "unsealed" },
            if args.profile == Profile::Native { "native" } else { "imported" },
            counted(errors, "error"),
            counted(warnings, "warning"),
        );
        let style = if errors > 0 { Style::Alarm } else { Style::Plain };
        context.printer.line(&Line::new().text(&words, style))?;
    }
    Ok(if errors > 0 { Exit::Failed } else { Exit::Ok })
}

struct Report<'a> {
    printer: &'a mut Printer,
    json: bool,
    is_news: fn(&Damage) -> bool,
    errors: u64,
    warnings: u64,
}

impl Report<'_> {
    fn damage(&mut self, found: Vec<Damage>) -> Result<(), Problem> {
        // The checker names the others by their rules.
        for damage in found.into_iter().filter(self.is_news) {
            let message = match damage.kind {
                DamageKind::NewerVersion(version) => {
                    let message = format!("is {version}, this build reads up to {LINE_VERSION}");
                    let (level, seq) = (Level::Error, damage.seq);
                    let shown = Shown { rule: Rule::E1.as_str(), level, seq, field: "v", message: &message };
                    self.show(Some(damage.line), &shown)?;
                    continue;
                }
                DamageKind::OutOfOrder => "stands on a line that was read before: it is repeated".to_owned(),
                DamageKind::TooLong => "cannot be read: the line is longer than a line may be".to_owned(),
                DamageKind::Unreadable(reason) => format!("cannot be read: {reason}"),
                DamageKind::Malformed => "is missing or does not stand at the end of the line".to_owned(),
                DamageKind::WrongCrc => "does not fit: this line, or one before it, was changed".to_owned(),
                DamageKind::Lost { to } => {
                    format!("is missing: the index says that the lines up to seq {to} were written")
                }
                _ => "cannot be checked: the lines around it are missing or damaged".to_owned(),
            };
            let shown =
                Shown { rule: CRC, level: Level::Error, seq: damage.seq, field: CRC, message: &message };
            self.show(Some(damage.line), &shown)?;
        }
        Ok(())
    }

    fn finding(&mut self, line: Option<u64>, finding: &Finding) -> Result<(), Problem> {
        let Finding { rule, level, seq, field, message } = finding;
        self.show(line, &Shown { rule: rule.as_str(), level: *level, seq: *seq, field, message })
    }

    fn show(&mut self, line: Option<u64>, shown: &Shown<'_>) -> Result<(), Problem> {
        let (level, style) = match shown.level {
            Level::Error => ("error", Style::Alarm),
            Level::Warn => ("warning", Style::Name),
        };
        match shown.level {
            Level::Error => self.errors += 1,
            Level::Warn => self.warnings += 1,
        }
        if self.json {
            return Ok(self.printer.json(shown)?);
        }
        let place = line.map_or("at the end".to_owned(), |line| format!("line {line}"));
        let colon = if shown.field.is_empty() { "" } else { ": " };
        let words = format!(" {}: {}{colon}{}", shown.rule, shown.field, shown.message);
        let row = Line::new().text(&format!("{place}, seq {}: ", shown.seq), Style::Plain);
        self.printer.line(&row.styled(level, style).text(&words, Style::Plain))?;
        Ok(())
    }
}
