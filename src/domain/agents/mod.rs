//! Agents: registered worker identities, and how many turns they may have at once.

pub mod put;
pub mod set_state;

use std::time::Duration;

use crate::domain::handoffs::OnTurnLost;
use crate::domain::ids::AgentId;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

/// Whether an agent takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum AgentState {
    /// Receives handoffs and begins turns.
    Active,
    /// Receives no handoffs and begins no turns; its mail is held, what runs may finish.
    Deactivated,
}

/// What PutAgent declares.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Agent {
    /// The user's own name of it, unique in the namespace.
    pub agent_id: AgentId,
    /// What people see; may stand for the id where it is unique.
    pub display_name: String,
    /// What it is good for, for people and models.
    pub description: String,
    /// Whether handoffs may target it; `None` leaves it to the server's default.
    pub accepts_handoffs: Option<bool>,
    /// What a lost turn does to its handoffs that do not say.
    pub on_turn_lost: Option<OnTurnLost>,
    /// How long its handoffs may run that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_deadline: Option<Duration>,
    /// How long its handoffs may wait to be begun before they fail; none lets them wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_deadline: Option<Duration>,
    /// When it was first put.
    pub create_time: Timestamp,
    /// When it was last put.
    pub update_time: Timestamp,
}

/// The hot part of an agent, locked when a turn of a limited agent begins or ends.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Slots {
    /// Whose slots.
    pub agent_id: AgentId,
    /// Whether it takes part.
    pub state: AgentState,
    /// Turns that may live at once; 0 is none, `None` is no limit.
    pub max_turns: Option<u32>,
    /// Turns that live now, counted only while the agent is limited.
    pub live_turns: u32,
}

/// The lane of everything that makes or needs an agent: its put comes before what follows it.
#[must_use]
pub fn lane_key(agent: &AgentId) -> u128 {
    agent.0.bytes().fold(0_u128, |key, byte| {
        key.wrapping_mul(31).wrapping_add(u128::from(byte))
    })
}

impl World {
    /// An agent as it was last put, as far as R and this batch know.
    pub(crate) fn agent(&self, id: &AgentId) -> Option<&Agent> {
        let stored = self.loaded.agents.get(id).map(|(agent, _)| agent);
        self.made.agents.get(id).or(stored)
    }
}
