//! What a person should look at besides handoffs, and who holds slots.

use sqlx::postgres::PgPool;
use uuid::Uuid;

use crate::domain::ids::{AgentId, EffectId, HandoffId, Namespace, ThreadId, TurnId};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{count, small};
use crate::store::patience::answered;

const MAIL: &str = include_str!("../sql/stuck_mail.sql");
const AGENTS: &str = include_str!("../sql/stuck_agents.sql");
const EFFECTS: &str = include_str!("../sql/stuck_effects.sql");
const HOLDERS: &str = include_str!("../sql/list_slot_holders.sql");

/// A thread with mail that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailSetAside {
    /// Whose mailbox.
    pub thread_id: ThreadId,
    /// Its agent.
    pub agent_id: AgentId,
    /// How many messages.
    pub count: u64,
    /// When the oldest of them was sent.
    pub oldest: Timestamp,
}

/// A deactivated agent with threads whose turn is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldAgent {
    /// Which.
    pub agent_id: AgentId,
    /// How many threads, 1,000 at most.
    pub threads: u64,
    /// Since when the oldest turn is due.
    pub oldest: Timestamp,
}

/// An effect that could not be run so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutOff {
    /// Which.
    pub effect_id: EffectId,
    /// What it is, as stored: another release may know kinds that this one does not.
    pub kind: String,
    /// What it is done to.
    pub subject_id: Uuid,
    /// How often it failed.
    pub attempts: u32,
    /// When it is tried again.
    pub due_time: Timestamp,
}

/// Who holds a slot of an agent.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct SlotHolder {
    /// The turn.
    pub turn_id: TurnId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// The handoff it works on.
    pub handoff_id: Option<HandoffId>,
    /// Where it runs.
    pub runtime_id: String,
    /// It made its first call.
    pub running: bool,
    /// Since when.
    pub claim_time: Timestamp,
    /// When its lease ends.
    pub lease_expire_time: Timestamp,
}

/// Threads with mail that was set aside, of what was sent since a time, at most `limit`.
///
/// # Errors
/// The database is away.
pub async fn mail(
    pool: &PgPool,
    namespace: &Namespace,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<MailSetAside>, StoreError> {
    let found = sqlx::query_as(MAIL)
        .bind(&namespace.0)
        .bind(since)
        .bind(limit);
    let found: Vec<(ThreadId, AgentId, i64, Timestamp)> = answered(found.fetch_all(pool)).await?;
    let mail = found
        .into_iter()
        .map(|(thread_id, agent_id, number, oldest)| MailSetAside {
            thread_id,
            agent_id,
            count: count(number),
            oldest,
        });
    Ok(mail.collect())
}

/// Deactivated agents with threads whose turn is due, at most `limit`.
///
/// # Errors
/// The database is away.
pub async fn agents(
    pool: &PgPool,
    namespace: &Namespace,
    limit: i64,
) -> Result<Vec<HeldAgent>, StoreError> {
    let found = sqlx::query_as(AGENTS).bind(&namespace.0).bind(limit);
    let found: Vec<(AgentId, i64, Timestamp)> = answered(found.fetch_all(pool)).await?;
    let agents = found
        .into_iter()
        .map(|(agent_id, threads, oldest)| HeldAgent {
            agent_id,
            threads: count(threads),
            oldest,
        });
    Ok(agents.collect())
}

/// Effects that could not be run so far, at most `limit`.
///
/// # Errors
/// The database is away.
pub async fn effects(
    pool: &PgPool,
    namespace: &Namespace,
    limit: i64,
) -> Result<Vec<PutOff>, StoreError> {
    let found = sqlx::query_as(EFFECTS).bind(&namespace.0).bind(limit);
    let found: Vec<(EffectId, String, Uuid, i32, Timestamp)> =
        answered(found.fetch_all(pool)).await?;
    let effects = found
        .into_iter()
        .map(|(effect_id, kind, subject_id, attempts, due_time)| PutOff {
            effect_id,
            kind,
            subject_id,
            attempts: small(attempts),
            due_time,
        });
    Ok(effects.collect())
}

/// Live turns that hold a slot of an agent, oldest first, at most `limit`.
///
/// # Errors
/// The database is away.
pub async fn slot_holders(
    pool: &PgPool,
    namespace: &Namespace,
    agent: &AgentId,
    limit: i64,
) -> Result<Vec<SlotHolder>, StoreError> {
    let found = sqlx::query_as(HOLDERS)
        .bind(&namespace.0)
        .bind(agent)
        .bind(limit);
    Ok(answered(found.fetch_all(pool)).await?)
}
