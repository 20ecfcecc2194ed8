//! SetAgentState: activates or deactivates an agent.
//!
//! Wakes of a deactivated agent stand and are merely not claimed, so activating it needs no search:
//! whoever waits for its work looks again.

use serde::Serialize;

use crate::domain::ask::Beside;
use crate::domain::command::{Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::AgentId;
use crate::domain::plan::Event;
use crate::domain::world::World;

use super::put::AgentChanged;
use super::{Agent, AgentState, lane_key};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct SetAgentState {
    /// Which.
    pub agent_id: AgentId,
    /// The state to have.
    pub state: AgentState,
}

impl Command for SetAgentState {
    type Answer = AgentChanged;
    const NAME: &'static str = "agents.set_state";

    fn lane_key(&self) -> u128 {
        lane_key(&self.agent_id)
    }

    fn footprint(&self, _: &Route) -> Footprint {
        Footprint::default().slots(self.agent_id.clone())
    }

    fn beside(&self, _: &Route, beside: &mut Beside) {
        beside.agents.insert(self.agent_id.0.clone());
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<AgentChanged>, Stop> {
        let answer = AgentChanged {
            deduplicated: false,
        };
        let slots = world.slots(&self.agent_id)?;
        if slots.state == self.state {
            return Ok(Decision::unchanged(answer));
        }
        let touched = world.agent(&self.agent_id).map(|agent| Event::AgentPut {
            agent: Agent {
                update_time: world.now,
                ..agent.clone()
            },
            max_turns: slots.max_turns,
        });
        let set = Event::AgentStateSet {
            agent_id: self.agent_id.clone(),
            state: self.state,
        };
        Ok(Decision {
            events: touched.into_iter().chain([set]).collect(),
            answer: Ok(answer),
        })
    }
}
