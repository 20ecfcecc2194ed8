//! ReleaseTurns: a runtime that drains gives a turn back at once, and no loss is counted.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::{Actor, TimelineReason};
use crate::domain::ids::TurnId;
use crate::domain::plan::{Event, GivenMail, Remark, Rerun, TurnEnd};
use crate::domain::refusal::Refusal;
use crate::domain::world::World;

use super::assign::Claimer;
use super::returned::returned;
use super::{Turn, TurnOutcome, TurnState};

/// The command, for one turn.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseTurn {
    /// Which.
    pub turn_id: TurnId,
    /// Its fencing token.
    pub token: u64,
    /// Who gives it back, where that is to be checked: the runtime and its life.
    pub holder: Option<Claimer>,
}

/// Whether it was given back now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// False where it had ended before, or is somebody else's.
    pub released: bool,
}

impl Answer for Released {
    fn mark_deduplicated(&mut self) {}
}

impl Command for ReleaseTurn {
    type Answer = Released;
    const NAME: &'static str = "turns.release";

    fn lane_key(&self) -> u128 {
        self.turn_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        RouteAsk::work_of_turn(self.turn_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        route.work_of_turn(self.turn_id)
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        ask.waking
            .extend(world.turns.get(&self.turn_id).map(|turn| turn.thread_id));
        ask.read_reports.insert(self.turn_id);
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Released>, Stop> {
        let turn = world.turn(self.turn_id)?;
        if !self.is_held(turn) {
            return Ok(Decision::unchanged(Released { released: false }));
        }
        if turn.token != self.token {
            return Err(Refusal::StaleToken {
                turn_id: self.turn_id,
            }
            .into());
        }
        let ran = match turn.state {
            TurnState::Ended { .. } => {
                return Ok(Decision::unchanged(Released { released: false }));
            }
            TurnState::Assigned => false,
            TurnState::Running => true,
        };
        let head = world.head(turn.thread_id)?;
        if turn.holds_slot {
            world.slots(&turn.agent_id)?;
        }
        let mut events = Vec::new();
        if let Some(handoff_id) = head.unfinished_handoff().filter(|_| ran) {
            world.handoff(handoff_id)?;
            events.push(Event::Remarked(Remark {
                handoff_id,
                actor: Actor::Runtime(turn.runtime_id.clone()),
                reason: TimelineReason::TurnReleased,
                text: String::new(),
                turn_id: Some(self.turn_id),
                report_version: None,
            }));
        }
        let stopped = turn.abort.is_some() && !head.handoff_unfinished;
        events.push(Event::TurnEnded(TurnEnd {
            turn_id: self.turn_id,
            outcome: TurnOutcome::Released,
            next: None,
            response: None,
            error: None,
            mail: GivenMail::Returned,
            rerun: if stopped {
                Rerun::IfMail
            } else {
                Rerun::At(world.now)
            },
            fingerprint: None,
            finish_answer: Vec::new(),
        }));
        events.extend(returned(world, context, turn)?);
        Ok(Decision {
            events,
            answer: Ok(Released { released: true }),
        })
    }
}

impl ReleaseTurn {
    fn is_held(&self, turn: &Turn) -> bool {
        self.holder.as_ref().is_none_or(|holder| {
            holder.runtime_id == turn.runtime_id && holder.incarnation == turn.incarnation
        })
    }
}
