//! The small world of a batch: the rows it locked, what it read besides, and what it made.
//!
//! Commands decide on a view of it and never change it; `apply` is the only mutator, so that a later
//! command of the same batch sees what an earlier one did, and history, wakes, signals and slots
//! follow from events in one place and can never disagree with state. Since it is plain data, the
//! whole behaviour also runs in memory.

mod apply;
mod apply_handoffs;
mod apply_mail;
mod apply_turns;
#[cfg(test)]
mod model;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use apply::Inconsistent;
pub use table::{Stored, Table, Tracked};

use super::agents::{Agent, Slots};
use super::command::{Fingerprint, Footprint, KeyHash, Route, Stop};
use super::handoffs::{Assignment, Handoff, HandoffEvent, OnCompletion, Report};
use super::history::ThreadEvent;
use super::ids::{AgentId, HandoffId, ThreadId, TurnId};
use super::limits::Rules;
use super::mailbox::{MailException, Message, PairWindow};
use super::refusal::Refusal;
use super::runtime::Runtime;
use super::threads::{Head, Thread};
use super::time::Timestamp;
use super::turns::Turn;

/// Something that moved, told to waiters after the commit. A hint and never data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hint {
    /// An agent has a wake, a slot, or was activated.
    Agent(AgentId),
    /// A mailbox got mail.
    Mailbox(ThreadId),
    /// A handoff changed.
    Handoff(HandoffId),
}

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

/// A thread row that is about to be bound, with the time it stops answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Its hash.
    pub hash: KeyHash,
    /// What it binds.
    pub key: BoundKey,
    /// When it may be forgotten.
    pub expire_time: Timestamp,
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
    /// Unfinished handoffs, by parent thread; bounded.
    pub open_children: BTreeMap<ThreadId, Vec<HandoffId>>,
    /// Mailed versions, by handoff.
    pub reports: BTreeMap<HandoffId, Vec<MailedReport>>,
    /// What a claim hands over of a handoff.
    pub work: BTreeMap<HandoffId, Work>,
    /// Bound keys, with the handoff each names as it is now.
    pub keys: BTreeMap<KeyHash, (BoundKey, Option<Handoff>)>,
    /// Keys were looked up.
    pub keys_known: bool,
}

/// A range of a mailbox that leaves the normal life of mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailExcept {
    /// Whose mailbox.
    pub thread_id: ThreadId,
    /// Numbers above this one.
    pub above: u64,
    /// Through this one.
    pub through: u64,
    /// What becomes of it.
    pub exception: MailException,
}

/// Versions of a handoff's reports that the parent acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportDelivered {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// This version and all older ones.
    pub version: u64,
    /// When.
    pub deliver_time: Timestamp,
}

/// Rows that a batch inserts, in the order they were made.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Threads.
    pub threads: Vec<Thread>,
    /// Agents that were put.
    pub agents: BTreeMap<AgentId, Agent>,
    /// Mail.
    pub messages: Vec<Message>,
    /// History.
    pub thread_events: Vec<ThreadEvent>,
    /// Assignments.
    pub assignments: Vec<Assignment>,
    /// Reports.
    pub reports: Vec<Report>,
    /// Timeline.
    pub handoff_events: Vec<HandoffEvent>,
    /// Keys, by hash.
    pub keys: BTreeMap<KeyHash, NewKey>,
    /// Mail that leaves its normal life.
    pub mail_excepts: Vec<MailExcept>,
    /// Acknowledged versions.
    pub reports_delivered: Vec<ReportDelivered>,
}

impl Made {
    /// Whether nothing is inserted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
            && self.agents.is_empty()
            && self.messages.is_empty()
            && self.thread_events.is_empty()
            && self.assignments.is_empty()
            && self.reports.is_empty()
            && self.handoff_events.is_empty()
            && self.keys.is_empty()
            && self.mail_excepts.is_empty()
            && self.reports_delivered.is_empty()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct World {
    /// Database time, read after the locks.
    pub now: Timestamp,
    /// When the service came back from its last outage.
    pub resume_time: Timestamp,
    /// The rules an operator set.
    pub rules: Arc<Rules>,
    /// What was looked up before the locks: exact for what never changes, else a hint.
    pub route: Route,
    /// The ids that L asked for: a row that is missing among them does not exist.
    pub covered: Footprint,
    /// Heads.
    pub heads: Table<ThreadId, Head>,
    /// Handoffs.
    pub handoffs: Table<HandoffId, Handoff>,
    /// Turns.
    pub turns: Table<TurnId, Turn>,
    /// Slots.
    pub slots: Table<AgentId, Slots>,
    /// Runtimes.
    pub runtimes: Table<String, Runtime>,
    /// What R loaded.
    pub loaded: Loaded,
    /// What is inserted.
    pub made: Made,
    /// What moved.
    pub hints: BTreeSet<Hint>,
}

impl World {
    /// A world with nothing in it yet, at `now`.
    #[must_use]
    pub fn new(now: Timestamp, rules: Arc<Rules>) -> Self {
        Self {
            now,
            resume_time: Timestamp::MIN,
            rules,
            route: Route::default(),
            covered: Footprint::default(),
            heads: Table::default(),
            handoffs: Table::default(),
            turns: Table::default(),
            slots: Table::default(),
            runtimes: Table::default(),
            loaded: Loaded::default(),
            made: Made::default(),
            hints: BTreeSet::new(),
        }
    }

