//! ForceRelease: an operator takes a turn from the runtime that holds it. Its thread runs again at once,
//! its slot is free, no loss is counted; what that runtime still does with the turn changes nothing.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::force_end::closed;
use crate::domain::handoffs::{Actor, TimelineReason};
use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::plan::{Event, Remark, Rerun};
use crate::domain::world::World;

use super::TurnState;
use super::returned::returned;

/// The command, for one turn.
#[derive(Clone, Debug, Serialize)]
pub struct ForceRelease {
    /// Which.
    pub turn_id: TurnId,
    /// Why, for people; may be empty.
    pub reason: String,
}

/// What was found, or done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForcedRelease {
    /// False where it had ended before.
    pub released: bool,
    /// The thread it ran.
    pub thread_id: ThreadId,
    /// The unfinished handoff that its thread works on.
    pub handoff_id: Option<HandoffId>,
    /// It was released before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for ForcedRelease {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for ForceRelease {
    type Answer = ForcedRelease;
    const NAME: &'static str = "turns.force_release";

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
        let turn = world.turns.get(&self.turn_id);
        ask.waking.extend(turn.map(|turn| turn.thread_id));
        ask.read_reports.insert(self.turn_id);
    }

    fn decide(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<ForcedRelease>, Stop> {
        let turn = world.turn(self.turn_id)?;
        let head = world.head(turn.thread_id)?;
        let handoff_id = head.unfinished_handoff();
        let answer = |released| ForcedRelease {
            released,
            thread_id: turn.thread_id,
            handoff_id,
            deduplicated: false,
        };
        match turn.state {
            TurnState::Ended { .. } => return Ok(Decision::unchanged(answer(false))),
            TurnState::Assigned | TurnState::Running => {}
        }
        if turn.holds_slot {
            world.slots(&turn.agent_id)?;
        }
        let mut events = Vec::new();
        if let Some(handoff_id) = handoff_id {
            world.handoff(handoff_id)?;
            events.push(Event::Remarked(Remark {
                handoff_id,
                actor: Actor::Operator,
                reason: TimelineReason::ForceReleased,
                text: self.reason.clone(),
                turn_id: Some(self.turn_id),
                report_version: None,
            }));
        }
        // A turn that was asked to stop is not run again for that.
        let stopped = turn.abort.is_some() && !head.handoff_unfinished;
        let rerun = if stopped {
            Rerun::IfMail
        } else {
            Rerun::At(world.now)
        };
        events.push(closed(self.turn_id, rerun));
        events.extend(returned(world, context, turn)?);
        Ok(Decision {
            events,
            answer: Ok(answer(true)),
        })
    }
}
