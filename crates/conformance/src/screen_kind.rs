//! The `screen` kind: samples of a pane in, what the pane eye says of it out.

use std::path::Path;

use herdbook_hosts::screen::{Confidence, Manifest, Sample, Verdict, Watch, manifest};
use serde_json::{Value, json};

use crate::case::{expectations, read_input};
use crate::expect::Expectation;
use crate::node::{Node, Problem};
use crate::report::Line;

/// A check of the pane eye.
#[derive(Clone, Debug)]
pub struct ScreenCheck {
    host: String,
    samples: Vec<Taken>,
    previous: Option<Verdict>,
    expect: Vec<Expectation>,
}

/// A sample as the case gives it.
#[derive(Clone, Debug)]
struct Taken {
    at_ms: u64,
    text: String,
    size: Option<(u32, u32)>,
    title: String,
    in_mode: bool,
    resized_ms_ago: Option<u64>,
    cursor: Option<(u32, u32)>,
}

impl ScreenCheck {
    /// Reads the samples.
    ///
    /// # Errors
    /// A field is missing or has another shape, a file is not there, the host has no manifest, or times go backwards.
    pub fn read(node: &Node<'_>, dir: &Path) -> Result<ScreenCheck, Problem> {
        let host = node.member("host")?;
        if manifest(host.text()?).is_none() {
            return Err(host.problem(format_args!("'{}' has no screen manifest", host.text()?)));
        }
        let previous = match node.maybe("previous")? {
            None => None,
            Some(word) => Some(
                Verdict::parse(word.text()?)
                    .ok_or_else(|| word.problem("is none of busy, ready, dialog, menu, unknown"))?,
            ),
        };
        let mut samples: Vec<Taken> = Vec::new();
        for sample in node.member("samples")?.list()? {
            let taken = Taken::read(&sample, dir)?;
            if samples.last().is_some_and(|last| last.at_ms > taken.at_ms) {
                return Err(sample.problem("time goes backwards"));
            }
            samples.push(taken);
        }
        let expect = expectations(node)?.collect();
        Ok(ScreenCheck { host: host.text()?.to_owned(), samples, previous, expect })
    }

    /// Looks at the samples in order; one line for each expectation about what is known at the end.
    pub fn run(&self, case: &str, check: &str) -> Vec<Line> {
        let Some(manifest) = manifest(&self.host) else {
            return vec![Line::broken(case, check, format!("no screen manifest for '{}'", self.host))];
        };
        let observed = self.observe(manifest);
        let test = |one: &Expectation| {
            let (found, ok) = one.test(&observed);
            Line::tested(case, format!("{check} {}", one.path), one.written.clone(), found, ok)
        };
        self.expect.iter().map(test).collect()
    }

    /// Returns the path and the expected value of each expectation.
    pub fn expectations(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.expect.iter().map(|one| (one.path.as_str(), &one.written))
    }

    fn observe(&self, manifest: &Manifest) -> Value {
        let mut watch = self.previous.map_or_else(Watch::default, Watch::after);
        for taken in &self.samples {
            watch.see(manifest, &taken.sample());
        }
        let judged = watch.judgement();
        let confidence = match judged.reading.confidence {
            Confidence::High => "high",
            Confidence::Low => "low",
        };
        json!({
            "verdict": judged.reading.verdict.as_str(),
            "dialog": judged.dialog().map(|kind| kind.as_str()),
            "confidence": confidence,
            "transitions": judged.transitions,
            "human_there": judged.reading.human_there,
            "announce": judged.announce,
            "rule": judged.reading.rule,
        })
    }
}

impl Taken {
    fn read(node: &Node<'_>, dir: &Path) -> Result<Taken, Problem> {
        let text = match node.maybe_text("text")? {
            Some(text) => text,
            None => read_input(node, dir, node.member("file")?.text()?)?,
        };
        Ok(Taken {
            at_ms: node.member("at_ms")?.number()?,
            text,
            size: pair(node, "size")?,
            title: node.maybe_text("title")?.unwrap_or_default(),
            in_mode: match node.maybe("in_mode")? {
                None => false,
                // tmux's own word is a number.
                Some(mode) => mode.flag().or_else(|_| mode.number().map(|mode| mode != 0))?,
            },
            resized_ms_ago: node.maybe_number("resized_ms_ago")?,
            cursor: pair(node, "cursor")?,
        })
    }

    fn sample(&self) -> Sample<'_> {
        Sample {
            at_ms: self.at_ms,
            text: &self.text,
            size: self.size,
            title: &self.title,
            in_mode: self.in_mode,
            resized_ms_ago: self.resized_ms_ago,
            cursor: self.cursor,
        }
    }
}

fn pair(node: &Node<'_>, key: &str) -> Result<Option<(u32, u32)>, Problem> {
    let Some(pair) = node.maybe(key)? else { return Ok(None) };
    let wrong = || pair.problem("is not two small numbers");
    let [first, second] = &pair.list()?[..] else { return Err(wrong()) };
    let small = |node: &Node<'_>| node.number().and_then(|number| u32::try_from(number).map_err(|_| wrong()));
    Ok(Some((small(first)?, small(second)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(check: &Value) -> Result<ScreenCheck, Problem> {
        ScreenCheck::read(&Node::root(check, "case.json"), Path::new("/nonexistent"))
    }

    #[test]
    fn what_is_seen_is_put_beside_what_is_expected() {
        let text = "● Done.\n\n────────────\n❯ \n────────────\n  ? for shortcuts\n";
        let check = read(&json!({
            "host": "claude",
            "previous": "busy",
            "samples": [{"at_ms": 0, "text": text, "in_mode": 0}, {"at_ms": 2500, "text": text}],
            "expect": {"verdict": "ready", "transitions": 1, "announce": false},
        }))
        .unwrap();
        let lines = check.run("F-000", "plain");
        let told: Vec<(&str, Option<bool>)> =
            lines.iter().map(|line| (line.check.as_str(), line.ok)).collect();
        assert_eq!(
            told,
            [
                ("plain announce", Some(false)),
                ("plain transitions", Some(true)),
                ("plain verdict", Some(true))
            ]
        );
    }

    #[test]
    fn faults_name_the_field() {
        let fault = |check: &Value| read(check).unwrap_err();
        assert!(fault(&json!({"host": "amp"})).ends_with("'amp' has no screen manifest"));
        let check = json!({"host": "claude", "previous": "asleep", "samples": []});
        assert!(fault(&check).ends_with("is none of busy, ready, dialog, menu, unknown"));
        let check = json!({"host": "claude", "samples": [{"at_ms": 0, "text": "", "size": [1]}]});
        assert!(fault(&check).ends_with("is not two small numbers"), "{}", fault(&check));
    }
}