    /// Whether anything is to be written.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.heads.is_changed()
            || self.handoffs.is_changed()
            || self.turns.is_changed()
            || self.slots.is_changed()
            || self.runtimes.is_changed()
            || !self.made.is_empty()
    }

    /// What L asked for and did not get: rows that do not exist, or that somebody holds.
    #[must_use]
    pub fn missing(&self) -> Footprint {
        let mut missing = self.covered.clone();
        missing.heads.retain(|id| self.heads.get(id).is_none());
        missing
            .handoffs
            .retain(|id| self.handoffs.get(id).is_none());
        missing.turns.retain(|id| self.turns.get(id).is_none());
        missing.slots.retain(|id| self.slots.get(id).is_none());
        missing
            .runtimes
            .retain(|id| self.runtimes.get(id).is_none());
        missing
    }

    /// The locked head of `id`.
    ///
    /// # Errors
    /// Needs it, where it was not locked; refused, where there is none.
    pub fn head(&self, id: ThreadId) -> Result<&Head, Stop> {
        self.heads.get(&id).ok_or_else(|| {
            if self.covered.heads.contains(&id) {
                Refusal::ThreadNotFound(id).into()
            } else {
                Stop::Needs(Footprint::default().head(id))
            }
        })
    }

    /// The locked handoff `id`.
    ///
    /// # Errors
    /// Needs it, where it was not locked; refused, where there is none.
    pub fn handoff(&self, id: HandoffId) -> Result<&Handoff, Stop> {
        self.handoffs.get(&id).ok_or_else(|| {
            if self.covered.handoffs.contains(&id) {
                Refusal::HandoffNotFound(id).into()
            } else {
                Stop::Needs(Footprint::default().handoff(id))
            }
        })
    }

    /// The locked turn `id`.
    ///
    /// # Errors
    /// Needs it, where it was not locked; refused, where there is none.
    pub fn turn(&self, id: TurnId) -> Result<&Turn, Stop> {
        self.turns.get(&id).ok_or_else(|| {
            if self.covered.turns.contains(&id) {
                Refusal::TurnNotFound(id).into()
            } else {
                Stop::Needs(Footprint::default().turn(id))
            }
        })
    }

    /// The locked slots of `id`.
    ///
    /// # Errors
    /// Needs them, where they were not locked; refused, where there is no such agent.
    pub fn slots(&self, id: &AgentId) -> Result<&Slots, Stop> {
        self.slots.get(id).ok_or_else(|| {
            if self.covered.slots.contains(id) {
                Refusal::AgentNotFound(id.0.clone()).into()
            } else {
                Stop::Needs(Footprint::default().slots(id.clone()))
            }
        })
    }

    /// Whether `agent` takes part, as far as R knows; one that is unknown does not.
    #[must_use]
    pub fn is_active(&self, agent: &AgentId) -> bool {
        let state = self
            .slots
            .get(agent)
            .or_else(|| self.loaded.agents.get(agent).map(|(_, slots)| slots));
        state.is_some_and(|slots| slots.state == super::agents::AgentState::Active)
    }

    /// Mail of `thread` above a number that may be read, in order, and whether that is all there is.
    #[must_use]
    pub fn mail_above(&self, thread: ThreadId, above: u64) -> (Vec<&Message>, bool) {
        let loaded = self.loaded.mail.get(&thread);
        let complete = loaded.is_none_or(|mail| mail.complete);
        let stored = loaded.map_or(&[][..], |mail| &mail.messages);
        let new = self
            .made
            .messages
            .iter()
            .filter(|m| complete && m.to_thread_id == thread);
        let mail = stored
            .iter()
            .chain(new)
            .filter(|m| m.mail_number > above && !self.is_excepted(m));
        (mail.collect(), complete)
    }

    /// Unread waking mail of `thread` above a number, counted exactly; `None` where it was not loaded.
    #[must_use]
    pub fn waking_above(&self, thread: ThreadId, above: u64) -> Option<u64> {
        let numbers = self.loaded.waking.get(&thread)?;
        u64::try_from(numbers.range(above + 1..).count()).ok()
    }

    /// The reports of a handoff that R loaded, and those of this batch.
    pub(in crate::domain) fn mailed_reports(&self, id: HandoffId) -> Vec<MailedReport> {
        let stored = self.loaded.reports.get(&id).into_iter().flatten().copied();
        let made = self.made.reports.iter().filter(|it| it.handoff_id == id);
        let made = made.map(|report| MailedReport {
            version: report.version,
            mail_number: report.mail_number,
        });
        stored.chain(made).collect()
    }

    fn is_excepted(&self, message: &Message) -> bool {
        self.made.mail_excepts.iter().any(|except| {
            except.thread_id == message.to_thread_id
                && except.above < message.mail_number
                && message.mail_number <= except.through
        })
    }
}
