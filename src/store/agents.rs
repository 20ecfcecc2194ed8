//! Agents and their slots.

use crate::domain::agents::{Agent, AgentState, Slots};
use crate::domain::handoffs::OnTurnLost;
use crate::domain::ids::AgentId;
use crate::domain::time::Timestamp;
use crate::domain::world::Stored;

use super::codec::{Address, Spelled, Unknown, int, micros, read_opt, small, span, spelled};

pub(super) const PUT: &str = include_str!("sql/put_agents.sql");
pub(super) const INSERT_NAMESPACES: &str = include_str!("sql/insert_namespaces.sql");
pub(super) const INSERT_SLOTS: &str = include_str!("sql/insert_slots.sql");
pub(super) const UPDATE_SLOTS: &str = include_str!("sql/update_slots.sql");

spelled!(AgentState, "state of an agent", {
    AgentState::Active => "active" = AgentState::Active,
    AgentState::Deactivated => "deactivated" = AgentState::Deactivated,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "agent_row_2")]
pub(super) struct AgentRow {
    agent_id: AgentId,
    display_name: String,
    description: String,
    accepts_handoffs: Option<bool>,
    on_turn_lost: Option<String>,
    default_deadline: Option<i64>,
    claim_deadline: Option<i64>,
    create_time: Timestamp,
    update_time: Timestamp,
}

impl From<&Agent> for AgentRow {
    fn from(agent: &Agent) -> Self {
        Self {
            agent_id: agent.agent_id.clone(),
            display_name: agent.display_name.clone(),
            description: agent.description.clone(),
            accepts_handoffs: agent.accepts_handoffs,
            on_turn_lost: agent.on_turn_lost.map(|policy| policy.spell().to_owned()),
            default_deadline: agent.default_deadline.map(micros),
            claim_deadline: agent.claim_deadline.map(micros),
            create_time: agent.create_time,
            update_time: agent.update_time,
        }
    }
}

impl TryFrom<AgentRow> for Agent {
    type Error = Unknown;

    fn try_from(row: AgentRow) -> Result<Self, Unknown> {
        Ok(Self {
            agent_id: row.agent_id,
            display_name: row.display_name,
            description: row.description,
            accepts_handoffs: row.accepts_handoffs,
            on_turn_lost: read_opt::<OnTurnLost>(row.on_turn_lost.as_deref())?,
            default_deadline: row.default_deadline.map(span),
            claim_deadline: row.claim_deadline.map(span),
            create_time: row.create_time,
            update_time: row.update_time,
        })
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "slots_row")]
pub(super) struct SlotsRow {
    address: Option<Address>,
    version: i64,
    agent_id: AgentId,
    state: String,
    max_turns: Option<i32>,
    live_turns: i32,
}

impl SlotsRow {
    pub(super) fn new(slots: &Slots, stored: Option<Stored>) -> Self {
        Self {
            address: stored.map(|stored| Address(stored.address)),
            version: stored.map_or(1, |stored| stored.version),
            agent_id: slots.agent_id.clone(),
            state: slots.state.spell().to_owned(),
            max_turns: slots.max_turns.map(int),
            live_turns: int(slots.live_turns),
        }
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            address: self.address.map_or(0, |address| address.0),
            version: self.version,
        }
    }
}

impl TryFrom<SlotsRow> for Slots {
    type Error = Unknown;

    fn try_from(row: SlotsRow) -> Result<Self, Unknown> {
        Ok(Self {
            agent_id: row.agent_id,
            state: AgentState::read(&row.state)?,
            max_turns: row.max_turns.map(small),
            live_turns: small(row.live_turns),
        })
    }
}
