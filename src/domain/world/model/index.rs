//! Which rows belong to which, so that moves and laws find them without looking at all there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::handoffs::Handoff;
use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::turns::Turn;

use super::db::Db;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Index {
    /// Handoffs of a parent.
    children: BTreeMap<ThreadId, BTreeSet<HandoffId>>,
    /// Handoffs that a thread works on, or did.
    work: BTreeMap<ThreadId, BTreeSet<HandoffId>>,
    /// Turns of a thread.
    turns: BTreeMap<ThreadId, BTreeSet<TurnId>>,
    /// Turns that live.
    live: BTreeSet<TurnId>,
}

impl Index {
    /// What it must be.
    pub(super) fn of(db: &Db) -> Self {
        let mut index = Self::default();
        db.handoffs.values().for_each(|it| index.handoff(it));
        db.turns.values().for_each(|it| index.turn(it));
        index
    }

    /// A handoff was written.
    pub(super) fn handoff(&mut self, handoff: &Handoff) {
        let id = handoff.handoff_id;
        if let Some(parent) = handoff.parent_thread_id {
            self.children.entry(parent).or_default().insert(id);
        }
        if let Some(child) = handoff.child_thread_id {
            self.work.entry(child).or_default().insert(id);
        }
    }

    /// A turn was written.
    pub(super) fn turn(&mut self, turn: &Turn) {
        let id = turn.turn_id;
        self.turns.entry(turn.thread_id).or_default().insert(id);
        if turn.is_live() {
            self.live.insert(id);
        } else {
            self.live.remove(&id);
        }
    }
}

impl Db {
    /// Handoffs of a parent, oldest first.
    pub(super) fn children_of(&self, id: ThreadId) -> impl Iterator<Item = &Handoff> {
        let ids = self.index.children.get(&id).into_iter().flatten();
        ids.map(|id| &self.handoffs[id])
    }

    /// Handoffs that a thread works on, or did, oldest first.
    pub(super) fn work_of(&self, id: ThreadId) -> impl DoubleEndedIterator<Item = &Handoff> {
        let ids = self.index.work.get(&id).into_iter().flatten();
        ids.map(|id| &self.handoffs[id])
    }

    /// Turns of a thread, oldest first.
    pub(super) fn turns_of(&self, id: ThreadId) -> impl DoubleEndedIterator<Item = &Turn> {
        let ids = self.index.turns.get(&id).into_iter().flatten();
        ids.map(|id| &self.turns[id])
    }

    /// Turns that live, oldest first.
    pub(super) fn live_turns(&self) -> impl Iterator<Item = &Turn> {
        self.index.live.iter().map(|id| &self.turns[id])
    }
}
