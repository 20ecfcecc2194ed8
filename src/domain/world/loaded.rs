//! What R loads: rows that a batch reads under the locks of others.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::agents::{Agent, Slots};
use crate::domain::command::{Fingerprint, KeyHash};
use crate::domain::effects::{DeferredEffect, Unreadable};
use crate::domain::handoffs::{Assignment, Handoff, OnCompletion};
use crate::domain::ids::{AgentId, EffectId, HandoffId, ThreadId, TurnId};
use crate::domain::mailbox::{Envelope, Message, PairWindow};
use crate::domain::threads::Thread;

/// A key that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundKey {
    /// What it was used for.
    pub fingerprint: Fingerprint,
    /// The work it names.
    pub handoff_id: Option<HandoffId>,
    /// The answer it records.
    pub answer: Option<Vec<u8>>,
}

/// Mail of one thread, as R loaded it.
#[derive(Clone, Debug, Default)]
pub struct LoadedMail {
    /// Numbers above this one.
    pub above: u64,
    /// In number order; exceptions are left out.
    pub messages: Vec<Message>,
    /// Nothing stored follows.
    pub complete: bool,
}

/// The mail that carried one version of a handoff's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailedReport {
    /// Its version.
    pub version: u64,
    /// Its place in the parent's mailbox.
    pub mail_number: Option<u64>,
}

/// A report that a turn read by the answer of its own call and has not acknowledged, with its mail.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadReport {
    /// Its version.
    pub version: u64,
    /// The mail that carried it; it counts as consumed.
    pub message: Message,
}

/// What a claim hands over of a handoff; none of it changes while the handoff is unfinished.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What is to be done.
    pub assignment: Assignment,
    /// In which attempt.
    pub attempt: u32,
    /// Whether the end is told.
    pub on_completion: OnCompletion,
    /// Whose thread the work is for.
    pub parent_agent_id: Option<AgentId>,
}

/// What R loaded: rows that are read under the locks of others.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Agents and their state, by id.
    pub agents: BTreeMap<AgentId, (Agent, Slots)>,
    /// Threads.
    pub threads: BTreeMap<ThreadId, Thread>,
    /// Pair windows, by recipient and sender.
    pub pairs: BTreeMap<(ThreadId, ThreadId), PairWindow>,
    /// Mail.
    pub mail: BTreeMap<ThreadId, LoadedMail>,
    /// Unread waking numbers above the consumed mark.
    pub waking: BTreeMap<ThreadId, BTreeSet<u64>>,
    /// Unread mail of other threads above the consumed mark, in number order, without what it says.
    pub envelopes: BTreeMap<ThreadId, Vec<Envelope>>,
    /// Unfinished handoffs, by parent thread; bounded.
    pub open_children: BTreeMap<ThreadId, Vec<HandoffId>>,
    /// Mailed versions, by handoff.
    pub reports: BTreeMap<HandoffId, Vec<MailedReport>>,
    /// Reports by the turn that read them by the answers of its own calls.
    pub read_reports: BTreeMap<TurnId, Vec<ReadReport>>,
    /// What a claim hands over of a handoff.
    pub work: BTreeMap<HandoffId, Work>,
    /// Handoffs whose work was left out, since a batch reads no more bytes of it. The first one never is.
    pub work_left: BTreeSet<HandoffId>,
    /// Deferred effects that are still to come. Whoever asks for one holds the lock of its subject.
    pub effects: BTreeMap<EffectId, DeferredEffect>,
    /// Those of them that cannot be read.
    pub unreadable_effects: BTreeMap<EffectId, Unreadable>,
    /// Bound keys.
    pub keys: BTreeMap<KeyHash, BoundKey>,
    /// The handoffs that those keys name, as they are now.
    pub named: BTreeMap<HandoffId, Handoff>,
}
