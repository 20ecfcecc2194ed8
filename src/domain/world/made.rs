//! What a batch inserts, and what it changes of rows that belong to a locked one.

use std::collections::BTreeMap;

use crate::domain::agents::Agent;
use crate::domain::command::KeyHash;
use crate::domain::effects::DeferredEffect;
use crate::domain::handoffs::{Assignment, HandoffEvent, Report};
use crate::domain::history::ThreadEvent;
use crate::domain::ids::{AgentId, EffectId, HandoffId, ThreadId};
use crate::domain::mailbox::{MailException, Message};
use crate::domain::threads::Thread;
use crate::domain::time::Timestamp;

use super::BoundKey;

/// A key that is about to be bound, with the time it stops answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Its hash.
    pub hash: KeyHash,
    /// What it binds.
    pub key: BoundKey,
    /// When it may be forgotten.
    pub expire_time: Timestamp,
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

/// A version of a handoff's reports that is mail again, since the turn that had read it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportReturned {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// Which version.
    pub version: u64,
    /// The mail in the parent's mailbox that carries it now.
    pub mail_number: u64,
}

/// A deferred effect that could not be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectPutOff {
    /// Which.
    pub effect_id: EffectId,
    /// When it is tried again.
    pub due_time: Timestamp,
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
    /// Versions that are mail again.
    pub reports_returned: Vec<ReportReturned>,
    /// Effects that are left for later.
    pub effects: Vec<DeferredEffect>,
    /// Effects that are done.
    pub effects_run: Vec<EffectId>,
    /// Effects that are tried again.
    pub effects_put_off: Vec<EffectPutOff>,
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
            && self.reports_returned.is_empty()
            && self.effects.is_empty()
            && self.effects_run.is_empty()
            && self.effects_put_off.is_empty()
    }
}
