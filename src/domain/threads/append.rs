//! AppendEvents: writes into a thread's history, under its turn or from outside on a PULL thread.
//!
//! What a turn that is still live writes for work that has ended is kept and marked late: it tells
//! what really happened. What comes after the turn closed is refused by the fence.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::caller::{Caller, renewed};
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::Handoff;
use crate::domain::history::EventKind;
use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::plan::Event;
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::world::World;

use super::Drive;

/// Unfinished handoffs that a checkpoint names at most.
const OPEN_CHILDREN: usize = 100;

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct AppendEvents {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// The thread, where it is named.
    pub thread: Option<ThreadId>,
    /// What to write, in order; the open handoffs of checkpoints are filled in.
    pub kinds: Vec<EventKind>,
}

/// What the caller hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// The turn that wrote, where one did.
    pub turn_id: Option<TurnId>,
    /// Number of the first event.
    pub first: u64,
    /// Number of the last one.
    pub last: u64,
    /// The handoff of the thread had ended.
    pub late: bool,
    /// It was appended before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for Appended {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for AppendEvents {
    type Answer = Appended;
    const NAME: &'static str = "threads.append";

    fn lane_key(&self) -> u128 {
        match self.caller {
            Caller::Operator => self
                .thread
                .map_or(0, |thread| thread.into_untyped().as_u128()),
            Caller::Turn { turn_id, .. } => turn_id.into_untyped().as_u128(),
        }
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn route(&self) -> RouteAsk {
        self.caller.route()
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let footprint = self.caller.footprint(self.thread, route);
        match self.caller {
            Caller::Operator => footprint,
            // Tool calls and the lease are kept with the turn.
            Caller::Turn { turn_id, .. } => footprint.turn(turn_id),
        }
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let checkpoint = |kind: &EventKind| matches!(kind, EventKind::Checkpoint { .. });
        if self.kinds.iter().any(checkpoint) {
            ask.open_children
                .extend(self.caller.thread(self.thread, &world.route));
        }
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<Appended>, Stop> {
        let acting = self.caller.acting(world, self.thread)?.ok_or_else(|| {
            let wrong = Violation::new("thread_id", "is required where no turn calls");
            Refusal::Invalid(vec![wrong])
        })?;
        let thread_id = acting.thread_id;
        let head = world.head(thread_id)?;
        if head.delete_time.is_some() {
            return Err(Refusal::ThreadDeleted { thread_id }.into());
        }
        if head.drive == Drive::Runtime && acting.turn_id.is_none() {
            return Err(Refusal::TurnRequired { thread_id }.into());
        }
        let late = head.handoff_id.is_some() && !head.handoff_unfinished;
        // The begin of the turn is an event of its own, before these.
        let before = head.event_number + u64::from(!acting.begin.is_empty());
        let mut events = acting.begin;
        events.extend(acting.turn_id.and_then(|turn_id| renewed(world, turn_id)));
        events.push(Event::HistoryAppended {
            thread_id,
            late,
            kinds: self.filled(world, thread_id),
        });
        Ok(Decision {
            events,
            answer: Ok(Appended {
                turn_id: acting.turn_id,
                first: before + 1,
                last: before + u64::try_from(self.kinds.len()).unwrap_or(u64::MAX),
                late,
                deduplicated: false,
            }),
        })
    }
}

impl AppendEvents {
    /// The events, with the open handoffs of this moment in each checkpoint.
    fn filled(&self, world: &World, thread_id: ThreadId) -> Vec<EventKind> {
        let mut kinds = self.kinds.clone();
        for kind in &mut kinds {
            if let EventKind::Checkpoint {
                open_handoff_ids, ..
            } = kind
            {
                *open_handoff_ids = open_children(world, thread_id);
            }
        }
        kinds
    }
}

/// Unfinished handoffs that `thread` gave, oldest first: the stored ones as this batch left them, and
/// those it made.
fn open_children(world: &World, thread: ThreadId) -> Vec<HandoffId> {
    let stored = world
        .loaded
        .open_children
        .get(&thread)
        .into_iter()
        .flatten();
    let known = world.handoffs.values();
    let mine = known.filter(|it| it.parent_thread_id == Some(thread));
    let ids: BTreeSet<HandoffId> = stored
        .copied()
        .chain(mine.map(|it| it.handoff_id))
        .filter(|id| world.handoffs.get(id).is_none_or(Handoff::is_unfinished))
        .collect();
    ids.into_iter().take(OPEN_CHILDREN).collect()
}

#[cfg(test)]
mod tests;
