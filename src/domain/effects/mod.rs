//! Deferred effects: what a transaction leaves to be done in another one.
//!
//! A batch locks the rows of its own stories: a thread, its parent, its work. What a story means for a
//! stranger's thread cannot be done there, for nobody bounds how many strangers there are, and whoever
//! works on one of them would hold the whole batch up. So the cause leaves an effect behind, written
//! with it, and the effect is a command of its own that takes its row away as it takes place: it has
//! happened, once, or it is still to come.
//!
//! An effect belongs to its subject, as mail belongs to its mailbox. Whoever runs it or puts it off
//! holds the lock of the subject, under which nobody else touches the row: so it has no lock of its own
//! and no place in the lock order, and what R reads of it is exact.

pub mod put_off;
pub mod run;

use serde::Serialize;
use uuid::Uuid;

use crate::domain::command::{Context, Footprint};
use crate::domain::ids::{EffectId, ThreadId};
use crate::domain::mailbox::set_aside::SetAside;
use crate::domain::time::Timestamp;

/// What is to be done, with all that must be known for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Tells a thread that mail it sent was set aside.
    TellSender {
        /// The sender.
        thread_id: ThreadId,
        /// Its mail.
        mail: SetAside,
    },
}

/// What is to be done, without the particulars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum EffectKind {
    /// Tells a thread that mail it sent was set aside. Its subject is that thread.
    TellSender,
}

/// An effect that was left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct DeferredEffect {
    /// Its id.
    pub effect_id: EffectId,
    /// What is to be done.
    pub effect: Effect,
    /// When: at once, or after a pause where it could not be done.
    pub due_time: Timestamp,
    /// How often it could not be done.
    pub attempts: u32,
}

/// An effect that was left behind and cannot be read: a row of another release, or changed by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// When it is tried again.
    pub due_time: Timestamp,
    /// How often it could not be done.
    pub attempts: u32,
    /// What cannot be read.
    pub why: String,
}

/// Names an effect and what it is done to. None of it ever changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EffectRef {
    /// Which.
    pub effect_id: EffectId,
    /// What is to be done.
    pub kind: EffectKind,
    /// To what: the kind tells what it is the id of.
    pub subject_id: Uuid,
}

impl EffectKind {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::TellSender];
}

impl Effect {
    /// What is to be done.
    #[must_use]
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::TellSender { .. } => EffectKind::TellSender,
        }
    }

    /// To what.
    #[must_use]
    pub fn subject_id(&self) -> Uuid {
        match self {
            Self::TellSender { thread_id, .. } => thread_id.into_untyped(),
        }
    }
}

impl DeferredEffect {
    /// One to be run as soon as its cause is committed.
    pub(in crate::domain) fn new(effect: Effect, context: &mut Context<'_>) -> Self {
        Self {
            effect_id: context.ids.next(context.now),
            effect,
            due_time: context.now,
            attempts: 0,
        }
    }

    /// Its name.
    #[must_use]
    pub fn reference(&self) -> EffectRef {
        EffectRef {
            effect_id: self.effect_id,
            kind: self.effect.kind(),
            subject_id: self.effect.subject_id(),
        }
    }
}

impl EffectRef {
    /// The subject, whose lock stands for the effect's own.
    fn footprint(&self) -> Footprint {
        match self.kind {
            EffectKind::TellSender => Footprint::default().head(ThreadId::from(self.subject_id)),
        }
    }

    /// An effect goes with whatever else is done to its subject.
    fn lane_key(&self) -> u128 {
        self.subject_id.as_u128()
    }
}

impl From<EffectRef> for Uuid {
    fn from(effect: EffectRef) -> Self {
        effect.effect_id.into_untyped()
    }
}
