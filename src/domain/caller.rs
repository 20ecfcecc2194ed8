//! For whom a call acts, and the fence that keeps a closed turn from acting.

use super::command::{Footprint, Route, RouteAsk, Stop};
use super::ids::{ThreadId, TurnId};
use super::plan::Event;
use super::refusal::Refusal;
use super::turns::{TurnOutcome, TurnState};
use super::world::World;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody's thread: it may name any.
    Operator,
    /// The thread of a turn, and only its rights.
    Turn {
        /// Which.
        turn_id: TurnId,
        /// The fencing token its claim gave.
        token: u64,
    },
}

/// The thread a call acts for.
#[derive(Clone, Debug, PartialEq)]
pub struct Acting {
    /// Which.
    pub thread_id: ThreadId,
    /// The turn that calls, where one does.
    pub turn_id: Option<TurnId>,
    /// The first call of a turn begins it: this comes before all else in the plan.
    pub begin: Vec<Event>,
}

impl Caller {
    /// What must be looked up of the caller.
    #[must_use]
    pub fn route(&self) -> RouteAsk {
        let mut ask = RouteAsk::default();
        if let Self::Turn { turn_id, .. } = self {
            ask.turns.insert(*turn_id);
        }
        ask
    }

    /// The thread the caller acts for, as far as is known before the locks.
    #[must_use]
    pub fn thread(&self, named: Option<ThreadId>, route: &Route) -> Option<ThreadId> {
        match self {
            Self::Operator => named,
            Self::Turn { turn_id, .. } => route.thread_of_turn(*turn_id),
        }
    }

    /// The rows that stand for the caller: the head of its thread, whose lock is the fence.
    #[must_use]
    pub fn footprint(&self, named: Option<ThreadId>, route: &Route) -> Footprint {
        let thread = self.thread(named, route);
        let footprint = Footprint::default().head(thread);
        let known = thread.and_then(|thread| route.threads.get(&thread));
        match (self, known) {
            (Self::Turn { turn_id, .. }, Some(known)) if !known.turn_running => {
                footprint.turn(*turn_id).handoff(known.handoff_id)
            }
            (Self::Operator | Self::Turn { .. }, _) => footprint,
        }
    }

    /// Checks the fence and tells the acting thread; `named` must agree with the turn's own.
    ///
    /// # Errors
    /// The turn is closed, unknown or of another thread; or more rows must be locked.
    pub fn acting(&self, world: &World, named: Option<ThreadId>) -> Result<Option<Acting>, Stop> {
        let (turn_id, token) = match self {
            Self::Operator => {
                return Ok(named.map(|thread_id| Acting {
                    thread_id,
                    turn_id: None,
                    begin: Vec::new(),
                }));
            }
            Self::Turn { turn_id, token } => (*turn_id, *token),
        };
        let thread_id = world
            .route
            .thread_of_turn(turn_id)
            .ok_or(Refusal::TurnNotFound(turn_id))?;
        if let Some(named) = named.filter(|named| *named != thread_id) {
            return Err(Refusal::TurnOfOtherThread {
                thread_id: named,
                turn_id,
            }
            .into());
        }
        let head = world.head(thread_id)?;
        if head.turn_id != Some(turn_id) {
            return Err(closed(world, turn_id)?.into());
        }
        if head.turn_number != token {
            return Err(Refusal::StaleToken { turn_id }.into());
        }
        let begin = if head.turn_running {
            Vec::new()
        } else {
            begin(world, turn_id)?
        };
        Ok(Some(Acting {
            thread_id,
            turn_id: Some(turn_id),
            begin,
        }))
    }
}

/// The events that begin an assigned turn.
///
/// # Errors
/// The turn or its handoff must be locked first.
pub fn begin(world: &World, turn_id: TurnId) -> Result<Vec<Event>, Stop> {
    let thread = world.route.thread_of_turn(turn_id);
    let handoff = thread
        .and_then(|thread| world.heads.get(&thread))
        .and_then(super::threads::Head::unfinished_handoff);
    let unlocked = handoff.filter(|id| world.handoffs.get(id).is_none());
    if world.turns.get(&turn_id).is_none() || unlocked.is_some() {
        // Both at once: each need costs a batch.
        return Err(Stop::Needs(
            Footprint::default().turn(turn_id).handoff(unlocked),
        ));
    }
    let turn = world.turn(turn_id)?;
    if let Some(handoff) = world.head(turn.thread_id)?.unfinished_handoff() {
        world.handoff(handoff)?;
    }
    let lease_expire_time = world.now + world.rules.lease;
    Ok(vec![Event::TurnBegan {
        turn_id,
        lease_expire_time,
    }])
}

/// Renews the lease of a running turn that made a call, once less than half of it is left. The turn
/// may be left out of the locks; its lease is then left as it is.
#[must_use]
pub fn renewed(world: &World, turn_id: TurnId) -> Option<Event> {
    let turn = world.turns.get(&turn_id)?;
    let due = turn.lease_expire_time.since(world.now) < world.rules.lease / 2;
    (turn.state == TurnState::Running && due).then(|| Event::LeaseRenewed {
        turn_id,
        lease_expire_time: world.now + world.rules.lease,
    })
}

/// How a turn that is no longer its thread's live one ended.
///
/// # Errors
/// The turn must be locked first.
pub fn closed(world: &World, turn_id: TurnId) -> Result<Refusal, Stop> {
    let how = match world.turn(turn_id)?.state {
        TurnState::Ended { outcome, .. } => match outcome {
            TurnOutcome::Done
            | TurnOutcome::Failed
            | TurnOutcome::Interrupted
            | TurnOutcome::Aborted => "finished",
            TurnOutcome::Lost => "its lease ended",
            TurnOutcome::Released => "released",
            TurnOutcome::Unclaimed => "it was not begun in time",
        },
        TurnState::Assigned | TurnState::Running => "replaced",
    };
    Ok(Refusal::TurnClosed { turn_id, how })
}
