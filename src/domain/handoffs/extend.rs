//! ExtendDeadline: sets the execution limit anew, by compare-and-set on its version.
//!
//! It and the expiry lock the handoff: the first commit wins. Extended work lives on, even where its old
//! time had passed and nobody had seen that yet; expired work is refused.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::caller::Caller;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::{AgentId, HandoffId};
use crate::domain::plan::Event;
use crate::domain::refusal::Refusal;
use crate::domain::world::World;

use super::{Actor, Deadline, Handoff};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct ExtendDeadline {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// The version that the caller knows; 0 where it knows of no deadline.
    pub deadline_version: u64,
    /// How long from now; from the first turn, where none began.
    pub deadline: Duration,
}

/// The work as it goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extended {
    /// As it was when this answer was made.
    pub handoff: Handoff,
    /// Whose thread the parent is, where that is known.
    pub parent_agent_id: Option<AgentId>,
    /// It was set before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for Extended {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for ExtendDeadline {
    type Answer = Extended;
    const NAME: &'static str = "handoffs.extend";

    fn lane_key(&self) -> u128 {
        self.handoff_id.into_untyped().as_u128()
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn route(&self) -> RouteAsk {
        self.caller.route().handoff(self.handoff_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let known = route.handoffs.get(&self.handoff_id);
        self.caller
            .footprint(None, route)
            .handoff(self.handoff_id)
            .head(known.and_then(|known| known.parent_thread_id))
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<Extended>, Stop> {
        let acting = self.caller.acting(world, None)?;
        let handoff = world.handoff(self.handoff_id)?;
        handoff.check_parent(acting.as_ref().map(|acting| acting.thread_id))?;
        if !handoff.is_unfinished() {
            return Err(Refusal::HandoffEnded {
                handoff_id: self.handoff_id,
            }
            .into());
        }
        let current = handoff.deadline_version();
        if self.deadline_version != current {
            return Err(Refusal::StaleDeadline {
                handoff_id: self.handoff_id,
                asked: self.deadline_version,
                current,
            }
            .into());
        }
        let deadline = Deadline {
            limit: self.deadline,
            time: handoff.first_turn_time().map(|_| world.now + self.deadline),
            version: current + 1,
        };
        let by = acting.as_ref();
        let actor = by.map_or(Actor::Operator, |acting| Actor::Thread(acting.thread_id));
        let mut events = acting.map_or_else(Vec::new, |acting| acting.begin);
        events.push(Event::DeadlineSet {
            handoff_id: self.handoff_id,
            deadline,
            actor,
        });
        let parent = handoff.parent_thread_id;
        let parent = parent.and_then(|parent| world.heads.get(&parent));
        let mut handoff = handoff.clone();
        handoff.deadline = Some(deadline);
        Ok(Decision {
            events,
            answer: Ok(Extended {
                handoff,
                parent_agent_id: parent.map(|head| head.agent_id.clone()),
                deduplicated: false,
            }),
        })
    }
}
