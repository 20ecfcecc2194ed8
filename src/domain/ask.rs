//! What a batch reads and does not lock: beside the locked rows, or after them.

use std::collections::{BTreeMap, BTreeSet};

use super::command::KeyHash;
use super::ids::{EffectId, HandoffId, ThreadId, TurnId};
use super::limits;

/// What R must load for a command: rows that the batch reads and does not lock. Told after L, so
/// that ranges can follow the marks of locked heads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// Agents, by id.
    pub agents: BTreeSet<String>,
    /// Agents, by display name.
    pub names: BTreeSet<String>,
    /// Threads: the cold rows.
    pub threads: BTreeSet<ThreadId>,
    /// Pair windows: recipient, sender.
    pub pairs: BTreeSet<(ThreadId, ThreadId)>,
    /// Mail of a thread: above which number, and how many at most.
    pub mail: BTreeMap<ThreadId, MailAsk>,
    /// Threads whose unread waking numbers are wanted.
    pub waking: BTreeSet<ThreadId>,
    /// Threads whose unread mail of other threads is wanted, without what it says.
    pub envelopes: BTreeSet<ThreadId>,
    /// Threads whose unfinished handoffs are wanted.
    pub open_children: BTreeSet<ThreadId>,
    /// Handoffs whose mailed report versions are wanted.
    pub reports: BTreeSet<HandoffId>,
    /// Turns whose reports read by the answers of their own calls are wanted.
    pub read_reports: BTreeSet<TurnId>,
    /// Handoffs whose assignment and parent are wanted, for claims.
    pub work: BTreeSet<HandoffId>,
    /// Deferred effects that may still be to come.
    pub effects: BTreeSet<EffectId>,
    /// Handoffs that keys name.
    pub named: BTreeSet<HandoffId>,
}

/// What L reads beside the rows it locks, so that R is often left out: rows that no lock of a batch
/// guards. They are as they were when L began, which is after the call came. Agents may be changed by
/// others until the commit, wherever they are read. Of threads only what never changes is used. Of keys
/// the insertion is the fence: whoever is first makes the others run again, and then they are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Agents, by id.
    pub agents: BTreeSet<String>,
    /// Threads: the cold rows.
    pub threads: BTreeSet<ThreadId>,
    /// Keys that may be bound already.
    pub keys: BTreeSet<KeyHash>,
}

/// Which mail of a thread is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailAsk {
    /// Numbers above this one.
    pub above: u64,
    /// So many at most.
    pub limit: usize,
    /// No more once these bytes are reached, as `Message::weight` counts them.
    pub bytes: usize,
}

impl Ask {
    /// Asks for mail of `thread`; of two ranges the one that covers both is taken.
    pub fn mail(&mut self, thread: ThreadId, above: u64, limit: usize, bytes: usize) {
        let ask = self.mail.entry(thread).or_insert(MailAsk {
            above,
            limit,
            bytes,
        });
        let span = |above: u64| usize::try_from(above).unwrap_or(usize::MAX);
        let lowest = ask.above.min(above);
        let end = span(ask.above)
            .saturating_add(ask.limit)
            .max(span(above).saturating_add(limit));
        *ask = MailAsk {
            above: lowest,
            limit: end.saturating_sub(span(lowest)),
            bytes: ask.bytes.max(bytes),
        };
    }

    /// The bytes of mail that may be read for `ask`: what it asks for, and no more than its share of
    /// what a batch may read. One message is read whatever its size.
    #[must_use]
    pub fn mail_bytes(&self, ask: &MailAsk) -> usize {
        ask.bytes
            .min(limits::BATCH_MAIL_BYTES / self.mail.len().max(1))
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
