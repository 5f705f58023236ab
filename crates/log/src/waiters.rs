//! Appends that wait to be written or synced, and the answers that are ready for their callers.

use std::collections::VecDeque;

use crate::queue::Reply;
use crate::refused::AppendError;
use crate::store::{Ack, Durability};

struct Waiter {
    first_seq: u64,
    last_seq: u64,
    reply: Reply,
}

/// Who waits, in the order of the seqs, and what is to be told to whom.
#[derive(Default)]
pub(crate) struct Waiters {
    written: VecDeque<Waiter>,
    synced: VecDeque<Waiter>,
    answers: Vec<(Reply, Result<Ack, AppendError>)>,
}

impl Waiters {
    /// An append with these seqs waits until it is as durable as is said.
    pub(crate) fn push(&mut self, durability: Durability, first_seq: u64, last_seq: u64, reply: Reply) {
        let waiters = match durability {
            Durability::Written => &mut self.written,
            Durability::Synced => &mut self.synced,
        };
        waiters.push_back(Waiter { first_seq, last_seq, reply });
    }

    /// True where someone waits for a sync of what is written up to a seq.
    pub(crate) fn want_sync(&self, written_seq: u64) -> bool {
        self.synced.front().is_some_and(|waiter| waiter.last_seq <= written_seq)
    }

    /// Answers the appends that are written, or synced, up to these seqs.
    pub(crate) fn answer(&mut self, written_seq: u64, synced_seq: u64) {
        let queues = [
            (&mut self.written, written_seq, Durability::Written),
            (&mut self.synced, synced_seq, Durability::Synced),
        ];
        for (waiters, reached, durability) in queues {
            while waiters.front().is_some_and(|waiter| waiter.last_seq <= reached) {
                if let Some(Waiter { first_seq, last_seq, reply }) = waiters.pop_front() {
                    self.answers.push((reply, Ok(Ack { first_seq, last_seq, durability })));
                }
            }
        }
    }

    /// Refuses the appends of which anything comes after a seq.
    pub(crate) fn refuse(&mut self, after_seq: u64, refusal: &AppendError) {
        for waiters in [&mut self.written, &mut self.synced] {
            let count = waiters.iter().take_while(|waiter| waiter.last_seq <= after_seq).count();
            let refused = waiters.split_off(count);
            self.answers.extend(refused.into_iter().map(|waiter| (waiter.reply, Err(refusal.clone()))));
        }
    }

    /// Refuses an append that does not come to wait.
    pub(crate) fn refuse_one(&mut self, reply: Reply, refusal: AppendError) {
        self.answers.push((reply, Err(refusal)));
    }

    /// Tells the answers to the callers.
    pub(crate) fn send(&mut self) {
        for (reply, answer) in self.answers.drain(..) {
            reply.send(answer);
        }
    }
}
