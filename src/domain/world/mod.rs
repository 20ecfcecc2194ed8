//! The small world of a batch: the rows it locked, what it read besides, and what it made.
//!
//! Commands decide on a view of it and never change it; `apply` is the only mutator, so that a later
//! command of the same batch sees what an earlier one did, and history, wakes, signals and slots
//! follow from events in one place and can never disagree with state. Since it is plain data, the
//! whole behaviour also runs in memory.

mod apply;
mod apply_effects;
mod apply_handoffs;
mod apply_mail;
mod apply_timeline;
mod apply_turns;
mod loaded;
mod made;
#[cfg(test)]
mod model;
mod table;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use apply::Inconsistent;
pub use loaded::{BoundKey, Loaded, LoadedMail, MailedReport, ReadReport, Work};
pub use made::{EffectPutOff, Made, MailExcept, NewKey, ReportDelivered, ReportReturned};
pub use table::{Stored, Table, Tracked};

use super::agents::Slots;
use super::command::{Footprint, Route, Stop};
use super::handoffs::Handoff;
use super::ids::{AgentId, HandoffId, ThreadId, TurnId};
use super::limits::Rules;
use super::mailbox::{Envelope, Message};
use super::refusal::Refusal;
use super::runtime::Runtime;
use super::threads::Head;
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
            .filter(|m| complete && m.to_thread_id == thread && m.exception.is_none());
        let mail = stored
            .iter()
            .chain(new)
            .filter(|m| m.mail_number > above && !self.is_excepted(thread, m.mail_number));
        (mail.collect(), complete)
    }

    /// Unread waking mail of `thread` above a number, counted exactly; `None` where it was not loaded.
    #[must_use]
    pub fn waking_above(&self, thread: ThreadId, above: u64) -> Option<u64> {
        let numbers = self.loaded.waking.get(&thread)?;
        u64::try_from(numbers.range(above + 1..).count()).ok()
    }

    /// Mail that other threads sent to `thread`, above one number and through another, that may be read;
    /// `None` where it was not loaded.
    #[must_use]
    pub fn envelopes(&self, thread: ThreadId, above: u64, through: u64) -> Option<Vec<Envelope>> {
        let stored = self.loaded.envelopes.get(&thread)?.iter().cloned();
        let made = self.made.messages.iter();
        let made = made.filter(|it| it.to_thread_id == thread && it.exception.is_none());
        let mut mail: Vec<Envelope> = stored.chain(made.filter_map(Envelope::of)).collect();
        mail.retain(|it| {
            let number = it.mail_number;
            above < number && number <= through && !self.is_excepted(thread, number)
        });
        Some(mail)
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

    /// The reports that `turn` read by the answers of its own calls and has not acknowledged; `None` where
    /// they were not loaded.
    pub(in crate::domain) fn read_reports(&self, turn: TurnId) -> Option<Vec<ReadReport>> {
        let mut read = self.loaded.read_reports.get(&turn)?.clone();
        let made = &self.made;
        let new = made
            .reports
            .iter()
            .filter(|it| it.reader_turn_id == Some(turn) && it.deliver_time.is_none());
        for report in new {
            let mut mail = made.messages.iter();
            let carrier = mail.find(|it| {
                it.handoff_id == Some(report.handoff_id)
                    && it.report_version == Some(report.version)
            });
            read.extend(carrier.map(|message| ReadReport {
                version: report.version,
                message: message.clone(),
            }));
        }
        read.retain(|it| {
            !made.reports_delivered.iter().any(|done| {
                Some(done.handoff_id) == it.message.handoff_id && done.version >= it.version
            })
        });
        Some(read)
    }

    fn is_excepted(&self, thread: ThreadId, number: u64) -> bool {
        self.made.mail_excepts.iter().any(|except| {
            except.thread_id == thread && except.above < number && number <= except.through
        })
    }
}
