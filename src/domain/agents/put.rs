//! PutAgent: creates an agent or replaces its settings as a whole.
//!
//! Runtimes put their agents at each start, so what changes nothing writes nothing; and a put never
//! changes the state, or a restart would bring back an agent that an operator turned off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::ask::Beside;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::handoffs::OnTurnLost;
use crate::domain::ids::AgentId;
use crate::domain::plan::Event;
use crate::domain::world::World;

use super::{Agent, lane_key};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct PutAgent {
    /// Which.
    pub agent_id: AgentId,
    /// What people see.
    pub display_name: String,
    /// What it is good for.
    pub description: String,
    /// Whether handoffs may target it; `None` leaves it to the server's default.
    pub accepts_handoffs: Option<bool>,
    /// What a lost turn does to its handoffs that do not say.
    pub on_turn_lost: Option<OnTurnLost>,
    /// How long its handoffs may run that do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_deadline: Option<Duration>,
    /// How long its handoffs may wait to be begun before they fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_deadline: Option<Duration>,
    /// Turns that may live at once; 0 is none, `None` is no limit.
    pub max_turns: Option<u32>,
}

/// What the caller of a change of an agent hears; the agent itself is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChanged {
    /// It was asked before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for AgentChanged {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for PutAgent {
    type Answer = AgentChanged;
    const NAME: &'static str = "agents.put";

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
        let slots = world.slots.get(&self.agent_id);
        let known = world.agent(&self.agent_id).filter(|_| slots.is_some());
        let agent = Agent {
            agent_id: self.agent_id.clone(),
            display_name: self.display_name.clone(),
            description: self.description.clone(),
            accepts_handoffs: self.accepts_handoffs,
            on_turn_lost: self.on_turn_lost,
            default_deadline: self.default_deadline,
            claim_deadline: self.claim_deadline,
            create_time: known.map_or(world.now, |known| known.create_time),
            update_time: known.map_or(world.now, |known| known.update_time),
        };
        let same_slots = slots.is_some_and(|slots| slots.max_turns == self.max_turns);
        if same_slots && known == Some(&agent) {
            return Ok(Decision::unchanged(answer));
        }
        let agent = Agent {
            update_time: world.now,
            ..agent
        };
        Ok(Decision {
            events: vec![Event::AgentPut {
                agent,
                max_turns: self.max_turns,
            }],
            answer: Ok(answer),
        })
    }
}
