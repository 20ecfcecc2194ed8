//! Agents, with what they do now.

use sqlx::PgPool;

use crate::domain::agents::{Agent, AgentState};
use crate::domain::handoffs::OnTurnLost;
use crate::domain::ids::{AgentId, Namespace};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{Spelled, big, count, read_opt, small, span};

/// An agent and its hot part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentView {
    /// As it was put.
    pub agent: Agent,
    /// Whether it takes part.
    pub state: AgentState,
    /// Turns that may live at once.
    pub max_turns: Option<u32>,
    /// Turns that live.
    pub live_turns: u64,
}

struct Row {
    agent_id: AgentId,
    display_name: String,
    description: String,
    accepts_handoffs: Option<bool>,
    on_turn_lost: Option<String>,
    default_deadline: Option<i64>,
    claim_deadline: Option<i64>,
    create_time: Timestamp,
    update_time: Timestamp,
    state: String,
    max_turns: Option<i32>,
    live_turns: i64,
}

impl TryFrom<Row> for AgentView {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            agent: Agent {
                agent_id: row.agent_id,
                display_name: row.display_name,
                description: row.description,
                accepts_handoffs: row.accepts_handoffs,
                on_turn_lost: read_opt::<OnTurnLost>(row.on_turn_lost.as_deref())?,
                default_deadline: row.default_deadline.map(span),
                claim_deadline: row.claim_deadline.map(span),
                create_time: row.create_time,
                update_time: row.update_time,
            },
            state: AgentState::read(&row.state)?,
            max_turns: row.max_turns.map(small),
            live_turns: count(row.live_turns),
        })
    }
}

/// Reads agents by id, those that exist, in the order of their ids' bytes.
///
/// # Errors
/// The database is away.
pub async fn get(
    pool: &PgPool,
    namespace: &Namespace,
    ids: &[String],
) -> Result<Vec<AgentView>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "src/store/sql/reads/get_agents.sql", namespace.0, ids)
        .fetch_all(pool)
        .await?;
    rows.into_iter().map(AgentView::try_from).collect()
}

/// The ids of at most `limit` agents after one, in the order of their bytes.
///
/// # Errors
/// The database is away.
pub async fn list_ids(
    pool: &PgPool,
    namespace: &Namespace,
    after: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let ids = sqlx::query_file_scalar!(
        "src/store/sql/reads/list_agents.sql",
        namespace.0,
        after,
        big(limit as u64),
    )
    .fetch_all(pool)
    .await?;
    Ok(ids)
}
