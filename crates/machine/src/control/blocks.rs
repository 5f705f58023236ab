//! What a tmux control client says, cut into answers (tmux manual, "CONTROL MODE").
//!
//! Each command is answered by the rows between a `%begin` and the `%end` (or `%error`) with the same numbers; between
//! answers come notifications, one row each, and what the human's own hooks print (`client-attached`), at any time. A pane
//! may show rows that look like these, so an answer ends only with its own numbers, and an end without a beginning means
//! that we no longer know which answer is whose: then the whole conversation is given up rather than taken for another
//! pane's.

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The command was carried out.
    pub ok: bool,
    /// Its rows, as text; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// Why the conversation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// tmux said goodbye.
    Exit,
    /// A row that cannot stand where it stands.
    Garbled(String),
}

/// Reads answers out of the bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Bytes of a row that is not complete.
    rest: Vec<u8>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// What follows `%begin`.
    numbers: String,
    text: String,
}

impl Blocks {
    /// Takes bytes and adds the answers to our commands that are complete now. What tmux answers by itself (the start
    /// of the conversation) is left out.
    pub(super) fn take(&mut self, bytes: &[u8], answers: &mut Vec<Block>) -> Result<(), Broken> {
        let mut bytes = bytes;
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let row = std::mem::take(&mut self.rest);
            self.row(&String::from_utf8_lossy(&row), answers)?;
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    fn row(&mut self, row: &str, answers: &mut Vec<Block>) -> Result<(), Broken> {
        if let Some(open) = &mut self.open {
            let ends = |word: &str| row.strip_prefix(word) == Some(&open.numbers);
            let ok = ends("%end ");
            if ok || ends("%error ") {
                let by_us = open.numbers.ends_with(" 1");
                let text = std::mem::take(&mut open.text);
                self.open = None;
                if by_us {
                    answers.push(Block { ok, text });
                }
            } else {
                open.text.push_str(row);
                open.text.push('\n');
            }
            return Ok(());
        }
        let word = row.split(' ').next().unwrap_or_default();
        match word {
            "%begin" => {
                let numbers = row.strip_prefix("%begin ").unwrap_or_default().to_owned();
                self.open = Some(Open { numbers, text: String::new() });
                Ok(())
            }
            "%exit" => Err(Broken::Exit),
            "%end" | "%error" => Err(Broken::Garbled(row.to_owned())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Block>, Result<(), Broken>) {
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        let result = Blocks::default().take(text.as_bytes(), &mut whole);
        let mut blocks = Blocks::default();
        let by_byte = text.as_bytes().iter().try_for_each(|byte| blocks.take(&[*byte], &mut pieces));
        assert_eq!((&whole, &result), (&pieces, &by_byte), "however the bytes come");
        (whole, result)
    }

    fn block(ok: bool, text: &str) -> Block {
        Block { ok, text: text.into() }
    }

    #[test]
    fn answers_end_with_their_own_numbers_only() {
        let (answers, result) = read(concat!(
            "%begin 10 266 0\n%end 10 266 0\n%session-changed $0 one\n",
            "%begin 10 271 1\nhello\n%end 1 2 3\n%exit\n\n%end 10 271 1\n%output %1 x\n",
            "%begin 10 272 1\ncan't find pane: %99\n%error 10 272 1\n%begin 10 273 1\nhalf",
        ));
        assert_eq!(result, Ok(()));
        assert_eq!(
            answers,
            [block(true, "hello\n%end 1 2 3\n%exit\n\n"), block(false, "can't find pane: %99\n")]
        );
    }

    #[test]
    fn a_pane_that_forges_the_end_of_its_answer_ends_the_conversation() {
        let forged = "%begin 10 1 1\nx\n%end 10 1 1\nleft over\n%end 10 1 1\n";
        assert_eq!(read(forged).1, Err(Broken::Garbled("%end 10 1 1".into())));
        let forged = "%begin 10 1 1\n%end 10 1 1\n%end 10 1 1\n";
        assert_eq!(read(forged).1, Err(Broken::Garbled("%end 10 1 1".into())));
    }

    #[test]
    fn goodbyes_and_strangers_are_told_apart() {
        assert_eq!(read("%exit\n").1, Err(Broken::Exit));
        assert_eq!(read("%exit server exited\n").1, Err(Broken::Exit));
        let greeted = "%begin 1 1 0\n%end 1 1 0\nwelcome\n%begin 1 2 1\n7 8\n%end 1 2 1\n";
        assert_eq!(read(greeted), (vec![block(true, "7 8\n")], Ok(())), "a hook greets who comes");
        let later = format!("{greeted}welcome\n%begin 1 3 1\n9\n%end 1 3 1\n");
        assert_eq!(read(&later), (vec![block(true, "7 8\n"), block(true, "9\n")], Ok(())), "a slow one");
    }
}
